# SPDX-License-Identifier: Apache-2.0
"""Verifies a loaded overlay: register maps, and a small request to each engine that it has."""

from __future__ import annotations

import struct
import sys
from typing import Any

import numpy as np

from offramp_pynq.overlay import Engines
from offramp_pynq.p2p_dma import COPY, DESCRIPTOR


def check(engines: Engines) -> None:
    """Raise RuntimeError unless the engines answer as they should."""
    if engines.kvs is not None:
        table = engines.kvs.allocate_table(1)
        table[:16] = np.frombuffer(struct.pack("<QQ", 7, 4096), np.uint8)
        table.flush()
        answer = engines.kvs.lookup(np.array([7, 8], np.uint64))
        _expect("kvs_lookup", answer, answer.payload == struct.pack("<QQ", 4096, 0))
    if engines.sums is not None:
        total = engines.sums.total(2, [struct.pack("<2f", 1.5, -2.0), struct.pack("<2f", 0.25, 2.0)])
        _expect("reduce", total, total.payload == struct.pack("<2f", 1.75, 0.0))
    if engines.ebs is not None:
        engines.ebs.allocate_tables(1, 1, 1)  # a volume that does not exist
        read = engines.ebs.lookup(struct.pack("<IIQQ", 0, 1, 0, 0))
        _expect("ebs_lookup", read, read.payload[:1] == b"\1")
    if engines.copies is not None:
        source, target, _ = engines.copies.allocate_memories(4096)
        source[:] = np.arange(4096, dtype=np.uint16).view(np.uint8)[::2]
        source.flush()
        copied = engines.copies.copy(DESCRIPTOR.pack(COPY, 0, 1, 0, 4096, 0, 0, 0))
        target.invalidate()
        _expect("p2p_dma", copied, bool((source == target).all()))
    if engines.quantiser is not None:
        row = np.arange(4, dtype=np.float32)[None]
        codes = engines.quantiser.quantise(row, [0], 2, 0)
        _expect("quantpack", codes, codes.packed.tobytes() == b"\xe4")
        status, values = engines.quantiser.dequantise(codes.packed, codes.bounds, 2, 4)
        if status or not (values == row).all():
            raise RuntimeError(f"quantpack answers {status}, {values}")


def _expect(engine: str, answer: Any, right: bool) -> None:
    if answer.status or not right:
        raise RuntimeError(f"{engine} answers {answer}")


if __name__ == "__main__":
    check(Engines(sys.argv[1], download=False))
