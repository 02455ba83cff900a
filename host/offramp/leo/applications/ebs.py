# SPDX-License-Identifier: Apache-2.0
"""Elastic block storage (section 9): the QoS check and address look-up of a read run here, on accelerator or CPU.

The blocks then come from the responder's memory. Baselines: the CPU alone, the accelerator alone as in Solar, and
iPipe's migration between the two (section 6.4.1), which is a rule of the selector.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from offramp.device import Device, Status
from offramp.leo.applications.application import Application
from offramp.leo.applications.generic import restricted
from offramp.leo.applications.measure import time_ns
from offramp.leo.applications.times import ApplicationTimes, table
from offramp.leo.devices import open_device
from offramp.leo.devices.software import EBS_LAYOUT
from offramp.leo.functions import ebs
from offramp.leo.native import functions as at
from offramp.leo.native.batch import Completions, RequestBatch, Words
from offramp.leo.native.dataflow import CPU, Dataflow, Trip
from offramp.leo.runtime.host import ResponderState
from offramp.leo.runtime.process import ResponderPlan
from offramp.leo.runtime.requester import RequesterSettings
from offramp.leo.runtime.service import ResponderService
from offramp.leo.selection import Policy, RequestDependency

SIZES: Final = {"4K": 4096, "64K": 65536}
"""Bytes per read: the small size measures IOPS, the large one throughput."""
ACCELERATOR: Final = "acc"
MODELS: Final = {"4K": "model:service_us=100", "64K": "model:service_us=1840"}
"""Times of the builtin ``ebs``, scaled by two hundred so that two cores can keep it busy besides their own path."""
VOLUMES: Final = 4
_SEGMENTS: Final = 2
"""Segments per volume."""
_SEGMENT_BYTES: Final = ebs.SEGMENT * ebs.BLOCK
_FIRST: Final = 4096
"""Address of the first segment; 0 means that there is none."""
_TRACE: Final = 1 << 14
_TICK: Final = 2  # word of a request
_NEAR: Final = "near "


def address_of(volume: Words, block: Words) -> Words:
    """Address of a volume's block in the responder's memory, where the segments of volumes alternate."""
    return _FIRST + (block // ebs.SEGMENT * VOLUMES + volume) * _SEGMENT_BYTES + block % ebs.SEGMENT * ebs.BLOCK


def fill(device: Device) -> None:
    """Write the look-up tables of a device."""
    tables = ebs.EbsTables(device.memory(ebs.NAME), ebs.TableLayout(*EBS_LAYOUT))
    for volume in range(VOLUMES):
        tables.add_volume(volume, _SEGMENTS * ebs.SEGMENT, (1 << 32) - 1, (1 << 32) - 1)
        for segment in range(_SEGMENTS):
            place = int(address_of(np.array(volume), np.array(segment * ebs.SEGMENT)))
            tables.map(volume, segment, 0, segment * VOLUMES + volume, place)


def prepare(
    host: ResponderState, devices: Mapping[str, Device], parameters: Mapping[str, Any], *, first: bool
) -> ResponderService:
    """Fill the memory for reads of ``size`` bytes; every block begins with its address."""
    del devices
    if first:
        host.memory[_FIRST // 8 :: ebs.BLOCK // 8] = np.arange(_FIRST, host.memory_bytes, ebs.BLOCK)
    size = int(parameters["size"])
    address, keep = at.addresses()[at.BLOCKS]
    context = at.kvs_context(host.memory, 1, size)
    return ResponderService(host, native={at.BLOCKS: (address, context, size)}, keep=[keep])


class Reads:
    """Workload of random reads of volumes, each within a segment."""

    def __init__(self, size: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        count = size // ebs.BLOCK
        volumes = rng.integers(0, VOLUMES, _TRACE)
        starts = (
            rng.integers(0, ebs.SEGMENT // count, _TRACE) * count + rng.integers(0, _SEGMENTS, _TRACE) * ebs.SEGMENT
        )
        requests = [ebs.REQUEST.pack(v, count, b, 0) for v, b in zip(volumes, starts, strict=True)]
        self._payload = np.frombuffer(bytearray(b"".join(requests)), np.uint8)
        self._ticks = self._payload.view(np.int64).reshape(_TRACE, -1)[:, _TICK]
        self._addresses = address_of(volumes, starts)
        self._size = size

    def batch(self, start: int, count: int) -> RequestBatch:
        """See :class:`offramp.leo.applications.workload.Workload`."""
        numbers = np.arange(start, start + count, dtype=np.int64) & (_TRACE - 1)
        self._ticks[numbers] = time.monotonic_ns() // 1000  # microseconds; who had the place before has ended
        zeros = np.zeros(count, np.int64)
        return RequestBatch(
            zeros, zeros, self._payload, numbers * ebs.REQUEST.size, zeros + ebs.REQUEST.size, lasts=True
        )

    def wrong(self, done: Completions) -> int:
        """Number of reads that failed or returned other blocks."""
        good = (done.statuses == Status.OK) & (done.lengths == self._size)
        words = done.memory.view(np.int64)
        first = self._addresses[done.users & (_TRACE - 1)]
        last = first + self._size - ebs.BLOCK
        return int(
            (~good | (words[done.rows, 0] != first) | (words[done.rows, (self._size - ebs.BLOCK) // 8] != last)).sum()
        )


def application(devices: Mapping[str, str], *, size: str = "4K", seed: int = 1) -> Application:
    """Block storage over the requester's CPU and accelerator; ``devices`` may override their specifications."""
    specs = {CPU: "cpu:1", ACCELERATOR: MODELS[size], **devices}
    measured: dict[str, float] = {}
    length = SIZES[size]
    trips = [(Trip(at.BLOCKS, local=_NEAR + name, local_function=ebs.NAME),) for name in specs]

    def local() -> Mapping[str, Device]:
        opened = {_NEAR + name: open_device(spec, _NEAR + name) for name, spec in specs.items()}
        for name, device in opened.items():
            fill(device)
            measured[name] = time_ns(device, ebs.NAME, ebs.REQUEST.pack(0, 1, 0, 0))
        return opened

    def program(paths: Sequence[str], alone: Mapping[str, float]) -> Dataflow:
        known = {**measured, **{_NEAR + path: ns for path, ns in alone.items()}}
        times = ApplicationTimes(lambda device, _: known.get(device, 1000.0))
        return restricted(table(("READ",), list(specs), [trips], times, (RequestDependency.NONE,)), [trips], paths)

    return Application(
        name=f"ebs (reads of {size}iB)",
        paths=tuple(specs),
        plan=ResponderPlan(
            f"{__name__}:prepare",
            {"size": length},
            memory_bytes=_FIRST + VOLUMES * _SEGMENTS * _SEGMENT_BYTES,
            rows=256,
        ),
        program=program,
        workload=lambda run: Reads(length, run),
        settings=RequesterSettings(rows=256, stride=length + 64, seed=seed),
        window=64,
        request_bytes=length,
        local=local,
        rivals=(Policy.IPIPE,),
    )
