# SPDX-License-Identifier: Apache-2.0
"""A modelled accelerator inside the responder's compiled loop, for rates that a device in Python cannot take.

It keeps the time of :class:`offramp.leo.devices.model.ModelDevice` and calls compiled functions on the device's own
tables. Requests of a connection end in the order in which they came, so those of a key do.

Written in the part of Python that :mod:`offramp_base.native` compiles.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp_base.native.subset import Bytes, Words, copy, inlined, native

Array = npt.NDArray[np.int64]

HEAD: Final = 0
TAIL: Final = 1
SLOTS: Final = 2  # a power of two
SERVERS: Final = 3
FREE: Final = 4  # address of when each server is free, which all connections share
SERVICE: Final = 5  # ns, and ns for 1024 bytes of message
FOR_BYTES: Final = 6
LATENCY: Final = 7
JITTER: Final = 8
RANDOM: Final = 9
QUEUE: Final = 16

DUE: Final = 0
ID: Final = 1
KEY: Final = 2
INFO: Final = 3
CAME: Final = 4
LENGTH: Final = 5
MESSAGE: Final = 6
MOST_MESSAGE: Final = 64
SLOT: Final = MESSAGE + MOST_MESSAGE // 8


def make_engine(
    free: npt.NDArray[np.int64],
    service_ns: int,
    latency_ns: int,
    jitter_ns: int,
    for_kib_ns: int,
    slots: int,
    seed: int,
) -> npt.NDArray[np.int64]:
    """One connection's queue in front of the servers that ``free`` has a word for."""
    engine = np.zeros(QUEUE + slots * SLOT, np.int64)
    engine[[SLOTS, SERVERS, FREE, SERVICE, FOR_BYTES]] = slots, len(free), free.ctypes.data, service_ns, for_kib_ns
    engine[[LATENCY, JITTER, RANDOM]] = latency_ns, jitter_ns, seed * 2 + 1
    return engine


@dataclass
class Engine:
    """A modelled accelerator, and the compiled functions that it has.

    Attributes:
        free: when each of its servers is free.
        make: a connection's queue in front of them.
        functions: its context for functions that are also the CPU's.
    """

    free: Array
    make: Callable[[Array], Array]
    functions: dict[str, Array]


@native
def _jitter(engine: Words) -> int:
    """31 random bits: xorshift64* (Vigna 2016)."""
    x = engine[RANDOM]
    x = x ^ (x >> 12)
    x = x ^ (x << 25)
    x = x ^ (x >> 27)
    engine[RANDOM] = x
    return (x * 0x2545F4914F6CDD1D) >> 33


@native
def enqueue(engine: Words, number: int, key: int, info: int, came: int, message: Bytes, length: int, now: int) -> bool:
    """Queue a request; False where there is no room."""
    if engine[TAIL] - engine[HEAD] == engine[SLOTS] or length > MOST_MESSAGE:
        return False
    free = Words(engine[FREE])
    first = 0
    for server in range(1, engine[SERVERS]):
        if free[server] < free[first]:
            first = server
    took = engine[SERVICE] + ((engine[FOR_BYTES] * length) >> 10)
    if engine[JITTER] != 0:
        took += _jitter(engine) % engine[JITTER]
    free[first] = max(free[first], now) + took
    slot = engine + (QUEUE + (engine[TAIL] & (engine[SLOTS] - 1)) * SLOT)
    slot[DUE] = free[first] + engine[LATENCY]
    slot[ID] = number
    slot[KEY] = key
    slot[INFO] = info
    slot[CAME] = came
    slot[LENGTH] = length
    copy(Bytes(int(slot + MESSAGE)), message, length)
    engine[TAIL] = engine[TAIL] + 1
    return True


@inlined
def next_slot(engine: Words) -> Words:
    """The slot that comes next."""
    return engine + (QUEUE + (engine[HEAD] & (engine[SLOTS] - 1)) * SLOT)


@inlined
def slot_ready(engine: Words, now: int) -> bool:
    """Whether it has ended by now."""
    return engine[HEAD] != engine[TAIL] and next_slot(engine)[DUE] <= now
