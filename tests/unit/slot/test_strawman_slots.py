# SPDX-License-Identifier: Apache-2.0
"""The vertices that get one of a few aggregators, gone through by hand."""

from __future__ import annotations

import numpy as np
import pytest

from offramp_sim.slot.strawman import _allocate, _by_hash


@pytest.mark.each
@pytest.mark.parametrize(
    ("limit", "chosen"),
    [
        (0, [False, False, False, False]),
        (1, [True, False, True, False]),  # the first one is free again before the third begins, and not the third
        (2, [True, True, True, False]),
        (3, [True, True, True, True]),
    ],
)
def test_an_aggregator_is_free_again_after_the_last_contribution(limit: int, chosen: list[bool]) -> None:
    first, done = np.array([0, 1, 3, 4]), np.array([2, 5, 6, 6])
    assert _allocate(first, done, limit).tolist() == chosen


def test_a_vertex_with_one_contribution_holds_nothing() -> None:
    assert _allocate(np.array([0, 0, 1]), np.array([0, 0, 2]), 1).tolist() == [True, True, True]


def test_fixed_aggregators_belong_to_the_least_hashes() -> None:
    vertices = np.array([5, 0, 9, 2])
    hashes = [(int(v) + 1) * 0x9E3779B97F4A7C15 % (1 << 64) for v in vertices]
    least = {hashes.index(each) for each in sorted(hashes)[:2]}
    assert _by_hash(vertices, 2).tolist() == [place in least for place in range(4)]
