# SPDX-License-Identifier: Apache-2.0
"""Exchanges without a network: what each rank sends and receives, how finely they are cut, what ranks agree on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from offramp.hermod.matching import bound  # noqa: E402
from offramp.hermod.matching.decompose import decompose  # noqa: E402
from offramp.hermod.matching.literal import literal  # noqa: E402
from offramp.hermod.operator.agreement import UNKNOWN, Proposal, agree  # noqa: E402
from offramp.hermod.operator.choice import OperatorCost, cut  # noqa: E402
from offramp.hermod.operator.exchange import CoflowExchange  # noqa: E402
from offramp_base.errors import OfframpError  # noqa: E402


def random_rows(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 7))
    return rng.integers(0, 30, (size, size)) * (rng.random((size, size)) < 0.7)


@settings(max_examples=80)
@given(st.integers(0, 2**32 - 1), st.sampled_from([None, 0, 1, 8]), st.booleans())
def test_every_byte_once_and_both_ends_alike(seed: int, quantum: int | None, back: bool):
    rows = random_rows(seed)
    exchange = CoflowExchange(rows, 3, None if quantum is None else decompose(rows, quantum=quantum))
    if back:
        exchange = exchange.transposed
        rows = rows.T
    size = len(rows)
    for source in range(size):
        sends = exchange.sends(source)
        for sink in range(size):
            there = [(a, b) for peer, a, b in sends if peer == sink]
            here = [(a, b) for peer, a, b in exchange.receives(sink) if peer == source]
            assert there == here
            expected = 0 if source == sink else int(rows[source, sink]) * 3
            assert [a for a, _ in there] == [0, *(b for _, b in there)][: len(there)]
            assert (there[-1][1] if there else 0) == expected
    sent, received = exchange.starts(0)
    assert sent[-1] == rows[0].sum() * 3
    assert received[-1] == rows[:, 0].sum() * 3


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_in_a_sub_phase_nobody_sends_or_hears_two(seed: int):
    rows = random_rows(seed)
    exchange = CoflowExchange(rows, 1, decompose(rows))
    phases = [exchange.phases(rank) for rank in range(len(rows))]
    for of_phase in zip(*phases, strict=True):
        heard = []
        for rank, (sends, receives) in enumerate(of_phase):
            assert len(sends) <= 1
            assert len(receives) <= 1
            heard += [(rank, *span) for span in sends]
            for peer, a, b in receives:
                assert of_phase[peer][0] == [(rank, a, b)]
        assert len({peer for _, peer, *_ in heard}) == len(heard)


@pytest.mark.full
def test_digests_differ_where_exchanges_do():
    rows = np.array([[0, 4, 1], [2, 0, 3], [5, 0, 0]])
    schedule = decompose(rows)
    several = [CoflowExchange(rows, 1, schedule), CoflowExchange(rows, 2, schedule), CoflowExchange(rows, 1, None)]
    several += [several[0].transposed, CoflowExchange(rows, 1, literal(rows))]
    assert len({e.digest for e in several}) == len(several)
    assert CoflowExchange(rows.copy(), 1, decompose(rows)).digest == several[0].digest
    assert all(0 <= e.digest < 2**63 for e in several)


def test_the_dearer_a_sub_phase_the_fewer_there_are():
    rows = np.random.default_rng(1).integers(1, 10**6, (12, 12))
    moving = rows - np.diag(np.diag(rows))
    schedules = [cut(rows, 1, None, lambda s=s: OperatorCost(s, 1e-9), 0) for s in (0.0, 1e-5, 1e-3, 1.0)]
    counts = [len(s) for s in schedules if s is not None]
    assert len(counts) == 4
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1]
    assert schedules[0] is not None
    assert schedules[0].total == bound(moving)

    def unasked() -> OperatorCost:
        raise AssertionError

    assert cut(rows, 1, None, unasked, 10**9) is None  # small
    assert cut(rows[:2, :2], 1, 0, unasked, 0) is None  # one order only
    assert len(cut(rows, 1, 8, unasked, 0) or ()) > 0


def table(*proposals: Proposal) -> np.ndarray:
    return np.array([p.words() for p in proposals])


def proposal(**changes) -> Proposal:
    facts = {"sequence": 1, "settings": 2, "history": 3, "dtype": 4, "priority": 5, "row_bytes": 8}
    return Proposal(**{**facts, "send": [1, 2], "receive": None, **changes})


def test_what_ranks_agree_on():
    rows, width = agree(table(proposal(), proposal(send=[3, 4], receive=[2, 4])))
    assert rows.tolist() == [[1, 2], [3, 4]]
    assert width == 8
    _, width = agree(table(proposal(row_bytes=UNKNOWN), proposal()))
    assert width == 8


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sequence": 7}, "rank 1 and rank 0 differ in how many all-to-alls they have started"),
        ({"settings": 7}, "rank 1 and rank 0 differ in the operator's settings"),
        ({"history": 7}, "rank 1 and rank 0 differ in the all-to-alls before this one"),
        ({"row_bytes": 7}, "rank 1 and rank 0 differ in the size of a row"),
        ({"receive": [2, 3]}, "rank 1 expects 3 rows from rank 1, which sends 2"),
        ({"fault": "no", "sequence": 7}, "rank 1: no"),
        ({"fault": "x" * 1000}, f"rank 1: {'x' * 256}"),
    ],
)
def test_what_ranks_differ_in(change, message):
    with pytest.raises(OfframpError) as caught:
        agree(table(proposal(), proposal(**change)))
    assert str(caught.value) == message
