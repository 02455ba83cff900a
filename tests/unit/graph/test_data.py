# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from offramp.graph import data
from offramp.graph.data import build_graph
from offramp_base.errors import OfframpError


def test_directed_edges_are_symmetrised_and_loops_dropped():
    graph = build_graph("t", 3, ([0, 1, 2, 0], [1, 2, 2, 1]))
    assert graph.indptr.tolist() == [0, 1, 3, 4]
    assert graph.indices.tolist() == [1, 0, 2, 1]
    assert graph.edges == 2
    assert graph.metadata["symmetrised"] is True
    assert graph.metadata["self_loops_dropped"] == 1


def test_undirected_source_is_not_called_symmetrised():
    assert build_graph("t", 2, ([0, 1], [1, 0])).metadata["symmetrised"] is False


def test_without_features_and_labels():
    graph = build_graph("t", 4, ([0, 0, 0], [1, 2, 3]))
    assert graph.features.dtype == np.float32
    assert graph.features[:, 0].tolist() == pytest.approx([1.0, 0.5, 0.5, 0.5])
    assert graph.classes == 1
    assert graph.metadata["no_labels"]
    assert graph.metadata["degree_features"]


def test_large_sparse_features_stay_sparse(monkeypatch):
    features = random_array((4, 5), density=0.5, rng=np.random.default_rng(0))
    monkeypatch.setattr(data, "DENSE_FEATURE_BYTES", 4 * 4 * 5)
    dense = build_graph("t", 4, ([0], [1]), features=features)
    monkeypatch.setattr(data, "DENSE_FEATURE_BYTES", 4 * 4 * 5 - 1)
    sparse = build_graph("t", 4, ([0], [1]), features=features)
    assert isinstance(dense.features, np.ndarray)
    assert isinstance(sparse.features, csr_array)
    assert sparse.features.dtype == np.float32
    assert np.array_equal(sparse.features.toarray(), dense.features)
    assert sparse.width == dense.width == 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"vertices": 0, "edges": ([], [])}, "t: expected at least one vertex"),
        ({"edges": ([0], [3])}, "t: edges: expected vertex ids from 0 to 2"),
        ({"edges": ([-1], [1])}, "t: edges: expected vertex ids from 0 to 2"),
        ({"labels": [0, 1]}, "t: labels: expected 3 integers of at least 0, one per vertex"),
        ({"labels": [0, -1, 1]}, "t: labels: expected 3 integers of at least 0, one per vertex"),
        ({"labels": [0.5, 1, 1]}, "t: labels: expected 3 integers of at least 0, one per vertex"),
        ({"features": np.ones((2, 4))}, "t: features: expected 3 rows, one per vertex, got shape (2, 4)"),
        ({"features": np.ones(3)}, "t: features: expected a matrix of finite numbers, one row per vertex"),
        ({"features": np.full((3, 1), np.nan)}, "t: features: expected a matrix of finite numbers, one row per vertex"),
        ({"split": (np.ones(2, bool),) * 3}, "t: train: expected 3 entries, one per vertex, got shape (2,)"),
    ],
)
def test_golden_errors(arguments, message):
    with pytest.raises(OfframpError) as error:
        build_graph("t", **{"vertices": 3, "edges": ([0], [1]), **arguments})
    assert str(error.value) == message
