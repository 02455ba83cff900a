# SPDX-License-Identifier: Apache-2.0
"""The k-step program against brute force written from the specification's equations. Blind to solving time."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from leo_tables import random_table
from offramp.leo.selection.capacity import capacity
from offramp.leo.selection.program import RequestSequence, enumerate_paths, solve
from offramp.leo.selection.table import Table
from offramp_base.errors import OfframpError


def golden(k: int, backlog: list[float]) -> RequestSequence:
    return RequestSequence(Table.disjoint([4, 6], [2, 3]), [0] * k, [1] * k, backlog)


@pytest.mark.parametrize(("backlog", "costs"), [([0, 0], [4, 9, 14, 19, 25, 30]), ([2, 0], [6, 11, 17, 23, 29, 36])])
def test_golden_costs(backlog: list[float], costs: list[float]) -> None:
    for k, cost in enumerate(costs, 1):
        assert enumerate_paths(golden(k, backlog)).cost_ns == cost
        assert solve(golden(k, backlog)).cost_ns == pytest.approx(cost, abs=1e-5)


def test_golden_choices() -> None:
    assert enumerate_paths(golden(1, [2, 0])).paths == (0,)
    assert enumerate_paths(golden(2, [2, 0])).paths == (1, 0) == solve(golden(2, [2, 0])).paths
    for paths, k in (((0, 1, 0), 3), ((0, 1, 0, 0, 1, 0), 6)):
        assert brute(golden(k, [0, 0]), paths) == enumerate_paths(golden(k, [0, 0])).cost_ns


def brute(program: RequestSequence, paths: tuple[int, ...]) -> float:
    """The cost of a sequence by equations 6.1 to 6.3."""
    queue, total = list(program.backlog_ns), 0.0
    for kind, path, gap in zip(program.kinds, paths, program.gaps_ns, strict=True):
        load = program.table.load[kind, path]
        for r, own in enumerate(load):
            if own:
                total += max(queue[r] - own * (program.table.capacity[r] - 1), 0)
            queue[r] = max(queue[r] + own - gap, 0)
        total += program.table.base[kind, path]
    return total


def agree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = random_table(seed, most_paths=3)
    k = int(rng.integers(1, 7))
    kinds = rng.integers(0, len(table.types), k).tolist()
    program = RequestSequence(
        table, kinds, rng.integers(0, 500, k).tolist(), rng.integers(0, 3000, len(table.resources)).tolist()
    )
    choices = [np.flatnonzero(table.allowed[kind]).tolist() for kind in kinds]
    best = min(brute(program, paths) for paths in itertools.product(*choices))
    exact, solution = enumerate_paths(program), solve(program)
    assert exact.cost_ns == pytest.approx(best, abs=0.1)  # enumeration counts whole picoseconds
    assert solution.cost_ns == pytest.approx(best, rel=1e-5)
    assert brute(program, exact.paths) == pytest.approx(best, abs=0.1)
    assert brute(program, solution.paths) == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("part", range(6))
def test_program_and_enumeration_equal_brute_force(part: int) -> None:
    for seed in range(10 * part, 10 * part + 10):
        agree(seed)


@pytest.mark.slow
def test_program_and_enumeration_equal_brute_force_on_500_instances() -> None:
    for seed in range(500):
        agree(seed)


def test_capacity_splits_the_load() -> None:
    result = capacity(Table.disjoint([1, 1], [1000 / 71.8, 1000 / 23.0]))
    assert result.rate_mrps == pytest.approx(94.8)
    assert result.shares[0, 1] == pytest.approx(0.2426, abs=1e-4)
    assert result.bottlenecks == (0, 1)
    assert capacity(Table.disjoint([1, 1], [200, 300]), only=1).rate_mrps == pytest.approx(1000 / 300)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (([], [], [0, 0]), "at least one request"),
        (([0], [1], [0]), "a backlog for each of 2"),
        (([0], [-1], [0, 0]), "gaps and backlogs of at least 0"),
        (([1], [1], [0, 0]), "types from 0 to 0"),
    ],
)
def test_bad_programs(fields: tuple[list[int], list[float], list[float]], message: str) -> None:
    with pytest.raises(OfframpError, match=message):
        RequestSequence(Table.disjoint([4, 6], [2, 3]), *fields)
