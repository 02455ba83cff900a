# SPDX-License-Identifier: Apache-2.0
"""An application and a host that only YAML files describe, run on devices of this machine: M + N files, no Python.

Every node of the host that computes becomes a device: the CPU's functions run in the processes themselves unless a
device takes them, an accelerator is what ``--device NODE=KIND:OPTIONS`` says, or a ``model`` of the compute time that
the file gives. A round trip without a function at the responder is a one-sided read of as many bytes as the file gives
for the answer; behind a function of the requester it reads the data's beginning. Every answer is compared with the
data, or with what the functions in software answer to the message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from struct import Struct
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offramp.device import Device, Message, Status
from offramp.leo.applications.application import Application
from offramp.leo.applications.contents import read_contents
from offramp.leo.applications.samples import sample
from offramp.leo.config import Config, Resolved, load_config, resolve
from offramp.leo.config.check import check_functions
from offramp.leo.config.models import RequestPath
from offramp.leo.config.resolve import FunctionWork, SelectorRoute
from offramp.leo.devices import open_device
from offramp.leo.devices.code import load_code
from offramp.leo.devices.software import Software
from offramp.leo.functions.registry import FUNCTIONS, VARIANTS
from offramp.leo.native.batch import Completions, RequestBatch
from offramp.leo.native.dataflow import CPU, Dataflow, Trip
from offramp.leo.native.functions import READ
from offramp.leo.runtime.host import ResponderState
from offramp.leo.runtime.process import ResponderPlan
from offramp.leo.runtime.requester import RequesterSettings
from offramp.leo.runtime.service import ResponderService
from offramp.leo.runtime.service import prepare as prepare_basic
from offramp.leo.selection import RequestDependency, Table
from offramp_base.errors import OfframpError
from offramp_base.settings.error import SettingsError

_MOVE: Final = "move."
_READ: Final = Struct("<qI")
Expected = tuple[bytes, Callable[[Message, bytes], bool] | None]
"""An expected answer; or the message that a device received, and a predicate that checks its answer."""
_TRACE: Final = 1 << 14
_KEYS: Final = 1 << 12
_NEAR: Final = "near."
"""Prefix of the requester's devices, which keeps their names distinct from the responder's."""


def prepare(
    host: ResponderState, devices: Mapping[str, Device], parameters: Mapping[str, Any], *, first: bool
) -> ResponderService:
    """Register ``functions``, which the CPU computes; ``moves``: offset and size of what is read behind a function."""
    service = prepare_basic(host, devices, parameters, first=first)
    software = Software()
    for name in parameters["functions"]:
        if name not in service.native and CPU not in devices:
            service.python[name] = _caller(software, name)
    memory = host.memory.view(np.uint8)
    for start, size in parameters["moves"]:
        service.python[f"{_MOVE}{start}.{size}"] = _reader(memory[start : start + size])
    return service


def _reader(content: npt.NDArray[np.uint8]) -> Callable[[bytes], bytes]:
    return lambda _: content.tobytes()


def _caller(software: Software, name: str) -> Callable[[Message], bytes]:
    if name not in software.names:
        raise OfframpError(f"function {name}: this installation has {', '.join(software.names)}")

    def call(message: Message) -> bytes:
        status, answer = software.call(name, message)
        if status is not Status.OK:
            raise OfframpError(f"{name}: {status.name}")
        return answer

    return call


@dataclass(frozen=True)
class _Segment:
    """Part of a request's message that one round trip sends."""

    function: str
    size: int
    data: str = ""
    """Data from which the message is taken or, without a function, which is read."""


class Mapped:
    """A resolved configuration as the runtime needs it."""

    def __init__(self, resolved: Resolved, data_folders: Sequence[str] = ()) -> None:
        self.resolved, self.config = resolved, resolved.config
        self.cpu = resolved.topology.cpu
        self.types = list(self.config.application.requests)
        self.segments: dict[str, dict[tuple[int, _Segment], int]] = {name: {} for name in self.types}
        self.contents = read_contents(self.config, self.longest_answer(), data_folders)
        self.moves: set[tuple[int, int]] = set()
        self.remote: dict[str, set[str]] = {}
        self.local: dict[str, set[str]] = {}
        self._software = Software()
        self._answers: dict[tuple[str, bytes], bytes] = {}
        self.flows = [[self._flow(name, i) for i in range(len(resolved.flows))] for name in self.types]
        self._place()

    def _flow(
        self, name: str, index: int
    ) -> list[tuple[RequestPath, FunctionWork | None, FunctionWork | None, _Segment]] | None:
        work = self.resolved.work.get((name, index))
        if work is None:
            return None
        flow: SelectorRoute = self.resolved.flows[index]
        rows = []
        for number, path in enumerate(flow.trips):
            mine = [w for w in work if w.trip == number and w.function is not None]
            ends = [[w for w in mine if w.end == end] for end in ("requester", "responder")]
            if max(map(len, ends)) > 1:
                names = ", ".join(w.device for w in mine)
                raise OfframpError(f"{name}: {names} work on one message: the runtime calls one device at an end")
            near, far = (end[0] if end else None for end in ends)
            request = self.config.application.requests[name]
            called = near or far
            if called is not None:
                size = max([*request.size[path.id].req.values(), 0])
                segment = _Segment(str(called.function), size, request.messages or "")
            else:
                segment = _Segment("", self._answer_bytes(name, path), request.data or "")
            self._expect_room(name, segment)
            self.segments[name].setdefault((number, segment), 0)
            if far is None and near is not None:
                self.moves.add(self._move(name, path))
            for end, devices in ((near, self.local), (far, self.remote)):
                if end is not None:
                    devices.setdefault(self._role(end.device), set()).add(str(end.function))
            rows.append((path, near, far, segment))
        return rows

    def _answer_bytes(self, name: str, path: RequestPath) -> int:
        return max([*self.config.application.requests[name].size[path.id].resp.values(), 0])

    def longest_answer(self) -> int:
        """Largest answer in bytes, by the file's sizes."""
        return max(
            max([*s.resp.values(), 0]) for r in self.config.application.requests.values() for s in r.size.values()
        )

    def _move(self, name: str, path: RequestPath) -> tuple[int, int]:
        """Offset and size of what is read behind a function of the requester."""
        data, size = self.config.application.requests[name].data or "", self._answer_bytes(name, path)
        self._expect_room(name, _Segment("", size, data))
        return self.contents.places[data][0], size

    def _expect_room(self, name: str, segment: _Segment) -> None:
        have = self.contents.places[segment.data][1]
        if segment.data and segment.size > have:
            raise self.config.error(
                "application", ("requests", name, "size"), f"{segment.size} B, but {segment.data} has {have} B"
            )

    def _start(self, segment: _Segment, variant: int) -> int:
        """Offset in the data at which the variant's part begins, a multiple of 8."""
        return (self.contents.places[segment.data][1] - segment.size) * variant // (VARIANTS - 1) & ~7

    def message(self, segment: _Segment, variant: int) -> bytes:
        """Message of a round trip; those of all variants have the same length."""
        start = self._start(segment, variant)
        if not segment.function:
            return _READ.pack(self.contents.places[segment.data][0] + start, segment.size)
        if segment.data:
            return self.contents.part(segment.data, start, segment.size)
        first, wanted = (sample(segment.function, segment.size, v) for v in (0, variant))
        return wanted if len(wanted) == len(first) else first

    def expected(self, name: str, index: int, variant: int) -> Expected | None:
        """Expected answer of a request whose type takes this flow; None where the type may not take it.

        Raises:
            OfframpError: a function refuses its message.
        """
        rows = self.flows[self.types.index(name)][index]
        if rows is None:
            return None
        path, near, far, segment = rows[-1]
        message = self.message(segment, variant)
        if near is None and far is None:
            return self.contents.part(segment.data, self._start(segment, variant), segment.size), None
        if near is not None:
            message = self._called(name, str(near.function), message)
        if far is None:
            start, size = self._move(name, path)
            return self.contents.image[start : start + size], None
        function = FUNCTIONS.get(str(far.function)) if far.function in FUNCTIONS else None
        if function is not None and function.holds is not None:
            return message, function.holds
        return self._called(name, str(far.function), message), None

    def _called(self, name: str, function: str, message: bytes) -> bytes:
        key = function, message
        if key not in self._answers:
            status, answer = self._software.call(function, message)
            if status is not Status.OK:
                raise OfframpError(
                    f"{name}: {function} refuses its message of {len(message)} bytes: {status.name.lower()}"
                )
            self._answers[key] = answer
        return self._answers[key]

    def _role(self, device: str) -> str:
        return CPU if device == self.cpu else device

    def _place(self) -> None:
        """Lay out the segments of each request's message one after the other."""
        for segments in self.segments.values():
            at = 0
            for key in segments:
                segments[key] = at
                at += len(self.message(key[1], 0))

    def trips(self) -> tuple[tuple[tuple[Trip, ...] | None, ...], ...]:
        """Round trips by type and flow; None where the type may not take the flow."""
        by_type = []
        for name, row in zip(self.types, self.flows, strict=True):
            flows = [None if rows is None else self._trips(name, rows) for rows in row]
            by_type.append(tuple(flows))
        return tuple(by_type)

    def _trips(
        self, name: str, rows: list[tuple[RequestPath, FunctionWork | None, FunctionWork | None, _Segment]]
    ) -> tuple[Trip, ...]:
        trips = []
        for number, (path, near, far, segment) in enumerate(rows):
            start = self.segments[name][number, segment]
            trips.append(
                Trip(
                    str(far.function) if far else self._reading(name, path, near),
                    remote=self._role(far.device) if far else CPU,
                    local=_NEAR + self._role(near.device) if near else None,
                    local_function=str(near.function) if near else "",
                    start=start,
                    length=len(self.message(segment, 0)),
                )
            )
        return tuple(trips)

    def _reading(self, name: str, path: RequestPath, near: FunctionWork | None) -> str:
        if near is None:
            return READ
        start, size = self._move(name, path)
        return f"{_MOVE}{start}.{size}"

    def messages(self) -> list[list[bytes]]:
        """The variants of each type's message."""
        messages = []
        for name in self.types:
            variants = []
            for variant in range(VARIANTS):
                content = bytearray()
                for (_, segment), at in self.segments[name].items():
                    content.extend(bytes(at - len(content)))
                    content += self.message(segment, variant)
                variants.append(bytes(content))
            messages.append(variants)
        return messages


class Mixed:
    """Workload of all types in the proportions that the file gives, with random keys."""

    def __init__(self, mapped: Mapped, seed: int) -> None:
        rng = np.random.default_rng(seed)
        config = mapped.config.application
        shares = np.array([float((config.mix or {}).get(name, 1.0)) for name in mapped.types])
        if not shares.any():
            shares[:] = 1
        self._types = rng.choice(len(mapped.types), _TRACE, p=shares / shares.sum()).astype(np.int64)
        self._keys = rng.integers(0, _KEYS, _TRACE)
        self._variants = rng.integers(0, VARIANTS, _TRACE)
        messages = mapped.messages()
        flat = [m for variants in messages for m in variants]
        self._payload = np.frombuffer(b"".join(flat) or b"\0", np.uint8)
        sizes = np.array([len(m) for m in flat], np.int64)
        self._sizes, self._offsets = sizes, np.cumsum(sizes) - sizes
        flows = len(mapped.flows[0])
        self._expected = [
            [mapped.expected(name, flow, variant) for flow in range(flows)]
            for name in mapped.types
            for variant in range(VARIANTS)
        ]
        self._found_right: set[tuple[int, int, bytes]] = set()

    def batch(self, start: int, count: int) -> RequestBatch:
        """See :class:`offramp.leo.applications.workload.Workload`."""
        at = np.arange(start, start + count) & (_TRACE - 1)
        which = self._types[at] * VARIANTS + self._variants[at]
        return RequestBatch(self._types[at], self._keys[at], self._payload, self._offsets[which], self._sizes[which])

    def wrong(self, done: Completions) -> int:
        """Number of requests that ended with an error, or with an answer other than the model's."""
        at = done.users & (_TRACE - 1)
        which = self._types[at] * VARIANTS + self._variants[at]
        good = done.statuses == Status.OK
        kinds = which * len(self._expected[0]) + done.paths
        for kind in np.unique(kinds[good]).tolist():
            some = np.flatnonzero(good & (kinds == kind))
            message, path = divmod(kind, len(self._expected[0]))
            expected = self._expected[message][path]
            if expected is None:
                good[some] = False
            elif expected[1] is None:
                content = np.frombuffer(expected[0], np.uint8)
                good[some] = done.lengths[some] == len(content)
                some = some[good[some]]
                good[some] = (done.memory[done.rows[some], : len(content)] == content).all(axis=1)
            else:
                good[some] = [self._holds(message, path, expected, done.answer(i)) for i in some.tolist()]
        return int((~good).sum())

    def _holds(self, message: int, path: int, expected: Expected, answer: bytes) -> bool:
        """Whether a device's own answer is right; each distinct one is checked once."""
        key = message, path, answer
        if key not in self._found_right:
            assert expected[1] is not None
            if not expected[1](expected[0], answer):
                return False
            if len(self._found_right) < _TRACE:
                self._found_right.add(key)
        return True


def application(
    names: Sequence[str],
    devices: Mapping[str, str],
    *,
    seed: int = 1,
    code: Sequence[str] = (),
    data_folders: Sequence[str] = (),
) -> Application:
    """The application that the files describe; ``code``: files with user functions, loaded here and at the responder.

    ``data_folders`` are folders whose files may be data, besides the folder of the YAML file.

    Raises:
        OfframpError: the files are invalid, a device is not part of the host, or this installation lacks a function.
    """
    load_code(code)
    return from_config(load_config(names), devices, seed=seed, code=code, data_folders=data_folders)


def from_config(
    config: Config,
    devices: Mapping[str, str],
    *,
    seed: int = 1,
    code: Sequence[str] = (),
    data_folders: Sequence[str] = (),
) -> Application:
    """The application that a configuration describes; see :func:`application`."""
    check_functions(config)
    resolved = resolve(config, guess=True)
    mapped = Mapped(resolved, data_folders)
    trips = mapped.trips()
    used = {*mapped.local, *mapped.remote} - {CPU}
    for name in devices:
        if name not in {*used, CPU}:
            raise SettingsError("device", f"the host has {', '.join(sorted(used)) or 'no accelerator in use'}", name)
    specs = {name: devices.get(name) or _model(resolved, name) for name in sorted(used)}
    near = {name: specs.get(name, devices.get(CPU, "cpu:1")) for name in mapped.local}
    stride = _stride(mapped)
    table = resolved.routes.table
    plan = ResponderPlan(
        "offramp.leo.applications.generic:prepare",
        {"functions": sorted(mapped.remote.get(CPU, ())), "moves": sorted(mapped.moves), "longest": stride},
        {name: spec for name, spec in {**devices, **specs}.items() if name in mapped.remote},
        memory_bytes=len(mapped.contents.image),
        rows=256,
        content=mapped.contents.image,
        code=[str(FilePath(path).absolute()) for path in code],
    )

    def program(paths: Sequence[str], measured: Mapping[str, float]) -> Dataflow:
        del measured
        return restricted(table, trips, paths)

    def local() -> Mapping[str, Device]:
        return {_NEAR + name: open_device(spec, _NEAR + name) for name, spec in near.items()}

    alone = [p for j, p in enumerate(table.paths) if any(row[j] is not None for row in trips)]
    settings = RequesterSettings(rows=256, stride=stride, seed=seed)
    return Application(
        name=config.application.name,
        paths=tuple(alone),
        plan=plan,
        program=program,
        workload=lambda run: Mixed(mapped, run),
        settings=settings,
        window=64,
        summed=_disjoint(table, alone),
        local=local,
    )


def restricted(table: Table, trips: Sequence[Sequence[tuple[Trip, ...] | None]], paths: Sequence[str]) -> Dataflow:
    """The program restricted to some paths; a type that may take none of them keeps its own."""
    keep = [j for j, path in enumerate(table.paths) if path in paths]
    base, flows = table.base.copy(), [list(row) for row in trips]
    for i, row in enumerate(flows):
        if any(row[j] is not None for j in keep):
            for j in set(range(len(row))) - set(keep):
                base[i, j], row[j] = np.nan, None
    kinds = tuple(RequestDependency(d) for d in table.dependency)
    remaining = Table(table.types, table.paths, table.resources, base, table.load, kinds, table.capacity, table.reads)
    return Dataflow(remaining, tuple(tuple(row) for row in flows))


def _disjoint(table: Table, paths: Sequence[str]) -> tuple[str, ...]:
    """The largest of the sets of paths, grown greedily from each path, that share no device or link."""
    used = {p: set(np.flatnonzero(table.load[:, table.paths.index(p)].max(axis=0) > 0).tolist()) for p in paths}
    best: tuple[str, ...] = ()
    for first in paths:
        chosen = [first]
        for path in paths:
            if path not in chosen and not any(used[path] & used[c] for c in chosen):
                chosen.append(path)
        best = max(best, tuple(chosen), key=len)
    return best


def _model(resolved: Resolved, device: str) -> str:
    """Specification of a modelled accelerator as fast as the file says."""
    times = [w.time_ns for work in resolved.work.values() for w in work if w.device == device and w.function]
    node = resolved.topology.hardware.nodes[device]
    mean = sum(times) / len(times) / 1e3 if times else 1.0
    return f"model:service_us={mean:.3f},parallelism={node.parallelism},memo=1"


def _stride(mapped: Mapped) -> int:
    """Bytes of the longest request or answer."""
    sent = max(len(m) for variants in mapped.messages() for m in variants)
    called = {name for names in mapped.remote.values() for name in names if name in FUNCTIONS}
    growth = max((FUNCTIONS.get(name).growth for name in called), default=1)
    answers = max(mapped.longest_answer(), 64)
    return max(growth * sent, answers) + 1024
