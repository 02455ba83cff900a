# SPDX-License-Identifier: Apache-2.0
"""DGTP's testbed as a laboratory: real training by real processes over emulated cards, measured by the clock."""

from __future__ import annotations

from typing import Any, Final

from offramp.dgtp.problem import Problem
from offramp.dgtp.runtime.profile import with_cards
from offramp.dgtp.runtime.settings import PlacedTraining
from offramp_base.progress import counted
from offramp_sim.dgtp.measure import MeasuredTraining, measure, same_losses
from offramp_sim.dgtp.setups import homogeneous_testbed, make_job
from offramp_sim.figures.panels import Curves
from offramp_sim.reproduce.item import PaperComparison, Reproduction, measured

_PUBLISHED: Final = {
    ("ps", "products"): ("28.45 %", "sbm:n=6000,k=16,degree=20,features=100", 24),
    ("ps", "reddit"): ("26.54 %", "sbm:n=6000,k=16,degree=20,features=602", 8),
    ("ring", "products"): ("26.11 %", "sbm:n=6000,k=16,degree=20,features=100", 24),
    ("ring", "reddit"): ("24.00 %", "sbm:n=6000,k=16,degree=20,features=602", 8),
}
"""The paper's saving; a graph with the data set's features; and the seeds of a sampler, which give equal volumes."""
_GATHERED: Final = 200e3
"""Bytes that a sampler then gathers in an iteration, about, for the 100 MB that the simulation assumes."""
_FULL: Final = 100e6


@measured("dgtp/table3-measured", "Speed-up over DistDGL, measured on a laboratory", seconds=420)
def table3_measured(scale: float, seed: int, *, slow: float = 3.0) -> Reproduction:
    """Table III by processes that train: the plan of a profile with OES against DistDGL's placement with FIFO queues.

    Args:
        scale: multiplies iterations.
        seed: seed of graphs, samples and searches.
        slow: times and cards are so many times slower, which lets two cores be six GPUs.
    """
    profile, more = max(4, round(10 * scale)), max(6, round(20 * scale))
    comparisons: list[PaperComparison] = []
    bars: dict[str, dict[str, float]] = {}
    data: dict[str, Any] = {}
    for (sync, dataset), (percent, graph, batch) in counted("jobs", list(_PUBLISHED.items())):
        job = make_job(dataset, 6, 2, sync, compute=slow)
        cluster = homogeneous_testbed()
        problem = with_cards(Problem(job.graph(len(cluster)), cluster), _GATHERED / _FULL / slow)
        settings = PlacedTraining(
            graph=graph,
            batch=batch,
            fanout=(10, 5),
            seed=seed,
            iterations=profile + more,
            profile=profile,
            policy="oes",
        )
        others = [("colocated", "fifo"), ("colocated", "oes")]
        training = measure(problem, settings.load(), settings, others=others)
        name = f"{sync}, {dataset}"
        ours, fifo, alone = training.runs
        saved, placed = (1 - ours.measured_s / each.measured_s for each in (fifo, alone))
        comparisons += [
            PaperComparison(f"{name}: against DistDGL with FIFO queues", percent, _percent(saved)),
            PaperComparison(f"{name}: against DistDGL's placement with OES", None, _percent(placed)),
            PaperComparison(f"{name}: measured over planned", None, _beside(training)),
            PaperComparison(f"{name}: the same losses", None, "yes" if same_losses(training) else "no"),
        ]
        bars[name] = {"FIFO": 100 * saved, "OES (placement alone)": 100 * placed}
        data[name] = _data(training)
    kinds = list(next(iter(bars.values())))
    lines = {kind: (list(bars), [values[kind] for values in bars.values()]) for kind in kinds}
    panels = [Curves("DGTP against DistDGL", "synchronisation, data set", "time saved, %", lines, bars=True)]
    return Reproduction(
        comparisons, panels, {"profile": profile, "iterations": more, "slow": slow, "seed": seed}, _NOTE, data
    )


_NOTE: Final = (
    "Tasks take at least the assumed times, cards and times are slower by a factor, and graphs are generated: volumes "
    "are measured, their size is chosen. One way to colocate each; profiles and runs share two cores."
)


def _percent(share: float) -> str:
    return f"{100 * share:+.1f} %"


def _beside(training: MeasuredTraining) -> str:
    ratios = [each.measured_s / each.planned_s for each in training.runs]
    return f"{min(ratios):.2f} to {max(ratios):.2f}"


def _data(training: MeasuredTraining) -> dict[str, Any]:
    runs = [
        {"placement": r.placement, "flows": r.policy, "planned_s": r.planned_s, "measured_s": r.measured_s}
        for r in training.runs
    ]
    return {"runs": runs, "profile_s": training.profile.measured_s, "losses": training.losses, "moved": training.moved}
