# SPDX-License-Identifier: Apache-2.0
"""The all-reduce packet: Ethernet, IPv4, a 20-byte header and segments of 64 lanes of int32."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from offramp.switch_packets import PREFIX_BYTES, SwitchPackets, SwitchProtocol, at_least
from offramp_base.wire.batch import PacketBatch
from offramp_base.wire.fields import Bytes, HeaderFormat

ALLREDUCE = HeaderFormat(
    "allreduce",
    {
        "job": 32,
        "chunk": 32,
        "present": 32,
        "page": 8,
        "line": 8,
        "exponent": 16,
        "rank": 8,
        "kind": 8,
        "flags": 8,
        "reserved": 8,
    },
)

MEANING = """\
Kinds of packets, all of a chunk in a slot of a job:
  0 DATA    a contribution, with segments: of a rank, or of a leaf for its rack
  1 AGAIN   the same, repeated: a complete sum is sent again, an incomplete one is asked for by PULL
  2 RESULT  the sum, with segments; exponent and flags are the greatest, and all, of the contributions'
  3 PULL    without segments: contributions of the ranks that are not in present are missing"""
"""Comment on :data:`ALLREDUCE` in the P4 that ``ci/formats`` writes."""

LANES = 64
SEGMENT = HeaderFormat("segment", {f"lane{i}": 32 for i in range(LANES)})

IP_PROTOCOL = 254  # for experiments and testing, RFC 3692
PROTOCOL = SwitchProtocol(IP_PROTOCOL, ALLREDUCE)
SWITCH = 0xFF
"""``rank`` of what comes from the switch."""
MOST_RANKS = 32
"""``present`` has a bit for each."""
PAGE = 256
"""Slots of a page: what the control plane gives to jobs."""
HEADER_BYTES = PROTOCOL.header_end

Lanes = npt.NDArray[np.int32]


class AllReducePacketType(IntEnum):
    """Kinds of packets, which :data:`MEANING` explains."""

    DATA = 0
    AGAIN = 1
    RESULT = 2
    PULL = 3


def frame_bytes(segments: int) -> int:
    """Bytes of a frame with payload."""
    return HEADER_BYTES + segments * SEGMENT.size


def blank_frames(rank: int, job: int, slots: int, segments: int) -> Bytes:
    """A frame of a rank for each slot of a job, ``(slots, bytes)`` uint8, without chunk, exponent, flags and lanes."""
    size = frame_bytes(segments)
    frames = np.zeros((slots, size), np.uint8)
    frames[:, :PREFIX_BYTES] = PROTOCOL.prefix(rank, size - PREFIX_BYTES)
    slot = np.arange(slots)
    fields: dict[str, npt.ArrayLike] = {"job": job, "page": slot // PAGE, "line": slot % PAGE, "rank": rank}
    frames[:, PREFIX_BYTES:HEADER_BYTES] = ALLREDUCE.pack(fields, slots)
    return frames


def set_field(frames: Bytes, name: str, values: npt.ArrayLike) -> None:
    """Write a field of whole bytes into every frame."""
    field = ALLREDUCE.by_name[name]
    assert field.number is not None
    frames[:, PREFIX_BYTES + field.first : PREFIX_BYTES + field.end].view(field.number)[:, 0] = values


def set_lanes(frames: Bytes, lanes: npt.NDArray[np.generic]) -> None:
    """Write ``(n, segments · 64)`` whole numbers into every frame."""
    frames[:, HEADER_BYTES:].view(">i4")[...] = lanes


@dataclass(frozen=True)
class AllReducePackets(SwitchPackets):
    """The all-reduce packets of a batch; frames that are cut count as foreign."""

    protocol = PROTOCOL

    def lanes(self) -> Lanes:
        """``(n, segments · 64)`` int32 payload."""
        return self.frames[:, HEADER_BYTES:].view(">i4").astype(np.int32)

    def select(self, which: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> AllReducePackets:
        """The packets that a mask or indices pick."""
        return AllReducePackets(self.frames[which], 0)


_PULL = int(AllReducePacketType.PULL)  # arrays compare faster with plain numbers
_KIND_AT = PREFIX_BYTES + ALLREDUCE.by_name["kind"].first


def parse_frames(batch: PacketBatch, segments: int) -> AllReducePackets:
    """Recognise the whole all-reduce packets of ``batch``; others are counted, never an error."""
    size = frame_bytes(segments)
    data = at_least(batch, size)
    kind = data[:, _KIND_AT]
    ours = PROTOCOL.recognised(data) & (kind <= _PULL)
    ours &= batch.lengths >= np.where(kind == _PULL, HEADER_BYTES, size)
    if ours.all():
        return AllReducePackets(data[:, :size], 0)
    return AllReducePackets(data[ours, :size], len(batch) - int(np.count_nonzero(ours)))
