# SPDX-License-Identifier: Apache-2.0
"""The all-reduce packet: Ethernet, IPv4, a 20-byte header and segments of 64 lanes of int32."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import numpy as np
import numpy.typing as npt

from offramp_base.wire.batch import PacketBatch
from offramp_base.wire.ethernet import ETHER_TYPE_IPV4, ETHERNET, IPV4, ipv4_frame_prefix
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
SWITCH = 0xFF
"""``rank`` of what comes from the switch."""
MOST_RANKS = 32
"""``present`` has a bit for each."""
PAGE = 256
"""Slots of a page: what the control plane gives to jobs."""
PREFIX_BYTES = ETHERNET.size + IPV4.size
HEADER_BYTES = PREFIX_BYTES + ALLREDUCE.size

SWITCH_MAC = 0x0200_0000_FFFE
SWITCH_IP = 0x0A00_FFFE

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


def rank_mac(rank: int) -> int:
    """Locally administered MAC address of a rank."""
    return 0x0200_0000_0000 + rank + 1


def rank_ip(rank: int) -> int:
    """Address of a rank in 10.0.0.0/16."""
    return 0x0A00_0001 + rank


def blank_frames(rank: int, job: int, slots: int, segments: int) -> Bytes:
    """A frame of a rank for each slot of a job, ``(slots, bytes)`` uint8, without chunk, exponent, flags and lanes."""
    size = frame_bytes(segments)
    frames = np.zeros((slots, size), np.uint8)
    frames[:, :PREFIX_BYTES] = ipv4_frame_prefix(
        SWITCH_MAC, rank_mac(rank), rank_ip(rank), SWITCH_IP, IP_PROTOCOL, size - PREFIX_BYTES
    )
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
class AllReducePackets:
    """The all-reduce packets of a batch, and how many of its frames were none.

    Attributes:
        frames: ``(n, >= 54)`` uint8, whole packets from the switch.
        foreign: frames that are no whole all-reduce packets.
    """

    frames: Bytes
    foreign: int

    def __len__(self) -> int:
        return len(self.frames)

    def field(self, name: str) -> npt.NDArray[np.int64]:
        """``(n,)`` values of a field of the header."""
        word, shift, mask = _PLACES[name]
        values: npt.NDArray[np.int64] = self._words[:, word] >> shift & mask
        return values

    @cached_property
    def _words(self) -> npt.NDArray[np.int64]:
        """``(n, 5)`` the header as 32-bit words; no field lies in two of them."""
        return self.frames[:, PREFIX_BYTES:HEADER_BYTES].view(">u4").astype(np.int64)

    def lanes(self) -> Lanes:
        """``(n, segments · 64)`` int32 payload."""
        return self.frames[:, HEADER_BYTES:].view(">i4").astype(np.int32)

    def select(self, which: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> AllReducePackets:
        """The packets that a mask or indices pick."""
        return AllReducePackets(self.frames[which], 0)


_PULL = int(AllReducePacketType.PULL)  # arrays compare faster with plain numbers
_WORD_BITS = 32
_PLACES = {
    f.name: (f.offset // _WORD_BITS, _WORD_BITS - f.offset % _WORD_BITS - f.width, f.mask) for f in ALLREDUCE.fields
}
"""Word, shift and mask of each field."""
_IPV4_AT = {name: ETHERNET.size + field.first for name, field in IPV4.by_name.items()}
_TYPE_AT = ETHERNET.by_name["ether_type"].first
_TOLD_BYTES = {  # what tells an all-reduce packet: where, what
    _TYPE_AT: ETHER_TYPE_IPV4 >> 8,
    _TYPE_AT + 1: ETHER_TYPE_IPV4 & 0xFF,
    _IPV4_AT["version"]: 0x45,
    _IPV4_AT["protocol"]: IP_PROTOCOL,
}
_TOLD_AT, _TOLD = np.array(list(_TOLD_BYTES)), np.array(list(_TOLD_BYTES.values()), np.uint8)
_KIND_AT = PREFIX_BYTES + ALLREDUCE.by_name["kind"].first


def parse_frames(batch: PacketBatch, segments: int) -> AllReducePackets:
    """Recognise the whole all-reduce packets of ``batch``; others are counted, never an error."""
    data, lengths, size = batch.data, batch.lengths, frame_bytes(segments)
    if data.shape[1] < size:
        data = np.zeros((len(batch), size), np.uint8)
        data[:, : batch.data.shape[1]] = batch.data
    kind = data[:, _KIND_AT]
    ours = (data[:, _TOLD_AT] == _TOLD).all(axis=1) & (kind <= _PULL)
    ours &= lengths >= np.where(kind == _PULL, HEADER_BYTES, size)
    if ours.all():
        return AllReducePackets(data[:, :size], 0)
    return AllReducePackets(data[ours, :size], len(batch) - int(np.count_nonzero(ours)))
