# SPDX-License-Identifier: Apache-2.0
"""The queues of machine code, as a control plane sees them: what :class:`~offramp_p4.tm.TrafficManager` shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from offramp_base.errors import OfframpError
from offramp_base.native.arrays import address
from offramp_base.native.records import offset
from offramp_p4.native.runtime import context as at
from offramp_p4.native.runtime import queues as q
from offramp_p4.native.runtime.heap import ENTRY
from offramp_p4.native.state.context import Bytes, SwitchContext, Words, or_abort
from offramp_p4.tm.config import PortConfig, QueueConfig, TmConfig
from offramp_p4.tm.manager import RECIRCULATION, Observer
from offramp_p4.tm.queue import QueueStats

_CHUNK_BYTES = 1 << 20
# Words that are looked at for each packet that comes alone.
_OBSERVED = int(at.SwitchMemory.observed)
_CHANGES = int(at.SwitchMemory.changes.used)
_PORTS = 1 + 512
_BUFFERS = (at.SwitchMemory.ready, at.SwitchMemory.returning, at.SwitchMemory.times, at.SwitchMemory.changes)


class NativeQueue:
    """One queue.

    Attributes:
        config: its limits.
    """

    def __init__(self, config: QueueConfig, words: Words) -> None:
        self.config, self._words = config, words

    def __len__(self) -> int:
        return int(self._words[q.QueueRecord.packets])

    def limit_packets(self, packets: int) -> None:
        """Change the capacity; frames that wait stay.

        Raises:
            OfframpError: less than 1.
        """
        self.config = replace(self.config, limit_packets=packets)
        self._words[q.QueueRecord.limit_packets] = packets

    @property
    def bytes(self) -> int:
        """Bytes of the frames that wait in the queue."""
        return int(self._words[q.QueueRecord.bytes])

    @property
    def stats(self) -> QueueStats:
        """Counts since the start."""
        return QueueStats(*self._words[q.QueueRecord.enqueued : q.QueueRecord.peak_bytes + 1].tolist())


class _PortMemory:
    """The memory of a port."""

    def __init__(self, number: int, config: PortConfig) -> None:
        count = len(config.queues)
        self.memory: Words = np.zeros(q.QueuedPort.WORDS + count + count * q.QueueRecord.WORDS, np.int64)
        words = self.memory
        ring = address(words[q.QueuedPort.WORDS :])
        port = q.QueuedPort(words)
        port.number, port.turn_begins, port.queue_count = number, 1, count
        words[[offset(q.QueuedPort.ring), offset(q.QueuedPort.queues)]] = ring, ring + 8 * count
        self.queues = []
        for i, queue in enumerate(config.queues):
            start = q.QueuedPort.WORDS + count + i * q.QueueRecord.WORDS
            mine = words[start : start + q.QueueRecord.WORDS]
            limits = (queue.limit_bytes, queue.limit_packets, queue.ecn_bytes)
            mine[: q.QueueRecord.weight] = [q.UNLIMITED if limit is None else limit for limit in limits]
            mine[q.QueueRecord.weight], mine[q.QueueRecord.least] = queue.weight or 0, queue.least_percent or 0
            port.shares |= (queue.least_percent is not None) << i
            self.queues.append(NativeQueue(queue, mine))
        self.limit_rate(config.rate_bps)

    def limit_rate(self, rate_bps: int | None) -> None:
        if rate_bps is not None:
            self.memory[q.QueuedPort.rate] = min(rate_bps, int(self.memory[q.QueuedPort.rate]) or rate_bps)


class NativeManager:
    """Queues of all ports and the shared buffer.

    Attributes:
        config: as given.
        observer: called with time, port, queue, packets and bytes of it for every change of a depth, after the fact.

    Raises:
        OfframpError: a line faster than :data:`~offramp_p4.native.runtime.queues.MOST_BPS`.
    """

    def __init__(self, context: SwitchContext, config: TmConfig) -> None:
        for port in (config.default, *config.ports.values(), config.recirculation):
            _check_rate(port.rate_bps)
        self.config, self._context = config, context
        self.observer: Observer | None = None
        context.hold_function(at.SwitchMemory.make_port, or_abort(self._find))
        context.hold_function(at.SwitchMemory.new_chunk, or_abort(self._more_memory))
        self.reset()

    def reset(self) -> None:
        """No ports, nothing in them, time 0."""
        words = self._context.words
        self._ports: dict[int, _PortMemory] = {}
        self._chunks: list[Bytes] = []
        words[offset(at.SwitchMemory.free) : offset(at.SwitchMemory.free) + 64] = 0
        fields = at.SwitchMemory(words)
        fields.now_ps = fields.returned = fields.held_bytes = fields.misdirected = 0
        fields.arena = fields.arena_end = 0
        limit = self.config.buffer_bytes
        fields.buffer_bytes = q.UNLIMITED if limit is None else limit
        self._table: Words = np.zeros(_PORTS, np.int64)
        self._context.hold(offset(at.SwitchMemory.ports), self._table)
        fields.port_count = _PORTS
        for buffer in _BUFFERS:
            self._context.empty(buffer)

    @property
    def next_ps(self) -> int | None:
        """The time at which the next frame reaches the head of its port; None while all queues are empty."""
        return self.first_time(at.SwitchMemory.ready)

    @property
    def held_bytes(self) -> int:
        """Bytes of the frames that wait in all queues."""
        return int(self._context.words[at.SwitchMemory.held_bytes])

    @property
    def misdirected(self) -> int:
        """Frames dropped because their queue does not exist."""
        return int(self._context.words[at.SwitchMemory.misdirected])

    def limit_rate(self, port: int, rate_bps: int) -> None:
        """The link of a port is no faster than ``rate_bps``; for use before anything is sent.

        Raises:
            OfframpError: faster than a line can be.
        """
        _check_rate(rate_bps)
        self._port(port).limit_rate(rate_bps)

    def pause(self, port: int, until_ps: int) -> None:
        """Let a port begin nothing before ``until_ps``, as a PAUSE frame asks (IEEE 802.3, annex 31B)."""
        memory = self._port(port).memory
        memory[q.QueuedPort.free_ps] = max(int(memory[q.QueuedPort.free_ps]), until_ps)
        entries = self._context.buffer(at.SwitchMemory.ready).view(np.int64).reshape(-1, ENTRY)
        mine = entries[:, 1] == port
        entries[mine, 0] = np.maximum(entries[mine, 0], until_ps)
        entries[:] = entries[np.lexsort((entries[:, 1], entries[:, 0]))]  # a sorted list is a heap

    def queues(self) -> Iterator[tuple[int, int, NativeQueue]]:
        """Port, number and queue of all that have been in use, in order."""
        for port in sorted(self._ports):
            for number, queue in enumerate(self._ports[port].queues):
                yield port, number, queue

    def queue(self, port: int, number: int) -> NativeQueue:
        """One queue."""
        return self._port(port).queues[number]

    def first_time(self, heap: object) -> int | None:
        """The time of the first entry of a heap."""
        words = self._context.words
        return int(self._context.buffer(heap)[:8].view(np.int64)[0]) if words[offset(heap) + at.Buffer.used] else None

    def start(self) -> None:
        """Prepare the queues; called before machine code runs."""
        self._context.words[_OBSERVED] = self.observer is not None

    def finish(self) -> None:
        """Notify the observer of changes; called when machine code has run."""
        if self._context.words[_CHANGES]:
            changes = self._context.buffer(at.SwitchMemory.changes).view(np.int64).reshape(-1, 5).tolist()
            self._context.empty(at.SwitchMemory.changes)
            if self.observer is not None:
                for change in changes:
                    self.observer(*change)

    def _port(self, number: int) -> _PortMemory:
        port = self._ports.get(number)
        if port is None:
            config = self.config
            chosen = config.recirculation if number == RECIRCULATION else config.ports.get(number, config.default)
            port = self._ports[number] = _PortMemory(number, chosen)
            if 0 <= number + 1 < _PORTS:
                self._table[number + 1] = address(port.memory)
        return port

    def _find(self, number: int, _: int) -> None:
        self._context.words[at.SwitchMemory.found_port] = address(self._port(number).memory)

    def _more_memory(self, size: int, _: int) -> None:
        chunk = np.empty(max(2 * size, _CHUNK_BYTES), np.uint8)
        self._chunks.append(chunk)
        start = (address(chunk) + 63) // 64 * 64
        self._context.words[[at.SwitchMemory.arena, at.SwitchMemory.arena_end]] = start, address(chunk) + len(chunk)


def _check_rate(rate_bps: int | None) -> None:
    if rate_bps is not None and rate_bps > q.MOST_BPS:
        raise OfframpError(f"port rate_bps is {rate_bps}: the native engine's lines have at most {q.MOST_BPS}")
