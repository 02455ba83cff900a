# SPDX-License-Identifier: Apache-2.0
"""Hermod's gain on the six models at 1,024 and 8,192 GPUs and four link rates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from offramp.hermod.build import job_dag
from offramp.hermod.models import PRESETS
from offramp.hermod.placement import Placement
from offramp.sweep import sweep
from offramp_sim.figures.panels import Curves
from offramp_sim.hermod.flow.fabric import BisectionFabric
from offramp_sim.hermod.flow.network import load
from offramp_sim.hermod.flow.study import SimulationSetup, one
from offramp_sim.reproduce.hermod.runs import ONE_LINK, Times, gain, network, simulated_job, text
from offramp_sim.reproduce.item import PaperComparison, Reproduction, simulated

POLICIES: Final = {
    "Megatron (FIFO)": "fifo",
    "Megatron (fair)": "fair",
    "Lina (FIFO)": "lina-fifo",
    "Lina (fair)": "lina",
    "Hermod": "hermod",
}
_BASES: Final = tuple(label for label in POLICIES if label != "Hermod")
ROUTINGS: Final = ("spray", "ecmp")
RATES_GBPS: Final = (40.0, 100.0, 200.0, 400.0)
SIZES: Final = (1024, 8192)
_AT_MOST: Final = 2
"""Most jobs at a time: one of 8,192 GPUs takes about a gigabyte."""
_LARGER: Final[dict[str, dict[str, Any]]] = {name: {"tp": 8} for name in ("qwen-moe-12l", "mixtral-8x7b")}
"""Models that the testbed ran without TP use it inside a server here, as usual at this size."""


@dataclass(frozen=True, slots=True)
class SweepCase:
    """One DAG, simulated on every network at every rate."""

    model: str
    gpus: int
    seed: int
    changes: tuple[tuple[str, Any], ...] = ()


def run(case: SweepCase) -> dict[str, dict[str, Times]]:
    """Seconds of an iteration by routing, rate and scheme."""
    job = simulated_job(case.model, case.gpus, **_LARGER.get(case.model, {}), **dict(case.changes))
    setup = SimulationSetup(seed=case.seed)
    dag, placement = job_dag(job, setup.iterations, seed=case.seed), Placement.of(job)
    by_routing: dict[str, dict[str, Times]] = {}
    for routing in ROUTINGS:
        loaded = load(dag, BisectionFabric.of(placement, job.nic_gbps, routing, setup.leaf, case.seed))
        by_routing[routing] = {}
        for rate in RATES_GBPS:
            there = replace(loaded, fabric=replace(loaded.fabric, bytes_per_s=rate * 1e9 / 8))
            times = {label: one(there, policy, setup).iteration_s for label, policy in POLICIES.items()}
            by_routing[routing][f"{rate:g}"] = times
    return by_routing


@simulated(
    "hermod/sweep",
    "Six models, 1,024 and 8,192 GPUs, 40 to 400 Gb/s",
    seconds=120,
    options={"micro_batches": (8, 4, 16), "gpu_tflops": (312.0, 936.0)},
    sizes=(0.4,),
)
def figure(scale: float, seed: int, **job_is: Any) -> Reproduction:
    """The whole sweep; ``scale`` below a half leaves 8,192 GPUs out."""
    sizes = [gpus for gpus in SIZES if gpus <= max(1024, 16384 * scale)]
    cases = [SweepCase(model, gpus, seed, tuple(job_is.items())) for gpus in reversed(sizes) for model in PRESETS]
    results = sweep(run, cases, processes=_AT_MOST, what="iterations of six models")
    times = {
        (routing, case.gpus, case.model): rows
        for case, outcome in zip(cases, results, strict=True)
        for routing, rows in outcome.items()
    }
    comparisons = _published(times, sizes)
    for (routing, gpus, model), rows in sorted(times.items(), key=lambda item: item[0][:2]):
        for rate, row in rows.items():
            gains = ", ".join(f"{gain(row, base):.2f}" for base in _BASES)
            what = f"{model}, {gpus:,} GPUs, {rate} Gb/s, {routing}"
            comparisons.append(PaperComparison(what, None, f"{row['Hermod']:.4g} s; {gains}"))
    panels = [
        Curves(
            f"{gpus:,} GPUs, over {base}",
            "Gb/s",
            "speed-up of Hermod",
            {m: (list(RATES_GBPS), [gain(row, base) for row in times["spray", gpus, m].values()]) for m in PRESETS},
        )
        for gpus in sizes
        for base in _BASES
    ]
    note = (
        f"{network('packet spraying or ECMP')}{ONE_LINK}Every model of table 5.5 with its degrees, but TP 8 for what "
        "the testbed ran without TP; "
        "more GPUs are more replicas; 8 microbatches. "
        f"Hermod's time, then its speed-up over {', '.join(_BASES)}; the picture shows packet spraying."
    )
    data: dict[str, Any] = {f"{model}, {gpus}, {routing}": rows for (routing, gpus, model), rows in times.items()}
    return Reproduction(comparisons, panels, {"gpus": sizes, "rates_gbps": list(RATES_GBPS), "seed": seed}, note, data)


def _published(times: dict[tuple[str, int, str], dict[str, Times]], sizes: list[int]) -> list[PaperComparison]:
    """The thesis's numbers beside the largest of ours."""

    def most(routing: str, gpus: int, rate: str, base: str) -> str:
        gains = {m: gain(rows[rate], base) for (r, n, m), rows in times.items() if (r, n) == (routing, gpus)}
        best = max(gains, key=lambda model: gains[model])
        return f"{text(gains[best])} ({best})"

    wanted = [
        (8192, "100", "Megatron (FIFO)", 1.83),
        (8192, "100", "Megatron (fair)", 1.83),
        (8192, "100", "Lina (FIFO)", 1.31),
        (8192, "100", "Lina (fair)", 1.31),
        (1024, "40", "Megatron (FIFO)", 2.06),
        (1024, "40", "Megatron (fair)", 2.06),
        (1024, "400", "Megatron (FIFO)", 1.81),
        (1024, "400", "Megatron (fair)", 1.81),
    ]
    return [
        PaperComparison(
            f"{gpus:,} GPUs, {rate} Gb/s, {routing}, over {base}, up to", text(value), most(routing, gpus, rate, base)
        )
        for gpus, rate, base, value in wanted
        for routing in ROUTINGS
        if gpus in sizes
    ]
