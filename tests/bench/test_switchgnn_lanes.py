# SPDX-License-Identifier: Apache-2.0
"""What a pass of 32, 64 and 128 lanes costs the native engine, at 128 features; nothing passes or fails by it.

docs/PERFORMANCE.md has the table.
"""

from __future__ import annotations

import sys

import pytest

from offramp.switchgnn.chunks import WIDTHS
from offramp_p4.bench.rates import measure
from offramp_sim.switchgnn.workloads import switchgnn

pytestmark = pytest.mark.bench


def test_passes_by_lanes() -> None:
    for lanes in WIDTHS:
        rate = measure(switchgnn(rounds=6, features=128, lanes=lanes), "native", 1.0)
        vector = 128 // lanes * rate.ns_per_pass
        sys.stdout.write(f"\n{lanes} lanes: {rate.ns_per_pass:.0f} ns a pass, {vector:.0f} ns for 128 features")
