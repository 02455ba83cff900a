# SPDX-License-Identifier: Apache-2.0
"""An application and a host that only YAML files describe, run on devices of this machine: M + N files, no Python.

Every node of the host that computes becomes a device: the CPU's functions run in the processes themselves, an
accelerator is what ``--device NODE=KIND:OPTIONS`` says, or a ``model`` of the compute time that the file gives. A round
trip without a function at the responder is a one-sided read of as many bytes as the file gives for the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from offramp.device import Device, Message, Status
from offramp.leo.applications.application import Application
from offramp.leo.applications.samples import sample
from offramp.leo.config import Config, Resolved, load_config, resolve
from offramp.leo.config.models import ANYWHERE, Path
from offramp.leo.config.resolve import Flow, Work
from offramp.leo.devices import open_device
from offramp.leo.devices.software import Software
from offramp.leo.functions.registry import FUNCTIONS, VARIANTS
from offramp.leo.native.batch import Batch, Completions
from offramp.leo.native.dataflow import CPU, Program, Trip
from offramp.leo.runtime.host import Host
from offramp.leo.runtime.process import Plan
from offramp.leo.runtime.requester import Settings
from offramp.leo.runtime.service import Service
from offramp.leo.runtime.service import prepare as prepare_basic
from offramp.leo.selection import Dependency, Table
from offramp_base.errors import OfframpError
from offramp_base.settings.error import SettingsError

_MOVE: Final = "move."
_TRACE: Final = 1 << 14
_KEYS: Final = 1 << 12
_NEAR: Final = "near."
"""The requester's devices have names of their own."""


def prepare(host: Host, devices: Mapping[str, Device], parameters: Mapping[str, Any], *, first: bool) -> Service:
    """``functions``: what the CPU computes; ``moves``: sizes of one-sided answers."""
    service = prepare_basic(host, devices, parameters, first=first)
    software = Software()
    for name in parameters["functions"]:
        if name not in service.native:
            service.python[name] = _caller(software, name)
    for size in parameters["moves"]:
        service.python[f"{_MOVE}{size}"] = _constant(bytes(size))
    return service


def _constant(content: bytes) -> Callable[[bytes], bytes]:
    return lambda _: content


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
    """Part of a request's message: what a round trip sends."""

    function: str
    size: int


class Mapped:
    """A resolved configuration as the runtime needs it."""

    def __init__(self, resolved: Resolved) -> None:
        self.resolved, self.config = resolved, resolved.config
        self.cpu = resolved.topology.cpu
        self.types = list(self.config.application.requests)
        self.segments: dict[str, dict[tuple[int, _Segment], int]] = {name: {} for name in self.types}
        self.moves: set[int] = set()
        self.remote: dict[str, set[str]] = {}
        self.local: dict[str, set[str]] = {}
        self.flows = [[self._flow(name, i) for i in range(len(resolved.flows))] for name in self.types]
        self._place()

    def _flow(self, name: str, index: int) -> list[tuple[Path, Work | None, Work | None, _Segment]] | None:
        work = self.resolved.work.get((name, index))
        if work is None:
            return None
        flow: Flow = self.resolved.flows[index]
        rows = []
        for number, path in enumerate(flow.trips):
            mine = [w for w in work if w.trip == number and w.function is not None]
            ends = [[w for w in mine if w.end == end] for end in ("requester", "responder")]
            if max(map(len, ends)) > 1:
                names = ", ".join(w.device for w in mine)
                raise OfframpError(f"{name}: {names} work on one message: the runtime calls one device at an end")
            near, far = (end[0] if end else None for end in ends)
            sizes = self.config.application.requests[name].size[path.id]
            size = max([*sizes.req.values(), 0])
            called = near or far
            segment = _Segment(called.function or "" if called else "", size)
            self.segments[name].setdefault((number, segment), 0)
            if far is None:
                self.moves.add(max(sizes.resp.get(ANYWHERE, 0), *sizes.resp.values(), 0))
            for end, devices in ((near, self.local), (far, self.remote)):
                if end is not None:
                    devices.setdefault(self._role(end.device), set()).add(str(end.function))
            rows.append((path, near, far, segment))
        return rows

    def _role(self, device: str) -> str:
        return CPU if device == self.cpu else device

    def _place(self) -> None:
        """Segments follow each other in a request's message."""
        for segments in self.segments.values():
            at = 0
            for key in segments:
                segments[key] = at
                at += max(len(sample(key[1].function, key[1].size, v)) for v in range(VARIANTS))

    def trips(self) -> tuple[tuple[tuple[Trip, ...] | None, ...], ...]:
        """Round trips by type and flow; None where the type may not take the flow."""
        found = []
        for name, row in zip(self.types, self.flows, strict=True):
            flows = [None if rows is None else self._trips(name, rows) for rows in row]
            found.append(tuple(flows))
        return tuple(found)

    def _trips(self, name: str, rows: list[tuple[Path, Work | None, Work | None, _Segment]]) -> tuple[Trip, ...]:
        trips = []
        for number, (path, near, far, segment) in enumerate(rows):
            answer = self.config.application.requests[name].size[path.id].resp
            move = f"{_MOVE}{max(answer.get(ANYWHERE, 0), *answer.values(), 0)}"
            start = self.segments[name][number, segment]
            trips.append(
                Trip(
                    str(far.function) if far else move,
                    remote=self._role(far.device) if far else CPU,
                    local=_NEAR + self._role(near.device) if near else None,
                    local_function=str(near.function) if near else "",
                    start=start,
                    length=len(sample(segment.function, segment.size, 0)),
                )
            )
        return tuple(trips)

    def messages(self) -> list[list[bytes]]:
        """The variants of each type's message."""
        found = []
        for name in self.types:
            variants = []
            for variant in range(VARIANTS):
                content = bytearray()
                for (_, segment), at in self.segments[name].items():
                    content.extend(bytes(at - len(content)))
                    content += sample(segment.function, segment.size, variant)
                variants.append(bytes(content))
            found.append(variants)
        return found


class Mixed:
    """Requests of all types in the shares that the file gives, of random keys."""

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

    def batch(self, start: int, count: int) -> Batch:
        """See :class:`offramp.leo.applications.workload.Workload`."""
        at = np.arange(start, start + count) & (_TRACE - 1)
        which = self._types[at] * VARIANTS + self._variants[at]
        return Batch(self._types[at], self._keys[at], self._payload, self._offsets[which], self._sizes[which])

    def wrong(self, done: Completions) -> int:
        """Requests that ended with an error."""
        return int((done.statuses != Status.OK).sum())


def application(names: Sequence[str], devices: Mapping[str, str], *, seed: int = 1) -> Application:
    """What the files describe.

    Raises:
        OfframpError: they are wrong, a device is not of the host, or a function is not of this installation.
    """
    return from_config(load_config(names), devices, seed=seed)


def from_config(config: Config, devices: Mapping[str, str], *, seed: int = 1) -> Application:
    """What a configuration describes; see :func:`application`."""
    resolved = resolve(config, guess=True)
    mapped = Mapped(resolved)
    trips = mapped.trips()
    used = {*mapped.local, *mapped.remote} - {CPU}
    for name in devices:
        if name not in {*used, CPU}:
            raise SettingsError("device", f"the host has {', '.join(sorted(used)) or 'no accelerator in use'}", name)
    specs = {name: devices.get(name) or _model(resolved, name) for name in sorted(used)}
    near = {name: specs.get(name, devices.get(CPU, "cpu:1")) for name in mapped.local}
    stride = _stride(mapped)
    table = resolved.routes.table
    plan = Plan(
        "offramp.leo.applications.generic:prepare",
        {"functions": sorted(mapped.remote.get(CPU, ())), "moves": sorted(mapped.moves), "longest": stride},
        {name: spec for name, spec in specs.items() if name in mapped.remote},
        rows=256,
    )

    def program(paths: Sequence[str], measured: Mapping[str, float]) -> Program:
        del measured
        return restricted(table, trips, paths)

    def local() -> Mapping[str, Device]:
        return {_NEAR + name: open_device(spec, _NEAR + name) for name, spec in near.items()}

    alone = [p for j, p in enumerate(table.paths) if any(row[j] is not None for row in trips)]
    settings = Settings(rows=256, stride=stride, seed=seed)
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


def restricted(table: Table, trips: Sequence[Sequence[tuple[Trip, ...] | None]], paths: Sequence[str]) -> Program:
    """Only some of the paths; a type that may take none of them keeps its own."""
    keep = [j for j, path in enumerate(table.paths) if path in paths]
    base, flows = table.base.copy(), [list(row) for row in trips]
    for i, row in enumerate(flows):
        if any(row[j] is not None for j in keep):
            for j in set(range(len(row))) - set(keep):
                base[i, j], row[j] = np.nan, None
    kinds = tuple(Dependency(d) for d in table.dependency)
    made = Table(table.types, table.paths, table.resources, base, table.load, kinds, table.capacity, table.reads)
    return Program(made, tuple(tuple(row) for row in flows))


def _disjoint(table: Table, paths: Sequence[str]) -> tuple[str, ...]:
    """As many paths, from the first on, as share no device or link, of the largest such choice."""
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
    """A model as fast as the file says."""
    times = [w.time_ns for work in resolved.work.values() for w in work if w.device == device and w.function]
    node = resolved.topology.hardware.nodes[device]
    mean = sum(times) / len(times) / 1e3 if times else 1.0
    return f"model:service_us={mean:.3f},parallelism={node.parallelism},memo=1"


def _stride(mapped: Mapped) -> int:
    """Bytes of the longest request or answer."""
    sent = max(len(m) for variants in mapped.messages() for m in variants)
    called = {name for names in mapped.remote.values() for name in names if name in FUNCTIONS}
    growth = max((FUNCTIONS.get(name).growth for name in called), default=1)
    return max(growth * sent, *mapped.moves, 64) + 1024
