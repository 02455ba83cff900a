# SPDX-License-Identifier: Apache-2.0
"""A host's side of the request layer to an FPGA card: numbers, window, retransmission. Without sockets and clocks.

Time is what the caller says (seconds, of one clock). Retransmission times follow RFC 6298, with Karn's rule: only what
was sent once measures the way, and only that ends a backoff.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from offramp.fpga.udp import HEADER, MAGIC, DatagramStatus, DatagramType, PacketTarget

LEAST_RTO_S: Final = 0.002
FIRST_RTO_S: Final = 0.1
ALIVE_S: Final = 1.0
"""Seconds after which a silent host sends a sign of life: a card ends a session after five seconds."""

Answered = Callable[[int, bytes], None]
"""Called with the card's cycles and an answer packet."""


@dataclass
class _SentDatagram:
    datagram: bytes
    answered: Answered
    at: float
    times: int = 1


class CardRefused(Exception):
    """The card serves another host, or has forgotten this session."""


class CardSession:
    """Requests of a host to a card, each answered once.

    Attributes:
        opened: whether the card has agreed.
        closed: whether the card is known to have been given back.
        window: requests that may be on their way.
        clock_hz: the card's.
        lines: lines of the card's table.
        requests: requests that were sent, each counted once.
        resent: datagrams that were sent again.
    """

    def __init__(self, number: int, now: float, most_rto_s: float = 0.25) -> None:
        """A session that is not open yet.

        Args:
            number: number of the session, 32 bits, new for each.
            now: the time.
            most_rto_s: the longest time before something is sent again.
        """
        self.number = number
        self._most_rto_s = most_rto_s
        self.opened = self.closed = self._closing = False
        self.window = self.clock_hz = self.lines = self.requests = self.resent = 0
        self._waiting: deque[tuple[PacketTarget, bytes, Answered]] = deque()
        self._sent: dict[int, _SentDatagram] = {}
        self._next = 0
        self._smooth = self._vary = 0.0
        self._rto = FIRST_RTO_S
        self._backoff = 1.0
        self._open_at = now - 2 * FIRST_RTO_S
        self._opens = 0
        self._backed_at = now
        self._closed_at = now - 2 * most_rto_s
        self.heard_at = now

    @property
    def idle(self) -> bool:
        """Whether everything is answered."""
        return not self._sent and not self._waiting

    @property
    def room(self) -> bool:
        """Whether a request would be sent at once."""
        return self.opened and not self._waiting and self._fits()

    def _fits(self) -> bool:
        return (self._next - self.window) & 0xFFFFFFFF not in self._sent and len(self._sent) < self.window

    def request(self, target: PacketTarget, packet: bytes, answered: Answered) -> None:
        """Queue a request."""
        self._waiting.append((target, packet, answered))

    def due(self, now: float) -> list[bytes]:
        """Datagrams to be sent now."""
        if self._closing:
            return self._closes(now)
        datagrams = []
        silent = now - max(self._open_at, self.heard_at) >= ALIVE_S
        if self.idle and silent if self.opened else now - self._open_at >= self._wait():
            self._opens += 1
            if self._opens > 1 and not self.opened:
                self._backoff *= 2
            self._open_at = now
            datagrams.append(self._message(DatagramType.OPEN, 0, 0, b""))
        if not self.opened:
            return datagrams
        late = [sent for sent in self._sent.values() if now - sent.at >= self._wait()]
        for sent in late:
            sent.at, sent.times = now, sent.times + 1
            datagrams.append(sent.datagram)
            self.resent += 1
        if late and now - self._backed_at >= self._wait():  # once for all that is late together
            self._backoff, self._backed_at = 2 * self._backoff, now
        while self._waiting and self._fits():
            target, packet, answered = self._waiting.popleft()
            datagram = self._message(DatagramType.REQUEST, target, self._next, packet)
            self._sent[self._next] = _SentDatagram(datagram, answered, now)
            self._next = (self._next + 1) & 0xFFFFFFFF
            self.requests += 1
            datagrams.append(datagram)
        return datagrams

    def _closes(self, now: float) -> list[bytes]:
        if self.closed or now - self._closed_at < self._wait():
            return []
        self._closed_at = now
        return [self._message(DatagramType.CLOSE, 0, 0, b"")]

    def wakes_at(self) -> float:
        """The latest time for the next call of :meth:`due`."""
        if self._closing:
            return self._closed_at + self._wait()
        if not self.opened:
            return self._open_at + self._wait()
        times = [sent.at + self._wait() for sent in self._sent.values()]
        return min(times, default=max(self._open_at, self.heard_at) + ALIVE_S)

    def heard(self, datagram: bytes, now: float) -> None:
        """Take what came from the card; what is not an answer of this session is ignored.

        Raises:
            Refused: the card is another host's, or does not know the session any more.
        """
        if len(datagram) < HEADER.size:
            return
        head = HEADER.decode(datagram[: HEADER.size])
        if head["magic"] != MAGIC or head["session"] != self.number:
            return
        self.heard_at = now
        if self._closing:
            self.closed |= head["kind"] == DatagramType.CLOSE  # whatever it says: the session is no more
        elif head["kind"] == DatagramType.OPEN:
            self._heard_open(head, now)
        elif head["kind"] == DatagramType.REQUEST:
            if head["outcome"] != DatagramStatus.DONE:
                raise CardRefused("the card has given the session up")
            self._heard_answer(head, datagram[HEADER.size :], now)

    def _heard_open(self, head: dict[str, int], now: float) -> None:
        if head["outcome"] == DatagramStatus.BUSY:
            raise CardRefused("the card serves another host")
        if head["outcome"] == DatagramStatus.NO_SESSION:
            raise CardRefused("the card has closed this session")
        if not self.opened and head["outcome"] == DatagramStatus.DONE and head["window"] and head["cycles"]:
            self.opened, self.window = True, head["window"]
            self.clock_hz, self.lines = head["cycles"], head["lines"]
            self._backoff = 1.0  # begins anew with the first request (RFC 6298, 5.7)
            if self._opens == 1:
                self._measure(now - self._open_at)

    def _heard_answer(self, head: dict[str, int], packet: bytes, now: float) -> None:
        sent = self._sent.pop(head["sequence"], None)
        if sent is None:
            return  # answered before
        if sent.times == 1:
            self._measure(now - sent.at)
        sent.answered(head["cycles"], packet)

    def close(self) -> None:
        """Give the card back: from now on :meth:`due` says so until the card has answered, and requests are forgotten.

        A card that misses this serves nobody else for five seconds.
        """
        self._closing = True

    def _wait(self) -> float:
        return min(self._rto * self._backoff, self._most_rto_s)

    def _measure(self, took: float) -> None:
        if not self._smooth:
            self._smooth, self._vary = took, took / 2
        else:
            self._vary = 0.75 * self._vary + 0.25 * abs(self._smooth - took)
            self._smooth = 0.875 * self._smooth + 0.125 * took
        self._rto = max(self._smooth + 4 * self._vary, LEAST_RTO_S)
        self._backoff = 1.0

    def _message(self, kind: DatagramType, target: int, sequence: int, packet: bytes) -> bytes:
        values = {"magic": MAGIC, "kind": kind, "target": target, "session": self.number, "sequence": sequence}
        return HEADER.encode(values) + packet
