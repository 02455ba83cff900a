# SPDX-License-Identifier: Apache-2.0
"""The connections of a process: control with rank 0, one for each pair of tasks, and samplers' with every store."""

from __future__ import annotations

import json
import secrets
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Self

from offramp.dgtp.runtime.wire import CONTROL, FLOW, PROTOCOL, STRUCTURE, ConnectionPurpose
from offramp_base.errors import OfframpError
from offramp_base.listening import Access, Greeting, Listener, Token, connect
from offramp_base.listening.objects import parse_object

if TYPE_CHECKING:
    from offramp.dgtp.runtime.job import ProcessJob
    from offramp.workers.group import Group

_MEET_S: Final = 120.0
_LOOK_S: Final = 0.1
_SESSION_BYTES: Final = 16


class Links:
    """Connections that this process has made, or taken.

    Attributes:
        control: connection to the scheduler.
        controls: connections of all ranks, at rank 0 only.
        outgoing, incoming: connections by edge.
        structure: by store at a sampler, by sampler at a store.
    """

    control: socket.socket

    def __init__(self, group: Group, job: ProcessJob) -> None:
        self.controls: dict[int, socket.socket] = {}
        self.outgoing: dict[int, socket.socket] = {}
        self.incoming: dict[int, socket.socket] = {}
        self.structure: dict[int, socket.socket] = {}
        placed = job.placed
        token = group.token or Token.random()
        with _listening(job.address, token) as listener:
            mine = {"address": listener.address, "session": secrets.token_hex(_SESSION_BYTES)}
            rows = [parse_object(row, "introduction") for row in group.introduce(json.dumps(mine).encode())]
            session, addresses = str(rows[0]["session"]), [str(row["address"]) for row in rows]
            accepting = _Accepting(listener, session, self._expected(group, job))
            accepting.start()

            def dial(rank: int, purpose: ConnectionPurpose) -> socket.socket:
                return _dialled(addresses[rank], token, purpose.greeting(session), job.name)

            self.control = dial(0, ConnectionPurpose(CONTROL, group.rank))
            for edge in job.edges("source"):
                self.outgoing[edge] = dial(int(placed.rank[placed.target[edge]]), ConnectionPurpose(FLOW, edge))
            if job.kind == "sampler":
                for store, rank in enumerate(stores(job)):
                    self.structure[store] = dial(rank, ConnectionPurpose(STRUCTURE, job.index))
            accepting.join()
            if accepting.fault is not None:
                raise accepting.fault
        for purpose, sock in accepting.accepted.items():
            table = {CONTROL: self.controls, FLOW: self.incoming, STRUCTURE: self.structure}[purpose.kind]
            table[purpose.number] = sock

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for sock in (self.control, *(s for t in self._tables for s in t.values())):
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)  # wakes the threads that read
            sock.close()

    @property
    def _tables(self) -> list[dict[int, socket.socket]]:
        return [self.controls, self.outgoing, self.incoming, self.structure]

    @staticmethod
    def _expected(group: Group, job: ProcessJob) -> set[ConnectionPurpose]:
        """The connections that others make to this process."""
        expected = {ConnectionPurpose(FLOW, edge) for edge in job.edges("target")}
        if group.rank == 0:
            expected |= {ConnectionPurpose(CONTROL, rank) for rank in range(group.size)}
        if job.kind == "store":
            samplers = sum(name.startswith("sampler ") for name in job.placed.names)
            expected |= {ConnectionPurpose(STRUCTURE, sampler) for sampler in range(samplers)}
        return expected


def stores(job: ProcessJob) -> list[int]:
    """The ranks of all stores, in their order."""
    return [int(job.placed.rank[task]) for task, name in enumerate(job.placed.names) if name.startswith("store ")]


def _listening(address: str, token: Token) -> _Closing:
    return _Closing(Listener(f"[{address}]:0" if ":" in address else f"{address}:0", Access(token), PROTOCOL))


class _Closing:
    """Closes a listener at the end of a block."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    def __enter__(self) -> Listener:
        return self._listener

    def __exit__(self, *_: object) -> None:
        self._listener.close()


def _dialled(address: str, token: Token, greeting: dict[str, object], who: str) -> socket.socket:
    try:
        sock, _ = connect(address, token, PROTOCOL, greeting, timeout_s=_MEET_S, redial=True, prepare=_prepare)
    except OSError as error:
        raise OfframpError(f"{who}: {address} does not answer: {error.strerror or error}") from None
    sock.settimeout(None)
    return sock


def _prepare(sock: socket.socket) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class _Accepting(threading.Thread):
    """Takes the connections that are expected, each once.

    Attributes:
        accepted: connections by purpose.
        fault: why they are not all here.
    """

    def __init__(self, listener: Listener, session: str, expected: set[ConnectionPurpose]) -> None:
        super().__init__(name="accepting", daemon=True)
        self.accepted: dict[ConnectionPurpose, socket.socket] = {}
        self.fault: OfframpError | None = None
        self._listener, self._session, self._expected = listener, session, expected

    def _purpose(self, greeting: Greeting) -> ConnectionPurpose:
        purpose = ConnectionPurpose.check(greeting.content, self._session)
        if purpose not in self._expected:
            raise OfframpError("greeting: not expected here")
        return purpose

    def run(self) -> None:
        """Accept until all are here, or time is up."""
        deadline = time.monotonic() + _MEET_S
        while self._expected and time.monotonic() < deadline:
            for greeting in self._listener.poll(_LOOK_S):
                try:
                    purpose = self._purpose(greeting)
                except OfframpError as error:
                    greeting.refuse(str(error))
                    continue
                with suppress(OSError):  # who has gone is missed below
                    sock = greeting.accept()
                    sock.setblocking(True)
                    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    self.accepted[purpose] = sock
                    self._expected.discard(purpose)
        if self._expected:
            self.fault = OfframpError(f"{_shown(sorted(self._expected))}: no connection within {_MEET_S:g} s")


def _shown(purposes: Sequence[ConnectionPurpose]) -> str:
    kind, number = purposes[0]
    others = f" and {len(purposes) - 1} others" if len(purposes) > 1 else ""
    return f"connection {kind} {number}{others}"
