# SPDX-License-Identifier: Apache-2.0
"""Hermod's end host in the agent: coflows go out in strict order, frame by frame, marked with their DSCP.

What :class:`offramp.hermod.endhost.endpoint.Endpoint` does with TCP connections the agent does on a port, with frames
of at most 1,408 bytes: a more urgent coflow overtakes after the frames that the port already has, at most 64.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Self

from offramp.device import Message, Status
from offramp.hermod.endhost.priorities import CoflowPriority, Priorities
from offramp.hermod.endhost.transfers import Span
from offramp.hermod.factors import Factors
from offramp.nic import wire
from offramp.nic.connection import AgentConnection
from offramp.nic.link import parse_nic_link
from offramp.nic.memory import Arena
from offramp.nic.rings import ClientRings, Submission
from offramp_base.errors import OfframpError
from offramp_base.sealed_memory import SharedMemory

CELL: Final = 1408
"""Payload bytes of a frame; pieces of a transfer end at multiples of it."""
CLASSES: Final = 8
"""Strict priority queues of a port; the first is that of control frames."""
_ENTRIES: Final = 256
_ANSWER: Final = 256


class RankAddress(NamedTuple):
    """Addresses of a rank.

    Attributes:
        mac: six bytes: its own within one network, else the router's.
        ip: IPv4 address.
    """

    mac: bytes
    ip: str

    @classmethod
    def of_rank(cls, rank: int) -> Self:
        """Addresses for a network without any of its own, up to rank 65,534."""
        return cls(struct.pack(">HI", 0x0200, rank + 1), socket.inet_ntoa(struct.pack(">I", 0x0A000001 + rank)))

    def pack(self) -> bytes:
        """The bytes that the agent reads.

        Raises:
            OfframpError: an address is invalid.
        """
        try:
            ip = socket.inet_aton(self.ip)
        except OSError:
            raise OfframpError(f"host {self.ip}: expected an IPv4 address") from None
        if len(self.mac) != 6:
            raise OfframpError(f"host {self.ip}: expected a MAC of six bytes")
        return wire.ADDRESS.pack(self.mac, 0, int.from_bytes(ip, "big"), 0)


@dataclass(eq=False)
class PendingCoflow:
    """A coflow that was handed over.

    Attributes:
        done: whether everything has been received, and everything sent has arrived.
        received: bytes by peer, once done.
    """

    message: int
    done: bool = False
    received: dict[int, bytes] = field(default_factory=dict)
    _places: list[tuple[int, int]] = field(default_factory=list)
    _incoming: dict[int, tuple[int, int]] = field(default_factory=dict)
    _answer: int = 0


class CoflowPort:
    """This rank's end of transfers to its peers, over a port of an agent.

    Args:
        link: ``nic:SOCKET#PORT``.
        rank: rank of this process.
        hosts: addresses of all ranks, in order.
        priorities: priorities of the job; by default all coflows are equal.
        memory: bytes for data being sent and received.
        retry_s: seconds without progress after which frames are retransmitted.
        loss: probability of dropping an incoming frame, for tests, drawn from ``seed``.

    Raises:
        OfframpError: there is no agent or port, the port has another worker, or the ranks are invalid.
    """

    def __init__(
        self,
        link: str,
        rank: int,
        hosts: Sequence[RankAddress],
        priorities: Priorities | None = None,
        *,
        memory: int = 64 << 20,
        retry_s: float = 0.05,
        loss: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.rank, self.size = rank, len(hosts)
        self.priorities = priorities or Priorities.off()
        self._unfinished: dict[int, PendingCoflow] = {}
        self._next = 0
        path, port = parse_nic_link(link)
        ranks = b"".join(host.pack() for host in hosts)
        first = -(-wire.queue_bytes(_ENTRIES) // 64) * 64
        self._memory = SharedMemory(first + len(ranks) + 64 + memory, f"offramp-coflows-{rank}")
        self._memory.view[first : first + len(ranks)] = ranks
        self._arena = Arena(-(-(first + len(ranks)) // 64) * 64, self._memory.size)
        self._rings = ClientRings(self._memory, 0, _ENTRIES)
        try:
            self._connection = AgentConnection(path)
        except OfframpError:
            self._rings.close()
            self._memory.close()
            raise
        try:
            self._region = self._connection.share(self._memory)
            number, bell = self._connection.queue(self._region, 0, _ENTRIES)
            self._rings.connect(bell)
            control = self.priorities.control.dscp
            times = first, round(1e9 * retry_s), loss, seed
            body = wire.COFLOWS.pack(number, port, rank, len(hosts), self._region, control, *times)
            self._connection.ask(wire.ControlMessageType.COFLOWS, body)
        except OfframpError:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def exchange(
        self,
        message: int,
        outgoing: Mapping[int, Message],
        incoming: Mapping[int, int],
        factors: Factors | None = None,
        order: Iterable[Span] | None = None,
    ) -> PendingCoflow:
        """Hand over a coflow.

        Args:
            message: id of 32 bits, the same at both ends of each transfer, and unique between the two at that time.
            outgoing: bytes for each peer, which are copied into shared memory.
            incoming: number of bytes expected from each peer.
            factors: its priority; None: the lowest.
            order: order of transmission; by default a frame for each peer in turn.

        Raises:
            OfframpError: a factor is out of the job's range, there is no room, or the agent is gone.
        """
        if self._rings.gone or self._rings.full:
            raise OfframpError("coflows: the agent is gone" if self._rings.gone else "coflows: too many at a time")
        mark = self.priorities.mark(factors)
        coflow = PendingCoflow(message)
        outs = {peer: self._put(coflow, content) for peer, content in outgoing.items() if len(content)}
        coflow._incoming = {peer: (self._take(coflow, size), size) for peer, size in incoming.items() if size}
        coflow.received = {peer: b"" for peer, size in incoming.items() if not size}
        spans = [(peer, start, stop - start) for peer, start, stop in order or ()]
        counts = len(outs), len(coflow._incoming), len(spans), 0
        head = message, mark.dscp, self._place(mark, factors), order is not None, len(mark.key)
        parts = [wire.COFLOW.pack(*head, *counts), struct.pack(f"<{len(mark.key)}q", *mark.key)]
        lists = [(peer, *where) for peer, where in (*outs.items(), *coflow._incoming.items())] + spans
        parts += [wire.TRANSFER.pack(peer, 0, start, length) for peer, start, length in lists]
        text = b"".join(parts)
        at, _ = self._put(coflow, text)
        coflow._answer = self._take(coflow, _ANSWER)
        number, self._next = self._next, self._next + 1
        self._unfinished[number] = coflow
        function = wire.NicFunction.HERMOD_EXCHANGE
        region = self._region
        self._rings.submit(Submission(number, function, region, at, len(text), region, coflow._answer, _ANSWER))
        return coflow

    def wait(self, exchange: PendingCoflow, timeout_s: float = 10.0) -> dict[int, bytes]:
        """Wait for a coflow; returns the bytes received from each peer.

        Raises:
            OfframpError: data was not all received, or did not all arrive at peers, in time; the agent refused the
                coflow, or is gone.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            self._listen()
            if exchange.done:
                return exchange.received
            left = deadline - time.monotonic()
            if self._rings.gone:
                raise OfframpError("coflows: the agent is gone")
            if left <= 0:
                raise OfframpError(f"coflows: message {exchange.message} is not over after {timeout_s:g} s")
            self._rings.wait(left)

    def poll(self) -> None:
        """Process completions without waiting.

        Raises:
            OfframpError: the agent refused a coflow, or is gone.
        """
        self._rings.wait(0.0)
        self._listen()
        if self._rings.gone:
            raise OfframpError("coflows: the agent is gone")

    def close(self) -> None:
        """Disconnect from the agent; unfinished coflows are abandoned."""
        self._rings.close()
        self._connection.close()
        self._memory.close()

    def _listen(self) -> None:
        for done in self._rings.completions():
            exchange = self._unfinished.pop(done.request)
            view = self._memory.view
            text = bytes(view[exchange._answer : exchange._answer + done.length])
            for peer, (at, size) in exchange._incoming.items():
                exchange.received[peer] = bytes(view[at : at + size])
            for place in exchange._places:
                self._arena.give(*place)
            if done.status != Status.OK:
                raise OfframpError(f"coflows: {text.decode(errors='replace') or 'the agent refuses it'}")
            exchange.done = True

    def _take(self, exchange: PendingCoflow, size: int) -> int:
        at = self._arena.take(size)
        if at is None:
            for place in exchange._places:
                self._arena.give(*place)
            raise OfframpError(f"coflows: no room for {size} bytes more in {self._arena.size} of shared memory")
        exchange._places.append((at, size))
        return at

    def _put(self, exchange: PendingCoflow, content: Message) -> tuple[int, int]:
        at = self._take(exchange, len(content))
        self._memory.view[at : at + len(content)] = content
        return at, len(content)

    def _place(self, mark: CoflowPriority, factors: Factors | None) -> int:
        """The coflow's class on the port: its DSCP's queue in the switches, after the class of control frames."""
        plan = self.priorities.plan
        if plan is None or factors is None:
            return CLASSES - 1 if plan is not None else 1
        return min(plan.classes - plan.queue[mark.dscp], CLASSES - 1)
