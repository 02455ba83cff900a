# SPDX-License-Identifier: Apache-2.0
"""A placement beside the usual baselines, on volumes that the search has not seen; the best of them is the answer."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

from offramp.dgtp.bounds import Bounds, bounds
from offramp.dgtp.draws import draw
from offramp.dgtp.packing import program_within
from offramp.dgtp.problem import IntArray, Problem
from offramp.dgtp.relaxation import placements_lower
from offramp.dgtp.search import PLACEMENTS, SearchResult
from offramp_base.progress import counted
from offramp_sim.dgtp.native.machine import FastCluster

OURS = "ours"
_BASELINES = {"first feasible": "ifs", "colocated (DistDGL)": "colocated"}
_HELD_OUT = 1_000_003


@dataclass(frozen=True, slots=True)
class PlacementComparison:
    """Result of a comparison.

    Attributes:
        machine: machine of every task in the best placement.
        seconds: seconds by placement and policy; ``ours`` is the best one's.
        reached: simulated seconds of it under online execution.
        known: bounds of it.
        any_lower: lower bound of every placement; 0 if the time was up.
    """

    machine: IntArray
    seconds: dict[str, dict[str, float]]
    reached: float
    known: Bounds
    any_lower: float


def baselines(problem: Problem, seed: int) -> dict[str, IntArray]:
    """Placements without a search, by name."""
    samples = {"sampler", "worker"} <= {task.kind for task in problem.graph.tasks}
    chosen = _BASELINES if samples else {name: of for name, of in _BASELINES.items() if of == "ifs"}
    return {name: PLACEMENTS.get(of)(problem, seed) for name, of in chosen.items()}


class Comparing:
    """The baselines, evaluated before there is a placement to compare with them.

    Attributes:
        baseline_s: seconds that judging one placement took, by the clock.
    """

    def __init__(
        self, problem: Problem, iterations: int, policies: Sequence[str], seed: int, within: float = math.inf
    ) -> None:
        """Simulate the baselines.

        Args:
            problem: what is placed.
            iterations: iterations of training.
            policies: flow policies; placements are compared by online execution if it is one, else by the first.
            seed: seed of the search. Volumes are others than those it has.
            within: seconds after which no further one is begun, nor the bound; two of each may be left out.
        """
        until = time.monotonic() + within
        self.problem, self.policies = problem, policies
        self.drawn = draw(problem.graph, iterations, seed + _HELD_OUT)
        self.judge = FastCluster(problem, self.drawn)
        with program_within(within / 2):
            self.placements = baselines(problem, seed)
        self.seconds: dict[str, dict[str, float]] = {}
        self.baseline_s = 0.0
        for name in counted("simulating", list(reversed(self.placements))):  # the better one first
            if time.monotonic() + self.baseline_s > until:
                del self.placements[name]
                continue
            self._judge(name)
        left = until - time.monotonic()
        self.any_lower = 0.0 if left <= 0 else placements_lower(problem, self.drawn, None if left == math.inf else left)

    def _judge(self, name: str) -> None:
        begun = time.monotonic()
        self.seconds[name] = {each: self.judge.makespan(self.placements[name], each) for each in self.policies}
        self.baseline_s = time.monotonic() - begun

    @property
    def best(self) -> SearchResult:
        """The better baseline, as a search without any steps would find it."""
        by = self._policy
        name = min(self.placements, key=lambda name: self.seconds[name][by])
        return SearchResult(self.placements[name], self.seconds[name][by], len(self.drawn), ())

    @property
    def _policy(self) -> str:
        return "oes" if "oes" in self.policies else self.policies[0]

    def fastest(self, *, ours_only: bool = False) -> tuple[IntArray, str]:
        """The placement and the flow policy with the least time, of all that were simulated or of ours alone."""
        times = {
            (seconds, name != OURS, policy != self._policy): (self.placements[name], policy)
            for name, of_policy in self.seconds.items()
            for policy, seconds in of_policy.items()
            if name == OURS or not ours_only
        }
        return times[min(times)]

    def with_ours(self, machine: IntArray, *, fixed: bool = False) -> PlacementComparison:
        """Take the best of a placement and the baselines; with ``fixed`` the placement, even if it is worse."""
        self.placements = {OURS: machine, **self.placements}
        self._judge(OURS)
        by = self._policy
        best = OURS if fixed else min(self.placements, key=lambda name: (self.seconds[name][by], name != OURS))
        chosen = self.placements[best]
        ours = self.seconds[best]
        return PlacementComparison(
            chosen,
            {name: ours if name == OURS else self.seconds[name] for name in self.placements},
            ours["oes"] if "oes" in self.policies else self.judge.makespan(chosen),
            bounds(self.problem, chosen, self.drawn, self.judge.critical_path),
            self.any_lower,
        )


def compare(
    problem: Problem, machine: IntArray, iterations: int, policies: Sequence[str], seed: int, *, fixed: bool = False
) -> PlacementComparison:
    """Simulate a placement and the baselines, and take the best (:class:`Comparing`)."""
    return Comparing(problem, iterations, policies, seed).with_ours(machine, fixed=fixed)
