# SPDX-License-Identifier: Apache-2.0
"""``fpga-model:``: the FPGA engines at full speed: answers of the models, in the cycles that the RTL takes for them.

The cycles are :mod:`offramp.fpga.timing`'s, which tests compare with the RTL to the cycle: each request is a packet of
its own, which begins as soon as the engine takes the next one, and is seen when its completion leaves. Reads of one
volume by ``ebs.lookup`` are serialised, as in the engine. Memory answers after ``memory_cycles`` without stalls;
``transfer_us`` is the time of the transfer between host and card, which the RTL does not include.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from offramp.device import Message, Status
from offramp.fpga import timing
from offramp.leo.devices import model
from offramp.leo.devices.options import parse
from offramp.leo.functions import ebs, kvs, reduce
from offramp.leo.native.engine import Array, ModelledAccelerator, make_engine
from offramp_base.errors import OfframpError

FUNCTIONS: Final = (kvs.NAME, ebs.NAME, reduce.NAME)
_SLOTS: Final = 1 << 13


@dataclass(frozen=True)
class FpgaModelOptions:
    """Parameters of the card's engines, its clock and its memory."""

    memory_cycles: int = 40
    mhz: float = 250.0
    width: int = 512
    flight: int = 64
    transfer_us: float = 0.0
    depth: int = 256
    table_bytes: int = 1 << 22


def open_device(options: str, name: str) -> FpgaModelDevice:
    """The device of these options; the first may be ``memory_cycles`` alone."""
    return FpgaModelDevice(parse(FpgaModelOptions, options, f"fpga-model:{options}", "memory_cycles"), name)


class EngineTiming:
    """``interval``: cycles until the next request of a kind is accepted, ``latency``: until its completion leaves."""

    def __init__(self, options: FpgaModelOptions) -> None:
        o = options
        wrong = o.width < 128 or o.width & o.width - 1 or o.flight < 2 or o.flight & o.flight - 1
        if wrong or not o.mhz or not o.memory_cycles:
            raise OfframpError(
                "device fpga-model: expected a width of at least 128 and a flight of at least 2, powers of two, "
                "a clock, and memory of at least one cycle"
            )
        self._options = options
        self.kvs = self._kvs()
        self.ebs = self._ebs(0)
        self.ebs_again = self._ebs(1)
        """Interval and latency where a read follows one of the same volume."""

    def of(self, function: str, message: Message) -> tuple[int, int]:
        """Interval and latency of a request, in cycles."""
        return self._reduce(message) if function == reduce.NAME else self.kvs if function == kvs.NAME else self.ebs

    def _reduce(self, message: Message) -> tuple[int, int]:
        kind, number, _, count = reduce.HEADER.unpack_from(message) if len(message) >= 8 else (0, 0, 0, 0)
        size = count * (2 if kind == reduce.ElementType.BFLOAT16 else 4)
        return self._sum(min(number, reduce.MOST), -(-8 * min(size, len(message)) // self._options.width))

    @staticmethod
    @cache
    def _sum(number: int, beats: int) -> tuple[int, int]:
        length = 1 + number * beats
        return length, timing.reduce([(beats, range(length))]).given[-1]

    def _kvs(self) -> tuple[int, int]:
        o = self._options
        cycles = timing.kvs_lookup(
            [timing.RequestPacket(1, (0, 1))] * 2, width=o.width, flight=o.flight, memory=o.memory_cycles
        )
        return cycles.taken[2], cycles.given[1]

    def _ebs(self, same: int) -> tuple[int, int]:
        """Measured with two reads; the extra wait of the second is the interval where both are of one volume."""
        o = self._options
        beats = 1 + -(-3 * 64 // o.width)
        packet = timing.RequestPacket(3, range(beats))
        reads = [timing.Read(1, 3, writes=True), timing.Read(2 - same, 3, writes=True)]
        cycles = timing.ebs_lookup([packet] * 2, reads, width=o.width, flight=o.flight, memory=o.memory_cycles)
        first, second = (end for number, end in enumerate(cycles.given, 1) if number % (len(cycles.given) // 2) == 0)
        return second - first, first


class FpgaModelDevice(model.ModelDevice):
    """See the module; a :class:`offramp.device.Device`."""

    def __init__(self, options: FpgaModelOptions, name: str = "fpga-model") -> None:
        self._times = EngineTiming(options)
        self._ns = 1e3 / options.mhz
        self._volumes: dict[bytes, int] = {}
        shared = model.ModelDeviceOptions(
            0.0, options.transfer_us, depth=options.depth, table_bytes=options.table_bytes
        )
        super().__init__(shared, name)
        self._free = [0] * len(FUNCTIONS)  # an engine for each function

    @property
    def functions(self) -> Sequence[str]:
        """Names of the engines' functions."""
        return FUNCTIONS

    def _queue_up(self, now: int, function: str, message: bytes) -> tuple[int, int]:
        """The time at which the request is seen to be done, and its latency in the engine, in ns."""
        if function not in FUNCTIONS:
            return now, 0
        engine = FUNCTIONS.index(function)
        begun = max(now, self._free[engine])
        if function == ebs.NAME:
            begun = max(begun, self._volumes.get(message[:4], 0))
            self._volumes[message[:4]] = begun + self._in_ns(self._times.ebs_again[0])
        interval, latency = self._times.of(function, message)
        self._free[engine] = begun + self._in_ns(interval)
        took = self._in_ns(latency)
        return begun + took + round(1e3 * self.options.latency_us), took

    def _call(self, function: str, message: bytes) -> tuple[Status, bytes]:
        return super()._call(function, message) if function in FUNCTIONS else (Status.UNKNOWN_FUNCTION, b"")

    def engine(self, functions: dict[str, Array]) -> ModelledAccelerator:
        """The look-ups of the device for the responder's compiled loop."""
        interval, latency = map(self._in_ns, self._times.kvs)
        rest = latency - interval + round(1e3 * self.options.latency_us)

        def make(free: Array) -> Array:
            return make_engine(free, interval, rest, 0, 0, _SLOTS, 0)

        return ModelledAccelerator(np.zeros(1, np.int64), make, functions)

    def _in_ns(self, cycles: int) -> int:
        return round(self._ns * cycles)
