# SPDX-License-Identifier: Apache-2.0
"""The SwitchGNN packet: Ethernet, IPv4, a 16-byte header and one to four segments of 32 lanes of int32.

The specification's (section 3) has one segment. What a packet has behind the first its header says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import numpy as np
import numpy.typing as npt

from offramp.switch_packets import PREFIX_BYTES, SwitchPackets, SwitchProtocol, at_least
from offramp_base.wire.batch import PacketBatch
from offramp_base.wire.fields import Bytes, HeaderFormat

SWITCHGNN = HeaderFormat(
    "switchgnn",
    {
        "src_id": 32,
        "dst_id": 32,
        "block_id": 16,
        "count": 16,
        "is_ack": 1,
        "is_fetch": 1,
        "ecn": 1,
        "resend": 1,
        "more": 2,
        "level": 2,
        "chunk_id": 8,
        "round": 16,
    },
)

MEANING = """\
The flags decide the type of a packet:
  is_ack is_fetch resend
    0       0       0     DATA (to the switch), RESULT and RAW (to a worker), PARTIAL (between switches, level 1):
                          with payload
    0       1       0     FETCH: src_id lacks dst_id; releases the aggregator of src_id (resend: 1 when repeated)
    0       0       1     RESEND: the answer, src_id for dst_id alone; with payload
    1       0       0     ACK: src_id is complete
    1       1       0     DONE (to the switch), GO (to a worker)
A payload has ``more`` segments of 32 lanes behind its first."""
"""Comment on :data:`SWITCHGNN` in the P4 that ``ci/formats`` writes."""

LANES = 32
"""Lanes of a segment, and of an aggregator in the paper."""
MOST_SEGMENTS = 4
"""Most segments of a packet."""
PAYLOAD = HeaderFormat("payload", {f"lane{i}": 32 for i in range(LANES)})
"""Header of one segment."""

IP_PROTOCOL = 253  # for experiments and testing, RFC 3692
PROTOCOL = SwitchProtocol(IP_PROTOCOL, SWITCHGNN)
NO_ID = 0xFFFF_FFFF
SHORT_FRAME_BYTES = PROTOCOL.header_end
DATA_FRAME_BYTES = SHORT_FRAME_BYTES + PAYLOAD.size
"""Bytes of a frame with one segment, the shortest frame with a payload."""

LEAF_IP = 0x0A01_0000
"""IP address of leaf 0 among several switches; leaf i has the i-th one after it."""
LEVEL_LEAF = 1
"""Level of a packet that a leaf sends for its rack."""

Lanes = npt.NDArray[np.int32]


class SwitchGnnPacketType(IntEnum):
    """Type of a packet by its flags (section 3.4); the value is ``is_ack is_fetch resend`` as three bits.

    DATA, RESULT and RAW share one value: direction and ids tell them apart. A repeated FETCH has ``resend`` set too.
    """

    DATA = 0b000
    RESEND = 0b001
    FETCH = 0b010
    ACK = 0b100
    DONE = 0b110  # GO when it comes from the switch


_FETCH_AGAIN = 0b011


def kind_of_flags(is_ack: int, is_fetch: int, resend: int) -> int:
    """The type that flags mean: a value of :class:`SwitchGnnPacketType`, or another number if they have no meaning."""
    flags = is_ack << 2 | is_fetch << 1 | resend
    return SwitchGnnPacketType.FETCH if flags == _FETCH_AGAIN else flags


def is_newer(a: npt.ArrayLike, b: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Whether round ``a`` comes after round ``b``, as serial numbers modulo 2^16 (section 3.1)."""
    ahead = (np.asarray(a, np.int64) - np.asarray(b, np.int64)) & 0xFFFF
    return np.asarray((ahead != 0) & (ahead < 0x8000))


def next_round(round_: int) -> int:
    """The round after ``round_``: serial numbers skip 0, which is reserved for the start barrier."""
    return (round_ + 1) & 0xFFFF or 1


def frame_bytes(segments: int) -> int:
    """Bytes of a frame with ``segments`` segments of payload; 0 for a short packet."""
    return SHORT_FRAME_BYTES + segments * PAYLOAD.size


def build_frames(
    worker: int,
    fields: Mapping[str, npt.ArrayLike],
    n: int,
    lanes: Lanes | None = None,
    segments: npt.NDArray[np.int64] | None = None,
) -> PacketBatch:
    """``n`` frames from ``worker`` to the switch; ``fields`` are SwitchGNN's, scalars or ``(n,)``.

    Args:
        worker: the worker whose addresses the frames carry.
        fields: values of the SwitchGNN header; absent ones are 0.
        n: number of frames.
        lanes: ``(n, L)`` int32 payload, L a multiple of 32, or None for short packets.
        segments: ``(n,)`` number of segments in each frame; None: all.

    Raises:
        OfframpError: an unknown field, or a value that its field cannot hold.
    """
    width = 0 if lanes is None else lanes.shape[1] // LANES
    carried = np.full(n, width) if segments is None else segments
    lengths = (SHORT_FRAME_BYTES + carried * PAYLOAD.size).astype(np.int32)
    data = np.empty((n, frame_bytes(width)), np.uint8)
    for each in np.unique(carried).tolist():
        of_each = carried == each
        data[of_each, :PREFIX_BYTES] = frame_prefix(worker, each)
        data[of_each, frame_bytes(each) :] = 0
    if lanes is not None:
        fields = {**fields, "more": carried - 1}
        for each in range(width):
            there = carried > each
            payload = np.ascontiguousarray(lanes[there, each * LANES : (each + 1) * LANES], ">i4")
            data[there, frame_bytes(each) : frame_bytes(each + 1)] = payload.view(np.uint8).reshape(-1, PAYLOAD.size)
    data[:, PREFIX_BYTES:SHORT_FRAME_BYTES] = SWITCHGNN.pack(fields, n)
    return PacketBatch(np.zeros(n, np.int32), lengths, data)


def frame_prefix(worker: int, segments: int) -> Bytes:
    """``(34,)`` Ethernet and IPv4 headers of ``worker``'s frames with ``segments`` segments, read-only."""
    return PROTOCOL.prefix(worker, frame_bytes(segments) - PREFIX_BYTES)


@dataclass(frozen=True)
class SwitchGnnPackets(SwitchPackets):
    """The SwitchGNN packets of a batch; rows are at least 178 bytes long.

    Attributes:
        truncated: SwitchGNN frames that end before their header or payload does.
    """

    protocol = PROTOCOL
    truncated: int

    @cached_property
    def kind(self) -> npt.NDArray[np.int64]:
        """``(n,)`` values of :class:`SwitchGnnPacketType`; other numbers are combinations without a meaning."""
        return kinds_of(self.frames[:, PREFIX_BYTES:])

    @property
    def lanes(self) -> Lanes:
        """``(n, L)`` int32 payload, as wide as the widest packet; zero-padded for shorter and for short packets."""
        segments = self.segments
        most = int(segments.max(initial=1))
        payload = np.ascontiguousarray(self.frames[:, SHORT_FRAME_BYTES : frame_bytes(most)])
        lanes = payload.view(">i4").astype(np.int32)
        if (segments < most).any():
            lanes[np.arange(most * LANES) >= segments[:, np.newaxis] * LANES] = 0
        return lanes

    @property
    def segments(self) -> npt.NDArray[np.int64]:
        """``(n,)`` segments of payload of each packet; 1 for short ones, which have none."""
        payload = (self.kind == SwitchGnnPacketType.DATA) | (self.kind == SwitchGnnPacketType.RESEND)
        return np.where(payload, self.field("more") + 1, 1)

    def select(self, which: npt.NDArray[np.bool_]) -> SwitchGnnPackets:
        """The packets that a mask selects."""
        return SwitchGnnPackets(self.frames[which], 0, 0)


def parse_frames(batch: PacketBatch) -> SwitchGnnPackets:
    """Extract the whole SwitchGNN packets of ``batch``; others are counted, never an error."""
    data = at_least(batch, DATA_FRAME_BYTES)
    ours = PROTOCOL.recognised(data)
    whole = ours & (batch.lengths >= _NEEDED[data[:, PREFIX_BYTES + _FLAGS]])
    count, complete = int(np.count_nonzero(ours)), int(np.count_nonzero(whole))
    return SwitchGnnPackets(data if complete == len(data) else data[whole], len(batch) - count, count - complete)


def _kinds_of_bytes() -> npt.NDArray[np.int64]:
    """The value of :class:`SwitchGnnPacketType` for each value of the byte with the flags."""
    headers = np.zeros((256, SWITCHGNN.size), np.uint8)
    headers[:, _FLAGS] = np.arange(256)
    flags = (SWITCHGNN.unpack(headers, name).tolist() for name in ("is_ack", "is_fetch", "resend"))
    return np.array([kind_of_flags(*each) for each in zip(*flags, strict=True)], np.int64)


def _bytes_needed() -> npt.NDArray[np.int64]:
    """Bytes of a whole frame, for each value of the byte with the flags."""
    headers = np.zeros((256, SWITCHGNN.size), np.uint8)
    headers[:, _FLAGS] = np.arange(256)
    payload = (_KINDS == SwitchGnnPacketType.DATA) | (_KINDS == SwitchGnnPacketType.RESEND)
    segments = SWITCHGNN.unpack(headers, "more").astype(np.int64) + 1
    return np.where(payload, SHORT_FRAME_BYTES + segments * PAYLOAD.size, SHORT_FRAME_BYTES)


_FLAGS = SWITCHGNN.by_name["is_ack"].first
_KINDS = _kinds_of_bytes()
_NEEDED = _bytes_needed()
"""Bytes of a whole frame, for each value of the byte with the flags."""


def kinds_of(headers: Bytes) -> npt.NDArray[np.int64]:
    """``(n,)`` values of :class:`SwitchGnnPacketType`, or other numbers, for SwitchGNN headers, one per row."""
    return _KINDS[headers[:, _FLAGS]]
