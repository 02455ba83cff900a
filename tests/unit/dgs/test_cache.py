# SPDX-License-Identifier: Apache-2.0
"""The cache of remote rows: as many places as its bytes hold, and only rows that are in it."""

from __future__ import annotations

import numpy as np
import pytest

from offramp.dgs.cache import FeatureCache, slots


@pytest.mark.parametrize(("features", "capacity"), [(5, 100), (5, 119), (7, 84), (1, 12)])
def test_a_cache_has_as_many_rows_as_its_bytes_hold(features: int, capacity: int) -> None:
    places = slots(50, features, 3, capacity)
    assert len(places) == capacity // (4 * features)
    assert (np.diff(places) > 0).all()
    assert places.max() < 50


def test_a_cache_has_at_least_one_row_and_at_most_all() -> None:
    assert len(slots(9, 100, 0, 10)) == 1
    assert slots(9, 2, 0).tolist() == [*range(9)]
    assert len(slots(200, 1 << 18, 0)) == 128  # MiB, without further settings


def test_rows_beyond_the_cache_are_not_kept() -> None:
    halo = np.array([3, 8, 20])
    cache = FeatureCache(halo, np.array([0, 1]), np.zeros((2, 2), np.float32), np.zeros(2, np.bool_))
    cache.received(np.array([8, 20, 99]), np.ones((3, 2), np.float32), None)
    places, rows = cache.content()
    assert (places.tolist(), rows.tolist()) == ([1], [[1, 1]])
    assert cache.missing.tolist() == [3]
