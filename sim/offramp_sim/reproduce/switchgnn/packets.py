# SPDX-License-Identifier: Apache-2.0
"""SwitchGNN packet by packet: figures 16 and 19."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from offramp.switchgnn.chunks import chunks_for
from offramp.switchgnn.plan import Plan, make_plan
from offramp_sim.figures.panels import Curves
from offramp_sim.packets import ExchangeProtocol, LinkProperties, Topology, leaf_spine
from offramp_sim.packets.exchange import Acks
from offramp_sim.packets.flows import all_to_all, background, balanced
from offramp_sim.packets.simulate import simulate
from offramp_sim.reproduce.bench import EXCHANGES, OPTIONS, BenchParameters, Testbed, bed_of, less, options, origin
from offramp_sim.reproduce.item import PaperComparison, Reproduction, simulated
from offramp_sim.reproduce.switchgnn.buffers import BufferedStar
from offramp_sim.slot.chunk_major import slice_widths

_SIZE = 0.5
"""Scale relative to the slot-level graphs: simulating a packet costs more than simulating a slot."""


_DRAWS = 3
"""Samples of background traffic over which figure 19 averages."""


def _links(bed: Testbed, mark_bytes: int | None = None) -> LinkProperties:
    return LinkProperties(_rate_bps(bed), round(bed.delay_s * 1e12), mark_bytes=mark_bytes)


def _rate_bps(bed: Testbed) -> int:
    return round(bed.conditions.link_gbps * 1e9)


def _exchange_s(bed: Testbed, topology: Topology, scheme: str, features: int) -> float:
    """Seconds of an exchange at full size."""
    if scheme in ("bns-gcn", "g3"):
        streams = all_to_all(bed.boundary, features)
        return simulate(topology, flows=balanced(streams) if scheme == "g3" else streams).seconds / bed.ratio
    chunks, memory = chunks_for(features), bed.memory_bytes
    widths = slice_widths(bed.boundary, chunks, memory) if scheme == "wide-slices" else [chunks]
    quiet = ExchangeProtocol(acks="none", timeout_ps=10**12)
    seconds = {
        width: simulate(topology, make_plan(bed.boundary, width, memory, seed=bed.seed), protocol=quiet).seconds
        for width in set(widths)
    }
    return sum(seconds[width] for width in widths) / bed.ratio


def _under_load_s(network: BufferedStar, plan: Plan, load: float, protocol: ExchangeProtocol) -> float:
    """Seconds of an exchange at full size while background flows cross the same star; mean over samples of them."""
    bed = network.bed
    draws = range(bed.seed, bed.seed + (_DRAWS if load else 1))
    return sum(_drawn_s(network, plan, load, protocol, seed) for seed in draws) / len(draws)


def _drawn_s(network: BufferedStar, plan: Plan, load: float, protocol: ExchangeProtocol, seed: int) -> float:
    ratio, topology = network.bed.ratio, network.topology
    other = background(plan.workers, load, _rate_bps(network.bed), 10**10, seed)
    sizes = np.maximum(1, np.round(other.size * ratio)).astype(np.int64)
    flows = replace(other, size=sizes, start_ps=np.round(other.start_ps * ratio).astype(np.int64))
    return simulate(topology, plan, flows, network.timed(protocol), network.framing, seed, 10**13).seconds / ratio


@simulated(
    "switchgnn/fig16",
    "Epoch time in a leaf-spine network",
    seconds=3,
    files=True,
    options=OPTIONS,
    sizes=(0.3, 0.2, 1.2),
)
def figure16(scale: float, seed: int, folder: Path | None = None, **open_: Any) -> Reproduction:
    """Epoch time against the number of workers in an 8 x 8 leaf-spine network."""
    conditions = BenchParameters(**open_)
    workers = [32, 64, 128]
    beds = [bed_of("reddit", count, _SIZE * scale, seed, folder, conditions) for count in workers]
    lines: dict[str, tuple[list[int], list[float]]] = {}
    for scheme in ("bns-gcn", "g3", "switchgnn", "wide-slices"):
        times = []
        for bed in beds:
            network = leaf_spine(8, 8, bed.boundary.workers // 8, _links(bed))
            first = _exchange_s(bed, network, scheme, bed.sample.data.features)
            times.append(1e3 * (first + (EXCHANGES - 1) * _exchange_s(bed, network, scheme, conditions.hidden)))
        lines[scheme] = workers, times
    comparisons = [
        PaperComparison(
            f"{count} workers: {ours} against {other}", "lowest", less(lines[ours][1][i], lines[other][1][i])
        )
        for i, count in enumerate(workers)
        for ours in ("switchgnn", "wide-slices")
        for other in ("bns-gcn", "g3")
    ]
    panel = Curves("Reddit, 8 x 8 leaf-spine", "workers", "communication of an epoch, ms", lines)
    note = (
        "An exchange of raw features and three of hidden ones; partial sums at each leaf, ECMP by vertex or flow, no "
        "loss. G3 is the same streams scaled until all workers send and receive alike. The paper's text gives no "
        f"number. {origin(beds[-1].sample)}"
    )
    return Reproduction(comparisons, [panel], beds[-1].settings(hidden=conditions.hidden), note, {"epoch_ms": lines})


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
        network = BufferedStar(bed, buffer_mb)
        for label, rule in rules.items():
            times = [4e3 * _under_load_s(network, plan, load, rule) for load in loads]
            lines[label] = list(loads), times
        panels.append(Curves(f"{workers} workers", "background load", "communication of an epoch, ms", lines))
        data[str(workers)] = lines
        for place in (0, len(loads) - 1):
            on, off = (lines[k][1][place] for k in ("with congestion control", "without"))
            what = f"{workers} workers, load {loads[place]}: with control against without"
            comparisons.append(PaperComparison(what, "shorter", less(on, off)))
        network = BufferedStar(bed, 8 * buffer_mb)
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
