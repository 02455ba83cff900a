# SPDX-License-Identifier: Apache-2.0
"""The programming interface (specification section 5, table 6.2): one object at the requester, one at the responder."""

from __future__ import annotations

import struct
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from offramp.device import Device, Status
from offramp.leo.native.batch import RequestBatch
from offramp.leo.native.clock import Clock
from offramp.leo.native.dataflow import Dataflow
from offramp.leo.native.functions import READ, WRITE
from offramp.leo.native.journal import journal_words
from offramp.leo.runtime.dispatcher import Dispatcher
from offramp.leo.runtime.host import ResponderState
from offramp.leo.runtime.idle import Idle
from offramp.leo.runtime.requester import Requester, RequesterSettings
from offramp.leo.runtime.responder import Responder
from offramp.leo.runtime.service import prepare
from offramp.leo.runtime.wrappers import ROLES, Wrappers
from offramp.leo.transports.connect import RequesterListener
from offramp_base.errors import OfframpError
from offramp_base.listening import Access
from offramp_base.sealed_memory import SharedMemory

_READ: Final = struct.Struct("<qI")
_WRITE: Final = struct.Struct("<q")
Devices = Mapping[str, Device | str]
"""Devices by name: open ones, or texts that describe them (:func:`offramp.leo.devices.open_device`)."""


class Reply(NamedTuple):
    """Outcome of a request.

    Attributes:
        number: number that :meth:`Context.send` returned.
        status: how it ended.
        message: the answer, empty unless the status is OK.
        path: path that it took.
        jct_ns: intra-host job completion time, as far as the clocks know it.
    """

    number: int
    status: Status
    message: bytes
    path: str
    jct_ns: int


class Context(Wrappers):
    """LEO's interface for an application: register functions, then connect by :meth:`init` or wait by :meth:`serve`."""

    def __init__(self) -> None:
        super().__init__()
        self._requester: Requester | None = None
        self._responder: Responder | None = None
        self._types: dict[str, int] = {}
        self._paths: tuple[str, ...] = ()
        self._opened: list[Device] = []
        self._replies: deque[Reply] = deque()
        self._number = 0
        self._segment: SharedMemory | None = None

    # --- the requester

    def init(
        self,
        program: Dataflow,
        addresses: Sequence[str],
        devices: Devices | None = None,
        settings: RequesterSettings | None = None,
    ) -> None:
        """Connect to the responders.

        Args:
            program: the application's dataflow.
            addresses: address of the responder of each link.
            devices: devices of this side by the names of the dataflow: open ones, or texts such as ``fpga-model:``,
                whose devices the context opens and closes. Functions of role ``acc`` form a device of that name.
            settings: settings of the requester.

        Raises:
            OfframpError: a responder cannot be reached or lacks a function that the program names, a device cannot be
                opened, or the context is connected already.
        """
        self._expect_new("init")
        settings = settings or RequesterSettings()
        now = self.get("time stamp", "now")
        if now is not None:
            settings = RequesterSettings(**(vars(settings) | {"clock": Clock(now)}))
        local = self._devices(devices)
        self._requester = Requester(program, addresses, local, settings, self.get("communication", "connect"))
        self._types = {name: number for number, name in enumerate(program.types)}
        self._paths = tuple(program.paths)

    def send(self, message: bytes, kind: str | int = 0, key: int = 0) -> int:
        """Send a two-sided request of a type and return its number; waits while the table is full.

        Raises:
            OfframpError: no such type, or a message that is too long.
        """
        requester = self._ready()
        number = self._types.get(kind) if isinstance(kind, str) else kind
        if number is None:
            raise OfframpError(f"send: no type {kind}: expected {', '.join(self._types)}")
        self._number += 1
        words = np.array([[number], [key], [0], [len(message)], [self._number]], np.int64)
        batch = RequestBatch(words[0], words[1], np.frombuffer(message or b"\0", np.uint8), words[2], words[3])
        self._wait(lambda: requester.admit(batch, words[4]))
        self._step()
        return self._number

    def recv(self, timeout_s: float | None = None) -> Reply | None:
        """The next request that has ended; None if none ends in time."""
        if not self._replies:
            self._step()
        return self._replies.popleft() if self._wait(lambda: self._replies, timeout_s) else None

    def write(self, message: bytes, offset: int) -> None:
        """Write bytes to the responder's memory, one-sided; returns when they are there.

        Raises:
            OfframpError: they do not fit, or the program has no ``memory.write``.
        """
        self._one_sided(WRITE, _WRITE.pack(offset) + message)

    def read(self, offset: int, length: int) -> bytes:
        """Read bytes of the responder's memory, one-sided.

        Raises:
            OfframpError: they do not lie inside, or the program has no ``memory.read``.
        """
        return self._one_sided(READ, _READ.pack(offset, length))

    def _one_sided(self, kind: str, message: bytes) -> bytes:
        number = self.send(message, kind)
        self._wait(lambda: any(reply.number == number for reply in self._replies))
        reply = next(reply for reply in self._replies if reply.number == number)
        self._replies.remove(reply)
        if reply.status is not Status.OK:
            raise OfframpError(f"{kind}: {reply.status.name.lower().replace('_', ' ')}")
        return reply.message

    def _wait(self, ready: Callable[[], object], timeout_s: float | None = None) -> bool:
        """Make rounds until ``ready`` holds; returns whether it does before the time is over."""
        if ready():
            return True
        idle, begun = Idle(), time.monotonic()
        while not ready():
            if timeout_s is not None and time.monotonic() - begun >= timeout_s:
                return False
            idle(worked=self._step())
        return True

    def _ready(self) -> Requester:
        if self._requester is None:
            raise OfframpError("call init first: this context is not connected")
        return self._requester

    def _step(self) -> bool:
        requester = self._ready()
        worked = requester.step()
        done = requester.collect()
        for i in range(done.count):
            status = Status(int(done.statuses[i]))
            answer = done.answer(i) if status is Status.OK else b""
            path = self._paths[int(done.paths[i])]
            self._replies.append(Reply(int(done.users[i]), status, answer, path, int(done.jct_ns[i])))
        return worked or done.count > 0

    # --- the responder

    def handle(self, message: bytes, role: str, name: str) -> bytes:
        """Answer a message with the application's function of that name and role.

        Raises:
            OfframpError: the function is not registered, or cannot answer.
        """
        answer: bytes = self.call("application", name, role)(message)
        return answer

    def serve(
        self,
        address: str | None = None,
        memory_bytes: int = 1 << 20,
        rows: int = 4096,
        access: Access | None = None,
        devices: Devices | None = None,
    ) -> Responder:
        """A responder with the registered functions and with devices, stepped by the caller.

        Args:
            address: ``HOST:PORT`` or ``unix:PATH``; by default a Unix socket in a private folder.
            memory_bytes: size of its memory.
            rows: most rows of a requester's table.
            access: proof that requesters must give; an address beyond this machine needs a token.
            devices: devices of this side by name, as :meth:`init` takes them.

        Raises:
            OfframpError: the address is taken or needs a token, a device cannot be opened, or this context has begun
                already.
        """
        self._expect_new("serve")
        words = journal_words(rows)
        self._segment = SharedMemory(ResponderState.size(memory_bytes, 4, words), "offramp-leo")
        service = prepare(ResponderState(self._segment, memory_bytes, 4, words), {}, {}, first=True)
        service.python |= {n: self.call("application", n, ROLES[0]) for n in self.names("application", ROLES[0])}
        service.dispatchers |= {name: Dispatcher(device) for name, device in self._devices(devices).items()}
        now = self.get("time stamp", "now")
        self._responder = Responder(service, RequesterListener(address, access), Clock(now))
        return self._responder

    # --- either side

    def _expect_new(self, method: str) -> None:
        if self._requester is not None or self._responder is not None:
            raise OfframpError(f"{method}: this context has begun already")

    def _devices(self, given: Devices | None) -> dict[str, Device]:
        """Open devices of this side by name; those that texts describe are the context's own."""
        from offramp.leo.devices import open_device

        devices: dict[str, Device] = {}
        for name, device in (given or {}).items():
            if isinstance(device, str):
                self._opened.append(open_device(device, name))
                devices[name] = self._opened[-1]
            else:
                devices[name] = device
        if self.names("application", ROLES[1]) and ROLES[1] not in devices:
            devices[ROLES[1]] = self._accelerator()
        return devices

    def _accelerator(self) -> Device:
        from offramp.leo.devices.functions import FunctionDevice

        names = self.names("application", ROLES[1])
        malloc = self.get("memory", "malloc", ROLES[1])
        memories = {n: malloc(n) for n in names} if malloc is not None else {}
        return FunctionDevice({n: self.call("application", n, ROLES[1]) for n in names}, ROLES[1], memories)

    def close(self) -> None:
        """End connections, and close the devices that the context has opened; a second call does nothing."""
        if self._requester is not None:
            self._requester.close()
        if self._responder is not None:
            self._responder.close()
        if self._segment is not None:
            self._segment.close()
        while self._opened:
            self._opened.pop().close()
