# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.switch_packets import PREFIX_BYTES
from offramp.switchgnn.wire import (
    DATA_FRAME_BYTES,
    LANES,
    NO_ID,
    SHORT_FRAME_BYTES,
    SWITCHGNN,
    SwitchGnnPacketType,
    build_frames,
    is_newer,
    next_round,
    parse_frames,
)
from offramp_base.wire.batch import PacketBatch
from offramp_base.wire.ethernet import ipv4_checksum

GOLDEN = {
    "DATA": (
        {"src_id": 7, "dst_id": NO_ID, "block_id": 3, "count": 5, "chunk_id": 2, "round": 17},
        "00000007ffffffff0003000500020011",
    ),
    "RESULT": (
        {"src_id": NO_ID, "dst_id": 9, "block_id": 3, "count": 4, "ecn": 1, "chunk_id": 2, "round": 17},
        "ffffffff000000090003000420020011",
    ),
    "RAW": (
        {"src_id": 7, "dst_id": 9, "block_id": 3, "count": 1, "chunk_id": 2, "round": 17},
        "00000007000000090003000100020011",
    ),
    "RESEND": (
        {"src_id": 7, "dst_id": 9, "block_id": 3, "count": 1, "resend": 1, "chunk_id": 2, "round": 17},
        "00000007000000090003000110020011",
    ),
    "FETCH": (
        {"src_id": 9, "dst_id": 7, "block_id": 3, "is_fetch": 1, "chunk_id": 2, "round": 17},
        "00000009000000070003000040020011",
    ),
    "ACK": (
        {"src_id": 9, "dst_id": NO_ID, "block_id": 3, "count": 4, "is_ack": 1, "ecn": 1, "round": 17},
        "00000009ffffffff00030004a0000011",
    ),
    "DONE": ({"src_id": 5, "block_id": 3, "is_ack": 1, "is_fetch": 1, "round": 17}, "000000050000000000030000c0000011"),
    "GO": (
        {"src_id": NO_ID, "dst_id": NO_ID, "block_id": 4, "count": 8, "is_ack": 1, "is_fetch": 1, "round": 18},
        "ffffffffffffffff00040008c0000012",
    ),
    "PARTIAL": (
        {"src_id": NO_ID, "dst_id": 9, "block_id": 3, "count": 2, "level": 1, "chunk_id": 2, "round": 17},
        "ffffffff000000090003000201020011",
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_headers(name: str) -> None:
    """Specification section 14.1."""
    values, text = GOLDEN[name]
    assert SWITCHGNN.pack(values, 1).tobytes().hex() == text
    assert SWITCHGNN.decode(bytes.fromhex(text)) == {f.name: values.get(f.name, 0) for f in SWITCHGNN.fields}


def test_golden_round_comparison() -> None:
    """Specification section 14.10."""
    assert is_newer(0, 65535)
    assert not is_newer(1, 1)
    assert not is_newer(40000, 1)
    assert is_newer(0x7FFF, 0)
    assert not is_newer(0x8000, 0)
    assert is_newer(0x7FFE, 0xFFFF)
    assert not is_newer(0x7FFF, 0xFFFF)
    assert is_newer(np.array([0, 1, 40000]), np.array([65535, 1, 1])).tolist() == [True, False, False]


@pytest.mark.parametrize("round_", [0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF])
def test_half_of_all_rounds_are_newer(round_: int) -> None:
    """The one exactly 0x8000 away is not: it is older."""
    ahead = {n: bool(is_newer((round_ + n) & 0xFFFF, round_)) for n in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF)}
    assert ahead == {0: False, 1: True, 0x7FFF: True, 0x8000: False, 0x8001: False, 0xFFFF: False}


def test_rounds_go_on_past_their_end_without_zero() -> None:
    rounds = [65533]
    while len(rounds) < 6:
        rounds.append(next_round(rounds[-1]))
    assert rounds == [65533, 65534, 65535, 1, 2, 3]
    assert all(is_newer(b, a) for a, b in pairwise(rounds))


def test_sizes() -> None:
    assert (PREFIX_BYTES, SHORT_FRAME_BYTES, DATA_FRAME_BYTES) == (34, 50, 178)


@settings(derandomize=True)
@given(st.integers(0, 2**32 - 1), st.integers(0, 6), st.integers(0, 300))
def test_built_frames_parse_to_what_they_were_built_from(seed: int, n: int, worker: int) -> None:
    rng = np.random.default_rng(seed)
    lanes = rng.integers(-(2**31), 2**31, (n, LANES)).astype(np.int32)
    fields = {"src_id": rng.integers(0, 2**32, n), "chunk_id": rng.integers(0, 256, n), "round": 4}
    batch = build_frames(worker, fields, n, lanes)
    parsed = parse_frames(batch)
    assert (len(parsed), parsed.foreign, parsed.truncated) == (n, 0, 0)
    assert np.array_equal(parsed.lanes, lanes)
    for name, values in fields.items():
        assert np.array_equal(parsed.field(name), np.broadcast_to(values, n))
    assert (parsed.kind == SwitchGnnPacketType.DATA).all()
    for frame in batch.frames():
        assert ipv4_checksum(frame[14:34]) == 0
        assert int.from_bytes(frame[16:18], "big") == len(frame) - 14


def test_short_frames_have_no_payload() -> None:
    batch = build_frames(3, {"is_ack": 1, "is_fetch": 1}, 2)
    assert batch.lengths.tolist() == [50, 50]
    parsed = parse_frames(batch)
    assert (parsed.kind == SwitchGnnPacketType.DONE).all()
    assert not parsed.lanes.any()


def _frame(**fields: int) -> bytes:
    lanes = np.arange(LANES, dtype=np.int32).reshape(1, LANES)
    return next(build_frames(0, fields, 1, lanes).frames())


def test_truncated_and_foreign_frames_are_counted_and_dropped() -> None:
    good = _frame(src_id=1)
    batch = PacketBatch.of(
        [
            (0, good),
            (0, good[:177]),  # payload cut
            (0, good[:49]),  # header cut
            (0, good[:20]),  # not recognisable any more
            (0, good[:12] + b"\x86\xdd" + good[14:]),  # IPv6
            (0, good[:14] + b"\x46" + good[15:]),  # IPv4 with options
            (0, good[:20] + b"\x00\x01" + good[22:]),  # a later fragment
            (0, good[:23] + b"\x11" + good[24:]),  # UDP
            (0, b""),
        ]
    )
    parsed = parse_frames(batch)
    assert (len(parsed), parsed.truncated, parsed.foreign) == (1, 2, 6)
    assert parsed.field("src_id").tolist() == [1]


def test_a_truncated_resend_is_no_short_packet() -> None:
    frame = _frame(resend=1)
    assert len(parse_frames(PacketBatch.of([(0, frame)]))) == 1
    assert parse_frames(PacketBatch.of([(0, frame[:177])])).truncated == 1


def test_nothing_parses_to_nothing() -> None:
    parsed = parse_frames(PacketBatch.empty())
    assert (len(parsed), parsed.foreign, parsed.truncated) == (0, 0, 0)
    assert parsed.lanes.shape == (0, LANES)


@settings(derandomize=True)
@given(st.lists(st.binary(max_size=200), max_size=5))
def test_random_bytes_never_raise(frames: list[bytes]) -> None:
    parsed = parse_frames(PacketBatch.of((0, frame) for frame in frames))
    assert len(parsed) + parsed.foreign + parsed.truncated == len(frames)
