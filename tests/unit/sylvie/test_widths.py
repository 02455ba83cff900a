# SPDX-License-Identifier: Apache-2.0
"""Importance by in-degree and the joint rule (S9 to S11)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offramp.sylvie.widths import BASES, RANKINGS, candidates, fixed_widths, importance, joint_widths
from offramp_base.errors import OfframpError

DEGREES = st.lists(st.integers(0, 50), min_size=1, max_size=60)


@given(degrees=DEGREES, ranking=st.sampled_from(RANKINGS.names()), base=st.sampled_from(BASES))
def test_more_degree_never_gets_fewer_bits(degrees, ranking, base):
    p = importance(degrees, ranking)
    assert ((p >= 0) & (p <= 1)).all()
    assert (p[np.array(degrees) == max(degrees)] == 1).all()
    widths = joint_widths(p, base)
    assert (widths >= base).all()
    assert set(widths.tolist()) <= set(candidates(base))
    order = np.argsort(degrees, kind="stable")
    assert (np.diff(p[order]) >= 0).all()
    assert (np.diff(widths[order].astype(int)) >= 0).all()
    same = np.diff(np.array(degrees)[order]) == 0
    assert (np.diff(p[order])[same] == 0).all()


def test_rankings_by_hand():
    degrees = [5, 1, 1, 9, 5, 1]
    assert importance(degrees).tolist() == pytest.approx([5 / 6, 3 / 6, 3 / 6, 1, 5 / 6, 3 / 6])
    assert importance(degrees, "dense").tolist() == [0.5, 0, 0, 1, 0.5, 0]
    assert importance(degrees, "middle").tolist() == pytest.approx([3.5 / 5, 1 / 5, 1 / 5, 1, 3.5 / 5, 1 / 5])


@pytest.mark.parametrize("ranking", RANKINGS.names())
def test_pools_of_nobody_of_one_and_of_equals(ranking):
    assert importance([], ranking).tolist() == []
    assert importance([3], ranking).tolist() == [1]
    assert importance([4, 4, 4], ranking).tolist() == [1, 1, 1]


FIGURE_3_6 = {
    0.1: [1, 2, 1, 2, 4, 8],
    0.7: [4, 8, 4, 8, 8, 8],
    0.4: [2, 4, 2, 4, 4, 8],
    0.9: [8, 8, 8, 8, 8, 8],  # the figure prints 4 at its third epoch, where its own rule gives 8
}


@pytest.mark.parametrize("p", FIGURE_3_6)
def test_figure_3_6(p):
    assert [int(joint_widths([p], base)[0]) for base in (1, 2, 1, 2, 4, 8)] == FIGURE_3_6[p]


def test_mean_widths_of_even_importance():
    p = importance(np.arange(1, 1201))
    means = [joint_widths(p, base).mean() for base in (1, 2, 4, 8)]
    assert means == pytest.approx([3.75, 14 / 3, 6, 8], abs=0.01)


def test_edges_of_the_stretches():
    assert joint_widths([0, 0.25, 0.5, 0.75, 1], 1).tolist() == [1, 2, 4, 8, 8]
    assert joint_widths([0, 1 / 3, 2 / 3, 1], 2).tolist() == [2, 4, 8, 8]
    assert joint_widths([0, 1], 32).tolist() == [32, 32]


def test_fixed_and_refused():
    assert fixed_widths(3, 4).tolist() == [4, 4, 4]
    with pytest.raises(OfframpError, match="base width 3: expected one of 1, 2, 4, 8, 32"):
        fixed_widths(3, 3)
    with pytest.raises(OfframpError, match="ranking best: expected one of dense, ecdf, middle"):
        importance([1], "best")


def test_bits_of_a_power_law_by_each_ranking():
    """Neither is 1.45 bits at base 1: equal shares of the pool give 3.75, different degrees between 1 and 1.3."""
    rng = np.random.default_rng(0)
    degrees = np.minimum(rng.zipf(2.2, 20_000), 20_000)
    bits = {name: joint_widths(importance(degrees, name), 1).mean() for name in RANKINGS.names()}
    assert bits["dense"] < 1.3
    assert bits["ecdf"] > 3.75  # ties count as the last of them


def test_a_ranking_from_outside_is_checked(monkeypatch):
    known = RANKINGS.names()
    ranks = {"flat": lambda counts: np.zeros(len(counts)), "falling": lambda counts: -np.arange(len(counts))}
    monkeypatch.setattr(RANKINGS, "_things", {**RANKINGS._things, **ranks})
    assert RANKINGS.names() == sorted([*known, *ranks])
    assert importance([1, 2, 3], "flat").tolist() == [0, 0, 1]
    with pytest.raises(OfframpError, match="ranking falling: expected an ascending number from 0 to 1 for each degree"):
        importance([1, 2, 3], "falling")
