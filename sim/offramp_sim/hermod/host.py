# SPDX-License-Identifier: Apache-2.0
"""A server's NIC with Hermod's scheduler above it: the most urgent flow that can send goes next."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final

from offramp_p4.tm.config import PortConfig, QueueConfig, TmConfig
from offramp_p4.tm.joint import Departure
from offramp_p4.tm.manager import TrafficManager
from offramp_sim.hermod.flows import HermodFlow
from offramp_sim.hermod.framing import acknowledgement, parse
from offramp_sim.net.network import PacketNetwork

PORT: Final = 0
_DATA: Final = 0
_ANSWERS: Final = 1
_MOST_BACKOFF: Final = 6


class CoflowHost:
    """A node of the network.

    A packet is chosen only when the line is free, so that a more urgent flow waits for at most one packet of another;
    equal flows take turns. Acknowledgements go before data.

    Args:
        network: that it stands in.
        name: unique there.
        flows: all of the run, by queue pair.
        timeout_ps: after which the first packet in flight is sent again.
        arrived: called when a flow that ends here has arrived.
        silence: called when a flow retransmits after a timeout.

    Attributes:
        tm: the line and the queue of acknowledgements.
        peers: the hosts of all NICs, by number.
        taken: packets that have arrived here without a gap.
    """

    def __init__(
        self,
        network: PacketNetwork,
        name: str,
        flows: list[HermodFlow],
        timeout_ps: int,
        arrived: Callable[[HermodFlow], object],
        silence: Callable[[HermodFlow], object],
    ) -> None:
        self.network, self.name, self._flows, self._timeout_ps = network, name, flows, timeout_ps
        self._arrived, self._silence = arrived, silence
        self.tm: TrafficManager[Any] = TrafficManager(TmConfig(default=PortConfig(queues=(QueueConfig(),) * 2)))
        self.peers: list[CoflowHost] = []
        self.taken = 0
        self._free_ps = 0
        self._ready: dict[int, deque[HermodFlow]] = {}
        self._holding = 0
        self._held: list[HermodFlow] = []

    def submit(self, flow: HermodFlow) -> None:
        """Let a flow begin."""
        flow.submitted = True
        if flow.side == 1:
            self._holding += 1
        elif flow.side == 2:
            self._held.append(flow)
        self._consider(flow)
        self.network.wake(self)

    @property
    def next_ps(self) -> int | None:
        """Time at which something can be sent next."""
        due_ps = self.tm.next_ps
        if due_ps is None and self._ready:
            due_ps = max(self.network.now_ps, self._free_ps)
        return due_ps

    def advance(self, until_ps: int) -> list[Departure]:
        """Send as much as the line has time for."""
        departures: list[Departure] = []
        while True:
            if self._ready and self._free_ps <= until_ps and self.tm.queue(PORT, _DATA).bytes == 0:
                frame = self._choose()
                if frame is not None:
                    self.tm.enqueue(max(self._free_ps, self.network.now_ps), PORT, _DATA, len(frame), frame)
            departure = self.tm.dequeue(until_ps)
            if departure is None:
                return departures
            self._free_ps = self.tm.transmit(departure, departure.frame_bytes)
            departures.append(Departure(self._free_ps, PORT, departure.item))

    def receive(self, now_ps: int, port: int, frame: bytes) -> None:
        """Receive a packet or an acknowledgement."""
        del port
        packet = parse(frame)
        flow = self._flows[packet.pair]
        if packet.received is None:
            self._take(now_ps, flow, packet.sequence)
        else:
            flow.sender.acknowledged(packet.sequence, packet.received)
            flow.deadline_ps, flow.tries = now_ps + self._timeout_ps, 0
            self._consider(flow)

    def _take(self, now_ps: int, flow: HermodFlow, sequence: int) -> None:
        before = flow.receiver.received
        answer = flow.receiver.arrives(sequence)
        self.taken += flow.receiver.received - before
        if answer:
            frame = acknowledgement(flow.answer, sequence, flow.receiver.received)
            self.tm.enqueue(now_ps, PORT, _ANSWERS, len(frame), frame)
        for after in flow.after:  # inside a server another NIC may send on what this one has received
            self.peers[after.source].go_on(after)
        if flow.receiver.complete and before < flow.receiver.received:
            self._arrived(flow)

    def _choose(self) -> bytes | None:
        """The next packet of the most urgent flow; None if no flow can send after all."""
        while self._ready:
            level = min(self._ready)
            turn = self._ready[level]
            flow = turn.popleft()
            frame = None
            if self._can_send(flow):
                frame = flow.frame()
                self._watch(flow)
            flow.waiting = self._can_send(flow)
            if flow.waiting:
                turn.append(flow)
            elif not turn:
                del self._ready[level]
            if frame is not None:
                return frame
        return None

    def _can_send(self, flow: HermodFlow) -> bool:
        return flow.sender.may_send(flow.limit) and not (flow.side == 2 and self._holding)

    def _consider(self, flow: HermodFlow) -> None:
        """Put a flow into the queue if it can send."""
        if not flow.waiting and flow.submitted and self._can_send(flow):
            flow.waiting = True
            self._ready.setdefault(flow.level, deque()).append(flow)

    def go_on(self, flow: HermodFlow) -> None:
        """Reconsider a flow from here that may be able to send more."""
        self._consider(flow)
        self.network.wake(self)

    def over(self, flow: HermodFlow) -> None:
        """End a flow from here that has arrived: flows that were held back for it may send."""
        if flow.side == 1:
            self._holding -= 1
            if not self._holding:
                for held in self._held:
                    self._consider(held)
                self._held = [each for each in self._held if not each.sender.done]
                self.network.wake(self)

    def _watch(self, flow: HermodFlow) -> None:
        """Start the timer of a flow that has sent a packet, if none runs; it runs while a packet is in flight."""
        if len(flow.sender.in_flight) == 1:
            flow.deadline_ps = self.network.now_ps + self._timeout_ps
        if not flow.timed:
            self._start_timer(flow)

    def _start_timer(self, flow: HermodFlow) -> None:
        flow.timed = True
        self.network.at(max(flow.deadline_ps, self.network.now_ps), lambda: self._timer(flow))

    def _timer(self, flow: HermodFlow) -> None:
        flow.timed = False
        if flow.sender.done:
            return
        now_ps = self.network.now_ps
        if now_ps >= flow.deadline_ps and flow.sender.in_flight:
            self._silence(flow)
            flow.sender.times_out()
            flow.tries += 1
            flow.deadline_ps = now_ps + (self._timeout_ps << min(flow.tries, _MOST_BACKOFF))
            self._consider(flow)
            self.network.wake(self)
        if flow.sender.in_flight:
            self._start_timer(flow)
