# SPDX-License-Identifier: Apache-2.0
"""Many simulations of one cluster: placements, orders and seeds, in processes or on Dask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

from offramp.fabric import Fabric, fabric_of
from offramp.sweep import sweep
from offramp_base.progress import report
from offramp_sim.cluster.job import ClusterJob
from offramp_sim.cluster.simulate import ClusterOptions, ClusterRun, simulate_cluster


@dataclass(frozen=True)
class ClusterCase:
    """One simulation of a sweep.

    Attributes:
        name: the parameters in which it differs from the others.
        fabric: hosts and network.
        jobs: jobs.
        options: how they are placed, ordered and simulated.
        pictures: whether the run keeps what links carried when.
    """

    name: str
    fabric: Fabric
    jobs: Sequence[ClusterJob]
    options: ClusterOptions
    pictures: bool = True


def cluster_cases(
    fabric: Fabric,
    jobs: Sequence[ClusterJob],
    options: ClusterOptions,
    placements: Sequence[str],
    orders: Sequence[str],
    seeds: int = 1,
    *,
    pictures: bool = True,
) -> list[ClusterCase]:
    """Every placement with every order and seed; the seeds count up from that of the options."""
    bare = fabric_of(fabric.cluster)  # without paths, which each process makes for itself
    cases = []
    for placement, order, k in product(placements, orders, range(seeds)):
        seed = options.seed + k
        words = [placement] * (len(placements) > 1) + [order] + [f"seed {seed}"] * (seeds > 1)
        changed = replace(options, placement=placement, order=order, seed=seed)
        cases.append(ClusterCase(" ".join(words), bare, jobs, changed, pictures))
    return cases


def run_case(case: ClusterCase) -> ClusterRun:
    """Simulate one case."""
    jobs = len(case.jobs)
    run = simulate_cluster(
        case.fabric, case.jobs, case.options, lambda share: report(case.name, round(share * jobs), jobs)
    )
    return run if case.pictures else replace(run, stretches=[])


def run_cases(
    cases: Sequence[ClusterCase], *, processes: int | None = None, dask: str | None = None
) -> dict[str, ClusterRun]:
    """The runs of all cases by their names, the same ones wherever they run.

    Args:
        cases: the cases.
        processes: processes on this machine; None: one per core.
        dask: address of a Dask scheduler that runs them instead.

    Raises:
        OfframpError: what a simulation or :func:`offramp.sweep.sweep` says.
    """
    runs = sweep(run_case, cases, processes=processes, dask=dask, what="clusters")
    return {case.name: run for case, run in zip(cases, runs, strict=True)}
