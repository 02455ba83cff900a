# SPDX-License-Identifier: Apache-2.0
"""Hermod's testbed at flow level: figures 5.8 to 5.11."""

from __future__ import annotations

from typing import Any, Final

from offramp.hermod.job import HermodJob
from offramp_sim.figures.panels import Curves
from offramp_sim.hermod.flow.study import SimulationSetup, compare
from offramp_sim.reproduce.hermod.runs import (
    NETWORK,
    OPTIONS,
    RATES,
    SCHEMES,
    TESTBED,
    Times,
    at_rates,
    best,
    gain,
    testbed_job,
    text,
    times,
)
from offramp_sim.reproduce.item import PaperComparison, Reproduction, simulated

_BASES: Final[dict[str, dict[str, Any]]] = {
    "qwen-moe-12l": {"tp": 1, "pp": 2, "ep": 4},
    "mixtral-8x7b": {"tp": 1, "pp": 2, "ep": 8},
    "gpt3-13b": {"tp": 4, "pp": 2},
}
_SERVERS: Final = "Servers of 8 GPUs with two NICs; microbatches 8 for each replica. "
_SKEW: Final = 0.5


def _speed(job: HermodJob, row: Times) -> Times:
    return {label: job.dp * job.micro_batches * job.tokens / seconds for label, seconds in row.items()}


@simulated("hermod/fig5.8", "Training speed on the testbed against its size", seconds=2, options=RATES, sizes=(1.0,))
def figure58(scale: float, seed: int, *, routing: str = "ecmp", **job_is: Any) -> Reproduction:
    """Tokens per second from 8 to 32 GPUs."""
    del scale
    panels, comparisons, data = [], [], {}
    largest = {}
    for name, base in _BASES.items():
        sizes = [gpus for gpus in (8, 16, 32) if gpus > 8 or name != "mixtral-8x7b"]
        jobs = [testbed_job(name, gpus=gpus, **base, **job_is) for gpus in sizes]
        rows = [times(job, SimulationSetup(routing=routing, seed=seed)) for job in jobs]
        speeds = [_speed(job, row) for job, row in zip(jobs, rows, strict=True)]
        panels.append(
            Curves(name, "GPUs", "tokens/s", {label: (sizes, [s[label] for s in speeds]) for label in SCHEMES})
        )
        data[name] = {str(gpus): row for gpus, row in zip(sizes, rows, strict=True)}
        largest.update({f"{name}, {gpus} GPUs": row for gpus, row in zip(sizes, rows, strict=True)})
        if name == "gpt3-13b":
            ours = speeds[1]["Megatron (FIFO)"] / speeds[0]["Megatron (FIFO)"]
            comparisons.append(PaperComparison("GPT-3 13B, Megatron, 16 GPUs over 8", text(1.39), text(ours)))
    comparisons.append(PaperComparison("Hermod, up to", f"{text(1.44)} (gpt3-13b)", best(largest, "Megatron (FIFO)")))
    comparisons.append(PaperComparison("over fair sharing, up to", None, best(largest, "Megatron (fair)")))
    note = (
        f"{NETWORK}{_SERVERS}At 8 GPUs there is one server and no network. GPT-3 gains most, as in the thesis: "
        "PP waits behind DP, and nothing else is there to wait for. With experts balanced, EP keeps the NICs "
        "busy most of the iteration in any order and bounds what an order can gain."
    )
    return Reproduction(comparisons, panels, {"seed": seed}, note, data)


@simulated(
    "hermod/fig5.9",
    "Iteration time on the testbed against the rate of its links",
    seconds=1,
    options=OPTIONS,
    sizes=(1.0,),
)
def figure59(scale: float, seed: int, *, routing: str = "ecmp", **job_is: Any) -> Reproduction:
    """Iteration time from 10 to 100 Gb/s, 32 GPUs."""
    del scale
    rates = [10.0, 25.0, 40.0, 100.0]
    panels, data, at_100, least = [], {}, {}, []
    for name in TESTBED:
        rows = at_rates(testbed_job(name, **job_is), rates, SimulationSetup(routing=routing, seed=seed))
        panels.append(Curves(name, "Gb/s", "iteration, s", {k: (rates, [r[k] for r in rows]) for k in SCHEMES}))
        data[name] = rows
        at_100[name] = rows[-1]
        least += [gain(row, base) for row in rows for base in ("Megatron (FIFO)", "Megatron (fair)")]
    comparisons = [
        PaperComparison("Qwen-MoE-12L over Lina, 100 Gb/s", text(1.2), text(gain(at_100["qwen-moe-12l"], "Lina"))),
        PaperComparison(
            "GPT-3 13B over Megatron, 100 Gb/s", text(1.38), text(gain(at_100["gpt3-13b"], "Megatron (FIFO)"))
        ),
        PaperComparison("GPT-3 13B over fair sharing", None, text(gain(at_100["gpt3-13b"], "Megatron (fair)"))),
        PaperComparison("smallest gain of all", "above 1", text(min(least))),
    ]
    note = (
        f"{NETWORK}{_SERVERS}On balanced experts the order by microbatch gains little and can lose a few "
        "percent: EP holds every worker up in any order, and an earlier microbatch's transfer delays the EP "
        "that others wait for."
    )
    return Reproduction(comparisons, panels, {"gpus": 32, "rates_gbps": rates, "seed": seed}, note, data)


@simulated("hermod/fig5.10", "Interleaved 1F1B on the testbed", seconds=1, options=RATES, sizes=(1.0,))
def figure510(scale: float, seed: int, *, routing: str = "ecmp", **job_is: Any) -> Reproduction:
    """Interleaved 1F1B, 32 GPUs."""
    del scale
    rows = {}
    for name in TESTBED:
        chunks = 3 if name == "qwen-moe-12l" else 2
        job = testbed_job(name, schedule="interleaved", chunks=chunks, **job_is)
        rows[name] = times(job, SimulationSetup(routing=routing, seed=seed))
    comparisons = [
        PaperComparison("over Megatron, up to", text(1.18), best(rows, "Megatron (FIFO)")),
        PaperComparison("over Megatron with fair sharing, up to", None, best(rows, "Megatron (fair)")),
        PaperComparison("over Lina, up to", text(1.12), best(rows, "Lina")),
    ]
    lines = {label: (list(rows), [rows[name][label] for name in rows]) for label in SCHEMES}
    panel = Curves("Interleaved 1F1B, 32 GPUs", "", "iteration, s", lines, bars=True)
    note = (
        f"{NETWORK}{_SERVERS}Two chunks per worker, three for Qwen (12 layers on 4 stages); the thesis does not "
        "give the number. EP > PP > DP within a microbatch, as section 5.3.1 has it for this schedule."
    )
    return Reproduction(comparisons, [panel], {"gpus": 32, "seed": seed}, note, {"iteration_s": rows})


@simulated(
    "hermod/fig5.11",
    "What order and matchings give on the testbed",
    seconds=5,
    options={**RATES, "imbalance": (_SKEW, 0.0, 1.0)},
    sizes=(1.0,),
)
def figure511(
    scale: float, seed: int, *, routing: str = "ecmp", imbalance: float = _SKEW, **job_is: Any
) -> Reproduction:
    """Gain by the order between coflows, and what matchings within them add."""
    del scale
    published = {"qwen-moe-12l": (1.20, 1.33), "mixtral-8x7b": (1.12, 1.24), "gpt3-13b": (1.40, 1.40)}
    comparisons, inter, together, data = [], [], [], {}
    for name, (first, second) in published.items():
        job = testbed_job(name, imbalance=0.0 if name == "gpt3-13b" else imbalance, **job_is)
        shifted = compare(job, ("fifo", "hermod"), SimulationSetup(all_to_all="shifted", routing=routing, seed=seed))
        matching = SimulationSetup(all_to_all="matched", overhead_s=10e-6, routing=routing, seed=seed)
        matched = compare(job, ("hermod",), matching)
        seconds = [shifted["fifo"].iteration_s, shifted["hermod"].iteration_s, matched["hermod"].iteration_s]
        inter.append(seconds[0] / seconds[1])
        together.append(seconds[0] / seconds[2])
        data[name] = dict(zip(("megatron", "inter", "inter and intra"), seconds, strict=True))
        comparisons.append(PaperComparison(f"{name}: order alone", text(first), text(inter[-1])))
        comparisons.append(PaperComparison(f"{name}: with matchings", text(second), text(together[-1])))
        extra = text(second / first)
        comparisons.append(PaperComparison(f"{name}: matchings add", extra, text(seconds[1] / seconds[2])))
    lines = {"order alone": (list(published), inter), "with matchings": (list(published), together)}
    panel = Curves("32 GPUs", "", "speed-up over Megatron (FIFO)", lines, bars=True)
    note = (
        f"{NETWORK}{_SERVERS}Each sender has favourite experts (log-normal, sigma {imbalance:g}); without matchings an"
        " all-to-all goes in shifted rounds with a barrier after each, with them in sub-phases with 10 us of "
        "overhead each. In an ideal fluid without rounds matchings gain nothing: max-min fairness reaches the "
        "bound too."
    )
    return Reproduction(comparisons, [panel], {"gpus": 32, "imbalance": imbalance, "seed": seed}, note, data)
