# SPDX-License-Identifier: Apache-2.0
"""SwitchGNN's epoch in a star packet by packet: figure 15 with finite buffers, and what acknowledgements cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from offramp.graph.boundary import Boundary
from offramp.graph.repartition import Repartition, repartition
from offramp.switchgnn.chunks import chunks_for
from offramp.switchgnn.plan import Plan, make_plan
from offramp.switchgnn.wire import LANES
from offramp_sim.figures.panels import Curves
from offramp_sim.packets import ExchangeProtocol, Framing, LinkProperties, Topology, star
from offramp_sim.packets.flows import FlowSchedule, all_to_all, balanced
from offramp_sim.packets.simulate import PacketRun, simulate
from offramp_sim.reproduce.bench import EXCHANGES, OPTIONS, WORKERS, BenchParameters, Testbed, bed_of, less, origin
from offramp_sim.reproduce.datasets import DATASETS
from offramp_sim.reproduce.item import PaperComparison, Reproduction, simulated
from offramp_sim.slot.chunk_major import slice_widths

_SIZE: Final = 0.5
"""Scale relative to the slot-level graphs: simulating a packet costs more than simulating a slot."""
INFINITE: Final = float("inf")
"""The buffer of a port that drops nothing, in MB."""
BUFFERS_MB: Final = (INFINITE, 150.0, 64.0, 16.0)
"""Buffers of a port."""
WIDE: Final = "wide-slices"
UNORDERED: Final = "switchgnn-random"
"""SwitchGNN's blocks with their vertices in random order."""
RULES: Final = {
    "switchgnn": ExchangeProtocol(acks="none", control=False),
    "switchgnn, notices": ExchangeProtocol(acks="marked"),
    "switchgnn, acknowledgements": ExchangeProtocol(acks="all"),
}
"""Feedback of an exchange: none; marks, at most once in 50 us; or an acknowledgement of every sum (section 3.4)."""


def _repartitioned(bed: Testbed, features: int) -> FlowSchedule:
    """The streams of the partition that G3's algorithm 2 makes, in the best of its states."""
    owner = repartition(bed.sample, bed.boundary.owner, bed.boundary.workers, Repartition(mode="best")).owner
    return all_to_all(Boundary(bed.sample, owner, bed.boundary.workers), features)


HOST_BASED: Final[dict[str, Callable[[Testbed, int], FlowSchedule]]] = {
    "bns-gcn": lambda bed, features: all_to_all(bed.boundary, features),
    "g3": _repartitioned,
    "g3, even loads": lambda bed, features: balanced(all_to_all(bed.boundary, features)),
}
"""Streams between workers of an exchange without the switch's help."""


@dataclass(frozen=True)
class BufferedNetwork:
    """A network whose ports hold so much, with everything that is a time or a volume smaller by the graph's ratio.

    Attributes:
        bed: the data set and its workers.
        buffer_mb: buffer of a port of the real network, in MB.
        mark_kb: queue beyond which it marks, in KB.
        shape: makes the network for so many workers; a star by default.
    """

    bed: Testbed
    buffer_mb: float = INFINITE
    mark_kb: float = 100.0
    shape: Callable[[int, LinkProperties], Topology] = star

    def scaled(self, full: float) -> int:
        """The generated network's part of a time or a volume."""
        return max(1, round(full * self.bed.ratio))

    @property
    def topology(self) -> Topology:
        """The network with its links."""
        conditions = self.bed.conditions
        links = LinkProperties(
            round(conditions.link_gbps * 1e9),
            self.scaled(1e6 * conditions.delay_us),
            mark_bytes=self.scaled(1e3 * self.mark_kb),
            buffer_bytes=None if self.buffer_mb == INFINITE else self.scaled(1e6 * self.buffer_mb),
        )
        return self.shape(self.bed.boundary.workers, links)

    @property
    def framing(self) -> Framing:
        """Packets of the host-based schemes and of background traffic."""
        return Framing(retry_ps=self.scaled(200e6))

    def timed(self, protocol: ExchangeProtocol) -> ExchangeProtocol:
        """A protocol with scaled times."""
        return replace(protocol, timeout_ps=self.scaled(2e9), guard_ps=self.scaled(50e6), raise_ps=self.scaled(55e6))

    def run(self, scheme: str, features: int) -> PacketRun:
        """One exchange of vectors of so many features."""
        if scheme in HOST_BASED:
            return simulate(self.topology, flows=HOST_BASED[scheme](self.bed, features), framing=self.framing)
        return simulate(
            self.topology, self._plan(scheme, features), protocol=self._protocol(scheme), framing=self.framing
        )

    def epoch_ms(self, scheme: str) -> float:
        """Milliseconds of an epoch's communication at full size: raw features once, hidden ones otherwise."""
        raw = self.seconds(scheme, self.bed.sample.data.features)
        hidden = self.seconds(scheme, self.bed.conditions.hidden)
        return 1e3 * (raw + (EXCHANGES - 1) * hidden) / self.bed.ratio

    def seconds(self, scheme: str, features: int) -> float:
        """Seconds of an exchange of the generated graph; ``wide-slices`` makes one for each slice."""
        if scheme != WIDE:
            return self.run(scheme, features).seconds
        memory, total = self.bed.memory_bytes, 0.0
        for width, count in Counter(slice_widths(self.bed.boundary, chunks_for(features), memory)).items():
            plan = make_plan(self.bed.boundary, width, memory, seed=self.bed.seed)
            protocol = self.timed(RULES["switchgnn"])
            total += count * simulate(self.topology, plan, protocol=protocol, framing=self.framing).seconds
        return total

    def _plan(self, scheme: str, features: int) -> Plan:
        chunks, boundary = chunks_for(features), self.bed.boundary
        if scheme == "strawman":
            return make_plan(boundary, chunks, boundary.B * chunks * 4 * LANES, "random", self.bed.seed)
        order = "random" if scheme == UNORDERED else "gamr"
        return make_plan(boundary, chunks, self.bed.memory_bytes, order, self.bed.seed)

    def _protocol(self, scheme: str) -> ExchangeProtocol:
        if scheme == "strawman":
            return self.timed(replace(RULES["switchgnn"], aggregators=self.bed.memory_bytes // (4 * LANES)))
        return self.timed(RULES["switchgnn" if scheme == UNORDERED else scheme])


_SCHEMES: Final = (*HOST_BASED, "strawman", *RULES)
PUBLISHED: Final = (
    ("strawman", "bns-gcn", "+53 %"),
    ("switchgnn", "strawman", "-83 %"),
    ("switchgnn", "bns-gcn", "-74 %"),
    ("switchgnn", "g3", "-65 %"),
    ("switchgnn", "g3, even loads", "-65 %"),
)
"""Schemes that are compared, and the change of Reddit's epoch that the paper reports."""


@simulated(
    "switchgnn/fig15-packets",
    "Epoch time in a star whose ports have finite buffers",
    seconds=40,
    files=True,
    options={**OPTIONS, "buffer_mb": (64.0, 16.0), "mark_kb": (100.0, 400.0, 1000.0)},
    sizes=(0.5, 0.25, 1.5),
)
def figure15_packets(
    scale: float,
    seed: int,
    folder: Path | None = None,
    *,
    buffer_mb: float = 64.0,
    mark_kb: float = 100.0,
    **open_: Any,
) -> Reproduction:
    """Epoch time against the buffer of a port, packet by packet; ``buffer_mb`` is that of the comparisons."""
    conditions = BenchParameters(**open_)
    panels, data, comparisons = [], {}, []
    buffers = sorted({*BUFFERS_MB, buffer_mb})
    for name in DATASETS:
        bed = bed_of(name, WORKERS, _SIZE * scale, seed, folder, conditions)
        lines = {
            scheme: (
                [f"{each:g}" for each in buffers],
                [BufferedNetwork(bed, each, mark_kb).epoch_ms(scheme) for each in buffers],
            )
            for scheme in _SCHEMES
        }
        panels.append(Curves(name, "buffer of a port, MB", "communication of an epoch, ms", lines, bars=True))
        data[name] = lines
        place = buffers.index(buffer_mb)
        comparisons += _compared(name, {scheme: times[place] for scheme, (_, times) in lines.items()})
    bed = bed_of("reddit", WORKERS, _SIZE * scale, seed, folder, conditions)
    comparisons += _feedback(BufferedNetwork(bed, buffer_mb, mark_kb))
    note = (
        f"Comparisons are at {buffer_mb:g} MB a port. Passes are free. The strawman delivers raw "
        " features wherever no aggregator is free, in bursts that overflow finite buffers; each loss costs a "
        "time-out. SwitchGNN's own queues are short: without feedback it loses nothing. With the published "
        "acknowledgements the owner of a sum answers every worker that contributed, and these answers are the "
        "congestion. Notices are those of DCQCN: an owner reports a mark at most once in 50 us. G3's partition is the "
        "best that its algorithm 2 comes by; with even loads the streams are BNS-GCN's, scaled until all workers send "
        f"and receive alike. {origin(bed.sample)}"
    )
    settings = bed.settings(hidden=conditions.hidden, buffer_mb=buffer_mb, mark_kb=mark_kb)
    return Reproduction(comparisons, panels, settings, note, data)


def _compared(name: str, ms: dict[str, float]) -> list[PaperComparison]:
    return [
        PaperComparison(
            f"{name}: {ours} against {other}", published if name == "reddit" else None, less(ms[ours], ms[other])
        )
        for ours, other, published in PUBLISHED
    ]


def _feedback(network: BufferedNetwork) -> list[PaperComparison]:
    """What each kind of feedback adds to an exchange of hidden features."""
    quiet, *others = (network.run(scheme, network.bed.conditions.hidden).seconds for scheme in RULES)
    return [
        PaperComparison(f"an exchange with {what} against none", None, less(seconds, quiet))
        for what, seconds in zip(("notices", "acknowledgements"), others, strict=True)
    ]
