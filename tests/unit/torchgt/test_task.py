# SPDX-License-Identifier: Apache-2.0
"""Positions of several graphs are those of each by itself."""

from __future__ import annotations

import numpy as np
import pytest

from offramp.graph.data import build_graph
from offramp.torchgt.encodings import laplacian_positions
from offramp.torchgt.task import GraphTask, _positions

RINGS = (5, 3, 7)


def ring(length: int) -> tuple[np.ndarray, np.ndarray]:
    at = np.arange(length)
    edges = (at, (at + 1) % length)
    graph = build_graph(
        "ring", length, edges, features=np.zeros((length, 1), np.float32), labels=at % 2, split="1/0/0", seed=0
    )
    return graph.indptr, graph.indices


@pytest.mark.parametrize("length", [3, 4, 50])
def test_equal_eigenvalues_leave_nothing_to_chance(length: int) -> None:
    """A complete graph has two eigenvalues only: the search ends after two steps and has to start again."""
    vertices = np.arange(length)
    indices = np.concatenate([np.delete(vertices, vertex) for vertex in vertices])
    indptr = np.arange(length + 1) * (length - 1)
    columns = min(length - 2, 8)
    positions = {laplacian_positions(indptr, indices, columns, 4).tobytes() for _ in range(8)}
    assert len(positions) == 1
    assert positions != {laplacian_positions(indptr, indices, columns, 5).tobytes()}


def test_each_graph_has_its_own_eigenvectors() -> None:
    alone = [ring(length) for length in RINGS]
    first = np.cumsum([0, *RINGS[:-1]])
    indptr = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(own) for own, _ in alone]))])
    indices = np.concatenate([indices + at for (_, indices), at in zip(alone, first, strict=True)])
    together = _positions(indptr, indices, np.repeat(np.arange(3), RINGS), 2, 4)
    assert together.shape == (15, 2)
    for (own, neighbours), at, length in zip(alone, first, RINGS, strict=True):
        expected = laplacian_positions(own, neighbours, 2, 4)
        assert expected.any()
        np.testing.assert_array_equal(together[at : at + length], expected)
    masks = np.zeros((3, 3), np.bool_)
    task = GraphTask("rings", indptr, indices, together, np.repeat(np.arange(3), RINGS), first, masks, 2, together)
    assert (task.vertices, task.edges, task.graphs) == (15, 15, 3)
    whole = _positions(indptr, indices, None, 2, 4)
    np.testing.assert_array_equal(whole, laplacian_positions(indptr, indices, 2, 4))
