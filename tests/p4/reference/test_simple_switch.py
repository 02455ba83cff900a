"""bmv2 forwards what the embedded switch forwards, with its tables and its replication."""

from __future__ import annotations

import pytest

from offramp_sim.p4.bench import measure_bmv2, switchgnn_workload
from offramp_sim.p4.reference import available

pytestmark = [pytest.mark.p4, pytest.mark.bmv2, pytest.mark.slow]


def test_switchgnn() -> None:
    if not available():
        pytest.skip("p4c-bm2-ss, simple_switch and simple_switch_CLI are not on PATH")
    result = measure_bmv2(switchgnn_workload())  # raises if a frame differs
    assert result.passes > result.packets > 0
