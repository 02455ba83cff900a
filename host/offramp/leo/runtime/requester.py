# SPDX-License-Identifier: Apache-2.0
"""The requester: sends requests on the paths that the selector chose, and reroutes them when paths fail."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offramp.device import Completion, Device, compiled_function
from offramp.leo.native import flow, request
from offramp.leo.native import state as at
from offramp.leo.native.batch import COMPLETION_WORDS, Completions, RequestBatch
from offramp.leo.native.clock import Clock
from offramp.leo.native.dataflow import Dataflow, TripRow
from offramp.leo.native.flow import RECEIVED
from offramp.leo.native.machine import address, machine
from offramp.leo.native.pace import ROUNDS_NS
from offramp.leo.native.ring import MOST_ROWS, MOST_STRIDE, ring_size
from offramp.leo.native.submission import SubmissionQueue
from offramp.leo.runtime.dispatcher import Dispatcher
from offramp.leo.runtime.peer import Peer, Revivable
from offramp.leo.selection import AnyPolicy, Policy, Selector
from offramp.leo.transports.connect import connect
from offramp.leo.transports.link import Link, LinkDown
from offramp_base.errors import OfframpError
from offramp_base.listening import Token
from offramp_base.native.arrays import section
from offramp_base.native.records import offset

Words = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
_LOG: Final = logging.getLogger(__name__)
TIMEOUT_S: Final = 5.0
_FIRST_PAUSE_S: Final = 0.02
_LONGEST_PAUSE_S: Final = 1.0
_TICKETS: Final = 256
_LOOK_S: Final = 0.02
"""Seconds between two checks for slow events: missing responses, paths and links that may work again."""
_FREE_COUNT: Final = offset(at.RequestTable.free_count)
_ESCAPED: Final = offset(at.RequestTable.escaped)
_FAILED: Final = offset(at.RequestTable.failed)
_FLOW_DEVICES: Final = offset(flow.FlowCall.devices)
_FLOW_WORKED: Final = offset(flow.FlowCall.worked)
_FLOW_ESCAPED_FROM: Final = offset(flow.FlowCall.escaped_from)
_UNDER_WAY: Final = (
    at.RequestState.SELECTED,
    at.RequestState.ACC_PENDING,
    at.RequestState.ACC_DONE,
    at.RequestState.NIC_PENDING,
    at.RequestState.WAIT_RESP,
)


@cache
def functions() -> dict[str, Callable[..., int]]:
    """The requester's compiled functions by name."""
    return machine(
        flow.flow,
        flow.collected,
        request.admit,
        request.compose,
        request.acted,
        request.failures,
        request.change_paths,
        request.free_rows,
    )


@dataclass
class _Path:
    pause: float = _FIRST_PAUSE_S
    retry_at: float = 0.0
    down: bool = False


@dataclass(frozen=True)
class RequesterSettings:
    """Settings of a requester.

    Attributes:
        rows: most outstanding requests.
        stride: bytes of the longest request or answer.
        transport: ``shm``, ``tcp`` or ``ucx``.
        timeout_s: seconds without an answer after which a path has failed.
        lost_s: seconds after which a responder that is gone and not restarted is an error, if requests need it.
        silent_s: seconds after which one that is there but answers nothing since its first path failed is an error,
            too.
        policy, seed: policy and seed of the selector.
        token: token that the requester and responders given as addresses prove to each other.
    """

    rows: int = 4096
    stride: int = 256
    transport: str = "shm"
    timeout_s: float = TIMEOUT_S
    lost_s: float = 0.7
    silent_s: float = TIMEOUT_S
    policy: AnyPolicy = Policy.LOOKAHEAD
    seed: int = 0
    clock: Clock = field(default_factory=Clock)
    token: Token | None = None


Opener = Callable[[str, str, dict[str, Any]], tuple[Link, Mapping[str, Any]]]
"""Opens a link at an address by a transport, with a greeting (:func:`offramp.leo.transports.connect.connect`)."""


class Requester:
    """Sends requests; belongs to one thread.

    Args:
        program: the application's program.
        responders: for each link an address, or a process that may be restarted.
        local: the requester's own devices.
        settings: see :class:`RequesterSettings`.
        opener: opens links in place of LEO's own transports.

    Raises:
        OfframpError: a responder cannot be reached, or lacks a device or function that the program names.
    """

    def __init__(
        self,
        program: Dataflow,
        responders: Sequence[str | Revivable],
        local: Mapping[str, Device] | None = None,
        settings: RequesterSettings | None = None,
        opener: Opener | None = None,
    ) -> None:
        self.program, self.settings = program, settings or RequesterSettings()
        rows, stride = self.settings.rows, self.settings.stride
        if not 1 <= rows <= MOST_ROWS or not 1 <= stride <= MOST_STRIDE:
            raise OfframpError(
                f"requester of {rows} rows of {stride} bytes: expected 1 to {MOST_ROWS}, of 1 to {MOST_STRIDE}"
            )
        if len(responders) != len(program.links):
            raise OfframpError(f"requester: {len(responders)} responders for the links {', '.join(program.links)}")
        self.stride = -(-stride // 8) * 8
        self._dispatchers = {name: self._dispatcher(name, local or {}) for name in program.local}
        self.selector = Selector(program.table, self.settings.policy, rows=rows, seed=self.settings.seed)
        self.table = at.make_state(program, rows, self.stride)
        self.settings.clock.install(self.table)
        self._requests, self._answers = (np.zeros(rows * self.stride, np.uint8) for _ in range(2))
        self.table[at.RequestTable.requests], self.table[at.RequestTable.answers] = (
            self._requests.ctypes.data,
            self._answers.ctypes.data,
        )
        self._native = functions()
        self._at, self._selector_at = address(self.table), address(self.selector.memory)
        self._peers = [Peer(responder, self.settings.token) for responder in responders]
        self._opener = opener
        self._owner = secrets.randbelow((1 << 62) - 1) + 1
        self._paths = [_Path() for _ in program.paths]
        self._looked = 0.0
        self._tickets = np.zeros(rows, np.int64)
        self._tickets_at = address(self._tickets)
        self._room = np.zeros((COMPLETION_WORDS, RECEIVED), np.int64)
        self._memory = self._answers.reshape(-1, self.stride)
        self._collected = 0
        self._submissions = SubmissionQueue(rows, len(program.types), self.stride)
        self._composed = np.zeros(2 * self.stride, np.uint8)
        self._rings = np.zeros((len(responders), flow.FlowLink.WORDS), np.int64)
        self._prepare_flow(local or {})
        self.retries = 0
        """Number of retries after failed attempts."""
        self.reconnects = 0
        self._links: list[Link | None] = [None] * len(responders)
        try:
            for number in range(len(responders)):
                self._links[number] = self._connect_first(number)
        except BaseException:
            self.close()
            raise

    def _prepare_flow(self, local: Mapping[str, Device]) -> None:
        """Prepare the arguments of the compiled loop, which do not change."""
        self._engines = self._compile(local)
        names = [dispatcher.device.name for dispatcher in self._dispatchers.values()]
        engines = [address(self._engines[name]) if name in self._engines else 0 for name in names]
        self._flow = np.zeros(flow.FlowCall.WORDS, np.int64)
        self._flow[flow.FlowCall.devices] = len(engines)
        self._flow_arrays = self._rings, np.array(engines, np.int64), self._room
        rings, held, room = (address(array) for array in self._flow_arrays)
        self._flow_arguments = (
            self._submissions.address,
            address(self._flow),
            rings,
            held,
            self._tickets_at,
            _TICKETS,
            room,
        )

    # --- requests

    @property
    def free(self) -> int:
        """Number of requests that would be admitted now."""
        return int(self.table[_FREE_COUNT]) + self._collected

    @property
    def in_flight(self) -> int:
        """Number of requests that were admitted and have not ended."""
        return int(self.table[at.RequestTable.in_flight])

    def absent(self) -> list[str]:
        """Responders that are gone at present, one line each; requests that need them wait for ``lost_s``."""
        links = zip(self._links, self._peers, strict=True)
        return [peer.obituary(self.settings.timeout_s) for link, peer in links if link is None]

    @property
    def computes(self) -> bool:
        """Whether threads of this machine work for it."""
        return any(s.computes for s in self._dispatchers.values())

    def admit(self, batch: RequestBatch, users: Words) -> int:
        """Admit requests, in order; returns how many there was room for: the others must be offered again.

        Args:
            batch: the requests.
            users: words that come back with the completions.

        Raises:
            OfframpError: no such type, or a message longer than the table's: none of the batch is admitted.
        """
        self._release()
        if not self._submissions.take(batch, users, int(self.table[_FREE_COUNT])):
            return 0
        return self._native["admit"](self._at, self._selector_at, self._submissions.address, self.settings.rows)

    def offer(self, batch: RequestBatch, users: Words, due_ns: Words | None = None) -> int:
        """Offer requests for :meth:`flow` to admit, at most a table's rows, in place of any before; returns how many.

        Args:
            batch: the requests; the payload stays unchanged until they are admitted.
            users: words that come back with the completions.
            due_ns: times of the requester's clock, ascending, before which they are not admitted.

        Raises:
            OfframpError: as :meth:`admit`.
        """
        return self._submissions.take(batch, users, self.settings.rows, due_ns)

    @property
    def offered(self) -> int:
        """Number of requests that were offered and are not admitted yet."""
        return self._submissions.left

    def withdraw(self) -> None:
        """Withdraw requests that were offered and not admitted."""
        self._submissions.clear()

    def flow(self, window: int) -> tuple[bool, Completions]:
        """Make rounds for up to half a millisecond: requests of :meth:`offer` are admitted, sent and collected.

        It returns earlier if there is nothing to do, if Python is needed, or when all offered requests are admitted.

        Args:
            window: most requests under way; 0: none is admitted.

        Returns:
            Whether there was anything to do, and the requests that have ended, as :meth:`collect` does.
        """
        self._release()
        compiled = all(link is None or link.shared or link.mover is not None for link in self._links)
        alone = self.settings.clock.real and compiled
        waits = any(dispatcher.unfinished for dispatcher in self._dispatchers.values())
        worked = self._rounds(window, 0 if waits or not alone else ROUNDS_NS, RECEIVED)
        return worked, Completions(self._room[:, : self._collected].copy(), self._memory)

    def step(self) -> bool:
        """Make one round; returns whether there was anything to do."""
        return self._rounds(0, 0, 0)

    def _rounds(self, window: int, lasts_ns: int, room: int) -> bool:
        worked = self._pump()
        self._flow[:_FLOW_DEVICES] = window, lasts_ns, room
        self._collected += self._native["flow"](self._at, self._selector_at, *self._flow_arguments)
        worked |= bool(self._flow[_FLOW_WORKED]) | self._pump()
        if self._dispatchers:
            worked |= self._serve(int(self._flow[_FLOW_ESCAPED_FROM]))
        if self.table[_FAILED]:
            failed = self._native["failures"](self._at, self._tickets_at, len(self._tickets))
            self._fail({int(self._column(at.RequestSlot.path)[row]) for row in self._tickets[:failed]})
        now = time.monotonic()
        if now - self._looked > _LOOK_S:
            self._looked = now
            self._look(now)
        return worked

    def _pump(self) -> bool:
        """Move bytes on links that do not share memory; returns whether there were any."""
        worked = False
        for number, link in enumerate(self._links):
            if link is not None:
                try:
                    worked |= link.pump()
                except LinkDown as error:
                    self._link_failed(number, str(error))
        return worked

    def collect(self, most: int = RECEIVED) -> Completions:
        """Requests that have ended since the last call, in order; answers are valid until the next collect or admit."""
        self._release()
        self._collected = self._native["collected"](self._at, self._flow_arguments[-1], 0, min(most, RECEIVED))
        return Completions(self._room[:, : self._collected].copy(), self._memory)

    def _release(self) -> None:
        if self._collected:
            self._native["free_rows"](self._at, self._flow_arguments[-1], self._collected)
            self._collected = 0

    def close(self) -> None:
        """Close the connections; a second call does nothing."""
        for number, link in enumerate(self._links):
            if link is not None:
                link.close()
            self._links[number] = None

    # --- devices of this side

    def _dispatcher(self, name: str, local: Mapping[str, Device]) -> Dispatcher:
        if name not in local:
            raise OfframpError(f"requester has no device {name}: it has {', '.join(local) or 'none'}")
        for trip in self.program.trips:
            if trip.local == name and trip.local_function not in local[name].functions:
                have = ", ".join(local[name].functions)
                raise OfframpError(f"requester's {name} has no function {trip.local_function}: it has {have}")
        return Dispatcher(local[name])

    def _compile(self, local: Mapping[str, Device]) -> dict[str, Words]:
        """Let compiled code run what devices have compiled, including modelled accelerators."""
        engines: dict[str, Words] = {}
        self._keep: list[Any] = []
        words = section(self.table, at.RequestTable.trips, len(self.program.trips) * TripRow.WORDS).reshape(
            -1, TripRow.WORDS
        )
        for trip, row in zip(self.program.trips, words, strict=True):
            device = local.get(trip.local or "")
            function = None if trip.previous else compiled_function(device, trip.local_function)
            if device is None or function is None:
                continue
            self._keep.append(function)
            row[TripRow.call], row[offset(TripRow.context)] = function.address, address(function.context)
            make = getattr(device, "engine", None)
            if make is not None and device.name not in engines:
                engine = make({})
                engines[device.name] = engine.make(engine.free)
                self._keep.append(engine)
            row[TripRow.engine] = address(engines[device.name]) if make is not None else 0
        return engines

    def _serve(self, escaped_from: int) -> bool:
        """Hand escaped requests to their devices, and take finished ones; returns whether there were any."""
        dispatchers = list(self._dispatchers.values())
        tickets = self._tickets[: int(self.table[_ESCAPED])] if escaped_from != flow.NOBODY else self._tickets[:0]
        for ticket in tickets.tolist():
            row = ticket & 0xFFFFFFFF
            message = self._composed
            length = self._native["compose"](self._at, row, address(message))
            key = int(self._column(at.RequestSlot.key)[row]) if self._keyed(row) else None
            function = self._trip(row).local_function

            def done(completion: Completion, ticket: int = ticket) -> None:
                answer = np.frombuffer(completion.message, np.uint8)
                where = answer if len(answer) else 0
                self._native["acted"](
                    self.table, self.selector.memory, ticket, int(completion.status), where, len(answer)
                )

            dispatchers[escaped_from].submit(function, message[:length].tobytes(), key, done)
        return sum(dispatcher.poll() for dispatcher in dispatchers) > 0

    def _keyed(self, row: int) -> bool:
        return bool(self.program.table.dependency[int(self._column(at.RequestSlot.type)[row])].code)

    def _trip(self, row: int) -> Any:
        trips = self.program.flows[int(self._column(at.RequestSlot.type)[row])][
            int(self._column(at.RequestSlot.path)[row])
        ]
        assert trips is not None
        return trips[int(self._column(at.RequestSlot.trip)[row])]

    # --- failures

    def _column(self, which: int) -> Words:
        return at.column(self.table, which)

    def _fail(self, paths: set[int]) -> None:
        """Retry the requests on these paths, elsewhere or later; the paths are tried again after a pause."""
        now = time.monotonic()
        for path in paths:
            at_path = self._paths[path]
            if not at_path.down:
                at_path.down, at_path.retry_at = True, now + at_path.pause
                at_path.pause = min(2 * at_path.pause, _LONGEST_PAUSE_S)
        states, where = self._column(at.RequestSlot.state), self._column(at.RequestSlot.path)
        rows = np.flatnonzero(np.isin(states, _UNDER_WAY) & np.isin(where, list(paths)))
        rows = rows[np.argsort(self._column(at.RequestSlot.number)[rows])]
        self.retries += len(rows)
        self._change(rows)

    def _change(self, rows: Words) -> None:
        down = sum(1 << i for i, path in enumerate(self._paths) if path.down)
        ordered = np.ascontiguousarray(rows, np.int64)
        self._native["change_paths"](self.table, self.selector.memory, down, ordered, len(ordered))

    def _look(self, now: float) -> None:
        for number, link in enumerate(self._links):
            peer = self._peers[number]
            if link is None and not peer.barred:
                peer.revive()
                if now >= peer.retry_at:
                    self._reconnect(number)
        waits = (self._column(at.RequestSlot.state) == at.RequestState.WAIT_RESP) & (
            self._column(at.RequestSlot.t2) < self.settings.clock.now() - int(self.settings.timeout_s * 1e9)
        )
        late: set[int] = set()
        if waits.any():
            late = set(self._column(at.RequestSlot.path)[waits].tolist())
            self._fail(late)
        self._bury(now, late)
        opened = [p for i, p in enumerate(self._paths) if p.down and now >= p.retry_at and not self._broken(i)]
        for path in opened:
            path.down = False
        if opened:
            self._change(np.empty(0, np.int64))
        completed = self.selector.completed
        for i, path in enumerate(self._paths):
            if not path.down and completed[i] and now - path.retry_at > 4 * path.pause:
                path.pause = _FIRST_PAUSE_S

    def _bury(self, now: float, late: set[int]) -> None:
        """Report a dead responder if requests cannot go anywhere else; ``late``: paths that do not answer.

        Raises:
            OfframpError: names it.
        """
        slow = {t.link for path in late for row in self.program.flows for t in row[path] or ()}
        for number, (link, peer) in enumerate(zip(self._links, self._peers, strict=True)):
            if link is not None:
                silence = peer.watch(link, now, unanswered=number in slow)
                if silence and self.in_flight:
                    line, left_s = peer.obituary(self.settings.timeout_s), self.settings.silent_s
                    _LOG.warning("%s; it is given up after %g s more", line, left_s)
        lost_s, silent_s = self.settings.lost_s, self.settings.silent_s
        dead = {n for n, peer in enumerate(self._peers) if peer.dead(now, lost_s, silent_s)}
        if not dead or not self.in_flight:
            return
        states = self._column(at.RequestSlot.state)
        kinds = set(
            self._column(at.RequestSlot.type)[
                (states != at.RequestState.FREE) & (states != at.RequestState.DONE)
            ].tolist()
        )
        for kind in kinds:
            flows = [trips for trips in self.program.flows[kind] if trips is not None]
            needed = [{t.link for t in trips} & dead for trips in flows]
            if all(needed):
                line = self._peers[min(needed[0])].obituary(self.settings.timeout_s + silent_s)
                raise OfframpError(f"{line}; {self.in_flight} requests have not ended")

    def _broken(self, path: int) -> bool:
        """Whether a link of the path is down."""
        down = {i for i, link in enumerate(self._links) if link is None}
        return any(t.link in down for row in self.program.flows for t in row[path] or ())

    def _link_failed(self, number: int, reason: str) -> None:
        link = self._links[number]
        assert link is not None
        barred = bool(link.received.fault or link.sent.fault)
        link.close()
        self._links[number] = None
        self._rings[number] = 0
        self._peers[number].lost(reason, time.monotonic(), barred=barred)
        _LOG.warning("responder at %s: %s", self._peers[number].address, reason)
        self._fail({i for i in range(len(self._paths)) if self._broken(i)})

    def _connect_first(self, number: int) -> Link:
        """Connect, waiting for a responder that is being restarted.

        Raises:
            OfframpError: no responder is there.
        """
        starting = self._peers[number].revivable
        while True:
            try:
                return self._connect(number)
            except LinkDown as error:
                again = self._peers[number].revive()
                if not starting and not again:
                    raise OfframpError(f"responder at {error}") from None
                starting = again
                time.sleep(_FIRST_PAUSE_S)

    def _reconnect(self, number: int) -> None:
        try:
            self._links[number] = self._connect(number)
        except (LinkDown, OfframpError) as error:
            _LOG.info("responder at %s: %s", self._peers[number].address, error)
            self._peers[number].retry_at = time.monotonic() + _FIRST_PAUSE_S
            return
        self.reconnects += 1

    def _connect(self, number: int) -> Link:
        trips = [t for t in self.program.trips if t.link == number]
        hello = {
            "owner": self._owner,
            "rows": self.settings.rows,
            "stride": self.stride,
            "ring_bytes": ring_size(2 * self.stride, self.settings.rows),
            "functions": self.program.functions,
            "devices": self.program.remote,
            "pairs": sorted({(t.remote, t.function) for t in trips}),
        }
        peer = self._peers[number]
        if self._opener is None:
            link, answer = connect(peer.address, self.settings.transport, hello, peer.token)
        else:
            link, answer = self._opener(peer.address, self.settings.transport, hello)
        mover = 0 if link.mover is None else address(link.mover)
        self._rings[number] = address(link.sent.words), address(link.received.words), mover, 0
        peer.connected(answer.get("pid"))
        return link
