# SPDX-License-Identifier: Apache-2.0
"""One run at packet level: a loaded DAG under a policy, with hosts around switches that run Hermod's program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from offramp_base.errors import OfframpError
from offramp_sim.hermod.faults import RunFaults
from offramp_sim.hermod.flow.network import Loaded
from offramp_sim.hermod.flow.simulate import FlowResult, iteration_ends
from offramp_sim.hermod.flows import HermodFlow, flows_of
from offramp_sim.hermod.host import CoflowHost
from offramp_sim.hermod.layout import layout_of
from offramp_sim.hermod.marks import Marks, marks_of
from offramp_sim.hermod.progress import TaskProgress
from offramp_sim.hermod.stuck import Watchdog
from offramp_sim.hermod.topology import SwitchTopology
from offramp_sim.hermod.wire import PacketSizes, WireProperties
from offramp_sim.net.network import PacketNetwork

MOST_NICS: Final = 16
_SLICE_PACKETS: Final = 2000
"""Packet times between two progress reports."""


@dataclass(frozen=True)
class PacketResult(FlowResult):
    """Times of everything that happened, and counts of packets.

    Attributes:
        sizes: how packets represent bytes.
        engine: that ran the program.
        smallest: packets of the smallest flow.
        data, retransmitted: packets with data that hosts sent, and of these the repeated ones.
        lost, dropped: frames lost on links, and dropped by switches without free buffers.
        queues: frames that left the switches, by queue.
        link_bytes: bytes of time on each link, both directions of each cable one after the other; of a fabric's
            cables those that work.
    """

    sizes: PacketSizes
    engine: str = ""
    smallest: int = 0
    data: int = 0
    retransmitted: int = 0
    lost: int = 0
    dropped: int = 0
    queues: dict[int, int] = field(default_factory=dict)
    link_bytes: list[int] = field(default_factory=list)


def simulate_packets(
    loaded: Loaded,
    policy: str,
    *,
    queues: int | None = None,
    scheme: str = "split",
    hosts: str = "queues",
    wire: WireProperties | None = None,
    faults: RunFaults | None = None,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> PacketResult:
    """Run a policy with every packet through the program; ``progress`` gets the share of tasks done.

    Raises:
        OfframpError: more NICs than :data:`MOST_NICS`, a policy with more classes than queues, a fault at a NIC that is
            not there, or faults after which nothing can proceed.
    """
    count = loaded.fabric.count
    if count > MOST_NICS:
        raise OfframpError(f"packet level: {count} NICs, expected at most {MOST_NICS}")
    wire, faults = wire or WireProperties(), faults or RunFaults()
    run = _HermodRun(loaded, marks_of(loaded.dag, policy, queues, scheme, hosts), wire, faults, seed)
    return run.to_the_end(progress)


class _HermodRun:
    """The parts of one run."""

    def __init__(self, loaded: Loaded, marks: Marks, wire: WireProperties, faults: RunFaults, seed: int) -> None:
        self._loaded, self._fifo = loaded, marks.fifo
        self._sizes = sizes = PacketSizes.of(loaded, wire)
        flows = flows_of(loaded, marks, sizes)
        self._flows = [flow for mine in flows for flow in mine]
        self._network = network = PacketNetwork(seed)
        self._progress = TaskProgress(network, loaded, flows, self._submit)
        names = [f"nic{nic}" for nic in range(loaded.fabric.count)]
        self._hosts: list[CoflowHost] = []
        watchdog = Watchdog(network, self._hosts, self._flows, self._progress, faults)
        for name in names:
            host = CoflowHost(network, name, self._flows, sizes.timeout_ps, self._arrived, watchdog.silent)
            network.add_node(host)
            host.peers = self._hosts
            self._hosts.append(host)
        layout = layout_of(loaded.fabric, wire.delay_ns)
        self._topology = SwitchTopology(network, layout, marks.queue, wire)
        self._topology.connect(sizes.scale, faults)

    def to_the_end(self, progress: Callable[[float], None] | None) -> PacketResult:
        """Let time pass until everything is done."""
        network, tasks = self._network, len(self._loaded.delay)
        slice_ps = _SLICE_PACKETS * self._sizes.packet_ps
        self._progress.begin()
        while self._progress.done < tasks:
            due_ps = network.next_ps
            if due_ps is None:
                raise OfframpError("the DAG cannot proceed: a cycle, or a coflow that never ends")
            network.run(due_ps + slice_ps)
            if progress is not None:
                progress(self._progress.done / tasks)
        return self._outcome()

    def _submit(self, flow: HermodFlow) -> None:
        if self._fifo:
            flow.level = self._network.now_ps
        self._hosts[flow.source].submit(flow)

    def _arrived(self, flow: HermodFlow) -> None:
        self._hosts[flow.source].over(flow)
        self._progress.arrived(flow)

    def _outcome(self) -> PacketResult:
        senders = [flow.sender for flow in self._flows]
        start, end = self._progress.start, self._progress.end
        for time_s, _ in self._loaded.fabric.changes:
            if end.max(initial=0.0) > time_s:
                raise OfframpError(
                    f"failures: a link fails or is mended after {time_s:g} s, before the end at {end.max():g} s: "
                    "Hermod's packets keep the network of the start, expected --level flow"
                )
        return PacketResult(
            self._loaded,
            start,
            end,
            iteration_ends(self._loaded.dag, end),
            self._network.events,
            self._sizes,
            self._topology.engine,
            min((sender.packets for sender in senders), default=0),
            sum(sender.sent for sender in senders),
            sum(sender.retransmitted for sender in senders),
            self._network.lost,
            self._topology.dropped,
            self._topology.queues,
            self._topology.link_bytes,
        )
