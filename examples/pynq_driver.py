# SPDX-License-Identifier: Apache-2.0
"""A PYNQ driver over RTL in simulation: look-ups go through PYNQ's own MMIO and DMA into the Verilog of ``kvs_lookup``.

On a board ``fpga:at=BOARD:7000`` in place of ``fpga:`` is all that changes. Icarus Verilog and cocotb are needed; PYNQ,
which clashes with other packages, is installed into an environment of its own the first time (docs/fpga.md).

    key 7 lies at 4096
    key 8 lies at 0
    the engine took … cycles
"""

import struct
import time

from offramp.leo.devices import open_device
from offramp.leo.functions import kvs

BUCKETS = 64


def main() -> None:
    """Two look-ups, of a key that is there and of one that is not."""
    device = open_device(f"fpga:engines=kvs_lookup,table_bytes={BUCKETS * kvs.LINE}", "card")
    try:
        kvs.KeyIndex(device.memory(kvs.NAME), BUCKETS).insert(7, 4096)
        for key in (7, 8):
            device.submit(kvs.NAME, key, struct.pack("<Q", key))
        completions = {}
        while len(completions) < 2:
            completions |= {done.request: done for done in device.poll()}
            time.sleep(0.01)
        for key, done in sorted(completions.items()):
            print(f"key {key} lies at {struct.unpack('<Q', done.message[:8])[0]}")
        print(f"the engine took {max(done.busy_ns for done in completions.values()) // 4} cycles")
    finally:
        device.close()


if __name__ == "__main__":
    main()
