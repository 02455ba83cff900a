# SPDX-License-Identifier: Apache-2.0
"""A bin's piece of the graph, alone. Oracle: dense rows by hand. Blind to messages, which come between blocks."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from offramp.g3.block import BipartiteBlock

OWN, ALL = 3, 5
ADJACENCY = sp.csr_matrix(np.array([[1, 1, 0, 0, 1], [1, 1, 0, 0, 0], [0, 0, 1, 1, 1]], np.float64))
"""Closed neighbourhoods of three own vertices; columns 3 and 4 are received."""


def block(*targets: int) -> BipartiteBlock:
    degree = np.array([2, 1, 2, 1, 2])
    return BipartiteBlock(ADJACENCY, np.array(targets), np.arange(10, 15), degree, torch.float64)


STATE = torch.arange(10, dtype=torch.float64).reshape(ALL, 2)


@pytest.mark.parametrize(("targets", "rows"), [((0,), [0, 1, 4]), ((1, 2), [0, 1, 2, 3, 4]), ((2,), [2, 3, 4])])
def test_rows_that_go_in_and_come_out(targets: tuple[int, ...], rows: list[int]) -> None:
    piece = block(*targets)
    assert piece.rows.tolist() == rows
    assert torch.equal(piece.gathered(STATE), STATE[rows])
    assert (piece.gathered(STATE) is STATE) == (len(rows) == ALL)
    assert torch.equal(piece.of_targets(STATE[rows]), STATE[list(targets)])
    dense = torch.from_numpy(ADJACENCY.toarray()[list(targets)])
    assert torch.equal(piece.sum(STATE[rows]), dense @ STATE)
    assert piece.ids.tolist() == [10 + target for target in targets]


@pytest.mark.parametrize("targets", [(0,), (1, 2), (2,)])
def test_gradients_of_own_rows_are_added(targets: tuple[int, ...]) -> None:
    piece = block(*targets)
    of_sources = torch.ones(len(piece.rows), 2, dtype=torch.float64)
    state = STATE[:OWN].clone()
    piece.scatter(of_sources, state)
    expected = STATE[:OWN].clone()
    expected[[row for row in piece.rows if row < OWN]] += 1
    assert torch.equal(state, expected)
