# SPDX-License-Identifier: Apache-2.0
"""Compute times of a device's functions, through the interface that all devices have."""

from __future__ import annotations

import statistics
import time
from typing import Final

from offramp.device import Completion, Device, Status
from offramp_base.errors import OfframpError

_WAIT_S: Final = 30.0


def measure_function(device: Device, function: str, message: bytes, *, seconds: float = 0.2, most: int = 2000) -> float:
    """Median time in us that the device works on one request at a time, by its own clock if it reports it.

    Raises:
        OfframpError: the device lacks the function, refuses the message or does not answer.
    """
    if function not in device.functions:
        raise OfframpError(f"device {device.name}: no function {function}; it has {', '.join(device.functions)}")
    times: list[float] = []
    end = time.perf_counter() + seconds
    while not times or (len(times) < most and time.perf_counter() < end):
        begun = time.perf_counter_ns()
        done = _call(device, function, len(times), message)
        passed = time.perf_counter_ns() - begun
        if done.status is not Status.OK:
            raise OfframpError(f"device {device.name}: {function}: {done.status.name.lower().replace('_', ' ')}")
        times.append(done.busy_ns or passed)
    return statistics.median(times[len(times) // 5 :]) / 1e3


def _call(device: Device, function: str, number: int, message: bytes) -> Completion:
    if not device.submit(function, number, message):
        raise OfframpError(f"device {device.name}: its queue is full, though nothing else uses it")
    end = time.perf_counter() + _WAIT_S
    while time.perf_counter() < end:
        for done in device.poll():
            if done.request == number:
                return done
    raise OfframpError(f"device {device.name}: {function}: no answer within {_WAIT_S:g} s")
