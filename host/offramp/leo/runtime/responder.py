# SPDX-License-Identifier: Apache-2.0
"""The responder: takes requests of many requesters, executes them by role, and answers (section 6)."""

from __future__ import annotations

import contextlib
import logging
import time
from collections import Counter, deque
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offramp.device import Completion, Message, Status
from offramp.leo.native import journal as at_journal
from offramp.leo.native import serve as at
from offramp.leo.native.clock import Clock
from offramp.leo.native.dataflow import CPU
from offramp.leo.native.machine import address as place_of
from offramp.leo.native.machine import machine
from offramp.leo.native.pace import ROUNDS_NS
from offramp.leo.native.ring import ONCE, ORDERED
from offramp.leo.runtime.service import Function, ResponderService
from offramp.leo.transports.connect import RequesterListener
from offramp.leo.transports.greeting import RequesterHello, buffer_bytes
from offramp.leo.transports.link import Link, LinkDown
from offramp_base.errors import OfframpError
from offramp_base.native.records import offset

Words = npt.NDArray[np.int64]
ESCAPES: Final = 256
BUDGET: Final = 256
CONNECTION_BYTES: Final = 1 << 30
"""Most bytes of memory of all connections together."""
PENDING_BYTES: Final = 1 << 27
"""Most bytes of a connection's messages and answers that wait in Python; beyond, its ring is not read."""
_PENDING_OVERHEAD: Final = 512
"""Bytes that a waiting request takes in addition to its message."""
_LISTENED_S: Final = 1e-3
"""Least seconds between two checks for new requesters while some are connected; a slow check lengthens it."""
_LISTENED_PART: Final = 50
_LOG: Final = logging.getLogger(__name__)
_SERVED_MOST: Final = offset(at.ServedConnection.most)
_STATE_ESCAPED: Final = offset(at.ServeState.escaped)
_ID, _INFO, _KEY = offset(at.Escape.id), offset(at.Escape.info), offset(at.Escape.key)
_PLACE, _LENGTH = offset(at.Escape.place), offset(at.Escape.length)


@cache
def functions() -> dict[str, Callable[..., int]]:
    """The responder's compiled functions by name."""
    return machine(at.serve_all, at.respond, at.note, at_journal.recover)


class _RequesterConnection:
    """Connection of one requester."""

    def __init__(
        self,
        link: Link,
        hello: RequesterHello,
        service: ResponderService,
        journal: Words,
        running: dict[tuple[int, int], Words],
        clock: Clock,
    ) -> None:
        self.link, self.hello, self.journal, self.owner = link, hello, journal, hello.owner
        self.functions, self.devices = hello.functions, hello.devices
        self.state = at.make_state(len(self.functions), hello.rows)
        self.fields = at.ServeState(self.state)
        clock.install(self.state)
        self.state[offset(at.ServeState.memory)] = service.host.memory.ctypes.data
        self.fields.memory_bytes = service.host.memory_bytes
        self._taken = np.zeros(at.MOST_TAKEN // 8, np.int64)
        self.state[offset(at.ServeState.taken)] = self._taken.ctypes.data
        table = self.state[at.ServeState.WORDS :].reshape(-1, at.CpuFunction.WORDS)
        for number, name in enumerate(self.functions):
            if name in service.native:
                address, context, room = service.native[name]
                table[number, : at.CpuFunction.room + 1] = address, context.ctypes.data, room
        self.engines = []
        for number, name in enumerate(self.devices[: at.MOST_ENGINES]):
            engine = service.engines.get(name)
            if engine is not None:
                self.engines.append(engine.make(engine.free))
                self.fields.engines[number] = self.engines[-1].ctypes.data
                for which, context in engine.functions.items():
                    if which in self.functions:
                        table[self.functions.index(which), offset(at.CpuFunction.accelerated)] = context.ctypes.data
        self.escapes = np.zeros((ESCAPES, at.Escape.WORDS), np.int64)
        self.buffer = np.zeros(buffer_bytes(hello.stride), np.uint8)
        self.answers: deque[tuple[Words, Status, bytes]] = deque()
        self.pending_bytes = 0
        """Bytes of messages that were handed to Python and whose answers are not in the ring yet."""
        self.served = np.zeros(at.ServedConnection.WORDS, np.int64)
        arrays = {
            offset(at.ServedConnection.state): self.state,
            offset(at.ServedConnection.journal): journal,
            offset(at.ServedConnection.received): link.received.words,
            offset(at.ServedConnection.sent): link.sent.words,
            offset(at.ServedConnection.escapes): self.escapes,
            offset(at.ServedConnection.buffer): self.buffer,
        }
        for word, array in arrays.items():
            self.served[word] = place_of(array)
        self.served[offset(at.ServedConnection.mover)] = 0 if link.mover is None else place_of(link.mover)
        self.served[at.ServedConnection.room] = len(self.buffer)
        self._state = self.state.data
        self.row = self.served.data
        self.running = running
        self.open = True

    def place(self, row: Words) -> None:
        """Make ``row`` the connection's row in the table for compiled rounds."""
        row[:] = self.served
        self.row = row.data

    @property
    def escaped(self) -> int:
        """Number of requests that the last compiled round has handed to Python."""
        return self._state[_STATE_ESCAPED]

    @property
    def room(self) -> int:
        """Number of requests that may be handed to Python now."""
        return ESCAPES if self.pending_bytes <= PENDING_BYTES else 0


class Responder:
    """Accepts requesters at a listener; :meth:`step` makes one round, and belongs to one thread."""

    def __init__(self, service: ResponderService, listener: RequesterListener, clock: Clock | None = None) -> None:
        self.service, self.listener = service, listener
        self._clock = clock or Clock()
        self._connections: list[_RequesterConnection] = []
        self._native = functions()
        self._running: dict[int, dict[tuple[int, int], Words]] = {}
        self._listened_at = 0.0
        self._place()
        self.served = 0
        """Number of requests that were taken."""
        self.faults: Counter[str] = Counter()
        """Connections that were ended because of invalid data from their requesters, by reason."""

    def step(self) -> bool:
        """Make one round over all connections and devices; returns whether there was anything to do."""
        self._listen()
        worked = self._pump()
        worked |= self._serve() > 0
        worked |= self._pump()
        for dispatcher in self.service.dispatchers.values():
            worked |= dispatcher.poll() > 0
        for task in self.service.tasks:
            worked |= task()
        for connection in self._connections:
            self._flush(connection)
        return worked

    def _pump(self) -> bool:
        """Move bytes on links that do not share memory; returns whether there were any."""
        worked = False
        for connection in list(self._connections):
            try:
                worked |= connection.link.pump()
            except LinkDown as error:
                self._drop(connection, str(error))
        return worked

    @property
    def connected(self) -> int:
        """Number of connected requesters."""
        return len(self._connections)

    @property
    def busy(self) -> bool:
        """Whether a device has work."""
        return any(s.unfinished for s in self.service.dispatchers.values())

    @property
    def computes(self) -> bool:
        """Whether threads of this machine work for it."""
        return any(s.computes for s in self.service.dispatchers.values())

    def close(self) -> None:
        """End all connections."""
        for connection in list(self._connections):
            self._drop(connection)
        self.listener.close()

    # --- connections

    @property
    def refused(self) -> Counter[str]:
        """Greetings that were refused and connections that were ended, by reason."""
        return self.listener.refused + self.faults

    def _listen(self) -> None:
        """Accept a waiting requester; strangers get a small part of the time of connected requesters."""
        begun = time.monotonic()
        if self._connections and begun < self._listened_at:
            return
        met = self.listener.accept(self._admit)
        if met is not None:
            try:
                self._connect(*met)
            except MemoryError:
                met[0].close()
                self.faults["no memory"] += 1
        now = time.monotonic()
        self._listened_at = now + max(_LISTENED_S, _LISTENED_PART * (now - begun))

    def _admit(self, hello: RequesterHello) -> dict[str, Any]:
        self.service.check(sorted(hello.pairs))
        used = sum(c.hello.memory_bytes for c in self._connections if c.owner != hello.owner)
        if used + hello.memory_bytes > CONNECTION_BYTES:
            raise OfframpError(
                f"requester of {hello.memory_bytes} bytes: {CONNECTION_BYTES - used} of {CONNECTION_BYTES} are left"
            )
        self._journal(hello)
        return {}

    def _journal(self, hello: RequesterHello) -> tuple[Words, bool]:
        return self.service.host.journal(hello.owner, hello.rows, {c.owner for c in self._connections})

    def _connect(self, link: Link, hello: RequesterHello) -> None:
        for old in [c for c in self._connections if c.owner == hello.owner]:
            self._drop(old)
        journal, known = self._journal(hello)
        memory = self.service.host.memory
        if known and hello.owner not in self._running:  # another process began it
            self._native["recover"](journal, at_journal.entries_of(hello.rows), memory, memory.nbytes)
        owners = self.service.host.owners()
        self._running = {owner: marks for owner, marks in self._running.items() if owner in owners}
        running = self._running.setdefault(hello.owner, {})
        self._connections.append(_RequesterConnection(link, hello, self.service, journal, running, self._clock))
        self._place()

    def _place(self) -> None:
        """Lay out the table for compiled rounds, which stays until a connection is added or removed."""
        self._rows = np.zeros((max(len(self._connections), 1), at.ServedConnection.WORDS), np.int64)
        self._rows_at = place_of(self._rows)
        for connection, row in zip(self._connections, self._rows, strict=False):
            connection.place(row)
        self._compiled = all(each.link.shared or each.link.mover is not None for each in self._connections)

    def _drop(self, connection: _RequesterConnection, reason: str = "") -> None:
        if fault := connection.link.received.fault or connection.link.sent.fault:
            self.faults[fault] += 1
            _LOG.warning("requester %x: connection ended: %s", connection.owner, reason)
        connection.open = False
        connection.link.close()
        with contextlib.suppress(ValueError):
            self._connections.remove(connection)
            self._place()

    # --- requests

    def _serve(self) -> int:
        """Let compiled code serve all connections in turn, and hand on the rest; returns how many it served."""
        connections = self._connections
        if not connections:
            return 0
        for connection in connections:
            if connection.answers:
                self._flush(connection)
            connection.row[_SERVED_MOST] = connection.room
        busy = self.busy
        lasts = ROUNDS_NS if self._compiled and self._clock.real and not busy else 0
        served = self._native["serve_all"](self._rows_at, len(connections), 32 if busy else BUDGET, lasts)
        self.served += served
        for connection in connections:
            for i in range(connection.escaped):
                escape = connection.escapes[i].copy()
                connection.pending_bytes += _cost(escape[_LENGTH])
                place, length = int(escape[_PLACE]), int(escape[_LENGTH])
                self._dispatch(connection, escape, connection.buffer[place : place + length].tobytes())
        return served

    def _dispatch(self, connection: _RequesterConnection, escape: Words, message: bytes) -> None:
        info = int(escape[_INFO])
        number, device = info & 0xFFFF, info >> 16 & 0xFF
        if number >= len(connection.functions) or device >= len(connection.devices):
            self._answer(connection, escape, Status.UNKNOWN_FUNCTION, b"")
            return
        function, name = connection.functions[number], connection.devices[device]
        if (name, function) not in connection.hello.pairs:
            self._answer(connection, escape, Status.UNKNOWN_FUNCTION, b"")
            return
        once = bool(info >> 48 & ONCE)
        mark = int(escape[_ID]), info >> 24 & 0xFF
        if once:
            if mark in connection.running:  # the retry takes the place of the attempt that still runs
                connection.pending_bytes -= _cost(connection.running[mark][_LENGTH])
                connection.running[mark][:] = escape
                return
            connection.running[mark] = escape
            self._native["note"](connection.journal, escape, -1, 0, 0)
        key = int(escape[_KEY]) if info >> 48 & ORDERED else None
        first, finish = self.service.chains.get(function, (function, None))

        def done(completion: Completion) -> None:
            if finish is not None and completion.status is Status.OK:
                key, answer = int(escape[_KEY]), completion.message
                completion = call(lambda content: finish(key, content), answer)
            if once:
                del connection.running[mark]
            self._answer(connection, escape, completion.status, completion.message, once=once)

        dispatcher = self.service.dispatchers.get(name)
        if name == CPU and function in self.service.python:
            done(call(self.service.python[function], message))
        elif dispatcher is not None:
            dispatcher.submit(first, message, key, done)
        else:
            done(Completion(0, Status.UNKNOWN_FUNCTION, b"", 0))

    def _answer(
        self, connection: _RequesterConnection, escape: Words, status: Status, message: Message, *, once: bool = False
    ) -> None:
        if len(message) > connection.hello.stride or (once and len(message) > at_journal.MOST_ANSWER):
            status, message = Status.BAD_LENGTH, b""
        if once and connection.journal[at_journal.Journal.owner] == connection.owner:
            ended = status not in (Status.ABORTED, Status.LOST)
            self._native["note"](
                connection.journal, escape, int(status) if ended else -2, _address(message), len(message)
            )
        connection.pending_bytes -= _cost(escape[_LENGTH])
        if connection.open:
            connection.pending_bytes += _cost(len(message))
            connection.answers.append((escape, status, bytes(message)))
            self._flush(connection)

    def _flush(self, connection: _RequesterConnection) -> None:
        """Write answers into the ring, as many as fit."""
        while connection.answers:
            escape, status, message = connection.answers[0]
            place = _address(message)
            if not self._native["respond"](
                connection.state, connection.link.sent.words, escape, int(status), place, len(message)
            ):
                return
            connection.answers.popleft()
            connection.pending_bytes -= _cost(len(message))


def call(function: Function, message: bytes) -> Completion:
    """Answer a message with a Python function; if it raises, only this request fails."""
    begun = time.monotonic_ns()
    try:
        answer = function(message)
    except OfframpError:
        return Completion(0, Status.FAILED, b"", time.monotonic_ns() - begun)
    except Exception:
        _LOG.exception("a function failed on a message of %d bytes", len(message))
        return Completion(0, Status.FAILED, b"", time.monotonic_ns() - begun)
    return Completion(0, Status.OK, answer, time.monotonic_ns() - begun)


def _cost(length: int) -> int:
    """Bytes that a request or answer of ``length`` takes while it waits in Python."""
    return int(length) + _PENDING_OVERHEAD


def _address(message: Message) -> int:
    return int(np.frombuffer(message, np.uint8).ctypes.data) if len(message) else 0
