# SPDX-License-Identifier: Apache-2.0
"""LEO's distributed file system on this machine: on the CPU, on the smartNIC's agent, and on both (figure 6.11)."""

from __future__ import annotations

import os
from functools import partial

from offramp.leo.applications.dfs import CHUNK
from offramp_base.progress import report
from offramp_sim.figures.panels import Curves
from offramp_sim.nic.dfs import measure
from offramp_sim.reproduce.item import PaperComparison, Reproduction, measured

_SECONDS = 2.0
_ROUNDS = 3


@measured("leo/fig6.11-measured", "The same on CPU and agent, measured", seconds=70)
def figure611_measured(scale: float, seed: int) -> Reproduction:
    """Chunks written through the CPU, the agent, and both, against cores of each."""
    seconds = max(0.2, _SECONDS * scale)
    throughput = measure(seconds, _ROUNDS, seed=seed, tell=partial(report, "measurements"))
    mbps = [[rate * CHUNK / 1e6 for rate in rates] for rates in throughput]
    comparisons = [
        PaperComparison(f"{name}: MB/s with 1 to {len(rates)} cores", None, ", ".join(f"{rate:.1f}" for rate in rates))
        for name, rates in zip(("CPU", "agent", "both, cores of each"), mbps, strict=True)
    ]
    for cores, share in enumerate(throughput.shares, 1):
        comparisons.append(
            PaperComparison(f"both over the sum of each alone, {cores} + {cores} cores", ">= 0.9", f"{share:.2f}")
        )
    note = (
        "Each path has cores of its own: those of the agent are the last of this machine, requester and responder with "
        "the CPU's threads, one on each side for a core, run on the first. Where the agent has all cores they share "
        "them. zlib on both. Published: on BlueField-3, whose compression engine is not here (simulated: leo/fig6.11)."
    )
    bars = {
        f"{name} {cores}": rate
        for name, rates in zip(("CPU", "agent"), mbps, strict=False)
        for cores, rate in enumerate(rates, 1)
    }
    bars |= {f"both {cores} + {cores}": rate for cores, rate in enumerate(mbps[2], 1)}
    lines = {"measured": (list(bars), list(bars.values()))}
    panel = Curves("256 KB chunks, on either device on both sides", "cores", "MB/s of files", lines, bars=True)
    settings = {
        "seconds": seconds,
        "rounds": _ROUNDS,
        "processors": len(os.sched_getaffinity(0)),
        "compression": "zlib",
    }
    return Reproduction(comparisons, [panel], settings, note, throughput._asdict() | {"shares": throughput.shares})
