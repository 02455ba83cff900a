# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

from offramp.graph.split import split_vertices
from offramp_base.errors import OfframpError

LABELS = np.repeat([0, 1, 2, 3], [1000, 700, 200, 100])


def assert_disjoint(masks):
    assert sum(mask.astype(int) for mask in masks).max() == 1


@pytest.mark.full
def test_planetoid_takes_20_a_class_500_and_1000():
    train, val, test = masks = split_vertices(LABELS, 4, "planetoid", seed=1)
    assert np.bincount(LABELS[train]).tolist() == [20] * 4
    assert (val.sum(), test.sum()) == (500, 1000)
    assert_disjoint(masks)


@pytest.mark.full
def test_planetoid_shrinks_with_the_graph_and_leaves_no_class_out():
    labels = np.arange(40) % 4
    train, val, test = masks = split_vertices(labels, 4, "planetoid", seed=1)
    assert np.bincount(labels[train]).tolist() == [1] * 4
    assert (val.sum(), test.sum()) == (12, 24)  # of the 36 that do not train
    assert_disjoint(masks)


def test_fractions_are_stratified():
    masks = split_vertices(LABELS, 4, "0.5/0.2/0.3", seed=2)
    for mask, share in zip(masks, (0.5, 0.2, 0.3), strict=True):
        assert np.abs(np.bincount(LABELS[mask]) - share * np.bincount(LABELS)).max() <= 1
    assert_disjoint(masks)
    assert sum(mask.sum() for mask in masks) == len(LABELS)


@pytest.mark.parametrize("rule", ["planetoid", "0.6/0.2/0.2"])
def test_seed_decides(rule):
    first, again, other = (split_vertices(LABELS, 4, rule, seed)[0] for seed in (3, 3, 4))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("rule", ["half", "0.5/0.5", "0.9/0.2/0.2", "0/0.5/0.5", "-0.1/0.5/0.5", "nan/0/0"])
def test_bad_rules(rule):
    with pytest.raises(OfframpError, match=f"split '{rule}': expected") as error:
        split_vertices(LABELS, 4, rule, 0)
    assert "\n" not in str(error.value)
