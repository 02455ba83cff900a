# SPDX-License-Identifier: Apache-2.0
"""Look-ups in the FPGA's RTL, in simulation: ``python -m offramp_cli.demo.rtl COUNT SEED`` prints them as JSON.

It is a process of its own because a simulated card may take minutes to start for the first time, and is then ended.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from typing import Any, Final

from offramp import Status
from offramp.leo.applications.kvs_store import addresses_of, fill, keys_of
from offramp.leo.devices import open_device
from offramp.leo.functions import kvs

_WAIT_S: Final = 60.0


def look_up(count: int, seed: int, device_name: str = "fpga:") -> dict[str, Any]:
    """Look-ups of ``count`` keys: median nanoseconds by the card's clock, and the number of wrong answers."""
    keys, addresses = keys_of(count, seed), addresses_of(count)
    device = open_device(device_name)
    try:
        fill(device, keys, addresses)
        for number, key in enumerate(keys):
            device.submit(kvs.NAME, number, key.tobytes())
        answers: dict[int, Any] = {}
        end = time.monotonic() + _WAIT_S
        while len(answers) < count and time.monotonic() < end:
            answers |= {each.request: each for each in device.poll()}
            time.sleep(0.001)
    finally:
        device.close()
    right = sum(
        each.status is Status.OK and int.from_bytes(each.message[:8], "little") == int(addresses[number])
        for number, each in answers.items()
    )
    times = sorted(each.busy_ns for each in answers.values())
    return {"count": count, "wrong": count - right, "busy_ns": times[len(times) // 2] if times else 0}


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the card's processes end with it
    sys.stdout.write(json.dumps(look_up(int(sys.argv[1]), int(sys.argv[2]))) + "\n")
