# SPDX-License-Identifier: Apache-2.0
"""Both ends of a flow: packets in flight up to a window, selective acknowledgement, retransmission.

As in RDMA for lossy networks (Mittal et al., SIGCOMM 2018), bytes in flight are bounded by the bandwidth-delay product,
a packet that others have overtaken counts as lost, and a timer retransmits when nothing comes back.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final

ACKNOWLEDGED_AT_ONCE: Final = 4
"""Packets that arrive in order for each acknowledgement."""


@dataclass(slots=True, eq=False)
class FlowReceiver:
    """The receiving end of a flow.

    Attributes:
        packets: packets of the whole flow.
        received: packets received from the first on without a gap.
    """

    packets: int
    received: int = 0
    early: set[int] | None = None
    silent: int = 0

    @property
    def complete(self) -> bool:
        """Whether everything has arrived."""
        return self.received == self.packets

    def arrives(self, sequence: int) -> bool:
        """Accept a packet; returns whether to acknowledge it now."""
        early = self.early
        if sequence == self.received and not early:
            self.received += 1
            self.silent += 1
            if self.silent < ACKNOWLEDGED_AT_ONCE and not self.complete:
                return False
            self.silent = 0
            return True
        if sequence >= self.received:
            early = self.early = early or set()
            early.add(sequence)
            while self.received in early:
                early.discard(self.received)
                self.received += 1
        self.silent = 0
        return True


@dataclass(slots=True, eq=False)
class FlowSender:
    """The sending end of a flow.

    Attributes:
        packets: packets of the whole flow.
        window: most packets in flight.
        next: first packet that was never sent.
        sent, retransmitted: transmissions of packets, and those that were not a packet's first.
        in_flight: position in the order of sending by sequence number, in that order.
        lost: packets to be sent again.
    """

    packets: int
    window: int
    next: int = 0
    sent: int = 0
    retransmitted: int = 0
    in_flight: dict[int, int] = field(default_factory=dict)
    lost: deque[int] = field(default_factory=deque)

    @property
    def done(self) -> bool:
        """Whether everything has been acknowledged."""
        return self.next == self.packets and not self.in_flight and not self.lost

    def may_send(self, limit: int) -> bool:
        """Whether a packet can be sent: one to retransmit, or a new one below ``limit`` and inside the window."""
        return bool(self.lost) or (self.next < self.packets and self.next < limit and len(self.in_flight) < self.window)

    def take(self) -> int:
        """Sequence number of the packet to send now; :meth:`may_send` must hold."""
        if self.lost:
            sequence = self.lost.popleft()
            self.retransmitted += 1
        else:
            sequence = self.next
            self.next += 1
        self.in_flight[sequence] = self.sent
        self.sent += 1
        return sequence

    def acknowledged(self, sequence: int, received: int) -> None:
        """Process an acknowledgement of ``sequence``, sent when ``received`` packets had arrived without a gap."""
        order = self.in_flight.pop(sequence, None)
        if order is None:
            order = -1
        flying = self.in_flight
        while flying:
            first = next(iter(flying))
            if first < received:
                del flying[first]
            elif flying[first] < order:
                del flying[first]
                self.lost.append(first)
            else:
                break
        if self.lost:
            self.lost = deque(each for each in self.lost if each >= received and each != sequence)

    def times_out(self) -> None:
        """Process a timeout: the first packet in flight is sent again."""
        if self.in_flight:
            first = next(iter(self.in_flight))
            del self.in_flight[first]
            self.lost.append(first)
