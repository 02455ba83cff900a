# SPDX-License-Identifier: Apache-2.0
"""Binary strings: the tables of the P4Runtime specification, section 8.4, and round trips."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp_base.p4rt.values import (
    OutOfRangeError,
    decode,
    decode_signed,
    encode,
    encode_signed,
    prefix_mask,
)

VALID = [
    (8, 99, b"\x63", True),
    (16, 99, b"\x00\x63", False),
    (16, 99, b"\x63", True),
    (16, 12388, b"\x30\x64", True),
    (16, 12388, b"\x00\x30\x64", False),
    (12, 99, b"\x00\x63", False),
    (12, 99, b"\x63", True),
    (12, 99, b"\x00\x00\x63", False),
]
VALID_SIGNED = [
    (8, 99, b"\x63", True),
    (8, -99, b"\x9d", True),
    (8, -99, b"\xff\x9d", False),
    (12, -739, b"\xfd\x1d", True),
    (16, 0, b"\x00\x00", False),
    (16, 0, b"\x00", True),
]
INVALID = [
    (8, b"\x01\x63"),
    (8, b""),
    (16, b"\x01\x00\x63"),
    (12, b"\x10\x63"),
    (12, b"\x01\x00\x63"),
    (12, b"\x00\x40\x63"),
]
INVALID_SIGNED = [(8, b"\x00\x9d"), (12, b"\x8d\x1d"), (16, b"")]


def is_canonical(data: bytes) -> bool:
    """Whether an unsigned binary string is the shortest one for its value."""
    return len(data) == 1 or data[:1] not in {b"", b"\0"}


@pytest.mark.parametrize(("width", "value", "data", "symmetric"), VALID)
def test_valid(width, value, data, symmetric):
    assert decode(data, width) == value
    assert (encode(value, width) == data) is symmetric
    assert is_canonical(data) is symmetric


@pytest.mark.parametrize(("width", "value", "data", "symmetric"), VALID_SIGNED)
def test_valid_signed(width, value, data, symmetric):
    assert decode_signed(data, width) == value
    assert (encode_signed(value, width) == data) is symmetric


@pytest.mark.parametrize(("width", "data"), INVALID)
def test_invalid(width, data):
    with pytest.raises(OutOfRangeError):
        decode(data, width)


@pytest.mark.parametrize(("width", "data"), INVALID_SIGNED)
def test_invalid_signed(width, data):
    with pytest.raises(OutOfRangeError):
        decode_signed(data, width)


@given(st.integers(1, 200).flatmap(lambda w: st.tuples(st.just(w), st.integers(0, 2**w - 1), st.integers(0, 3))))
@settings(derandomize=True)
def test_round_trip(case):
    width, value, padding = case
    data = encode(value, width)
    assert is_canonical(data)
    assert len(data) == max(1, -(-value.bit_length() // 8))
    assert decode(b"\0" * padding + data, width) == value


@given(st.integers(1, 100).flatmap(lambda w: st.tuples(st.just(w), st.integers(-(2 ** (w - 1)), 2 ** (w - 1) - 1))))
@settings(derandomize=True)
def test_signed_round_trip(case):
    width, value = case
    data = encode_signed(value, width)
    assert decode_signed(data, width) == value
    shorter = data[1:]
    assert not shorter or int.from_bytes(shorter, "big", signed=True) != value


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: encode(256, 8, "t: key x"), "t: key x: 256 is outside 0..255"),
        (lambda: encode(-1), "value: -1 is outside 0..infinity"),
        (lambda: decode(b"", 8, "port"), "port: an empty byte string is not a value"),
        (lambda: decode(b"\x01\x00", 8, "port"), "port: 0x100 does not fit 8 bits"),
        (lambda: encode_signed(128, 8), "value: 128 is outside int<8>"),
    ],
)
def test_golden_errors(call, message):
    with pytest.raises(OutOfRangeError) as failure:
        call()
    assert str(failure.value) == message


def test_prefix_masks():
    assert [prefix_mask(n, 8) for n in (0, 1, 7, 8)] == [0, 0x80, 0xFE, 0xFF]
