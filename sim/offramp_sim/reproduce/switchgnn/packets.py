# SPDX-License-Identifier: Apache-2.0
"""SwitchGNN packet by packet: figures 16 and 19."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from offramp.switchgnn.chunks import chunks_for
from offramp.switchgnn.plan import Plan, make_plan
from offramp_base.progress import counted
from offramp_sim.figures.panels import Curves
from offramp_sim.packets import ExchangeProtocol, LinkProperties, Topology, leaf_spine
from offramp_sim.packets.exchange import Acks
from offramp_sim.packets.flows import background
from offramp_sim.packets.simulate import simulate
from offramp_sim.reproduce.bench import OPTIONS, WORKERS, BenchParameters, Testbed, bed_of, less, options, origin
from offramp_sim.reproduce.datasets import DATASETS
from offramp_sim.reproduce.item import PaperComparison, Reproduction, simulated
from offramp_sim.reproduce.switchgnn.buffers import INFINITE, UNORDERED, WIDE, BufferedNetwork

_SIZE = 0.5
"""Scale relative to the slot-level graphs: simulating a packet costs more than simulating a slot."""


_DRAWS = 3
"""Samples of background traffic over which figure 19 averages."""


def _rate_bps(bed: Testbed) -> int:
    return round(bed.conditions.link_gbps * 1e9)


def _under_load_s(network: BufferedNetwork, plan: Plan, load: float, protocol: ExchangeProtocol) -> float:
    """Seconds of an exchange at full size while background flows cross the same star; mean over samples of them."""
    bed = network.bed
    draws = range(bed.seed, bed.seed + (_DRAWS if load else 1))
    return sum(_drawn_s(network, plan, load, protocol, seed) for seed in draws) / len(draws)


def _drawn_s(network: BufferedNetwork, plan: Plan, load: float, protocol: ExchangeProtocol, seed: int) -> float:
    ratio, topology = network.bed.ratio, network.topology
    other = background(plan.workers, load, _rate_bps(network.bed), 10**10, seed)
    sizes = np.maximum(1, np.round(other.size * ratio)).astype(np.int64)
    flows = replace(other, size=sizes, start_ps=np.round(other.start_ps * ratio).astype(np.int64))
    return simulate(topology, plan, flows, network.timed(protocol), network.framing, seed, 10**13).seconds / ratio


def _leaves_and_spines(workers: int, links: LinkProperties) -> Topology:
    """The paper's 8 x 8 network, its workers spread over all leaves."""
    return leaf_spine(8, 8, workers // 8, links)


_LEAF_SPINE_SCHEMES: Final = ("bns-gcn", "g3", "g3, even loads", "strawman", "switchgnn", WIDE)


@simulated(
    "switchgnn/fig16",
    "Epoch time in a leaf-spine network",
    seconds=30,
    files=True,
    options={**OPTIONS, "buffer_mb": (INFINITE, 64.0, 16.0)},
    sizes=(0.3, 0.2, 1.2),
)
def figure16(
    scale: float, seed: int, folder: Path | None = None, *, buffer_mb: float = INFINITE, **open_: Any
) -> Reproduction:
    """Epoch time against the number of workers in an 8 x 8 leaf-spine network, ports with buffers of ``buffer_mb``."""
    conditions = BenchParameters(**open_)
    workers = [32, 64, 128]
    panels, comparisons, data = [], [], {}
    for name in counted("data sets", tuple(DATASETS)):
        beds = [bed_of(name, count, _SIZE * scale, seed, folder, conditions) for count in workers]
        networks = [BufferedNetwork(bed, buffer_mb, shape=_leaves_and_spines) for bed in beds]
        lines = {scheme: (workers, [each.epoch_ms(scheme) for each in networks]) for scheme in _LEAF_SPINE_SCHEMES}
        panels.append(Curves(f"{name}, 8 x 8 leaf-spine", "workers", "communication of an epoch, ms", lines))
        data[name] = {"epoch_ms": lines}
        comparisons += [
            PaperComparison(
                f"{name}, {count} workers: {ours} against {other}",
                "lowest" if name == "reddit" else None,
                less(lines[ours][1][i], lines[other][1][i]),
            )
            for i, count in enumerate(workers)
            for ours in ("switchgnn", WIDE)
            for other in ("bns-gcn", "g3", "g3, even loads", "strawman")
        ]
    note = (
        "An exchange of raw features and three of hidden ones; partial sums at each leaf, ECMP by vertex or flow. G3 "
        "is the best partition that its algorithm 2 comes by; with even loads, BNS-GCN's streams scaled until all "
        "workers send and receive alike. The strawman has the switch's memory at each leaf, and owners add the leaves' "
        f"sums. The paper's text gives no number. {origin(beds[-1].sample)}"
    )
    settings = beds[-1].settings(hidden=conditions.hidden, buffer_mb=buffer_mb)
    return Reproduction(comparisons, panels, settings, note, data)


@simulated(
    "switchgnn/fig17-packets",
    "Graph-aware reordering against memory, ports with finite buffers",
    seconds=20,
    files=True,
    options={**options("link_gbps", "copies"), "buffer_mb": (INFINITE, 16.0, 1.0)},
    sizes=(0.5, 0.25, 1.5),
)
def figure17_packets(
    scale: float, seed: int, folder: Path | None = None, *, buffer_mb: float = INFINITE, **open_: Any
) -> Reproduction:
    """GAMR on and off against the switch's memory, packet by packet, ports with buffers of ``buffer_mb``."""
    conditions = BenchParameters(**open_)
    memories = (10.0, 25.0, 50.0, 100.0)
    panels, comparisons, data = [], [], {}
    orders = {"with GAMR": "switchgnn", "without": UNORDERED}
    for name in counted("data sets", ("products", "reddit")):
        beds = [
            bed_of(name, WORKERS, _SIZE * scale, seed, folder, replace(conditions, memory_mb=memory))
            for memory in memories
        ]
        bed = beds[0]
        runs = {
            label: [BufferedNetwork(each, buffer_mb).run(scheme, conditions.hidden) for each in beds]
            for label, scheme in orders.items()
        }
        queue = {k: (list(memories), [run.peak_port_bytes / bed.ratio / 1e6 for run in v]) for k, v in runs.items()}
        rate = {k: (list(memories), [8e-12 * run.down_bytes / run.seconds for run in v]) for k, v in runs.items()}
        lost = {k: [run.dropped / run.packets for run in v] for k, v in runs.items()}
        panels += [Curves(f"{name}: longest queue of a port", "memory, MB", "MB", queue)]
        panels += [Curves(f"{name}: throughput", "memory, MB", "Tbit/s", rate)]
        data[name] = {"queue_mb": queue, "throughput_tbps": rate, "dropped": lost}
        for place in (0, -1):
            of = f"{name}, {memories[place]:g} MB"
            for what, lines, expected in (("longest queue of a port", queue, "lower"), ("throughput", rate, "higher")):
                on, off = (lines[label][1][place] for label in orders)
                text = less(on, off) if off else "none without"
                comparisons.append(PaperComparison(f"{of}: {what} with GAMR against without", expected, text))
    note = (
        f"One exchange of hidden features in a star. The paper enlarges buffers for this figure. {origin(bed.sample)}"
    )
    settings = bed.settings(memories_mb=list(memories), buffer_mb=buffer_mb)
    return Reproduction(comparisons, panels, settings, note, data)


@simulated(
    "switchgnn/fig19",
    "Background traffic and congestion control",
    seconds=10,
    files=True,
    options={**options("link_gbps", "hidden"), "buffer_mb": (4.0, 1.0, 16.0), "acks": ("all", "marked")},
    sizes=(0.3, 0.2, 1.2),
)
def figure19(
    scale: float, seed: int, folder: Path | None = None, *, buffer_mb: float = 4.0, acks: Acks = "all", **open_: Any
) -> Reproduction:
    """Epoch time under background traffic, with and without congestion control; ``buffer_mb`` is that of each port."""
    conditions = BenchParameters(**open_)
    loads = (0.0, 0.2, 0.4, 0.6)
    rules = {
        "with congestion control": ExchangeProtocol(acks=acks),
        "without": ExchangeProtocol(acks=acks, control=False),
    }
    panels, comparisons, data = [], [], {}
    for workers in (64, 128):
        bed = bed_of("reddit", workers, _SIZE * scale, seed, folder, conditions)
        plan = make_plan(bed.boundary, chunks_for(conditions.hidden), bed.memory_bytes, seed=seed)
        lines: dict[str, tuple[list[float], list[float]]] = {}
        network = BufferedNetwork(bed, buffer_mb)
        for label, rule in rules.items():
            times = [4e3 * _under_load_s(network, plan, load, rule) for load in loads]
            lines[label] = list(loads), times
        panels.append(Curves(f"{workers} workers", "background load", "communication of an epoch, ms", lines))
        data[str(workers)] = lines
        for place in (0, len(loads) - 1):
            on, off = (lines[k][1][place] for k in ("with congestion control", "without"))
            what = f"{workers} workers, load {loads[place]}: with control against without"
            comparisons.append(PaperComparison(what, "shorter", less(on, off)))
        network = BufferedNetwork(bed, 8 * buffer_mb)
        on, off = (_under_load_s(network, plan, loads[-1], rule) for rule in rules.values())
        what = f"{workers} workers, load {loads[-1]}, 8 times the buffers: with control against without"
        comparisons.append(PaperComparison(what, None, less(on, off)))
    note = (
        f"Times are means over {_DRAWS} draws of the background. Control shortens the exchange where its bursts of "
        f"results overflow the buffers ({buffer_mb:g} MB a port): each dropped packet costs a time-out and a fetch. "
        "With buffers that hold the bursts it only slows the uploads. The bursts are mostly acknowledgements, if every "
        "sum is acknowledged as published; notices of marks alone (acks marked) leave little to control. Sizes of "
        "background flows, buffers, marks (100 KB), time-outs (2 ms) and the constants of the rate control shrink by "
        "the ratio too; the paper's text "
        "gives none of them. Background flows do not slow down. "
        f"{origin(bed.sample)}"
    )
    return Reproduction(comparisons, panels, bed.settings(loads=list(loads), hidden=conditions.hidden), note, data)
