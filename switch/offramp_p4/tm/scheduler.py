# SPDX-License-Identifier: Apache-2.0
"""Choice of a port's next queue."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from offramp_base.wire.ethernet import wire_bytes
from offramp_p4.tm.config import ALL_PERCENT
from offramp_p4.tm.queue import Queue

QUANTUM_BYTES = wire_bytes(1514)
"""Bytes that one unit of weight may send in a round: a full Ethernet frame as it stands on the line."""


class PortScheduler:
    """Strict priority, the highest number first; after it deficit round robin among the weighted queues.

    Deficit round robin as Shreedhar and Varghese, SIGCOMM 1995, describe it, in bytes of the line: after any number
    of rounds a queue that was never empty has sent its quanta less a deficit smaller than one frame.

    A strict queue with a guaranteed share goes before all others as soon as these have sent so much, since it has had
    something to send, that its next frame is due: what it sends falls short of its share by less than a frame of its
    own and one of theirs.
    """

    def __init__(self, queues: Sequence[Queue[Any]]) -> None:
        self._queues = queues
        self._strict = 0  # bit n: queue n is strict and holds something
        self._round: deque[int] = deque()  # weighted queues that hold something; the first one's turn it is
        self._deficit = [0] * len(queues)
        self._turn_begins = True
        self._shares = {n: q.config.least_percent for n, q in reversed([*enumerate(queues)]) if q.config.least_percent}
        self._due = [0] * len(queues)  # bytes times percent that a queue with a share may send at once

    def fill(self, number: int) -> None:
        """A queue that was empty holds a frame."""
        if self._queues[number].config.weight is None:
            self._strict |= 1 << number
        else:
            self._round.append(number)

    def choose(self) -> int:
        """The queue whose first frame the caller now takes; at least one holds something."""
        return self._next_strict() if self._strict else self._next_weighted()

    def _next_strict(self) -> int:
        number = self._strict.bit_length() - 1
        if self._shares:
            number = self._keep_shares(number)
        if len(self._queues[number]) == 1:
            self._strict &= ~(1 << number)
        return number

    def _keep_shares(self, number: int) -> int:
        """The first queue whose guaranteed share is due, else ``number``; accounts for what is sent."""
        waiting = [n for n in self._shares if self._strict >> n & 1]
        for n in waiting:
            if self._due[n] >= wire_bytes(self._queues[n].head_bytes) * (ALL_PERCENT - self._shares[n]):
                number = n
                break
        sent = wire_bytes(self._queues[number].head_bytes)
        for n in waiting:
            if n != number:
                self._due[n] += sent * self._shares[n]
            elif len(self._queues[n]) == 1:
                self._due[n] = 0
            else:
                self._due[n] = max(self._due[n] - sent * (ALL_PERCENT - self._shares[n]), 0)
        return number

    def _next_weighted(self) -> int:
        deficit = self._deficit
        while True:
            number = self._round[0]
            queue = self._queues[number]
            if self._turn_begins:
                deficit[number] += QUANTUM_BYTES * (queue.config.weight or 1)
                self._turn_begins = False
            needed = wire_bytes(queue.head_bytes)
            if needed <= deficit[number]:
                break
            self._round.rotate(-1)
            self._turn_begins = True
        deficit[number] -= needed
        if len(queue) == 1:
            deficit[number] = 0
            self._round.popleft()
            self._turn_begins = True
        return number
