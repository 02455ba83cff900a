# SPDX-License-Identifier: Apache-2.0
"""Tables and figures of the thesis, at sizes that take a moment."""

from __future__ import annotations

import pytest

from offramp_sim.reproduce.catalogue import find
from offramp_sim.reproduce.dgs.throughput import ThroughputRates, epoch_s


def test_there_are_the_tables_and_figures() -> None:
    names = {item.name for item in find("dgs")}
    assert names >= {"dgs/table3.3", "dgs/table3.4", "dgs/fig3.9", "dgs/fig3.10"}
    assert names >= {f"dgs/{name}" for name in ("fig3.5", "fig3.6", "fig3.7", "table3.2")}


def test_time_is_computation_and_bytes() -> None:
    """A million vertices of 20 us, 10 GB, on 10 workers of 10 Gb/s: 2 s and 0.8 s, and the multiplications."""
    flops = 1e6 * 2 * 3 * 2 * 16 * 100 / 10e12
    assert epoch_s(10**6, 100, 10**10, 10) == pytest.approx((20 + flops + 8) / 10)
    assert epoch_s(10**6, 100, 10**10, 10, "gcn") == pytest.approx((20 + flops / 2 + 8) / 10)
    slower = ThroughputRates(link_gbps=1.0, vertex_us=2.0)
    assert epoch_s(10**6, 100, 10**10, 10, rates=slower) == pytest.approx((2 + flops + 80) / 10)


@pytest.mark.slow
def test_attention_goes_without_ladies() -> None:
    reproduced = find("dgs/table3.2")[0].reproduce(0.2, 0)
    assert {c.what.split(":")[0] for c in reproduced.comparisons} == {"sage", "gcn", "gat"}
    assert "gat: DGS over LADIES" not in {c.what for c in reproduced.comparisons}
    assert "sage: DGS over LADIES" in {c.what for c in reproduced.comparisons}
