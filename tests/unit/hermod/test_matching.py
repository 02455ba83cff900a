# SPDX-License-Identifier: Apache-2.0
"""Decompositions against the bound. Blind to overheads: only lengths are compared."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.hermod.matching import SubphaseSchedule, bound, check_matrix
from offramp.hermod.matching.decompose import QUANTUM, _functions, decompose
from offramp.hermod.matching.literal import literal
from offramp_base.errors import OfframpError

G = [[0, 4, 1], [2, 0, 3], [5, 0, 0]]


def off_diagonal(matrix: object) -> np.ndarray:
    square = np.array(matrix, np.int64)
    np.fill_diagonal(square, 0)
    return square


def assert_moves(schedule: SubphaseSchedule, matrix: np.ndarray) -> None:
    ranks = np.arange(len(matrix))
    assert (np.sort(schedule.peer, axis=1) == ranks).all()
    assert (schedule.send <= schedule.weight[:, None]).all()
    assert (schedule.weight > 0).all()
    assert (schedule.send >= 0).all()
    assert (schedule.sent() == matrix).all()


def test_the_golden_matrix() -> None:
    assert list(decompose(G)) == [
        ([1, 2, 0], 4, [4, 3, 4]),
        ([1, 0, 2], 2, [0, 2, 0]),
        ([2, 1, 0], 1, [1, 0, 1]),
    ]
    assert literal(G).weight.tolist() == [1] * 7
    assert literal(G, matched_minimum=True).weight.tolist() == [3, 1, 1, 1, 1]


def test_matrices_on_which_the_printed_algorithm_misses_the_bound() -> None:
    first = [[0, 10, 0], [9, 0, 0], [5, 2, 0]]
    second = [[0, 6, 0, 0], [6, 0, 0, 6], [0, 8, 0, 9], [7, 0, 0, 0]]
    assert literal(first, matched_minimum=True).weight.tolist() == [9, 1, 4, 2]
    assert decompose(first).weight.tolist() == [7, 5, 2]
    assert literal(second).weight.tolist() == [6, 1, 3, 3, 1, 1, 1, 1, 1]
    assert decompose(second).weight.tolist() == [6, 4, 3, 2, 2]
    assert literal([[0, 0, 0], [1, 0, 1], [1, 1, 0]]).total == 3


def test_every_matrix_of_three_ranks_with_entries_to_three_meets_the_bound() -> None:
    cells = [(i, j) for i in range(3) for j in range(3) if i != j]
    for values in itertools.product(range(4), repeat=6):
        matrix = np.zeros((3, 3), np.int64)
        for cell, value in zip(cells, values, strict=True):
            matrix[cell] = value
        schedule = decompose(matrix)
        assert schedule.total == bound(matrix)
        assert (schedule.sent() == matrix).all()
        assert len(schedule) <= 9 - 6 + 2


@pytest.mark.parametrize("size", [4, 8, 16, 32, 64])
@given(data=st.data())
@settings(max_examples=12, derandomize=True, deadline=None)
def test_random_matrices_meet_the_bound(size: int, data: st.DataObject) -> None:
    seed, full = data.draw(st.integers(0, 2**32 - 1)), data.draw(st.floats(0.05, 1))
    most = data.draw(st.sampled_from([1, 7, 10**6, 2**40]))
    random = np.random.default_rng(seed)
    matrix = off_diagonal(random.integers(0, most + 1, (size, size)) * (random.random((size, size)) < full))
    schedule = decompose(matrix)
    assert_moves(schedule, matrix)
    assert schedule.total == bound(matrix)
    assert len(schedule) <= size * size - 2 * size + 2
    combine = schedule.transposed()
    assert_moves(combine, matrix.T)
    quantised = decompose(matrix, quantum=QUANTUM)
    assert_moves(quantised, matrix)
    step = max(1, bound(matrix) // (QUANTUM * size))
    assert quantised.total <= bound(matrix) + step * size


@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 9), quantum=st.sampled_from([0, 4, 8]))
@settings(max_examples=40, derandomize=True, deadline=None)
def test_machine_code_and_python_agree(seed: int, size: int, quantum: int) -> None:
    matrix = np.random.default_rng(seed).integers(0, 1000, (size, size))
    fast, slow = decompose(matrix, quantum=quantum), decompose(matrix, quantum=quantum, interpreted=True)
    assert list(fast) == list(slow)


def test_python_takes_over_where_machine_code_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(function: object) -> object:
        raise OfframpError(f"no LLVM for {function}")

    whole = list(decompose(G))
    monkeypatch.setattr("offramp_base.native.library.compiled", missing)
    _functions.cache_clear()
    try:
        assert list(decompose(G)) == whole
    finally:
        _functions.cache_clear()


def test_each_bottleneck_is_the_largest_possible() -> None:
    random = np.random.default_rng(5)
    for _ in range(40):
        size = int(random.integers(2, 6))
        left = off_diagonal(random.integers(0, 9, (size, size)))
        stuffed = left + _filler(left)
        for peer, weight, _ in decompose(left):
            best = max(min(stuffed[i, p[i]] for i in range(size)) for p in itertools.permutations(range(size)))
            assert weight == best
            stuffed[np.arange(size), peer] -= weight


def _filler(matrix: np.ndarray) -> np.ndarray:
    """North-west corner, written once more."""
    size, most = len(matrix), bound(matrix)
    rows, columns = most - matrix.sum(axis=1), most - matrix.sum(axis=0)
    filler = np.zeros_like(matrix)
    for i in range(size):
        for j in range(size):
            filler[i, j] = min(rows[i], columns[j])
            rows[i] -= filler[i, j]
            columns[j] -= filler[i, j]
    return filler


def test_the_smallest_inputs() -> None:
    assert len(decompose(np.zeros((0, 0)))) == 0
    assert len(decompose([[5]])) == 0
    assert decompose([[0, 3], [0, 0]]).total == 3


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0, 1]], "matrix: 1 x 2, expected a square matrix"),
        ([[0, 1], [1]], "matrix: rows differ in length, expected a square matrix"),
        ([[0, -1], [1, 0]], "matrix: entry (0, 1) is -1, expected none below 0"),
        ([[0, 0.5], [1, 0]], "matrix: expected integers (bytes or tokens)"),
        ([[0, float("nan")], [1, 0]], "matrix: expected integers (bytes or tokens)"),
        ([[0, 2**62], [1, 0]], "matrix: a row or column may sum to 2^62 or more"),
    ],
)
def test_what_is_no_matrix_is_said(matrix: list[list[float]], message: str) -> None:
    with pytest.raises(OfframpError) as error:
        check_matrix(matrix)
    assert str(error.value) == message
