# SPDX-License-Identifier: Apache-2.0
"""SwitchGNN at slot level: figures 2, 17 and 18."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from offramp.graph.csr import IntArray
from offramp.switchgnn.chunks import chunks_for
from offramp.switchgnn.plan import make_plan
from offramp_sim.figures.panels import Curves
from offramp_sim.reproduce.bench import BenchParameters, bed_of, less, options, origin
from offramp_sim.reproduce.datasets import DATASETS
from offramp_sim.reproduce.item import PaperComparison, Reproduction, simulated
from offramp_sim.slot.result import ExchangeResult
from offramp_sim.slot.strawman import decide


@simulated(
    "switchgnn/fig2",
    "The strawman's throughput, occupancy, queue and traffic",
    seconds=3,
    files=True,
    options=options("link_gbps", "memory_mb", "copies"),
)
def figure2(scale: float, seed: int, folder: Path | None = None, **open_: Any) -> Reproduction:
    """The strawman, with 100 MB and unlimited, beside SwitchGNN: throughput, occupancy, queue, traffic."""
    bed = bed_of("reddit", scale=scale, seed=seed, folder=folder, conditions=BenchParameters(**open_))
    names = ("strawman", "strawman-unlimited", "switchgnn", "bns-gcn")
    outcomes = {name: bed.exchange(name) for name in names}
    ours, host = outcomes["switchgnn"], outcomes["bns-gcn"]
    added, sent, open_, queue = {}, {}, {}, {}
    for name in names[:3]:
        outcome = outcomes[name]
        slot_ms, megabyte = outcome.slot_s / bed.ratio * 1e3, bed.ratio * 1e6
        bits = 128 * 8 / outcome.slot_s / 1e12
        added[name] = _binned(outcome.series.added, np.mean, slot_ms, bits)
        sent[name] = _binned(outcome.series.sent, np.mean, slot_ms, bits)
        open_[name] = _binned(outcome.series.open, np.max, slot_ms, 128 / megabyte)
        queue[name] = _binned(outcome.series.queue, np.max, slot_ms, outcome.packet_bytes / megabyte)
    volume = {name: outcomes[name].down_vectors / bed.ratio for name in names}
    peaks = {name: outcomes[name].peak_open * 128 / bed.ratio / 1e6 for name in names}
    queues = {name: outcomes[name].peak_queue_bytes / bed.ratio / 1e6 for name in names}
    free, full = volume["strawman-unlimited"], volume["bns-gcn"]
    absorbed = outcomes["strawman"].series.added.sum() / outcomes["strawman-unlimited"].series.added.sum()
    comparisons = [
        PaperComparison(
            "(a) aggregated, 100 MB", "about 10 % of the total", f"{100 * absorbed:.0f} % of contributions"
        ),
        PaperComparison("(b) aggregators, unlimited", "about 500 MB", f"{peaks['strawman-unlimited']:.0f} MB"),
        PaperComparison("(b) aggregators, 100 MB", "nearly full", f"{peaks['strawman']:.0f} MB"),
        PaperComparison(
            "(c) queue after 1 ms, 100 MB", "1000 MB", f"{_after_1ms(outcomes['strawman'], bed.ratio):.0f} MB"
        ),
        PaperComparison("(c) largest queue, 100 MB", None, f"{queues['strawman']:.0f} MB"),
        PaperComparison("(c) largest queue, SwitchGNN", None, f"{queues['switchgnn']:.0f} MB"),
        PaperComparison("(d) traffic, unlimited against full graph", "-94 %", less(free, full)),
        PaperComparison("(d) traffic, unlimited against 100 MB", "-92 %", less(free, volume["strawman"])),
        PaperComparison("(d) traffic, SwitchGNN against full graph", None, less(volume["switchgnn"], full)),
        PaperComparison(
            "bytes up and down, SwitchGNN against full graph", None, less(ours.wire_bytes, host.wire_bytes)
        ),
    ]
    panels = [
        Curves("(a) contributions that aggregators absorb", "ms", "Tbit/s", added),
        Curves("(a) packets that leave the switch", "ms", "Tbit/s", sent),
        Curves("(b) occupancy", "ms", "MB", open_),
        Curves("(c) queue", "ms", "MB", queue),
        Curves(
            "(d) traffic of a layer",
            "scheme",
            "vectors",
            {"delivered": (list(volume), list(volume.values()))},
            bars=True,
        ),
    ]
    note = (
        "Aggregated throughput counts contributions that aggregators absorb. Recirculation is free and a switch makes "
        "all raw copies of an upload at once, so that the strawman's queue grows faster than the paper's. "
        f"{origin(bed.sample)}"
    )
    data = {name: outcome.numbers() for name, outcome in outcomes.items()}
    return Reproduction(comparisons, panels, bed.settings(), note, data)


def _after_1ms(outcome: ExchangeResult, ratio: float) -> float:
    """Megabytes queued after 1 ms, at full size."""
    slot = round(1e-3 * ratio / outcome.slot_s)
    queue = outcome.series.queue
    return float(queue[slot]) * outcome.packet_bytes / ratio / 1e6 if slot < len(queue) else 0.0


def _binned(
    series: IntArray, summary: Callable[[IntArray], float], slot_ms: float, unit: float
) -> tuple[list[float], list[float]]:
    """At most 200 points of a series: milliseconds, and the ``summary`` of each stretch in units."""
    parts = [part for part in np.array_split(series, 200) if len(part)]
    ends = np.cumsum([len(part) for part in parts])
    return (ends * slot_ms).tolist(), [float(summary(part)) * unit for part in parts]


@simulated(
    "switchgnn/fig17",
    "Graph-aware reordering against memory",
    seconds=14,
    files=True,
    options=options("link_gbps", "copies"),
    sizes=(0.25, 0.125, 0.75),
)
def figure17(scale: float, seed: int, folder: Path | None = None, **open_: Any) -> Reproduction:
    """GAMR on and off against the switch's memory."""
    conditions = BenchParameters(**open_)
    memories = (10, 25, 50, 100)
    panels, comparisons, data = [], [], {}
    for name in ("products", "reddit"):
        bed = bed_of(name, scale=scale, seed=seed, folder=folder, conditions=conditions)
        outcomes = {
            label: [bed.exchange(scheme, memory_mb=memory) for memory in memories]
            for label, scheme in (("with GAMR", "switchgnn"), ("without", "switchgnn-random"))
        }
        queue = {k: (list(memories), [o.peak_queue_bytes / bed.ratio / 1e6 for o in v]) for k, v in outcomes.items()}
        rate = {k: (list(memories), [o.delivered_bps / 1e12 for o in v]) for k, v in outcomes.items()}
        panels += [Curves(f"{name}: largest queue", "memory, MB", "MB", queue)]
        panels += [Curves(f"{name}: throughput", "memory, MB", "Tbit/s", rate)]
        data[name] = {"queue_mb": queue, "throughput_tbps": rate}
        for place, memory in ((0, 10), (-1, 100)):
            on, off = (queue[k][1][place] for k in ("with GAMR", "without"))
            comparisons.append(
                PaperComparison(f"{name}, {memory} MB: largest queue with GAMR against without", "lower", less(on, off))
            )
            on, off = (rate[k][1][place] for k in ("with GAMR", "without"))
            comparisons.append(
                PaperComparison(f"{name}, {memory} MB: throughput with GAMR against without", "higher", less(on, off))
            )
    bed = bed_of("reddit", scale=scale, seed=seed, folder=folder, conditions=conditions)
    return Reproduction(comparisons, panels, bed.settings(memories_mb=list(memories)), origin(bed.sample), data)


@simulated(
    "switchgnn/fig18",
    "Traffic against memory",
    seconds=60,
    files=True,
    options=options("copies"),
    sizes=(0.25, 0.125, 0.75),
)
def figure18(scale: float, seed: int, folder: Path | None = None, **open_: Any) -> Reproduction:
    """Traffic of a layer against the switch's memory."""
    conditions = BenchParameters(**open_)
    memories = (10, 25, 50, 100)
    panels, comparisons, data = [], [], {}
    for name in DATASETS:
        for workers in (64, 128):
            bed = bed_of(name, workers, scale, seed, folder, conditions)
            boundary, chunks = bed.boundary, chunks_for(bed.sample.data.features)
            order = np.random.default_rng(seed).permutation(boundary.B)
            switch, strawman = [], []
            for memory in memories:
                memory_bytes = int(memory * 1e6 * bed.ratio)
                switch.append(make_plan(boundary, chunks, memory_bytes, "id", seed).results / bed.ratio)
                decided = decide(boundary, order, memory_bytes // 128 // chunks)
                strawman.append((int(decided.aggregated.sum()) + len(decided.raw)) / bed.ratio)
            host = boundary.R / bed.ratio
            lines = {
                "host-based": (list(memories), [host] * len(memories)),
                "strawman": (list(memories), strawman),
                "switchgnn": (list(memories), switch),
            }
            panels.append(Curves(f"{name}, {workers} workers", "memory, MB", "vectors of a layer", lines))
            data[f"{name}/{workers}"] = lines
            for place, memory, printed in ((0, 10, "-23 %"), (-1, 100, "-81 %")):
                published = printed if (name, workers) == ("reddit", 128) else None
                what = f"{name}, {workers} workers, {memory} MB: SwitchGNN against host-based"
                comparisons.append(PaperComparison(what, published, less(switch[place], host)))
    bed = bed_of("reddit", scale=scale, seed=seed, folder=folder, conditions=conditions)
    note = (
        "Vectors delivered to workers; uploads are as many for SwitchGNN, one a boundary vertex for the strawman. "
        "How often a vertex is uploaded depends on how well the cut graph falls apart into blocks, which the paper's "
        "text does not say of its Reddit; the generated graph has that structure at all sizes alike. "
        f"{origin(bed.sample)}"
    )
    return Reproduction(comparisons, panels, bed.settings(memories_mb=list(memories)), note, data)
