# SPDX-License-Identifier: Apache-2.0
"""Hermod's figures 5.9, 5.10 and 5.13 with skewed experts and all-to-alls in rounds: order and matchings apart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from offramp.hermod.job import HermodJob
from offramp_base.progress import counted
from offramp_sim.figures.panels import Curves
from offramp_sim.hermod.flow.study import SimulationSetup, one, prepare
from offramp_sim.reproduce.hermod.runs import (
    NETWORK,
    ONE_LINK,
    OPTIONS,
    SCHEMES,
    SIMULATED,
    TESTBED,
    Times,
    best,
    gain,
    simulated_job,
    testbed_job,
    text,
)
from offramp_sim.reproduce.item import PaperComparison, Reproduction, simulated

SKEWS: Final = (0.0, 0.2, 0.3, 0.4, 0.5)
"""Standard deviations of the logarithm of an expert's popularity with a sender."""
_SKEW: Final = 0.3
_EXPERTS: Final = {"testbed": TESTBED[:2], "simulated": SIMULATED[:2]}
"""The models with experts; GPT-3 has no all-to-all."""
_ORDER: Final = "order alone"


def by_rounds(job: HermodJob, routing: str, seed: int, nic_gbps: float | None = None) -> Times:
    """Seconds of an iteration by scheme, all-to-alls in shifted rounds; Hermod's by matchings, and by order alone."""
    shifted = SimulationSetup(all_to_all="shifted", routing=routing, seed=seed)
    matched = replace(shifted, all_to_all="matched", overhead_s=10e-6)
    loaded = [prepare(job, setup) for setup in (shifted, matched)]
    if nic_gbps is not None:
        loaded = [replace(each, fabric=replace(each.fabric, bytes_per_s=nic_gbps * 1e9 / 8)) for each in loaded]
    seconds = {label: one(loaded[0], policy, shifted).iteration_s for label, policy in SCHEMES.items()}
    seconds[_ORDER] = seconds["Hermod"]
    seconds["Hermod"] = one(loaded[1], "hermod", matched).iteration_s
    return seconds


@simulated(
    "hermod/matchings",
    "Figures 5.9, 5.10 and 5.13 with skewed experts and matchings",
    seconds=30,
    options={**OPTIONS, "imbalance": (_SKEW, 0.0, 0.5)},
    sizes=(1.0,),
)
def figure(scale: float, seed: int, *, routing: str = "ecmp", imbalance: float = _SKEW, **job_is: Any) -> Reproduction:
    """Gains by the order between coflows and by matchings within them, against the skew of experts."""
    del scale
    lina: dict[str, tuple[list[float], list[float]]] = {}
    for name in _EXPERTS["testbed"]:
        skewed = [
            by_rounds(testbed_job(name, imbalance=skew, **job_is), routing, seed)
            for skew in counted(f"skews of {name}", SKEWS)
        ]
        lina[f"{name}, {_ORDER}"] = list(SKEWS), [gain(row, "Lina", _ORDER) for row in skewed]
        lina[f"{name}, with matchings"] = list(SKEWS), [gain(row, "Lina") for row in skewed]
    qwen = lina["qwen-moe-12l, with matchings"][1]
    comparisons = [
        PaperComparison(f"5.9: Qwen-MoE-12L over Lina, skew {skew:g}", text(1.2), text(factor))
        for skew, factor in zip(SKEWS, qwen, strict=True)
    ]
    chunks = {"qwen-moe-12l": 3, "mixtral-8x7b": 2}
    interleaved = {
        name: by_rounds(
            testbed_job(name, schedule="interleaved", chunks=count, imbalance=imbalance, **job_is), routing, seed
        )
        for name, count in chunks.items()
    }
    comparisons += _apart("5.10: over Megatron, up to", text(1.18), interleaved, "Megatron (FIFO)")
    comparisons += _apart("5.10: over Lina, up to", text(1.12), interleaved, "Lina")
    data: dict[str, Any] = {"lina": lina, "interleaved": interleaved}
    for rate, published in ((40.0, 2.06), (400.0, 1.81)):
        rows = {
            name: by_rounds(simulated_job(name, imbalance=imbalance, **job_is), routing, seed, rate)
            for name in counted(f"models at {rate:g} Gb/s", _EXPERTS["simulated"])
        }
        comparisons += _apart(f"5.13: {rate:g} Gb/s, over Megatron, up to", text(published), rows, "Megatron (FIFO)")
        comparisons += _apart(f"5.13: {rate:g} Gb/s, over Lina, up to", None, rows, "Lina")
        data[f"{rate:g} Gb/s"] = rows
    panel = Curves("32 GPUs", "skew of experts, sigma", "speed-up over Lina", lina)
    note = (
        f"{NETWORK}{ONE_LINK}All-to-alls go in shifted rounds with a barrier after each, Hermod's with matchings in "
        "sub-phases with 10 us of overhead each. Each sender has favourite experts (log-normal). Models with experts; "
        "1,024 GPUs in figure 5.13, since with rounds larger jobs are not simulated."
    )
    return Reproduction(comparisons, [panel], {"imbalance": imbalance, "seed": seed}, note, data)


def _apart(what: str, published: str | None, rows: dict[str, Times], over: str) -> list[PaperComparison]:
    alone = {name: {**row, "Hermod": row[_ORDER]} for name, row in rows.items()}
    return [
        PaperComparison(f"{what}, {_ORDER}", None, best(alone, over)),
        PaperComparison(f"{what}, with matchings", published, best(rows, over)),
    ]
