# SPDX-License-Identifier: Apache-2.0
"""A requester and responders in one thread, stepped by hand, so that tests decide what happens when."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from offramp.device import Device
from offramp.leo.native.batch import Completions, RequestBatch
from offramp.leo.native.dataflow import Dataflow, Trip
from offramp.leo.native.journal import journal_words
from offramp.leo.runtime import service as basic
from offramp.leo.runtime.dispatcher import Dispatcher
from offramp.leo.runtime.host import ResponderState
from offramp.leo.runtime.requester import Requester, RequesterSettings
from offramp.leo.runtime.responder import Responder
from offramp.leo.runtime.service import ResponderService
from offramp.leo.selection import Policy, RequestDependency, Table, named
from offramp.leo.transports.connect import RequesterListener
from offramp_base.sealed_memory import SharedMemory

ROWS = 64


def program(flows: Sequence[Sequence[tuple[Trip, ...] | None]], dependency: str = "NONE", links: int = 1) -> Dataflow:
    """Types with these trips on each path; every trip takes 10 us."""
    base = [[np.nan if flow is None else 1e4 * len(flow) for flow in row] for row in flows]
    kinds = (RequestDependency(dependency),) * len(flows)
    table = Table.disjoint(base, np.nan_to_num(np.array(base)) / 2, dependency=kinds)
    return Dataflow(table, tuple(tuple(row) for row in flows), tuple(f"link{i}" for i in range(links)))


def batch(
    messages: Sequence[bytes], keys: Sequence[int] | None = None, kinds: Sequence[int] | None = None
) -> RequestBatch:
    """Requests of these messages."""
    sizes = np.array([len(m) for m in messages], np.int64)
    payload = np.frombuffer(b"".join(messages) or b"\0", np.uint8)
    zeros = np.zeros(len(messages), np.int64)
    types = zeros if kinds is None else np.array(kinds, np.int64)
    return RequestBatch(
        types, zeros if keys is None else np.array(keys, np.int64), payload, np.cumsum(sizes) - sizes, sizes
    )


def serve_while(responder: Responder, call: Callable[[], Any]) -> Any:
    """The result of ``call``, while the responder answers in another thread."""
    stop = threading.Event()

    def steps() -> None:
        while not stop.is_set():
            responder.step()

    thread = threading.Thread(target=steps)
    thread.start()
    try:
        return call()
    finally:
        stop.set()
        thread.join()


class Lab:
    """A requester and a responder; ``host`` outlives responders."""

    def __init__(
        self,
        program: Dataflow,
        devices: Mapping[str, Device],
        local: Mapping[str, Device],
        python: Mapping[str, Callable[[bytes], bytes]],
        settings: RequesterSettings,
        listen: str = "",
    ) -> None:
        words = journal_words(ROWS)
        self.segment = SharedMemory(ResponderState.size(1 << 16, 2, words))
        self.host = ResponderState(self.segment, 1 << 16, 2, words)
        self.devices = devices
        self.python = dict(python)
        self._folder = tempfile.TemporaryDirectory()
        self.responder = self.make(listen or f"unix:{self._folder.name}/responder")
        address = self.responder.listener.address
        self.requester: Requester = serve_while(self.responder, lambda: Requester(program, [address], local, settings))
        self.ended: list[tuple[int, int, bytes]] = []

    def make(self, address: str) -> Responder:
        """A responder on the same host."""
        service: ResponderService = basic.prepare(self.host, {}, {"longest": 256}, first=True)
        service.python = self.python
        service.dispatchers = {name: Dispatcher(device, timeout_s=0.05) for name, device in self.devices.items()}
        return Responder(service, RequesterListener(address))

    def crash(self) -> None:
        """End the responder and put another in its place."""
        address = self.responder.listener.address
        self.responder.close()
        self.responder = self.make(address)
        before = self.requester.reconnects

        def reconnect() -> None:
            while self.requester.reconnects == before:
                self.requester.step()

        serve_while(self.responder, reconnect)

    def step(self) -> Completions:
        """Both sides once."""
        self.requester.step()
        self.responder.step()
        self.requester.step()
        done = self.requester.collect()
        for i in range(done.count):
            self.ended.append((int(done.users[i]), int(done.statuses[i]), done.answer(i)))
        return done

    def close(self) -> None:
        """End everything."""
        self.requester.close()
        self.responder.close()
        for device in self.devices.values():
            device.close()
        self.segment.close()
        self._folder.cleanup()


@contextmanager
def lab(
    program: Dataflow,
    devices: Mapping[str, Device] | None = None,
    local: Mapping[str, Device] | None = None,
    python: Mapping[str, Callable[[bytes], bytes]] | None = None,
    listen: str = "",
    **settings: Any,
):
    """A lab that is closed."""
    chosen = {"rows": ROWS, "stride": 256, **settings}
    chosen["policy"] = named(chosen.get("policy", Policy.LOOKAHEAD))
    opened = Lab(program, devices or {}, local or {}, python or {}, RequesterSettings(**chosen), listen)
    try:
        yield opened
    finally:
        opened.close()
