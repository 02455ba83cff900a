# SPDX-License-Identifier: Apache-2.0
"""The flows of a loaded DAG as packets between NICs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from offramp.hermod.dag import Coflow
from offramp.hermod.factors import CType
from offramp_base.errors import OfframpError
from offramp_sim.hermod.flow.network import Loaded
from offramp_sim.hermod.framing import FlowFrames, NicAddress, acknowledgement_head
from offramp_sim.hermod.marks import Marks
from offramp_sim.hermod.transport import FlowReceiver, FlowSender
from offramp_sim.hermod.wire import PacketSizes

_MOST_PACKETS: Final = 1 << 24
"""Sequence numbers and queue pairs have 24 bits."""


@dataclass(slots=True, eq=False)
class HermodFlow:
    """One flow: both ends, its marking and its progress.

    Attributes:
        pair: its queue pair, the position among all flows.
        task: the coflow's position in the DAG.
        source, sink: NICs.
        level: level at the sender; lower goes first, equal ones in turn.
        side: 2 waits while its sender has a flow of side 1 (Lina).
        frames, answer: its data packets, and the start of its acknowledgements.
        before: in a ring, the flow of which the sender must have received as much as it sends.
        after: flows that wait for this one in that way.
        waiting: whether it is in the sender's queue.
        submitted: whether it may send.
        deadline_ps, timed, tries: state of the retransmission timer.
    """

    pair: int
    task: int
    source: int
    sink: int
    level: int
    side: int
    frames: FlowFrames
    answer: bytes
    sender: FlowSender
    receiver: FlowReceiver
    before: HermodFlow | None = None
    after: list[HermodFlow] = field(default_factory=list)
    waiting: bool = False
    submitted: bool = False
    deadline_ps: int = 0
    timed: bool = False
    tries: int = 0

    @property
    def limit(self) -> int:
        """Packets that may have been sent by now: for a ring, a window more than have been received."""
        before = self.before
        if before is None or before.receiver.complete:
            return self.sender.packets
        return before.receiver.received + self.sender.window

    def frame(self) -> bytes:
        """The packet to send now."""
        sequence = self.sender.take()
        last = sequence == self.sender.packets - 1
        return self.frames.last_packet(sequence) if last else self.frames.packet(sequence)


def flows_of(loaded: Loaded, marks: Marks, sizes: PacketSizes) -> list[list[HermodFlow]]:
    """Flows that each task sends over the network.

    Raises:
        OfframpError: more packets or flows than 24 bits can number, or a flow from a NIC to itself.
    """
    flows: list[list[HermodFlow]] = []
    pair = position = 0
    for task, coflow in enumerate(loaded.dag.tasks):
        mine: list[HermodFlow] = []
        if isinstance(coflow, Coflow):
            if coflow.ctype is not CType.TP:
                mine = _flows(loaded, coflow, task, position, pair, marks, sizes)
            position += 1
        pair += len(mine)
        flows.append(mine)
    if pair >= _MOST_PACKETS:
        raise OfframpError(f"{pair} flows: a queue pair has 24 bits; expected fewer iterations")
    return flows


def _flows(
    loaded: Loaded, coflow: Coflow, task: int, position: int, pair: int, marks: Marks, sizes: PacketSizes
) -> list[HermodFlow]:
    fabric, flows = loaded.fabric, coflow.flows
    nics = fabric.packet_flows(flows, coflow.ctype)
    by_lane: dict[int, dict[int, HermodFlow]] = {}
    # Every sender begins with the NIC after its own, so that the first packets of an all-to-all do not meet.
    begin = np.argsort((nics.sink - nics.source) % fabric.count, kind="stable")
    for number, at in enumerate(begin.tolist(), pair):
        k = int(nics.flow[at])
        source = NicAddress(int(nics.source[at]), int(nics.back[at]))
        sink = NicAddress(int(nics.sink[at]), int(nics.way[at]))
        if source.nic == sink.nic:
            raise OfframpError(f"packet level: a flow from NIC {source.nic} to itself, which no switch sends back")
        size = max(1, round(float(flows.size[k]) * fabric.share / sizes.scale))
        packets = -(-size // sizes.payload)
        if packets >= _MOST_PACKETS:
            raise OfframpError(f"a flow of {packets} packets: a sequence number has 24 bits; expected a larger scale")
        dscp = marks.dscp[position]
        last = size - (packets - 1) * sizes.payload
        by_lane.setdefault(int(nics.lane[at]), {})[k] = HermodFlow(
            number,
            task,
            source.nic,
            sink.nic,
            int(marks.level[position]),
            int(marks.side[position]),
            FlowFrames.data(source, sink, dscp, number, sizes.payload, last),
            acknowledgement_head(sink, source, marks.answer_dscp, number),
            FlowSender(packets, sizes.window),
            FlowReceiver(packets),
        )
    for mine in by_lane.values():
        if coflow.ctype is CType.DP:
            _couple(flows.source.tolist(), flows.sink.tolist(), mine)
    return sorted((flow for mine in by_lane.values() for flow in mine.values()), key=lambda flow: flow.pair)


def _couple(source: Sequence[int], sink: Sequence[int], flows: dict[int, HermodFlow]) -> None:
    """Couple a ring's flows: a member sends at most a window more than it has received; inside a server at once."""
    into = {worker: k for k, worker in enumerate(sink)}
    if len(into) != len(sink) or set(into) != set(source):
        return
    for k, flow in flows.items():
        before = into[source[k]]
        while before not in flows and before != k:
            before = into[source[before]]
        if before != k:
            flow.before = flows[before]
            flows[before].after.append(flow)
