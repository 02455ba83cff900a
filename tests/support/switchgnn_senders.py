# SPDX-License-Identifier: Apache-2.0
"""Ports by which the six-vertex example's workers send: *w*, on port *w* + 1, owns vertices 2 *w* and 2 *w* + 1."""

from __future__ import annotations

from collections.abc import Iterable

from offramp.switch_packets import PREFIX_BYTES
from offramp.switchgnn.wire import SHORT_FRAME_BYTES, SWITCHGNN, SwitchGnnPacketType, kind_of_flags
from offramp_base.wire.batch import PacketBatch


def from_senders(frames: Iterable[bytes]) -> PacketBatch:
    """Each frame on the port of the worker that it is of; what is of nobody comes from worker 0."""
    return PacketBatch.of((1 + _worker(frame), frame) for frame in frames)


def _worker(frame: bytes) -> int:
    if len(frame) < SHORT_FRAME_BYTES:
        return 0
    header = SWITCHGNN.decode(frame[PREFIX_BYTES:])
    kind = kind_of_flags(header["is_ack"], header["is_fetch"], header["resend"])
    worker: int = header["src_id"] if kind == SwitchGnnPacketType.DONE else header["src_id"] // 2
    return worker if worker < 3 else 0
