# SPDX-License-Identifier: Apache-2.0
"""All-reduce for training (section 9): sums of chunks over several paths at once, accelerators and idle cores.

``offramp leo run allreduce`` puts load on the sums alone: chunks of two vectors of 256 KiB.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from offramp.device import Device, Status
from offramp.leo.applications.application import Application
from offramp.leo.applications.generic import restricted
from offramp.leo.applications.measure import time_ns
from offramp.leo.applications.times import ApplicationTimes, table
from offramp.leo.devices import open_device
from offramp.leo.functions import reduce
from offramp.leo.native.batch import Completions, RequestBatch
from offramp.leo.native.dataflow import CPU, Dataflow, Trip
from offramp.leo.runtime.host import ResponderState
from offramp.leo.runtime.process import ResponderPlan
from offramp.leo.runtime.requester import RequesterSettings
from offramp.leo.runtime.service import ResponderService
from offramp.leo.selection import RequestDependency

ACCELERATOR: Final = "acc"
MODEL: Final = "model:service_us=2000,memo=1"
CHUNK: Final = 1 << 18
"""Bytes of a chunk of each vector."""
_SHAPES: Final = 16
"""Number of distinct requests."""


def prepare(
    host: ResponderState, devices: Mapping[str, Device], parameters: Mapping[str, Any], *, first: bool
) -> ResponderService:
    """Register nothing: only devices serve this application."""
    del devices, parameters, first
    return ResponderService(host)


def plan(specs: Mapping[str, str], rows: int) -> ResponderPlan:
    """Plan of the responder's process, with the devices that add."""
    return ResponderPlan(f"{__name__}:prepare", {}, specs, rows=rows)


def program(paths: Sequence[str], specs: Mapping[str, str], measured: Mapping[str, float]) -> Dataflow:
    """Dataflows in which a request is one sum on one device."""
    trips = [(Trip(reduce.NAME, remote=name),) for name in specs]
    known = table(
        ("SUM",), list(specs), [trips], ApplicationTimes(lambda device, _: measured[device]), (RequestDependency.NONE,)
    )
    return restricted(known, [trips], paths)


def measure(specs: Mapping[str, str], message: bytes) -> dict[str, float]:
    """Nanoseconds that each device takes for a sum."""
    times = {}
    for name, spec in specs.items():
        device = open_device(spec, name)
        try:
            times[name] = time_ns(device, reduce.NAME, message)
        finally:
            device.close()
    return times


class SumWorkload:
    """Workload of sums of two float32 vectors."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        vectors = [rng.standard_normal((2, CHUNK // 4)).astype(np.float32) for _ in range(_SHAPES)]
        messages = [reduce.request(reduce.ElementType.FLOAT32, v) for v in vectors]
        self.size = len(messages[0])
        self._payload = np.frombuffer(b"".join(messages), np.uint8)
        self._sums = np.stack([reduce.total(reduce.ElementType.FLOAT32, v) for v in vectors]).view(np.int64)

    def batch(self, start: int, count: int) -> RequestBatch:
        """See :class:`offramp.leo.applications.workload.Workload`."""
        zeros = np.zeros(count, np.int64)
        offsets = (np.arange(start, start + count) % _SHAPES) * self.size
        return RequestBatch(zeros, zeros, self._payload, offsets, zeros + self.size, lasts=True)

    def wrong(self, done: Completions) -> int:
        """Number of sums that differ from the expected one in any bit."""
        good = (done.statuses == Status.OK) & (done.lengths == CHUNK)
        pairs = zip(done.rows.tolist(), (done.users % _SHAPES).tolist(), strict=True)
        words = done.memory[:, :CHUNK].view(np.int64)
        equal = [np.array_equal(words[row], self._sums[shape]) for row, shape in pairs]
        return int((~good | ~np.array(equal, bool)).sum())


def application(devices: Mapping[str, str], *, seed: int = 1) -> Application:
    """All-reduce over the responder's CPU and accelerator; ``devices`` may override their specifications."""
    specs = {CPU: "cpu:1", ACCELERATOR: MODEL, **devices}
    measured: dict[str, float] = {}

    def build(paths: Sequence[str], _: Mapping[str, float]) -> Dataflow:
        if not measured:
            message = reduce.request(reduce.ElementType.FLOAT32, np.ones((2, CHUNK // 4), np.float32))
            measured.update(measure(specs, message))
        return program(paths, specs, measured)

    return Application(
        name="allreduce (sums of two vectors of 256 KiB)",
        paths=tuple(specs),
        plan=plan(specs, 64),
        program=build,
        workload=SumWorkload,
        settings=RequesterSettings(rows=64, stride=2 * CHUNK + 64, seed=seed, timeout_s=30.0),
        window=16,
        request_bytes=CHUNK,
    )
