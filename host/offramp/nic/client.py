# SPDX-License-Identifier: Apache-2.0
"""Requests to the agent: memory for messages and answers, and a queue; shared memory survives the agent."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

from offramp.device import Message
from offramp.nic import wire
from offramp.nic.connection import AgentConnection
from offramp.nic.memory import Arena
from offramp.nic.rings import ClientRings, Submission
from offramp_base.errors import OfframpError
from offramp_base.sealed_memory import SharedMemory

_END_S = 10.0
_FIRST_LOOKS = 64  # at the ring before the process sleeps until the bell


class QueueReply(NamedTuple):
    """Outcome of a request; ``status`` is a number of :class:`offramp.device.Status`."""

    request: int
    status: int
    message: bytes
    busy_ns: int


class _SentRequest(NamedTuple):
    function: int
    at: int
    length: int
    answer: int
    room: int
    most: int


class QueueClient:
    """One queue of one agent.

    Args:
        path: path of the agent's control socket.
        entries: most outstanding requests, a power of two.
        memory: bytes for messages and answers.

    Raises:
        OfframpError: as :class:`AgentConnection`.
    """

    def __init__(self, path: str | Path, entries: int = 64, memory: int = 64 << 20) -> None:
        self.path = Path(path)
        self.entries = entries
        self.shared = SharedMemory(wire.queue_bytes(entries) + 64 + memory)
        self._tables: dict[int, tuple[SharedMemory, tuple[int, ...]]] = {}
        self._sent: dict[int, _SentRequest] = {}
        self._start = -(-wire.queue_bytes(entries) // 64) * 64
        self._arena = Arena(self._start, self.shared.size)
        try:
            self._connect()
        except OfframpError:
            self.shared.close()
            raise

    @property
    def gone(self) -> bool:
        """Whether the agent is gone."""
        return self.rings.gone

    @property
    def unfinished(self) -> list[int]:
        """Requests without a reply."""
        return list(self._sent)

    def set_tables(self, function: int, memory: SharedMemory, *parameters: int) -> None:
        """Give a function its tables, at the start of ``memory``, with the size that the parameters imply.

        Raises:
            OfframpError: the agent refuses them.
        """
        self._tables[function] = (memory, parameters)
        self._send_tables(function)

    def submit(self, function: int, request: int, message: Message, room: int, most: int = 0) -> bool:
        """Queue a request; False if there is no room for it.

        Args:
            function: a number of :class:`wire.Function`.
            request: the caller's number, which must not be in use.
            message: the message, which is copied.
            room: bytes for the answer.
            most: size to which ``room`` may grow if the answer turns out to be longer.

        Raises:
            OfframpError: the agent is gone, or the request could never fit.
        """
        if self.gone:
            raise OfframpError(f"agent {self.path}: is gone")
        if len(message) + room + 128 > self._arena.size:
            raise OfframpError(
                f"agent {self.path}: {len(message)} bytes and {room} for the answer: the queue's memory has "
                f"{self._arena.size}"
            )
        if self.rings.full or len(self._sent) >= self.entries:
            return False
        at = self._arena.take(len(message))
        if at is None:
            return False
        answer = self._arena.take(room)
        if answer is None:
            self._arena.give(at, len(message))
            return False
        self.shared.view[at : at + len(message)] = message
        sent = self._sent[request] = _SentRequest(function, at, len(message), answer, room, most)
        self._put(request, sent)
        return True

    def replies(self) -> list[QueueReply]:
        """Replies that have arrived, without waiting."""
        replies = []
        for done in self.rings.completions():
            sent = self._sent.pop(done.request, None)
            if sent is None:
                raise OfframpError(f"agent {self.path}: answered request {done.request}, which was not made")
            if done.status == wire.NO_ROOM and self._again(done.request, sent):
                continue
            length = min(done.length, sent.room)
            message = bytes(self.shared.view[sent.answer : sent.answer + length])
            self._forget(sent)
            replies.append(QueueReply(done.request, done.status, message, done.busy_ns))
        return replies

    def wait(self, timeout_s: float) -> list[QueueReply]:
        """Wait for replies: at least one, unless the time is over or the agent is gone."""
        deadline = time.monotonic() + timeout_s
        looks = 0
        while not (replies := self.replies()):
            looks += 1
            left = deadline - time.monotonic()
            if self.gone or left <= 0:
                break
            if looks > _FIRST_LOOKS:
                self.rings.wait(left)
        return replies

    def abandon(self) -> list[int]:
        """Forget outstanding requests; returns their numbers."""
        numbers = list(self._sent)
        self._sent.clear()
        self._arena = Arena(self._start, self.shared.size)
        return numbers

    def reconnect(self) -> None:
        """Reconnect with the same tables; outstanding requests must be abandoned first.

        Raises:
            OfframpError: no agent is there, or the agent does not release the memory.
        """
        self.connection.close()
        if not self.rings.ended(_END_S):
            raise OfframpError(f"agent {self.path}: does not release its memory within {_END_S:g} s")
        self.rings.close()
        self._connect()
        for function in self._tables:
            self._send_tables(function)

    def close(self) -> None:
        """Release everything; a second call does nothing."""
        self.rings.close()
        self.connection.close()
        self.shared.close()

    def _connect(self) -> None:
        self.rings = ClientRings(self.shared, 0, self.entries)
        self.connection = AgentConnection(self.path)
        try:
            self.region = self.connection.share(self.shared)
            self.number, bell = self.connection.queue(self.region, 0, self.entries)
        except OfframpError:
            self.connection.close()
            raise
        self.rings.connect(bell)

    def _send_tables(self, function: int) -> None:
        memory, parameters = self._tables[function]
        *rest, length = parameters
        padded = [*rest, 0, 0, 0, 0][:4]
        region = self.connection.share(memory)
        body = wire.TABLES.pack(self.number, function, region, 0, 0, length, *padded)
        self.connection.ask(wire.ControlMessageType.TABLES, body)

    def _put(self, request: int, sent: _SentRequest) -> None:
        self.rings.submit(
            Submission(request, sent.function, self.region, sent.at, sent.length, self.region, sent.answer, sent.room)
        )

    def _again(self, request: int, sent: _SentRequest) -> bool:
        """Repeat a request with more room for its answer, if allowed."""
        room = min(2 * sent.room, sent.most)
        if room <= sent.room:
            return False
        self._arena.give(sent.answer, sent.room)
        answer = self._arena.take(room)
        if answer is None:
            again = self._arena.take(sent.room)
            assert again is not None, "what was given back is there"
            self._sent[request] = sent._replace(answer=again)
            self._put(request, self._sent[request])  # others will finish
            return True
        self._sent[request] = sent._replace(answer=answer, room=room)
        self._put(request, self._sent[request])
        return True

    def _forget(self, sent: _SentRequest) -> None:
        self._arena.give(sent.at, sent.length)
        self._arena.give(sent.answer, sent.room)
