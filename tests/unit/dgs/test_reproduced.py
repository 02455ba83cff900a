# SPDX-License-Identifier: Apache-2.0
"""Tables and figures of the thesis, at sizes that take a moment."""

from __future__ import annotations

import pytest

from offramp_sim.reproduce.catalogue import find
from offramp_sim.reproduce.dgs import traffic as dgs_traffic


def test_there_are_the_tables_and_figures() -> None:
    names = {item.name for item in find("dgs")}
    assert names >= {"dgs/table3.3", "dgs/table3.4", "dgs/fig3.9", "dgs/fig3.10"}


def test_time_is_computation_and_bytes() -> None:
    """A million vertices of 20 us, 10 GB, on 10 workers of 10 Gb/s: 2 s and 0.8 s, and the multiplications."""
    flops = 1e6 * 2 * 3 * 2 * 16 * 100 / 10e12
    assert dgs_traffic.epoch_s(10**6, 100, 10**10, 10) == pytest.approx((20 + flops + 8) / 10)
