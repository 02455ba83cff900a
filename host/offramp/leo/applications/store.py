# SPDX-License-Identifier: Apache-2.0
"""The running key-value store (docs/store.md) over every path: GET by any device's index, SET by the processor.

A GET asks an index, on a device or on the host, where a copy of the value is, and reads it there; keys without a copy
are read from the store. The store's clients of all protocols see what is written here, and vice versa.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from offramp.device import Device
from offramp.leo.applications.application import Application
from offramp.leo.applications.kvs import Ycsb
from offramp.leo.applications.kvs_check import PUT
from offramp.leo.applications.kvs_store import VALUE_BYTES, buckets_for, serve_lookups
from offramp.leo.applications.times import ApplicationTimes, table
from offramp.leo.devices.store import READ, WRITE, StoreDevice
from offramp.leo.functions import kvs
from offramp.leo.memory import HostMemory
from offramp.leo.native.copies import COPY_BYTES, MOST_VALUE, read_copy
from offramp.leo.native.dataflow import CPU, Dataflow, Trip
from offramp.leo.native.machine import machine
from offramp.leo.runtime.host import ResponderState
from offramp.leo.runtime.process import ResponderPlan
from offramp.leo.runtime.requester import RequesterSettings
from offramp.leo.runtime.service import ResponderService
from offramp.leo.runtime.service import prepare as prepare_basic
from offramp.leo.selection import RequestDependency
from offramp.leo.store.copies import StoreCopies
from offramp.leo.store.guard import KeyGuard
from offramp_base.errors import OfframpError

COPIES: Final = 4096
KEYS: Final = 10_000
STORE: Final = "store:127.0.0.1:7878"
"""The device that is the store, unless ``--device cpu=store:ADDRESS`` names another."""
_FIRST: Final = kvs.LINE
"""Address of the first copy; 0 means that there is none."""
_ROWS: Final = 4096
_NOMINAL_NS: Final = {CPU: 2e3}


def application(devices: Mapping[str, str], *, mix: str = "B", keys: int = KEYS, seed: int = 1) -> Application:
    """The store over these devices, by name; ``cpu`` is the store itself.

    Args:
        devices: specifications for :func:`offramp.leo.devices.open_device`.
        mix: YCSB workload, B or C, run after each key was written once.
        keys: number of keys that are requested.
        seed: seed of the keys and the requests.
    """
    known = {CPU: STORE, **devices}
    nominal = {name: _NOMINAL_NS.get(name, 5e4) for name in known}

    def build(paths: Sequence[str], measured: Mapping[str, float]) -> Dataflow:
        return program(paths, ApplicationTimes(lambda device, _: measured.get(device, nominal[device])))

    return Application(
        name="store",
        paths=tuple(known),
        plan=ResponderPlan(
            "offramp.leo.applications.store:prepare",
            {"copies": COPIES, "longest": 2 * COPY_BYTES},
            known,
            _FIRST + COPIES * COPY_BYTES + buckets_for(COPIES) * kvs.LINE,
            _ROWS,
        ),
        program=build,
        workload=lambda run: LoadedYcsb(mix, keys, seed, draw=run),
        settings=RequesterSettings(stride=2 * COPY_BYTES, seed=seed),
        window=256,
        request_bytes=VALUE_BYTES,
    )


def program(paths: Sequence[str], times: ApplicationTimes) -> Dataflow:
    """Dataflows: GET over ``paths``, SET over the processor."""
    devices = list(dict.fromkeys([*paths, CPU]))
    get = [_get(d) if d in paths else None for d in devices]
    write = [(Trip(WRITE, once=True),) if d == CPU else None for d in devices]
    return Dataflow(
        table(("GET", "SET"), devices, [get, write], times, (RequestDependency.ADDR,) * 2, (True, False)),
        (tuple(get), tuple(write)),
    )


def _get(device: str) -> tuple[Trip, ...]:
    return Trip(kvs.NAME, remote=device, length=8), Trip(READ, previous=True, length=8)


class LoadedYcsb(Ycsb):
    """YCSB workload preceded by a write of each key, which the store may lack."""

    def __init__(self, mix: str, keys: int, seed: int, draw: int | None = None) -> None:
        super().__init__(mix, keys, seed, draw=draw)
        trace = len(self._types) // 2
        if keys > trace:
            raise OfframpError(f"store: {keys} keys: expected at most {trace}")
        for half in (0, trace):
            self._keys[half : half + keys] = self.all_keys
            self._types[half : half + keys] = PUT
        self._writes = True


def prepare(
    host: ResponderState, devices: Mapping[str, Device], parameters: Mapping[str, Any], *, first: bool
) -> ResponderService:
    """Set up ``copies`` copies of values; the device ``cpu`` is the store."""
    store = devices.get(CPU)
    if not isinstance(store, StoreDevice):
        raise OfframpError(f"device {CPU}: expected the store, as {CPU}=store:ADDRESS")
    if store.token is None:
        raise OfframpError(
            f"device {CPU}: copies guard keys of the store, which needs a token: set OFFRAMP_TOKEN_FILE for both"
        )
    count = int(parameters["copies"])
    service = prepare_basic(host, devices, parameters, first=first)
    start = _FIRST + count * COPY_BYTES
    buckets = buckets_for(count)
    index = host.memory[start // 8 : start // 8 + buckets * kvs.LINE // 8]
    indexes = [kvs.KeyIndex(HostMemory(0, index.data), buckets)]
    for device in devices.values():
        if device is not store:
            memory = device.memory(kvs.NAME)
            indexes.append(kvs.KeyIndex(memory, 1 << (max(memory.size // kvs.LINE, 1).bit_length() - 1)))
    serve_lookups(service, devices, index, buckets)
    read = machine(read_copy)["read_copy"]
    service.native[READ] = read.__dict__["address"], np.zeros(1, np.int64), MOST_VALUE
    copies = StoreCopies(host.memory, _FIRST, count, indexes, store.asked, lambda: KeyGuard(store.address, store.token))
    service.tasks.append(copies)
    service.keep += [read, copies]
    return service
