# SPDX-License-Identifier: Apache-2.0
"""The coflow benchmark's files, and orders on one big switch: against figures by hand and bounds."""

from __future__ import annotations

import numpy as np
import pytest

from offramp_base.errors import OfframpError
from offramp_sim.cluster.coflows import ORDERS, PortCoflow, completion_s, parse_coflows
from offramp_sim.hermod.flow.layout import FlowRunState
from offramp_sim.hermod.flow.network import PlainLoad
from offramp_sim.hermod.flow.policies import NO_FIFO, Order
from offramp_sim.hermod.flow.simulate import engine, memory

TWO = """3 2
1 0 1 0 1 2:100
2 0 2 0 1 1 2:20
"""


def test_orders_by_hand() -> None:
    """Both want port 2: 0.8 s and 0.16 s at 1 Gbit/s."""
    coflows = parse_coflows(TWO)
    assert completion_s(coflows, "sebf").tolist() == pytest.approx([0.96, 0.16])
    assert completion_s(coflows, "fifo").tolist() == pytest.approx([0.8, 0.96])
    assert completion_s(coflows, "ncf").tolist() == pytest.approx([0.8, 0.96])


def test_what_the_first_leaves_goes_to_the_next() -> None:
    coflows = parse_coflows("4 2\na 0 2 0 1 1 2:100\nb 0 1 0 1 3:100\n")
    a, b = completion_s(coflows, "fifo", backfill=False).tolist()
    assert a == pytest.approx(0.8)
    assert b == pytest.approx(0.8 + 0.4)  # half of port 0's rate, then all of it


def test_backfilling_sends_flows_whose_coflow_as_a_whole_must_wait() -> None:
    """One flow of b waits for port 0; the other, from port 1, goes on beside a."""
    coflows = parse_coflows("4 2\na 0 1 0 1 2:100\nb 0 2 0 1 1 3:100\n")
    a, b = completion_s(coflows, "fifo", backfill=False).tolist()
    assert (a, b) == (pytest.approx(0.8), pytest.approx(1.6))
    a, b = completion_s(coflows, "fifo").tolist()
    assert (a, b) == (pytest.approx(0.8), pytest.approx(1.2))  # port 1's half of b is there after 0.4 s


def synthetic(seed: int, count: int = 60, ports: int = 12) -> str:
    random = np.random.default_rng(seed)
    lines = [f"{ports} {count}"]
    for i in range(count):
        mappers = random.choice(ports, random.integers(1, 6), replace=False)
        reducers = random.choice(ports, random.integers(1, 6), replace=False)
        sizes = [f"{r}:{random.integers(1, 1 + 10 ** random.integers(1, 4))}" for r in reducers]
        words = [i, random.integers(0, 20_000), len(mappers), *mappers, len(reducers), *sizes]
        lines.append(" ".join(map(str, words)))
    return "\n".join(lines)


@pytest.mark.parametrize("backfill", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_every_coflow_takes_its_bottleneck_at_least_and_sebf_beats_fifo(seed: int, backfill: bool) -> None:
    coflows = parse_coflows(synthetic(seed))
    alone = np.array([float(each.bytes.max()) * 8 / 1e9 for each in coflows])
    means = {}
    for order in ORDERS:
        seconds = completion_s(coflows, order, backfill=backfill)
        assert (seconds >= alone * (1 - 1e-9)).all()
        ends = [each.arrival_s + s for each, s in zip(coflows, seconds, strict=True)]
        total = sum(each.bytes for each in coflows)
        assert max(ends) >= float(total.max()) * 8 / 1e9
        means[order] = seconds.mean()
    assert means["sebf"] < means["fifo"]


def by_the_flow_level(coflows: list[PortCoflow], rate_bps: float) -> np.ndarray:
    """The same by the engine of Hermod's flow level: a coflow is a delay and a load, first come, first served."""
    count = len(coflows)
    uses = [np.flatnonzero(each.bytes) for each in coflows]
    loaded = PlainLoad(
        capacity=np.full(len(coflows[0].bytes), rate_bps / 8),
        delay=np.array([each.arrival_s for each in coflows]),
        flow_row=np.arange(count + 1, dtype=np.int32),
        coflow_of_flow=np.arange(count, dtype=np.int32),
        load=np.arange(count, dtype=np.int32),
        use_row=np.concatenate([[0], np.cumsum([len(use) for use in uses])]).astype(np.int64),
        use=np.concatenate(uses).astype(np.int32),
        amount=np.concatenate([each.bytes[use] for each, use in zip(coflows, uses, strict=True)]),
        weight=np.ones(count),
        after_row=np.zeros(count + 1, np.int32),
        after=np.zeros(1, np.int32),
        waits=np.zeros(count, np.int32),
    )
    order = Order(np.arange(count), NO_FIFO, np.zeros(count, np.int64))
    kept = memory(loaded, order, 0.0)
    assert engine()(kept.address, 1 << 62) == 1
    return kept[FlowRunState.end] - loaded.delay


@pytest.mark.parametrize("seed", range(5))
def test_backfilling_shortens_the_mean(seed: int) -> None:
    coflows = parse_coflows(synthetic(seed))
    for order in ORDERS:
        means = [completion_s(coflows, order, backfill=backfill).mean() for backfill in (False, True)]
        assert means[1] < means[0]


@pytest.mark.parametrize("seed", range(5))
def test_first_come_first_served_is_what_the_flow_level_makes_of_it(seed: int) -> None:
    coflows = parse_coflows(synthetic(seed))
    assert completion_s(coflows, "fifo", backfill=False).tolist() == pytest.approx(
        by_the_flow_level(coflows, 1e9).tolist(), rel=1e-6
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "line 1: expected PORTS COFLOWS"),
        ("3 2\n1 0 1 0 1 2:100", "there are 1 lines"),
        ("3 1\n1 0 1 9 1 2:100", "line 2: .*mapper 9"),
        ("3 1\n1 0 1 0 1 7:100", "line 2: .*7:100"),
        ("3 1\n1 0 1 0 2 2:100", "line 2: .*1 mappers, 1 reducers"),
        ("3 1\n1 0 1 0 1 2:-4", "line 2"),
        ("3 1\n1 0 1 0 1 2:nan", "line 2"),
        ("3 1\n1 nan 1 0 1 2:5", "line 2: .*arrival nan"),
        ("99999 99999\n1 0 1 0 1 2:5", "expected at most 100000000"),
    ],
)
def test_what_a_file_cannot_say_is_one_line(text: str, problem: str) -> None:
    with pytest.raises(OfframpError, match=problem):
        parse_coflows(text)
