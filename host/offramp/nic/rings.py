# SPDX-License-Identifier: Apache-2.0
"""A queue's rings: submissions to the agent and completions from it, without system calls except for the bell."""

from __future__ import annotations

import select
import socket
import threading
import time
from typing import NamedTuple

from offramp.nic import wire
from offramp_base.errors import OfframpError
from offramp_base.sealed_memory import SharedMemory


class Submission(NamedTuple):
    """A request to the agent; offsets are into regions, at multiples of 8."""

    request: int
    function: int
    message_region: int
    message: int
    message_length: int
    answer_region: int
    answer: int
    room: int


class Completed(NamedTuple):
    """The agent's answer to a request."""

    request: int
    status: int
    length: int
    busy_ns: int


class ClientRings:
    """The client's side of the rings; used by one thread at a time."""

    def __init__(self, memory: SharedMemory, offset: int, entries: int) -> None:
        """Create rings at ``offset``, before the agent is told of them."""
        self._view = memory.view[offset : offset + wire.queue_bytes(entries)]
        self._view[: wire.RINGS_AT] = bytes(wire.RINGS_AT)
        # One store each: struct.pack_into would show the agent a zero in between.
        self._counters = self._view[: wire.RINGS_AT].cast("Q")
        self._entries = entries
        self._submitted = self._heard = 0
        self._bell: socket.socket | None = None
        self._poll = select.poll()
        self._lock = threading.Lock()
        self.gone = True

    def connect(self, bell: socket.socket) -> None:
        """Use ``bell`` from now on, since the agent serves the rings."""
        self._bell = bell
        self._poll.register(bell, select.POLLIN)
        self.gone = False

    @property
    def full(self) -> bool:
        """Whether as many requests are outstanding as there are entries."""
        return self._submitted - self._heard >= self._entries

    def submit(self, entry: Submission) -> None:
        """Submit an entry, for which there must be room, and ring the bell."""
        at = wire.RINGS_AT + (self._submitted & self._entries - 1) * wire.SUBMISSION.size
        request, function, message_region, message, length, answer_region, answer, room = entry
        wire.SUBMISSION.pack_into(
            self._view, at, request, function, 0, message_region, answer_region, message, length, answer, room, 0
        )
        self._submitted += 1
        self._order()
        self._counters[wire.SUBMITTED // 8] = self._submitted
        self.ring()

    def ring(self) -> None:
        """Wake the agent."""
        try:
            if self._bell is not None:
                self._bell.send(b"!")
        except BlockingIOError:
            pass  # it has more rings to hear than it can miss
        except OSError:
            self.gone = True

    def completions(self) -> list[Completed]:
        """Completions that have arrived.

        Raises:
            OfframpError: the agent's counter exceeds the number submitted.
        """
        there = self._counters[wire.COMPLETED // 8]
        if there == self._heard:
            return []
        if not self._heard <= there <= self._submitted:
            self.gone = True
            raise OfframpError(
                f"agent: claims that {there} of {self._submitted} requests are done, after {self._heard}"
            )
        self._order()
        completed = []
        base = wire.RINGS_AT + self._entries * wire.SUBMISSION.size
        while self._heard < there:
            at = base + (self._heard & self._entries - 1) * wire.COMPLETION.size
            completed.append(Completed(*wire.COMPLETION.unpack_from(self._view, at)[:4]))
            self._heard += 1
        self._counters[wire.HEARD // 8] = self._heard
        return completed

    def wait(self, timeout_s: float) -> None:
        """Wait until the agent rings, is gone, or the time is over."""
        if self._bell is None or self.gone:
            return
        try:
            if self._poll.poll(max(0.0, timeout_s) * 1000) and not self._bell.recv(4096):
                self.gone = True
        except BlockingIOError:
            pass
        except OSError:
            self.gone = True

    def ended(self, timeout_s: float) -> bool:
        """Whether the agent releases the rings, and so all memory, in time; until it does, it may write there."""
        deadline = time.monotonic() + timeout_s
        while not self.gone and (left := deadline - time.monotonic()) > 0:
            self.wait(left)
        return self.gone

    def close(self) -> None:
        """Release the bell and the memory."""
        if self._bell is not None:
            self._bell.close()
            self._bell = None
        self.gone = True
        self._counters.release()
        self._view.release()

    def _order(self) -> None:
        """Full memory fence: earlier writes are seen before later ones, also on CPUs that reorder.

        Python has no fence; releasing and then acquiring a lock acts as one.
        """
        with self._lock:
            pass
        with self._lock:
            pass
