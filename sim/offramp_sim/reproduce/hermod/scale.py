# SPDX-License-Identifier: Apache-2.0
"""Hermod at 1,024 to 8,192 GPUs: figures 5.12 and 5.13."""

from __future__ import annotations

from typing import Any

from offramp_sim.figures.panels import Curves
from offramp_sim.hermod.flow.study import SimulationSetup
from offramp_sim.reproduce.hermod.runs import (
    NETWORK,
    ONE_LINK,
    OPTIONS,
    RATES,
    SCHEMES,
    SIMULATED,
    Times,
    at_rates,
    best,
    gain,
    simulated_job,
    text,
    times,
)
from offramp_sim.reproduce.item import PaperComparison, Reproduction, simulated

_REASON = (
    "Most of the gain over FIFO is the end of head-of-line blocking: PP and EP wait for ReduceScatters of whole"
    " layers. Over fair sharing a few percent remain, as in the specification's own small pipelines. "
)


@simulated("hermod/fig5.12", "Training speed from 1,024 to 8,192 GPUs", seconds=200, options=RATES, sizes=(0.25,))
def figure512(scale: float, seed: int, *, routing: str = "ecmp", **job_is: Any) -> Reproduction:
    """Tokens per second from 1,024 to 8,192 GPUs; ``scale`` bounds the largest."""
    sizes = [gpus for gpus in (1024, 2048, 4096, 8192) if gpus <= max(2048, 8192 * scale)]
    panels, data = [], {}
    last: dict[str, Times] = {}
    growth = {}
    for name in SIMULATED:
        rows, speeds = [], []
        for gpus in sizes:
            job = simulated_job(name, gpus, **job_is)
            rows.append(times(job, SimulationSetup(routing=routing, seed=seed)))
            speeds.append({k: job.dp * job.micro_batches * job.tokens / s for k, s in rows[-1].items()})
        panels.append(Curves(name, "GPUs", "tokens/s", {k: (sizes, [s[k] for s in speeds]) for k in SCHEMES}))
        data[name] = rows
        last[name] = rows[-1]
        growth[name] = gain(rows[-1], "Megatron (FIFO)") / gain(rows[0], "Megatron (FIFO)")
    most = max(growth, key=lambda name: growth[name])
    comparisons = [
        PaperComparison(
            f"{sizes[-1]} GPUs, over Megatron, up to", "1.83\N{MULTIPLICATION SIGN}", best(last, "Megatron (FIFO)")
        ),
        PaperComparison(f"{sizes[-1]} GPUs, over fair sharing, up to", None, best(last, "Megatron (fair)")),
        PaperComparison(f"{sizes[-1]} GPUs, over Lina, up to", "1.31\N{MULTIPLICATION SIGN}", best(last, "Lina")),
        PaperComparison(f"gain at {sizes[-1]} over that at 1024", "above 1", f"{text(growth[most])} ({most})"),
    ]
    note = f"{NETWORK}{ONE_LINK}{_REASON}The thesis says both 'up to 1.50' and 'by 83 %' of the same runs."
    return Reproduction(comparisons, panels, {"gpus": sizes, "seed": seed}, note, data)


@simulated(
    "hermod/fig5.13",
    "Iteration time from 40 to 400 Gb/s, 1,024 GPUs",
    seconds=4,
    options={**OPTIONS, "micro_batch": (8, 4), "nics_per_server": (1, 2)},
    sizes=(1.0,),
)
def figure513(scale: float, seed: int, *, routing: str = "ecmp", **job_is: Any) -> Reproduction:
    """Iteration time from 40 to 400 Gb/s, 1,024 GPUs."""
    del scale
    rates = [40.0, 100.0, 200.0, 400.0]
    panels, data = [], {}
    slow: dict[str, Times] = {}
    fast: dict[str, Times] = {}
    for name in SIMULATED:
        rows = at_rates(simulated_job(name, **job_is), rates, SimulationSetup(routing=routing, seed=seed))
        panels.append(Curves(name, "Gb/s", "iteration, s", {k: (rates, [r[k] for r in rows]) for k in SCHEMES}))
        data[name] = rows
        slow[name], fast[name] = rows[0], rows[-1]
    comparisons = [
        PaperComparison("40 Gb/s, over Megatron, up to", text(2.06), best(slow, "Megatron (FIFO)")),
        PaperComparison("400 Gb/s, over Megatron, up to", text(1.81), best(fast, "Megatron (FIFO)")),
        PaperComparison("40 Gb/s, over fair sharing, up to", None, best(slow, "Megatron (fair)")),
        PaperComparison("400 Gb/s, over fair sharing, up to", None, best(fast, "Megatron (fair)")),
        PaperComparison("40 Gb/s, over Lina, up to", None, best(slow, "Lina")),
        PaperComparison("40 Gb/s, over Lina, at least", None, text(min(gain(row, "Lina") for row in slow.values()))),
    ]
    comparisons += [
        PaperComparison(
            f"{name}, over Megatron at 40 and 400 Gb/s",
            None,
            ", ".join(text(gain(rows[name], "Megatron (FIFO)")) for rows in (slow, fast)),
        )
        for name in SIMULATED
    ]
    note = f"{NETWORK}{ONE_LINK}{_REASON}The gain falls with the rate, as the network stops to be the bottleneck."
    return Reproduction(comparisons, panels, {"gpus": 1024, "rates_gbps": rates, "seed": seed}, note, data)
