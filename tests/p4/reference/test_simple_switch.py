# SPDX-License-Identifier: Apache-2.0
"""bmv2 forwards what the embedded switch forwards, with its tables and its replication."""

from __future__ import annotations

import pytest

from offramp_p4.bench.bmv2 import measure_bmv2
from offramp_p4.bench.router import router
from offramp_p4.reference import missing
from offramp_sim.switchgnn.workloads import switchgnn

pytestmark = [pytest.mark.p4, pytest.mark.bmv2, pytest.mark.slow]


@pytest.fixture(autouse=True)
def bmv2() -> None:
    if missing():
        pytest.skip(f"not on PATH: {', '.join(missing())}")


def test_switchgnn() -> None:
    rate = measure_bmv2(switchgnn(vertices=400, rounds=1), 0.1)  # raises if a frame differs
    assert rate.passes > rate.packets > 0


def test_router() -> None:
    rate = measure_bmv2(router(64, packets=2000, ports=4), 0.1)  # raises if a frame differs
    assert rate.passes == rate.packets > 0
