# SPDX-License-Identifier: Apache-2.0
"""Memory of the key-value store: values at the host, and the index there and on every device (section 9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offramp.device import Device
from offramp.leo.devices.model import ModelDevice
from offramp.leo.functions import kvs
from offramp.leo.native import functions as at
from offramp.leo.runtime.host import ResponderState
from offramp.leo.runtime.service import ResponderService
from offramp.leo.runtime.service import prepare as prepare_basic
from offramp_base.errors import OfframpError

VALUE_BYTES: Final = 64
FIRST_VALUE: Final = 64
"""Address of the first value; 0 means that a key is unknown."""
_SLOTS_FOR_A_KEY: Final = 2
MIX: Final = 0x1E3779B97F4A7C15
LAST: Final = VALUE_BYTES // 8 - 1

Words = npt.NDArray[np.int64]


def keys_of(count: int, seed: int) -> Words:
    """``(count,)`` distinct keys, none of them 0."""
    return np.random.default_rng(seed).permutation(np.int64(4) * count)[:count].astype(np.int64) + 1


def buckets_for(count: int) -> int:
    """Number of buckets, a power of two, that leaves at least half of their slots free."""
    return 1 << max(4, (_SLOTS_FOR_A_KEY * count - 1).bit_length() - 2)


def memory_bytes(count: int) -> int:
    """Size of the host's memory in bytes: values, then the index at a multiple of 64."""
    return FIRST_VALUE + count * VALUE_BYTES + buckets_for(count) * kvs.LINE


def addresses_of(count: int) -> Words:
    """``(count,)`` addresses of the values."""
    return FIRST_VALUE + VALUE_BYTES * np.arange(count, dtype=np.int64)


def values_of(keys: Words, versions: Words) -> Words:
    """``(n, 8)`` words: key, version, and words that both determine, so that a torn or foreign value shows."""
    mixed = (keys[:, None] * np.int64(MIX)) ^ (versions[:, None] + np.arange(LAST - 1))
    return np.concatenate([keys[:, None], versions[:, None], mixed], axis=1)


def table_of(keys: Words, addresses: Words, buckets: int) -> npt.NDArray[np.uint64]:
    """``(buckets, 4, 2)`` index with each key in the emptier of its two buckets.

    Raises:
        OfframpError: the buckets are too full for that.
    """
    table = np.zeros((buckets, kvs.SLOTS, 2), np.uint64)
    used = [0] * buckets
    places = kvs.buckets_of(keys.astype(np.uint64), buckets).tolist()
    for key, address, (first, second) in zip(keys.tolist(), addresses.tolist(), places, strict=True):
        bucket = first if used[first] <= used[second] else second
        if used[bucket] == kvs.SLOTS:
            raise OfframpError(f"kvs: {len(keys)} keys do not fit into {buckets} buckets")
        table[bucket, used[bucket]] = key, address
        used[bucket] += 1
    return table


def prepare(
    host: ResponderState, devices: Mapping[str, Device], parameters: Mapping[str, Any], *, first: bool
) -> ResponderService:
    """Set up the store's ``keys`` drawn from ``seed``; ``first``: fill it, otherwise leave it as a crash left it."""
    count, seed = int(parameters["keys"]), int(parameters["seed"])
    service = prepare_basic(host, devices, parameters, first=first)
    keys, addresses = keys_of(count, seed), addresses_of(count)
    start, buckets = (FIRST_VALUE + count * VALUE_BYTES) // 8, buckets_for(count)
    index = host.memory[start : start + buckets * kvs.LINE // 8]
    if first:
        host.memory[FIRST_VALUE // 8 : start] = values_of(keys, np.zeros(count, np.int64)).ravel()
        index[:] = table_of(keys, addresses, buckets).view(np.int64).ravel()
    for device in devices.values():
        if kvs.NAME in device.functions:
            fill(device, keys, addresses)
    context = serve_lookups(service, devices, index, buckets)
    for name, room in ((at.GET, VALUE_BYTES), (at.PUT, 4)):
        address, keep = at.addresses()[name]
        service.native[name] = address, context, room
        service.keep.append(keep)
    return service


def serve_lookups(service: ResponderService, devices: Mapping[str, Device], index: Words, buckets: int) -> Words:
    """Serve look-ups from the host's index and, if devices are modelled, in the compiled loop; returns its context.

    Args:
        service: gets the function ``kvs.lookup``.
        devices: the devices by name.
        index: the index in the host's memory.
        buckets: its number of buckets.
    """
    for device in devices.values():
        if isinstance(device, ModelDevice):
            index_there = np.frombuffer(device.memory(kvs.NAME).view, np.int64)
            context = at.kvs_context(index_there, len(index_there) * 8 // kvs.LINE, VALUE_BYTES)
            service.engines[device.name] = device.engine({kvs.NAME: context})
            service.keep.append(index_there)
    context = at.kvs_context(index, buckets, VALUE_BYTES)
    address, keep = at.addresses()[kvs.NAME]
    service.native[kvs.NAME] = address, context, 8
    service.keep += [keep, index]
    return context


def fill(device: Device, keys: Words, addresses: Words) -> None:
    """Write an index of these keys into a device's memory.

    Raises:
        OfframpError: the memory is too small.
    """
    memory = device.memory(kvs.NAME)
    buckets = 1 << (max(memory.size // kvs.LINE, 1).bit_length() - 1)
    if buckets * kvs.SLOTS < _SLOTS_FOR_A_KEY * len(keys):
        need = buckets_for(len(keys)) * kvs.LINE
        raise OfframpError(f"device {device.name}: {memory.size} bytes for an index of {len(keys)} keys: needs {need}")
    content = table_of(keys, addresses, buckets).tobytes()
    step = 1 << 20
    for place in range(0, len(content), step):
        memory.write(place, content[place : place + step])
