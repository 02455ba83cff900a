# SPDX-License-Identifier: Apache-2.0
"""The contribution of each effect to Hermod's gain, one change at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from offramp.sweep import sweep
from offramp_sim.figures.panels import Curves
from offramp_sim.hermod.flow.study import SimulationSetup, one, prepare
from offramp_sim.hermod.framing import goodput
from offramp_sim.reproduce.hermod.runs import ONE_LINK, SIMULATED, Times, network, simulated_job, testbed_job, text
from offramp_sim.reproduce.item import PaperComparison, Reproduction, simulated

STEPS: Final = {
    "FIFO at every hop": "fifo",
    "FIFO at hosts, links share": "host-fifo",
    "everything shares": "fair",
    "DP last": "type",
    "EP > PP > DP": "ep-pp-dp",
    "by microbatch: Hermod": "hermod",
}
"""Steps from Megatron to Hermod; each removes one effect."""
_BASES: Final = ("fifo", "fair", "lina-fifo")
_AT_MOST: Final = 2


@dataclass(frozen=True, slots=True)
class JobChange:
    """Differences from the default in the job and the set-up.

    Attributes:
        payload: bytes of a packet's payload if headers count; None: they do not.
    """

    what: str
    job: dict[str, Any] = field(default_factory=dict)
    setup: dict[str, Any] = field(default_factory=dict)
    payload: int | None = None


CHANGES: Final = (
    JobChange("default"),
    JobChange("ECMP", setup={"routing": "ecmp"}),
    JobChange("ECMP, leaves of 4 NICs", setup={"routing": "ecmp", "leaf": 4}),
    JobChange("ECMP, leaves of 64 NICs", setup={"routing": "ecmp", "leaf": 64}),
    JobChange("4,096 GPUs", {"gpus": 4096}),
    JobChange("two links a server", {"nics_per_server": 2}),
    JobChange("eight links a server", {"nics_per_server": 8}),
    JobChange("400 Gb/s", {"nic_gbps": 400.0}),
    JobChange("400 Gb/s, GPUs 3 times as fast", {"nic_gbps": 400.0, "gpu_tflops": 936.0}),
    JobChange("GPUs half as fast", {"gpu_tflops": 156.0}),
    JobChange("GPUs twice as fast", {"gpu_tflops": 624.0}),
    JobChange("4 microbatches", {"micro_batches": 4}),
    JobChange("32 microbatches", {"micro_batches": 32}),
    JobChange("4 sequences a microbatch", {"micro_batch": 4}),
    JobChange("4 sequences a microbatch, 400 Gb/s", {"micro_batch": 4, "nic_gbps": 400.0}),
    JobChange("gradients of 2 bytes", {"gradient_bytes": 2}),
    JobChange("clip by norm: a barrier", {"iteration_barrier": True}),
    JobChange("computation varies by 10 %", {"jitter": 0.1}),
    JobChange("uneven experts", {"imbalance": 0.5}),
    JobChange("packets of 4,096 bytes", payload=4096),
    JobChange("packets of 1,024 bytes", payload=1024),
    JobChange("8 queues, hosts in exact order", setup={"queues": 8, "hosts": "exact"}),
    JobChange("8 queues, hosts see them too", setup={"queues": 8}),
    JobChange("2 queues, hosts in exact order", setup={"queues": 2, "hosts": "exact"}),
)


ON_TESTBED: Final = tuple(
    JobChange(f"GPT-3 13B on the testbed, PP {pp}, {m} microbatches", {"pp": pp, "micro_batches": m})
    for pp in (2, 4)
    for m in (2, 4, 8, 16)
)
"""Figures 5.8 (PP 2) and 5.9 (PP 4): the thesis does not say how many microbatches there are."""


@dataclass(frozen=True, slots=True)
class EffectCase:
    """One model under one change."""

    model: str
    change: JobChange
    policies: tuple[str, ...]
    seed: int
    testbed: bool = False


def run(case: EffectCase) -> Times:
    """Seconds of an iteration by policy."""
    change = case.change
    setup = SimulationSetup(**{"routing": "spray", "seed": case.seed, **change.setup})
    job = dict(change.job)
    gpus = job.pop("gpus", 32 if case.testbed else 1024)
    rate = job.pop("nic_gbps", 100.0) * (1.0 if change.payload is None else goodput(change.payload))
    job_of = testbed_job if case.testbed else simulated_job
    loaded = prepare(job_of(case.model, gpus=gpus, nic_gbps=rate, **job), setup)
    return {policy: one(loaded, policy, setup).iteration_s for policy in case.policies}


@simulated("hermod/effects", "Which effect gives which share of the gain", seconds=30, sizes=(1.0,))
def figure(scale: float, seed: int) -> Reproduction:
    """Steps from Megatron to Hermod, then Hermod's gain under every change."""
    del scale
    policies = (*_BASES, "hermod")
    first = [EffectCase(model, CHANGES[0], tuple(STEPS.values()), seed) for model in SIMULATED]
    second = [EffectCase(model, change, policies, seed) for change in CHANGES for model in SIMULATED]
    third = [EffectCase("gpt3-13b", change, policies, seed, testbed=True) for change in ON_TESTBED]
    results = iter(sweep(run, [*first, *second, *third], processes=_AT_MOST, what="changes, one at a time"))
    steps = {case.model: next(results) for case in first}
    changed: dict[str, dict[str, Times]] = {}
    for case in second:
        changed.setdefault(case.change.what, {})[case.model] = next(results)
    testbed = {case.change.what: next(results) for case in third}
    comparisons = [
        PaperComparison(f"{model}: {label}", None, f"{row[policy]:.4g} s, {text(row['fifo'] / row[policy])} over FIFO")
        for model, row in steps.items()
        for label, policy in STEPS.items()
    ]
    comparisons += [
        PaperComparison(what, None, "; ".join(map(_gains, rows.values()))) for what, rows in changed.items()
    ]
    comparisons += [
        PaperComparison(change.what, text(1.44 if change.job["pp"] == 2 else 1.38), _gains(testbed[change.what]))
        for change in ON_TESTBED
    ]
    stairs = {model: (list(STEPS), [row["fifo"] / row[p] for p in STEPS.values()]) for model, row in steps.items()}
    panels = [Curves("What each step gives", "", "speed-up over FIFO", stairs, bars=True)]
    for base, label in zip(_BASES, ("FIFO", "fair sharing", "Lina (FIFO)"), strict=True):
        lines = {
            m: (list(changed), [rows[m][base] / rows[m]["hermod"] for rows in changed.values()]) for m in SIMULATED
        }
        panels.append(Curves(f"Hermod over {label}", "", "speed-up", lines, bars=True))
    note = (
        f"{network('packet spraying')}{ONE_LINK}Defaults: 1,024 GPUs, 100 Gb/s, leaves of 16 NICs, 8 microbatches; "
        f"gains in the order {', '.join(SIMULATED)}, each over FIFO, fair sharing and Lina (FIFO)."
    )
    data = {"steps": steps, "changes": changed, "testbed": testbed}
    return Reproduction(comparisons, panels, {"gpus": 1024, "nic_gbps": 100, "seed": seed}, note, data)


def _gains(row: Times) -> str:
    return " ".join(f"{row[base] / row['hermod']:.2f}" for base in _BASES)
