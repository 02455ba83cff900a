# SPDX-License-Identifier: Apache-2.0
"""Verifies a loaded overlay: register maps, a look-up in a table of one key, a sum."""

from __future__ import annotations

import struct
import sys

import numpy as np

from offramp_pynq.overlay import Engines


def check(engines: Engines) -> None:
    """Raise RuntimeError unless both engines answer as they should."""
    table = engines.kvs.allocate_table(1)
    table[:16] = np.frombuffer(struct.pack("<QQ", 7, 4096), np.uint8)
    table.flush()
    found = engines.kvs.lookup(np.array([7, 8], np.uint64))
    if found.status or found.payload != struct.pack("<QQ", 4096, 0):
        raise RuntimeError(f"kvs_lookup answers {found}")
    total = engines.sums.total(2, [struct.pack("<2f", 1.5, -2.0), struct.pack("<2f", 0.25, 2.0)])
    if total.status or total.payload != struct.pack("<2f", 1.75, 0.0):
        raise RuntimeError(f"reduce answers {total}")


if __name__ == "__main__":
    check(Engines(sys.argv[1], download=False))
