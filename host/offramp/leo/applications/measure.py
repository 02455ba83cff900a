"""How fast a device is at a function: what the selector must know before the first request."""

from __future__ import annotations

import time
from typing import Final

from offramp.leo.device import Device, Message

MEASURED_S: Final = 0.05
_FEWEST: Final = 3


def time_ns(device: Device, function: str, message: Message, seconds: float = MEASURED_S) -> float:
    """Ns that the device, kept busy, takes for one request."""
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
