# SPDX-License-Identifier: Apache-2.0
"""Sensitivity of DGTP's search to its settings: beta, mu, gamma, steps, start, spare cores (section V)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from offramp.dgtp.cluster import MachineCluster
from offramp.dgtp.colocation import max_colocated
from offramp.dgtp.draws import draw
from offramp.dgtp.exploration import Exploration, explore
from offramp.dgtp.packing import initial_feasible
from offramp.dgtp.problem import Problem
from offramp.sweep import sweep
from offramp_sim.dgtp.native.machine import FastCluster
from offramp_sim.dgtp.setups import homogeneous_testbed, make_job
from offramp_sim.figures.panels import Curves
from offramp_sim.reproduce.dgtp.testbed import HELD_OUT, PROFILE
from offramp_sim.reproduce.item import PaperComparison, Reproduction, simulated

_SEEDS: Final = 4
_STEPS: Final = 2500
_ITERATIONS: Final = 100
_BETAS: Final = (1.0, 5.0, 20.0, 100.0, 500.0)
_GAMMAS: Final = (0.0, 0.05, 0.1, 0.3)
_MUS: Final = (0.0, 0.25, 0.5, 1.0, 2.0)
_SHARES: Final = (0.1, 0.3, 1.0, 3.0)
_CORES: Final = (8, 10, 12, 16)
"""Cores of each server; the testbed's 8 leave one of 32 free."""


@dataclass(frozen=True, slots=True)
class _SensitivityCase:
    how: Exploration
    seed: int
    colocated: bool = False
    cores: int = _CORES[0]


@simulated("dgtp/sensitivity", "What the search's settings are worth", seconds=37)
def sensitivity(scale: float, seed: int) -> Reproduction:
    """Time of the testbed's PS job on the placement that one walk finds, with one setting changed at a time."""
    usual = Exploration(steps=max(50, round(_STEPS * scale)))
    moved: dict[str, dict[Any, tuple[Exploration, bool, int]]] = {
        "beta": {v: (replace(usual, beta=v), False, _CORES[0]) for v in _BETAS},
        "gamma": {v: (replace(usual, gamma=v), False, _CORES[0]) for v in _GAMMAS},
        "mu": {v: (replace(usual, mu=v), False, _CORES[0]) for v in _MUS},
        "steps": {(n := round(v * usual.steps)): (replace(usual, steps=n), False, _CORES[0]) for v in _SHARES},
        "start": {"IFS": (usual, False, _CORES[0]), "colocated": (usual, True, _CORES[0])},
        "cores of a server": {v: (usual, False, v) for v in _CORES},
    }
    settings = [row for values in moved.values() for row in values.values()]
    cases = [_SensitivityCase(how, seed + i, start, cores) for how, start, cores in settings for i in range(_SEEDS)]
    finishes = np.array(sweep(_reached, cases, processes=2, what="walking")).reshape(len(settings), _SEEDS)
    rows = iter(finishes)
    comparisons, panels, data = [], [], {}
    for name, values in moved.items():
        mine = [next(rows) for _ in values]
        for value, seconds in zip(values, mine, strict=True):
            ours = f"{seconds.mean():.1f} s ({seconds.min():.1f} to {seconds.max():.1f})"
            comparisons.append(PaperComparison(f"{name} {value}: {_ITERATIONS} iterations", None, ours))
        labels = [str(value) for value in values]
        lines: dict[str, tuple[list[Any], list[float]]] = {
            what: (labels, [float(pick(seconds)) for seconds in mine])
            for what, pick in (("least", np.min), ("mean", np.mean), ("most", np.max))
        }
        panels.append(Curves(name, "", "seconds", lines, bars=True))
        data[name] = {str(value): seconds.tolist() for value, seconds in zip(values, mine, strict=True)}
    note = (
        "One walk by critical path, without the extensions; means (least to most) over seeds. The paper's settings are "
        "gamma 0.1, mu 1 and a beta of 0.1 without a unit; here beta is divided by the critical path of the start. "
        f"{PROFILE}"
    )
    return Reproduction(comparisons, panels, {"steps": usual.steps, "walks": _SEEDS, "seed": seed}, note, data)


def _reached(case: _SensitivityCase) -> float:
    """Seconds of training on the placement that a walk has found, with volumes that it has not seen."""
    servers = tuple(replace(m, capacity={**m.capacity, "cpu": case.cores}) for m in homogeneous_testbed().machines)
    problem = Problem(make_job("products", 6, 2, "ps").graph(len(servers)), MachineCluster(servers))
    start = (max_colocated if case.colocated else initial_feasible)(problem, case.seed)
    walked = explore(problem, start, FastCluster(problem, draw(problem.graph, 20, case.seed)), case.how, case.seed)
    return FastCluster(problem, draw(problem.graph, _ITERATIONS, case.seed + HELD_OUT)).makespan(walked.machine)
