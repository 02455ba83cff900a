# SPDX-License-Identifier: Apache-2.0
"""The distributed file system (section 9): files of 1 MB in chunks of 256 KB, compressed here, decompressed there.

Each side may use its CPU or its accelerator: four paths. The responder stores a chunk in its memory and answers the
checksum of what it stored. Baselines: the CPU's path alone, and the accelerators' alone, as DOCA has it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from offramp.device import Device, Status
from offramp.leo.applications.application import Application
from offramp.leo.applications.generic import restricted
from offramp.leo.applications.measure import time_ns
from offramp.leo.applications.times import ApplicationTimes, table
from offramp.leo.devices import open_device
from offramp.leo.functions.compress import COMPRESS, DECOMPRESS, chunk
from offramp.leo.native.batch import Completions, RequestBatch
from offramp.leo.native.dataflow import CPU, Dataflow, Trip
from offramp.leo.runtime.host import ResponderState
from offramp.leo.runtime.process import ResponderPlan
from offramp.leo.runtime.requester import RequesterSettings
from offramp.leo.runtime.service import ResponderService
from offramp.leo.selection import RequestDependency
from offramp_base.errors import OfframpError

STORE: Final = "dfs.store"
CHUNK: Final = 256_000
CHUNKS: Final = 4
"""Chunks per file."""
FILES: Final = 8
"""Number of distinct files; the responder's memory holds as many."""
ACCELERATOR: Final = "acc"
MODEL: Final = "model:service_us=6000,memo=1"
_NEAR: Final = "near "
_LONGEST: Final = CHUNK + 4096


def prepare(
    host: ResponderState, devices: Mapping[str, Device], parameters: Mapping[str, Any], *, first: bool
) -> ResponderService:
    """Register the function that stores a chunk under its number."""
    del devices, parameters, first
    memory = host.memory.view(np.uint8)

    def store(number: int, content: bytes) -> bytes:
        if len(content) > CHUNK:
            raise OfframpError(f"{STORE}: {len(content)} bytes, expected at most {CHUNK}")
        place = number % (FILES * CHUNKS) * CHUNK
        memory[place : place + len(content)] = np.frombuffer(content, np.uint8)
        return zlib.crc32(content).to_bytes(4, "little")

    return ResponderService(host, chains={STORE: (DECOMPRESS, store)})


class FileWorkload:
    """Workload that stores the files chunk by chunk, one file after the other."""

    def __init__(self, seed: int) -> None:
        chunks = [chunk(CHUNK, seed * FILES * CHUNKS + i) for i in range(FILES * CHUNKS)]
        self.payload = np.frombuffer(b"".join(chunks), np.uint8)
        self._sums = np.array([zlib.crc32(c) for c in chunks], np.uint32)

    def batch(self, start: int, count: int) -> RequestBatch:
        """See :class:`offramp.leo.applications.workload.Workload`."""
        numbers = np.arange(start, start + count, dtype=np.int64)
        zeros = np.zeros(count, np.int64)
        return RequestBatch(zeros, numbers, self.payload, numbers % (FILES * CHUNKS) * CHUNK, zeros + CHUNK, lasts=True)

    def wrong(self, done: Completions) -> int:
        """Number of chunks that were stored wrongly or not at all."""
        sums = np.ascontiguousarray(done.memory[done.rows, :4]).view(np.uint32)[:, 0]
        good = (done.statuses == Status.OK) & (done.lengths == 4)
        return int((~good | (sums != self._sums[done.users % (FILES * CHUNKS)])).sum())


def application(devices: Mapping[str, str], *, seed: int = 1) -> Application:
    """The file system over the CPU and an accelerator on both sides; ``devices`` may override their specifications."""
    specs = {CPU: "cpu:1", ACCELERATOR: MODEL, **devices}
    measured: dict[tuple[str, str], float] = {}
    names = [f"{near}-{far}" for near in specs for far in specs]
    trips = [(_trip(near, far),) for near in specs for far in specs]

    def program(paths: Sequence[str], _: Mapping[str, float]) -> Dataflow:
        if not measured:
            measured.update(_measure(specs, seed))
        known = table(("WRITE",), names, [trips], ApplicationTimes(_time(measured)), (RequestDependency.NONE,))
        return restricted(known, [trips], paths)

    return Application(
        name="dfs (files of 1 MB in chunks of 256 KB)",
        paths=tuple(names),
        plan=ResponderPlan(f"{__name__}:prepare", {}, specs, FILES * CHUNKS * CHUNK, rows=32),
        program=program,
        workload=FileWorkload,
        settings=RequesterSettings(rows=32, stride=_LONGEST, seed=seed, timeout_s=30.0),
        window=8,
        summed=tuple(f"{name}-{name}" for name in specs),
        request_bytes=CHUNK,
        local=lambda: {_NEAR + name: open_device(spec, _NEAR + name) for name, spec in specs.items()},
    )


def _trip(near: str, far: str) -> Trip:
    return Trip(STORE, remote=far, local=_NEAR + near, local_function=COMPRESS)


def _time(measured: Mapping[tuple[str, str], float]) -> Callable[[str, str], float]:
    return lambda device, function: measured[device.removeprefix(_NEAR), DECOMPRESS if function == STORE else function]


def _measure(specs: Mapping[str, str], seed: int) -> dict[tuple[str, str], float]:
    content = chunk(CHUNK, seed)
    packed = zlib.compress(content, 1)
    times = {}
    for name, spec in specs.items():
        device = open_device(spec, name)
        try:
            times[name, COMPRESS] = time_ns(device, COMPRESS, content)
            times[name, DECOMPRESS] = time_ns(device, DECOMPRESS, packed)
        finally:
            device.close()
    return times
