# SPDX-License-Identifier: Apache-2.0
"""Rates against a second implementation: progressive filling, link after link. Blind to the choice of weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.hermod.dag import Coflow, Dag, Flows
from offramp.hermod.factors import CType, Factors
from offramp_base.errors import OfframpError
from offramp_sim.hermod.flow.fabric import BisectionFabric
from offramp_sim.hermod.flow.layout import FlowRunState
from offramp_sim.hermod.flow.network import Loaded, load
from offramp_sim.hermod.flow.policies import order_of
from offramp_sim.hermod.flow.simulate import memory, simulate


def coflow(ctype: CType, rows: list[tuple[int, int, float]], mid: int = 0, waits: tuple[int, ...] = ()) -> Coflow:
    source, sink, size = zip(*rows, strict=True)
    flows = Flows(np.array(source), np.array(sink), np.array(size, np.float64))
    return Coflow("test", Factors(mid, ctype, 0), 0, 0, flows, list(waits))


def loaded(coflows: list[Coflow], ports: int, routing: str = "spray", **how: object) -> Loaded:
    ranks = np.arange(ports)
    fabric = BisectionFabric(ranks, ranks, ports, 1, 1.0, routing, 2)
    return load(Dag(list(coflows), ports, 1, 1, 1, 8, False), fabric, **how)  # type: ignore[arg-type]


def filled(every: Loaded, classes: np.ndarray) -> np.ndarray:
    """Rates by strict priority and, within a class, the textbook's progressive filling."""
    flows = len(every.load)
    use = np.zeros((flows, every.fabric.resources))
    for f in range(flows):
        part = slice(every.use_row[every.load[f]], every.use_row[every.load[f] + 1])
        use[f, every.use[part]] = every.amount[part]
    room = np.ones(every.fabric.resources)
    rate = np.zeros(flows)
    for level in np.unique(classes):
        growing = [int(f) for f in np.flatnonzero(classes == level)]
        while growing:
            demand = sum(every.weight[every.load[f]] * use[f] for f in growing)
            used = demand > 0
            step = max(0.0, float((room[used] / demand[used]).min()))
            room = room - step * demand
            rate[growing] += step * every.weight[every.load[growing]]
            full = used & (room < 1e-9)
            room[full] = 0
            growing = [f for f in growing if not (use[f, full] > 0).any()]
    return rate


@given(seed=st.integers(0, 2**32 - 1), routing=st.sampled_from(["spray", "ecmp"]), separate=st.booleans())
@settings(max_examples=60, derandomize=True, deadline=None)
def test_rates_are_those_of_progressive_filling(seed: int, routing: str, separate: bool) -> None:
    random = np.random.default_rng(seed)
    ports = int(random.integers(2, 9))
    coflows = []
    for _ in range(int(random.integers(1, 9))):
        pairs = {(int(a), int(b)) for a, b in random.integers(0, ports, (int(random.integers(1, 6)), 2)) if a != b}
        if pairs:
            rows = [(a, b, float(random.integers(1, 9))) for a, b in sorted(pairs)]
            coflows.append(coflow(CType(int(random.integers(0, 3))), rows, int(random.integers(0, 3))))
    if not coflows:
        return
    every = loaded(coflows, ports, routing, granularity="flow" if separate else "coflow")
    order = order_of(every.dag, "hermod")
    arrays = memory(every, order, 0.0)
    _until_first_rates(arrays.address)
    expected = filled(every, order.level[every.coflow_of_flow])
    assert arrays[FlowRunState.rate] == pytest.approx(expected, rel=1e-6, abs=1e-9)


def _until_first_rates(context: int) -> None:
    from offramp_sim.hermod.flow.simulate import engine

    assert engine()(context, 1) == 0


def test_line_rate_lets_pp_end_with_ep_where_sharing_in_proportion_does_not() -> None:
    """Specification section 6: EP {a:3, b:2}, PP {b:1} at 2, DP {b:1}: 3, 3 and 4."""
    ep = coflow(CType.EP, [(0, 2, 3), (1, 3, 2)])
    late = coflow(CType.PP, [(1, 3, 1)], mid=1, waits=(3,))
    dp = coflow(CType.DP, [(1, 3, 1)], mid=7)
    delay = coflow(CType.TP, [(0, 0, 2)])
    for granularity, ends in (("flow", (3, 3, 4)), ("coflow", (3, 11 / 3, 4))):
        every = loaded([ep, late, dp, delay], 4, granularity=granularity, tensor_bytes_per_s=1.0)
        assert simulate(every, "hermod", slack_s=0).end[:3].tolist() == pytest.approx(ends)


def test_lina_holds_dp_back_at_a_sender_of_ep_only() -> None:
    ep = coflow(CType.EP, [(0, 1, 2), (1, 0, 2)])
    ep.role = "dispatch-gradient"
    rings = [coflow(CType.DP, [(a, 2, 1)], mid=7) for a in (0, 3)]
    ends = simulate(loaded([ep, *rings], 4), "lina", slack_s=0).end.tolist()
    assert ends == pytest.approx([2, 3, 1])
    ep.role = "dispatch"
    assert simulate(loaded([ep, *rings[:1]], 4), "lina", slack_s=0).end.tolist() == pytest.approx([3, 2])


def test_order_of_arrival_and_equal_arrivals() -> None:
    first = [coflow(CType.PP, [(0, 1, 2)]), coflow(CType.DP, [(0, 1, 2)], mid=7)]
    last = coflow(CType.PP, [(0, 1, 1)], waits=(3,))
    delay = coflow(CType.TP, [(0, 0, 1)])
    every = loaded([*first, last, delay], 2, tensor_bytes_per_s=1.0)
    assert simulate(every, "fifo", slack_s=0).end.tolist() == pytest.approx([4, 4, 5, 1])


@pytest.mark.parametrize("queues", range(1, 9))
def test_fewer_queues_never_let_dp_pass(queues: int) -> None:
    jobs = [coflow(CType.PP, [(0, 1, 1)], mid=7), coflow(CType.DP, [(0, 1, 1)], mid=7)]
    ends = simulate(loaded(jobs, 2), "hermod", queues=queues, slack_s=0).end.tolist()
    assert ends == pytest.approx([2, 2] if queues == 1 else [1, 2])
    assert simulate(loaded(jobs, 2), "hermod", queues=queues, scheme="msb", slack_s=0).end.tolist() == pytest.approx(
        [2, 2]
    )


def test_hosts_that_know_the_exact_order_send_the_first_of_a_class() -> None:
    """One queue: the two of sender 0 go one after the other, and the link to 2 is shared with sender 1 meanwhile."""
    jobs = [
        coflow(CType.PP, [(0, 2, 2)], mid=0),
        coflow(CType.PP, [(0, 3, 2)], mid=1),
        coflow(CType.DP, [(1, 2, 2)], mid=7),
    ]
    exact = simulate(loaded(jobs, 4), "hermod", queues=1, hosts="exact", slack_s=0).end.tolist()
    # 0 to 2 at a half until 4; 0 to 3 has the other half of its sender, 1 to 2 the other half of its receiver.
    assert exact == pytest.approx([4, 4, 4])
    jobs[1] = coflow(CType.PP, [(0, 2, 2)], mid=1)
    exact = simulate(loaded(jobs, 4), "hermod", queues=1, hosts="exact", slack_s=0).end.tolist()
    assert exact == pytest.approx([4, 6, 4])  # three share in turn: the second of sender 0 waits for its first
    shared = simulate(loaded(jobs, 4), "hermod", queues=1, slack_s=0).end.tolist()
    assert shared == pytest.approx([6, 6, 6])


def test_a_host_in_order_of_arrival_before_links_that_share() -> None:
    first, last = coflow(CType.DP, [(0, 2, 2)], mid=7), coflow(CType.PP, [(0, 2, 2)], waits=(3,))
    other, delay = coflow(CType.PP, [(1, 2, 2)], waits=(3,)), coflow(CType.TP, [(0, 0, 1)])
    every = loaded([first, last, other, delay], 3, tensor_bytes_per_s=1.0)
    # 1 unit until 1; then first and other at a half each until 3; then last and the other's last unit.
    assert simulate(every, "host-fifo", slack_s=0).end.tolist() == pytest.approx([3, 6, 5, 1])
    assert simulate(every, "fifo", slack_s=0).end.tolist() == pytest.approx([2, 6, 6, 1])


def test_hosts_of_another_kind_are_refused() -> None:
    with pytest.raises(OfframpError, match="hosts fast: expected queues or exact"):
        order_of(loaded([coflow(CType.PP, [(0, 1, 1)])], 2).dag, "hermod", 8, hosts="fast")
