# SPDX-License-Identifier: Apache-2.0
"""Shared code of Hermod's figures: jobs as the thesis ran them, policies under its names, and ratios."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from offramp.hermod.job import HermodJob, named_job
from offramp_sim.hermod.flow.study import SimulationSetup, compare, one, prepare

SCHEMES: Final = {"Megatron (FIFO)": "fifo", "Megatron (fair)": "fair", "Lina": "lina-fifo", "Hermod": "hermod"}
TESTBED: Final = ("qwen-moe-12l", "mixtral-8x7b", "gpt3-13b")
SIMULATED: Final = ("qwen-moe-24l", "mixtral-8x22b", "gpt3-175b")
OPTIONS: Final[dict[str, tuple[Any, ...]]] = {
    "micro_batches": (8, 4, 16),
    "gpu_tflops": (312.0, 156.0, 936.0),
    "routing": ("ecmp", "spray"),
}
"""Microbatches, peak rate of a GPU and routing, which the thesis does not give, for a referee."""
RATES: Final[dict[str, tuple[Any, ...]]] = {**OPTIONS, "nic_gbps": (100.0, 40.0, 400.0)}
ONE_LINK: Final = "The thesis's simulated servers have 100 Gb/s links: one of them for 8 GPUs here. "
Times = dict[str, float]


def network(routing: str) -> str:
    """Beginning of every note: a description of the network."""
    return (
        f"Fluid flows with strict priority on a full-bisection fat tree, {routing}. 'FIFO' serves what a job submits "
        "in its order at every hop, as one queue does; 'fair' shares every link by flows. Lina holds DP back at "
        "senders of EP in the backward pass, on FIFO. "
    )


NETWORK: Final = network("ECMP")


def testbed_job(name: str, **changes: Any) -> HermodJob:
    """The model's job on servers with two NICs for eight GPUs."""
    return named_job(name, **changes)


def simulated_job(name: str, gpus: int = 1024, **changes: Any) -> HermodJob:
    """The model's job on servers with one link."""
    return named_job(name, gpus=gpus, **{"nics_per_server": 1, **changes})


def times(job: HermodJob, setup: SimulationSetup | None = None, schemes: dict[str, str] | None = None) -> Times:
    """Seconds of an iteration by scheme."""
    chosen = SCHEMES if schemes is None else schemes
    outcomes = compare(job, chosen.values(), SimulationSetup() if setup is None else setup)
    return {label: outcomes[policy].iteration_s for label, policy in chosen.items()}


def at_rates(job: HermodJob, rates_gbps: list[float], setup: SimulationSetup | None = None) -> list[Times]:
    """:func:`times` at several link rates of one DAG."""
    setup = setup or SimulationSetup()
    loaded = prepare(job, setup)
    times = []
    for rate in rates_gbps:
        there = replace(loaded, fabric=replace(loaded.fabric, bytes_per_s=rate * 1e9 / 8))
        times.append({label: one(there, policy, setup).iteration_s for label, policy in SCHEMES.items()})
    return times


def gain(row: Times, over: str, of: str = "Hermod") -> float:
    """The factor by which ``of`` is faster than ``over``."""
    return row[over] / row[of]


def text(factor: float) -> str:
    """``1.23x``, with a multiplication sign."""
    return f"{factor:.2f}\N{MULTIPLICATION SIGN}"


def best(rows: dict[str, Times], over: str) -> str:
    """The largest gain among some runs, and its run."""
    name = max(rows, key=lambda each: gain(rows[each], over))
    return f"{text(gain(rows[name], over))} ({name})"
