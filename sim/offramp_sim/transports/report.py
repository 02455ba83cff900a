# SPDX-License-Identifier: Apache-2.0
"""The frame by which the far end of a measured link says how many have come."""

from __future__ import annotations

import numpy as np

from offramp_base.wire.batch import PacketBatch
from offramp_base.wire.ethernet import ETHERNET

ACKNOWLEDGED = 256
"""Frames between two reports."""
IDLE_S = 0.1
"""Seconds of silence after which the frames since the last report are reported."""
_TYPE = 0x88B5  # for experiments, IEEE 802
_HEAD = ETHERNET.encode({"ether_type": _TYPE})
_BYTES = 60


def report(received: int) -> PacketBatch:
    """One frame that says how many frames have come so far."""
    return PacketBatch.of([(0, (_HEAD + received.to_bytes(8, "big")).ljust(_BYTES, b"\0"))])


def reported(batch: PacketBatch, before: int) -> int:
    """The highest count in ``batch``, or ``before``."""
    if not len(batch):
        return before
    at = len(_HEAD)
    return max(before, int(np.ascontiguousarray(batch.data[:, at : at + 8]).view(">u8").max()))


def frames(count: int, size: int, seed: int) -> PacketBatch:
    """Random frames of one size for the other direction."""
    data = np.random.default_rng(seed).integers(0, 256, (count, size), np.uint8)
    data[:, : len(_HEAD)] = np.frombuffer(_HEAD, np.uint8)
    return PacketBatch(np.zeros(count, np.int32), np.full(count, size, np.int32), data)
