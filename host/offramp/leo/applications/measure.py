# SPDX-License-Identifier: Apache-2.0
"""Measured speed of a device at a function, which the selector must know before the first request."""

from __future__ import annotations

import time
from typing import Final

from offramp.device import Device, Message, compiled_function

MEASURED_S: Final = 0.05
COMPILED_NS: Final = 500.0
"""Approximate time in ns of a function in machine code, which waits behind no device's queue."""
_FEWEST: Final = 3


def time_ns(device: Device, function: str, message: Message, seconds: float = MEASURED_S) -> float:
    """Nanoseconds per request on the device when it is kept busy."""
    if compiled_function(device, function) is not None and not hasattr(device, "engine"):
        return COMPILED_NS
    begun = time.monotonic_ns()
    sent = done = 0
    while done < _FEWEST or time.monotonic_ns() - begun < seconds * 1e9:
        while sent - done < min(device.depth, 2 * _FEWEST) and device.submit(function, sent, message):
            sent += 1
        done += len(device.poll())
        time.sleep(0)
    taken = (time.monotonic_ns() - begun) / done
    while done < sent:
        done += len(device.poll())
        time.sleep(0)
    return taken
