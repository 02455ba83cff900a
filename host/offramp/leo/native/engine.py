# SPDX-License-Identifier: Apache-2.0
"""A modelled accelerator inside the responder's compiled loop, for rates that a device in Python cannot take.

It models time like :class:`offramp.leo.devices.model.ModelDevice` and calls compiled functions on the device's own
tables. Requests of a connection end in the order in which they arrived, so those of a key do.

Written in the part of Python that :mod:`offramp_base.native` compiles.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
import numpy.typing as npt

from offramp_base.native.random import next_state, random_bits
from offramp_base.native.records import Record, offset
from offramp_base.native.subset import Bytes, Words, copy, inlined, native

Array = npt.NDArray[np.int64]

MOST_MESSAGE: Final = 64


class EngineState(Record):
    """A connection's queue in front of the servers; its slots follow in memory."""

    head: int
    tail: int
    slots: int  # a power of two
    servers: int
    free: Words  # when each server is free, which all connections share
    service: int  # ns, and ns for 1024 bytes of message
    for_bytes: int
    latency: int
    jitter: int
    random: int
    reserved: Annotated[Words, 6]


class Slot(Record):
    """A request in the queue."""

    due: int
    id: int
    key: int
    info: int
    came: int
    length: int
    message: Annotated[Bytes, MOST_MESSAGE // 8]


def make_engine(
    free: npt.NDArray[np.int64],
    service_ns: int,
    latency_ns: int,
    jitter_ns: int,
    for_kib_ns: int,
    slots: int,
    seed: int,
) -> npt.NDArray[np.int64]:
    """Make a connection's queue in front of the servers, one per word of ``free``."""
    engine = np.zeros(EngineState.WORDS + slots * Slot.WORDS, np.int64)
    fields = EngineState(engine)
    engine[offset(EngineState.free)] = free.ctypes.data
    fields.slots, fields.servers = slots, len(free)
    fields.service, fields.for_bytes = service_ns, for_kib_ns
    fields.latency, fields.jitter, fields.random = latency_ns, jitter_ns, seed * 2 + 1
    return engine


@dataclass
class ModelledAccelerator:
    """A modelled accelerator, and the compiled functions that it has.

    Attributes:
        free: time at which each of its servers is free.
        make: makes a connection's queue in front of them.
        functions: contexts of functions that the CPU has, too.
    """

    free: Array
    make: Callable[[Array], Array]
    functions: dict[str, Array]


@native
def _jitter(engine: EngineState) -> int:
    """31 random bits."""
    engine.random = next_state(engine.random)
    return random_bits(engine.random, 31)


@native
def enqueue(
    engine: EngineState, number: int, key: int, info: int, came: int, message: Bytes, length: int, now: int
) -> bool:
    """Queue a request; False if the queue is full."""
    if engine.tail - engine.head == engine.slots or length > MOST_MESSAGE:
        return False
    free = engine.free
    first = 0
    for server in range(1, engine.servers):
        if free[server] < free[first]:
            first = server
    took = engine.service + ((engine.for_bytes * length) >> 10)
    if engine.jitter != 0:
        took += _jitter(engine) % engine.jitter
    free[first] = max(free[first], now) + took
    slot = Slot(engine + 1)[engine.tail & (engine.slots - 1)]
    slot.due = free[first] + engine.latency
    slot.id = number
    slot.key = key
    slot.info = info
    slot.came = came
    slot.length = length
    copy(slot.message, message, length)
    engine.tail = engine.tail + 1
    return True


@inlined
def next_slot(engine: EngineState) -> Slot:
    """The oldest slot in the queue."""
    return Slot(engine + 1)[engine.head & (engine.slots - 1)]


@inlined
def slot_ready(engine: EngineState, now: int) -> bool:
    """Whether the slot's request has finished by now."""
    return engine.head != engine.tail and next_slot(engine).due <= now
