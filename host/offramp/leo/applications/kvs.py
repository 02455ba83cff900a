# SPDX-License-Identifier: Apache-2.0
"""The key-value store (section 9): GET and PUT of 64-byte values, in two round trips each.

The first asks the index, on an accelerator or the CPU, for the value's address; the second reads or writes the value in
the host's memory. PUT takes the CPU only. Both depend on earlier requests of the same key, except that a GET does not
depend on another GET. The baseline, like DrTM-KV, takes the CPU for everything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from offramp.leo.applications.application import Application
from offramp.leo.applications.kvs_check import PUT, check_values
from offramp.leo.applications.kvs_store import VALUE_BYTES, addresses_of, keys_of, memory_bytes, values_of
from offramp.leo.applications.times import ApplicationTimes, table
from offramp.leo.applications.workload import Zipf
from offramp.leo.functions import kvs
from offramp.leo.native import functions as at
from offramp.leo.native.batch import Completions, RequestBatch
from offramp.leo.native.dataflow import CPU, Dataflow, Trip
from offramp.leo.native.machine import address
from offramp.leo.runtime.process import ResponderPlan
from offramp.leo.runtime.requester import RequesterSettings
from offramp.leo.selection import RequestDependency
from offramp_base.errors import OfframpError

GET: Final = 0
WRITES: Final = {"C": 0.0, "B": 0.05}
"""Fraction of PUTs in YCSB's workloads."""
KEYS: Final = 100_000
_TRACE: Final = 1 << 18
"""Requests before the trace repeats, and the most that are made at a time."""
_NOMINAL_NS: Final = {CPU: 500.0}


def plan(devices: Mapping[str, str], keys: int = KEYS, seed: int = 1, rows: int = 4096) -> ResponderPlan:
    """Plan of the responder's process."""
    parameters = {"keys": keys, "seed": seed, "longest": 64}
    return ResponderPlan("offramp.leo.applications.kvs_store:prepare", parameters, devices, memory_bytes(keys), rows)


def application(devices: Mapping[str, str], *, mix: str = "C", keys: int = KEYS, seed: int = 1) -> Application:
    """The store with its index on the CPU and on these devices, by name."""
    known = {name: _NOMINAL_NS.get(name, 5e4) for name in (CPU, *devices)}

    def build(paths: Sequence[str], measured: Mapping[str, float]) -> Dataflow:
        return program(paths, ApplicationTimes(lambda device, _: measured.get(device, known[device])))

    return Application(
        name=f"kvs (YCSB-{mix})",
        paths=(CPU, *devices),
        plan=plan(devices, keys, seed),
        program=build,
        workload=lambda run: Ycsb(mix, keys, seed, draw=run),
        settings=RequesterSettings(stride=128, seed=seed),
        window=2048,
        request_bytes=VALUE_BYTES,
    )


def program(paths: Sequence[str], times: ApplicationTimes) -> Dataflow:
    """Dataflows: GET over ``paths`` (devices with the index, possibly including ``cpu``), PUT over the CPU."""
    devices = list(dict.fromkeys([*paths, CPU]))
    get = [_get(d) if d in paths else None for d in devices]
    put = [_put() if d == CPU else None for d in devices]
    return Dataflow(
        table(("GET", "PUT"), devices, [get, put], times, (RequestDependency.ADDR,) * 2, (True, False)),
        (tuple(get), tuple(put)),
    )


def _get(device: str) -> tuple[Trip, ...]:
    return Trip(kvs.NAME, remote=device, length=8), Trip(at.GET, previous=True, length=0)


def _put() -> tuple[Trip, ...]:
    return Trip(kvs.NAME, length=8), Trip(at.PUT, previous=True, start=8, once=True)


class Ycsb:
    """YCSB-B or YCSB-C with Zipf-distributed keys; versions of written values count up."""

    def __init__(
        self, mix: str = "C", keys: int = KEYS, seed: int = 1, exponent: float = 0.99, draw: int | None = None
    ) -> None:
        """``seed`` determines the keys, and ``draw``, by default the same, the sequence of requests."""
        rng = np.random.default_rng((seed if draw is None else draw) + 1)
        self.all_keys = keys_of(keys, seed)
        self.addresses = addresses_of(keys)
        drawn = self.all_keys[rng.permutation(keys)[Zipf(keys, exponent).draw(rng, _TRACE)]]
        types = (rng.random(_TRACE) < WRITES[mix]).astype(np.int64)
        self._keys, self._types = (np.tile(a, 2) for a in (drawn, types))
        self._keys_at, self._types_at = address(self._keys), address(self._types)
        self._answers, self._answers_at = np.zeros((0, 0), np.uint8), 0
        self._writes, self._key_bytes = bool(types.any()), self._keys.view(np.uint8)
        self._places, self._sizes = np.arange(len(self._keys)) * 8, np.full(_TRACE, 8, np.int64)

    def batch(self, start: int, count: int) -> RequestBatch:
        """See :class:`offramp.leo.applications.workload.Workload`."""
        if count > _TRACE:
            raise OfframpError(f"kvs: {count} requests at a time: expected at most {_TRACE}")
        some = slice(start & (_TRACE - 1), (start & (_TRACE - 1)) + count)
        keys, types = self._keys[some], self._types[some]
        if not self._writes:
            return RequestBatch(types, keys, self._key_bytes, self._places[some], self._sizes[:count], lasts=True)
        payload = np.zeros((count, 8 + VALUE_BYTES), np.uint8)
        payload[:, :8] = keys[:, None].view(np.uint8)
        puts = np.flatnonzero(types)
        payload[puts, 8:] = values_of(keys[puts], start + puts + 1).view(np.uint8)
        offsets = np.arange(count, dtype=np.int64) * payload.shape[1]
        return RequestBatch(types, keys, payload.reshape(-1), offsets, np.where(types == PUT, payload.shape[1], 8))

    def wrong(self, done: Completions) -> int:
        """Number of values that are torn, foreign or missing, and of writes that found no room."""
        if done.memory is not self._answers:
            self._answers, self._answers_at = done.memory, address(done.memory)
        stride = done.memory.shape[1]
        places = address(done.words), self._answers_at, stride, self._keys_at, self._types_at
        return check_values()(done.count, *places, _TRACE - 1)
