# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

from offramp.models.aggregation import AGGREGATORS, edge_factors


def weights(aggregator: str, adjacency: np.ndarray) -> np.ndarray:
    """The aggregation matrix, straight from its definition."""
    closed = adjacency + np.eye(len(adjacency))
    degree = closed.sum(1)
    return {
        "gcn": closed / np.sqrt(np.outer(degree, degree)),
        "mean": closed / degree[:, None],
        "sum": closed,
    }[aggregator]


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_factors_multiply_to_the_edge_weight(aggregator: str) -> None:
    rng = np.random.default_rng(1)
    upper = np.triu(rng.random((9, 9)) < 0.4, 1).astype(float)
    adjacency = upper + upper.T
    source, destination = edge_factors(aggregator, adjacency.sum(1).astype(np.int64))
    expected = weights(aggregator, adjacency)
    got = destination[:, None] * (adjacency + np.eye(9)) * source[None, :]
    np.testing.assert_allclose(got, expected, rtol=1e-14)
    assert source.dtype == destination.dtype == np.float64
