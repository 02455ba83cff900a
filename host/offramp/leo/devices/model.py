# SPDX-License-Identifier: Apache-2.0
"""``model:``: an accelerator of given speed in real time; its answers are computed, their times are modelled.

It has ``parallelism`` servers behind one queue. A request waits for the first that is free, occupies it for
``service_us`` plus ``ns_per_byte`` of its message plus up to ``jitter_us``, and is seen ``latency_us`` later. Times are
fixed when a request is submitted, so a host that polls late does not make the accelerator slower, as long as its queue
of ``depth`` does not run empty.
"""

from __future__ import annotations

import heapq
import random
import time
from dataclasses import dataclass
from typing import Final

import numpy as np

from offramp.device import Completion, Message, Status
from offramp.leo.devices.options import parse
from offramp.leo.devices.software import DEFAULT_BYTES, SoftwareDevice
from offramp.leo.native.engine import Array, ModelledAccelerator, make_engine
from offramp_base.errors import OfframpError

_ENGINE_SLOTS: Final = 1 << 13
_FEW: Final = 64


@dataclass(frozen=True)
class ModelDeviceOptions:
    """Parameters of a modelled accelerator.

    Attributes:
        memo: 1: an answer is computed once per distinct message, so that a load test does not spend processor time on
            the accelerator's work; only for functions without tables.
    """

    service_us: float = 20.0
    latency_us: float = 0.0
    ns_per_byte: float = 0.0
    jitter_us: float = 0.0
    parallelism: int = 1
    depth: int = 256
    seed: int = 0
    memo: int = 0
    table_bytes: int = DEFAULT_BYTES


def open_device(options: str, name: str) -> ModelDevice:
    """The device of these options; the first may be ``service_us`` alone."""
    return ModelDevice(parse(ModelDeviceOptions, options, f"model:{options}", "service_us"), name)


class ModelDevice(SoftwareDevice):
    """See the module; a :class:`offramp.device.Device`."""

    kind = "fpga"

    def __init__(self, options: ModelDeviceOptions, name: str = "model") -> None:
        if options.parallelism < 1 or options.depth < 1:
            raise OfframpError(f"device {name}: expected a parallelism and a depth of at least 1")
        super().__init__(name, options.depth, options.table_bytes)
        self.options = options
        self._random = random.Random(options.seed)
        self._free = [0] * options.parallelism
        self._servers = np.zeros(options.parallelism, np.int64)
        self._queue: list[tuple[int, int, int, str, bytes, int]] = []
        self._aborted: list[Completion] = []
        self._memo: dict[tuple[str, int, bytes], list[tuple[bytes, tuple[Status, bytes]]]] = {}
        self._serial = 0

    def submit(self, function: str, request: int, message: Message) -> bool:
        """Queue a request; False where the queue is full."""
        self._expect_open()
        if len(self._queue) >= self.depth:
            return False
        now = time.monotonic_ns()
        seen, took = self._queue_up(now, function, bytes(message))
        self._serial += 1
        heapq.heappush(self._queue, (seen, self._serial, request, function, bytes(message), took))
        return True

    def _queue_up(self, now: int, function: str, message: bytes) -> tuple[int, int]:
        """Time at which a request that arrives now completes, and the time that it occupies the accelerator, in ns."""
        del function
        jitter = self._random.random() * self.options.jitter_us if self.options.jitter_us else 0.0
        took = round(1e3 * (self.options.service_us + jitter) + self.options.ns_per_byte * len(message))
        done = max(now, heapq.heappop(self._free)) + took
        heapq.heappush(self._free, done)
        return done + round(1e3 * self.options.latency_us), took

    def poll(self) -> list[Completion]:
        """Completions since the last call."""
        completions, self._aborted = self._aborted, []
        now = time.monotonic_ns()
        while self._queue and self._queue[0][0] <= now:
            _, _, request, function, message, took = heapq.heappop(self._queue)
            completions.append(Completion(request, *self._call(function, message), took))
        return completions

    def reset(self) -> None:
        """Abort everything outstanding."""
        self._expect_open()
        order = sorted(self._queue, key=lambda entry: entry[1])
        self._aborted += [Completion(entry[2], Status.ABORTED, b"", 0) for entry in order]
        self._queue.clear()
        self._free = [0] * self.options.parallelism

    def close(self) -> None:
        """Take no more requests."""
        self.closed = True
        self._queue.clear()

    def engine(self, functions: dict[str, Array]) -> ModelledAccelerator:
        """The accelerator for the responder's compiled loop, with contexts of compiled functions."""
        o = self.options
        service, latency, jitter = (round(1e3 * us) for us in (o.service_us, o.latency_us, o.jitter_us))

        def make(free: Array) -> Array:
            return make_engine(free, service, latency, jitter, round(1024 * o.ns_per_byte), _ENGINE_SLOTS, o.seed)

        return ModelledAccelerator(self._servers, make, functions)

    def _call(self, function: str, message: bytes) -> tuple[Status, bytes]:
        if not self.options.memo:
            return self._software.call(function, message)
        middle = len(message) // 2
        few = message[:_FEW] + message[middle : middle + _FEW] + message[-_FEW:]  # a hash of all would cost more
        known = self._memo.setdefault((function, len(message), few), [])
        for asked, answer in known:
            if asked == message:
                return answer
        known.append((message, self._software.call(function, message)))
        return known[-1][1]
