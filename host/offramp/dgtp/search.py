# SPDX-License-Identifier: Apache-2.0
"""The search for a placement: the paper's walk, or a portfolio of walks and refinements, run in parallel."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Annotated, Final

from offramp.dgtp.colocation import max_colocated
from offramp.dgtp.draws import draw
from offramp.dgtp.exploration import Evaluator, Exploration, Explored, explore
from offramp.dgtp.packing import initial_feasible, program_within
from offramp.dgtp.problem import IntArray, Problem
from offramp.dgtp.refinement import refine
from offramp.dgtp.relief import relieve
from offramp.dgtp.volume import FloatArray
from offramp.sweep import available_cores, sweep
from offramp_base.errors import OfframpError
from offramp_base.registry import Registry
from offramp_base.settings.check import check
from offramp_base.settings.error import SettingsError
from offramp_base.settings.field import Field

METHODS: Final = {"paper": "IFS and ETP", "portfolio": ""}
STARTS: Final = ("ifs", "colocated")

Placement = Callable[[Problem, int], IntArray]
"""``(tasks,)`` machine of each task of a problem, from a seed."""

PLACEMENTS: Final[Registry[Placement]] = Registry("placement policy", "offramp.placements")
PLACEMENTS.register("ifs")(initial_feasible)
PLACEMENTS.register("colocated")(max_colocated)

MakeEvaluator = Callable[[Problem, FloatArray], Evaluator]
"""Makes what judges placements on given volumes; of a module, so that other processes can import it."""

_WALK_S: Final = 3.0
_RELIEVE_S: Final = 3.0
_REFINE_S: Final = 5.0
_LONG_S: Final = 0.1
"""Seconds of one simulation above which searches are shorter and begin colocated: none gets far from a bad start."""
_FULL_FLOWS: Final = 200_000
_WALKED, _RELIEVED = 0.35, 0.6
"""Shares of a walk's time at which the walk itself, and the relief of network cards, have ended."""
_ENDLESS: Final = 1 << 40


def methods() -> dict[str, str]:
    """All placement methods with a description of each."""
    return {**METHODS, **dict.fromkeys(PLACEMENTS.names(), "no search")}


@dataclass(frozen=True, slots=True)
class Search:
    """Parameters of a search.

    Attributes:
        method: ``paper``: one walk from a feasible start (algorithm 3); ``portfolio``: an extension, several walks from
            both starts at several temperatures, after each the load of network cards annealed, then refined by feasible
            moves and swaps; a policy of :data:`PLACEMENTS`: what that says, without a search.
        walks: walks of the portfolio; 4, and 2 for large jobs, if None.
        steps: steps of each walk; 10,000, and fewer for large jobs, if None.
        reliefs: changes that each annealing tries; 40,000, and fewer for large jobs, if None. The paper has none.
        trials: simulations of each refinement; as many as seconds allow if None. The paper's method has none.
        iterations: iterations of training, simulated for each candidate; 20, and fewer for large jobs, if None.
        how: how each walk searches.
        within: seconds for the whole search, from its call on and whatever the size: the best by then is what it finds,
            and another run, or another machine, may find another one. It is late by less than one simulation, and where
            not even a start's fits. Without, counts as above stop it, and the same seed finds the same.
        seed: moves everything random.
    """

    method: Annotated[str, Field("Method", key="search", choices=methods, group="Search")] = "portfolio"
    walks: Annotated[
        int | None, Field("Walks of the portfolio, in parallel; 4, or 2 for large jobs by default", least=1)
    ] = None
    steps: Annotated[int | None, Field("Steps of a walk; 10,000 or what seconds allow", least=0)] = None
    reliefs: Annotated[
        int | None, Field("Changes that annealing of the cards' load tries; what seconds allow", least=0)
    ] = None
    trials: Annotated[int | None, Field("Simulations of a refinement; what seconds allow", least=0)] = None
    iterations: int | None = None
    within: Annotated[
        float | None,
        Field("Seconds for all of it, which then gives the best so far; the same seed may end elsewhere", above=0),
    ] = None
    how: Exploration = field(default_factory=Exploration)
    seed: Annotated[int, Field("Random seed", least=0)] = 0

    def __post_init__(self) -> None:
        check(self)
        if self.iterations is not None and self.iterations < 1:
            raise SettingsError("iterations", "expected at least 1", self.iterations)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The outcome of a search.

    Attributes:
        machine: machine of every task.
        makespan: its simulated seconds over ``iterations`` of the search's volumes.
        walks: results of each walk, in order.
    """

    machine: IntArray
    makespan: float
    iterations: int
    walks: tuple[Explored, ...]


@dataclass(frozen=True, slots=True)
class _SearchCase:
    problem: Problem
    drawn: FloatArray
    evaluator: MakeEvaluator
    start: str
    how: Exploration
    reliefs: int
    trials: int
    seed: int
    seconds: float = math.inf
    until: float = math.inf
    """Deadline on the monotonic clock; it or ``seconds`` from the beginning counts, whichever is earlier."""
    plain: bool = False
    """A start as it is, above which no walk may end."""


def search(
    problem: Problem,
    evaluator: MakeEvaluator,
    how: Search,
    *,
    processes: int | None = None,
    dask: str | None = None,
) -> SearchResult:
    """The best placement found; the same seed finds the same one, however many processes search.

    Raises:
        OfframpError: no placement is feasible.
    """
    return search_all([(problem, how)], evaluator, processes=processes, dask=dask)[0]


def search_all(
    searches: Sequence[tuple[Problem, Search]],
    evaluator: MakeEvaluator,
    *,
    processes: int | None = None,
    dask: str | None = None,
) -> list[SearchResult]:
    """Several searches, whose walks share the processes.

    Raises:
        OfframpError: for one of the problems no placement is feasible.
    """
    cases, iterations = [], []
    begun = math.inf if dask is not None else time.monotonic()  # the clocks of other machines say something else
    for problem, how in searches:
        iterations.append(default_iterations(problem) if how.iterations is None else how.iterations)
        drawn = draw(problem.graph, iterations[-1], how.seed)
        cases.append(_cases(problem, drawn, evaluator, how, _at_a_time(processes, dask), begun))
    walks = iter(sweep(_walk, list(chain.from_iterable(cases)), processes=processes, dask=dask, what="searching"))
    best_of_each = []
    for mine, count in zip(cases, iterations, strict=True):
        results = tuple(islice(walks, len(mine)))
        best = min(results, key=lambda walk: walk.makespan)
        walked = tuple(walk for case, walk in zip(mine, results, strict=True) if not case.plain)
        best_of_each.append(SearchResult(best.machine, best.makespan, count, walked))
    return best_of_each


def _at_a_time(processes: int | None, dask: str | None) -> int | None:
    """Number of walks that run at the same time; None: all of them."""
    return None if dask is not None else processes or available_cores()


def _walk_count(problem: Problem, how: Search) -> int:
    """Number of walks of a search."""
    if how.method != "portfolio":
        return 1
    if how.walks is not None:
        return how.walks
    iterations = default_iterations(problem) if how.iterations is None else how.iterations
    return 2 if _simulation_s(problem, iterations) > _LONG_S else 4


def _simulation_s(problem: Problem, iterations: int) -> float:
    """About how long a simulation takes: the choices that follow from it must not depend on the machine."""
    return 100e-6 + (0.15e-6 + 0.015e-6 * len(problem.cluster)) * iterations * len(problem.graph.edges)


def default_iterations(problem: Problem) -> int:
    """Iterations of a simulation: 20, as in the paper, or fewer so that a large job's takes about half a second."""
    return max(3, min(20, _FULL_FLOWS // max(1, len(problem.graph.edges))))


def _starts(problem: Problem) -> Sequence[str]:
    kinds = {task.kind for task in problem.graph.tasks}
    return STARTS if {"sampler", "worker"} <= kinds else STARTS[:1]


@dataclass(frozen=True, slots=True)
class _Effort:
    """Most steps of each part of a walk, which its time may end before."""

    steps: int
    simulations: int
    reliefs: int
    trials: int


def _effort(problem: Problem, flows: int, simulation_s: float, how: Search) -> _Effort:
    """The effort that the settings ask for; by default one of some seconds, or one that fits the time limit."""
    share = 0.5 if simulation_s > _LONG_S else 1.0
    if how.within is None:
        load_s = 60e-6 + 40e-9 * len(problem.graph.edges)
        steps = min(10_000, int(share * _WALK_S / (60e-6 + 16e-9 * flows)))
        reliefs = min(40_000, int(share * _RELIEVE_S / load_s))
        trials = min(2_000, int(share * _REFINE_S / simulation_s))
    else:
        steps = reliefs = trials = _ENDLESS
    steps = steps if how.steps is None else how.steps
    trials = trials if how.trials is None else how.trials
    return _Effort(steps, max(2, trials // 3), reliefs if how.reliefs is None else how.reliefs, trials)


def _cases(
    problem: Problem, drawn: FloatArray, evaluator: MakeEvaluator, how: Search, at_a_time: int | None, begun: float
) -> list[_SearchCase]:
    simulation_s = _simulation_s(problem, len(drawn))
    effort = _effort(problem, drawn.size, simulation_s, how)
    walks = _walk_count(problem, how)
    turns = 1 if at_a_time is None else -(-walks // at_a_time)
    seconds = math.inf if how.within is None else how.within / turns
    still, walking = replace(how.how, steps=0), replace(how.how, steps=effort.steps)
    if how.method in PLACEMENTS:
        return [_SearchCase(problem, drawn, evaluator, how.method, still, 0, 0, how.seed)]
    if how.method == "paper":
        return [
            _SearchCase(
                problem, drawn, evaluator, "ifs", walking, 0, 0, how.seed, seconds / _WALKED, begun + seconds / _WALKED
            )
        ]
    starts = _starts(problem)[-1:] if simulation_s > _LONG_S else _starts(problem)
    cases = []
    for i in range(walks):
        # Each start is walked from at a higher temperature every other time.
        beta = how.how.beta * (1 if i // len(starts) % 2 == 0 else 5)
        limit = replace(walking, beta=beta, simulations=effort.simulations)
        start = starts[i % len(starts)]
        until = begun + seconds * (1 if at_a_time is None else i // at_a_time + 1)
        cases.append(
            _SearchCase(
                problem, drawn, evaluator, start, limit, effort.reliefs, effort.trials, how.seed + i, seconds, until
            )
        )
    others = list(_starts(problem))
    if how.within is not None:  # they would take the walks' time, which have some of them, and who compares has all
        begun_from = {(case.start, case.seed) for case in cases}
        others = [] if simulation_s > _LONG_S else [each for each in others if (each, how.seed) not in begun_from]
    return [
        _SearchCase(problem, drawn, evaluator, start, still, 0, 0, how.seed, plain=True) for start in others
    ] + cases


def _walk(case: _SearchCase) -> Explored:
    begun = time.monotonic()
    until = min(case.until, begun + case.seconds)
    evaluator = case.evaluator(case.problem, case.drawn)
    with program_within(0.3 * (until - begun)):
        start = PLACEMENTS.get(case.start)(case.problem, case.seed)
    if case.start not in STARTS and not case.problem.feasible(case.problem.check(start.tolist())):
        raise OfframpError(f"placement policy {case.start}: its placement does not fit the machines")
    explored = explore(case.problem, start, evaluator, case.how, case.seed, until=begun + _WALKED * (until - begun))
    if case.reliefs and time.monotonic() < until:
        annealed = begun + _RELIEVED * (until - begun)
        relieved = relieve(case.problem, explored.machine, case.drawn, case.reliefs, case.seed, annealed)
        if time.monotonic() + explored.simulation_s < until:
            makespan = evaluator.makespan(relieved)
            explored.simulated += 1
            if makespan < explored.makespan:
                explored.machine, explored.makespan = relieved, makespan
    if not case.trials:
        return explored
    better = refine(case.problem, explored.machine, evaluator, case.trials, case.seed, until, explored)
    better.simulated += explored.simulated
    return better
