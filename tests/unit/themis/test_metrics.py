# SPDX-License-Identifier: Apache-2.0
"""Utilisation and activity: golden shares of figure 9, partial windows, the example."""

from __future__ import annotations

import pytest

from offramp.themis.demand import Demand
from offramp.themis.network import Collective
from offramp.themis.plan import Scheduler, make_plan
from offramp.themis.topologies import PAPER
from offramp_base.errors import OfframpError
from offramp_sim.themis.metrics import WINDOW_PS, busy, present, share_by_window, union, utilisation

NETWORK = PAPER["3D-SW_SW_SW_homo"]


@pytest.mark.parametrize(
    ("scheduler", "ms", "shares"),
    [
        (Scheduler.BASELINE, 18.75, (100, 7, 4)),
        (Scheduler.THEMIS_FIFO, 7.63, (89, 87, 87)),
        (Scheduler.THEMIS_SCF_SIZE, 6.87, (99, 97, 96)),
    ],
)
def test_activity_of_one_gigabyte(scheduler, ms, shares):
    """Specification section 12."""
    plan = make_plan(NETWORK, [Demand(Collective.ALL_REDUCE, 10**9)], scheduler)
    assert plan.finish_ps / 1e9 == pytest.approx(ms, abs=0.006)
    for dim, share in enumerate(shares):
        active = present(plan.timeline, dim)
        assert 100 * sum(end - start for start, end in active) / plan.finish_ps == pytest.approx(share, abs=1.6)
        activity = share_by_window(active, plan.finish_ps)
        links = share_by_window(busy(plan.timeline, dim), plan.finish_ps)
        assert len(activity) == -(-plan.finish_ps // WINDOW_PS)
        assert all(0 <= b <= a + 1e-12 <= 1 + 1e-9 for a, b in zip(activity, links, strict=True))


def test_windows():
    assert share_by_window([(0, 5), (8, 25)], 25, 10) == [0.7, 1.0, 1.0]  # the last window is half as long
    assert union([(5, 9), (0, 6), (9, 10), (20, 20)]) == [(0, 10)]
    assert share_by_window([], 0) == []
    with pytest.raises(OfframpError, match="window of 0 ps"):
        share_by_window([], 10, 0)


def test_bytes_in_no_time_are_an_error():
    plan = make_plan(NETWORK, [Demand(Collective.ALL_REDUCE, 10**6)])
    with pytest.raises(OfframpError, match="bytes were sent in 0 ps"):
        utilisation(NETWORK, plan.stages(), 0)
    assert utilisation(NETWORK, [], 0) == 0
