# SPDX-License-Identifier: Apache-2.0
"""Hash algorithms against published check values."""

from __future__ import annotations

from random import Random

import pytest

from offramp_p4 import make_switch
from offramp_p4.frontend import load_text
from offramp_p4.source import P4Error
from offramp_p4.v1model.hashing import algorithm
from p4_programs import program

CHECK = b"123456789"


@pytest.mark.parametrize(
    ("name", "data", "value"),
    [
        ("crc32", CHECK, 0xCBF43926),  # the catalogue of parametrised CRC algorithms
        ("crc16", CHECK, 0xBB3D),
        ("crc16", b"", 0),
        ("csum16", bytes.fromhex("0001f203f4f5f6f7"), 0x220D),  # RFC 1071, section 3
        ("csum16", bytes.fromhex("4500003044224000800600008c7c19acae241e2b"), 0x442E),
        ("csum16", b"", 0xFFFF),
        ("csum16", b"\xff\xff", 0),
        ("csum16", b"\xab", 0x54FF),
        ("xor16", bytes.fromhex("1234560f01"), 0x1234 ^ 0x560F ^ 0x0100),
        ("identity", CHECK, int.from_bytes(b"12345678", "big")),
        ("identity", b"\1\2", 0x0102),
    ],
)
def test_algorithms(name: str, data: bytes, value: int) -> None:
    assert algorithm(name, Random(0))(data) == value


def test_random_draws_from_the_seed() -> None:
    one, two = algorithm("random", Random(5)), algorithm("random", Random(5))
    assert [one(b"") for _ in range(4)] == [two(b"x") for _ in range(4)]


@pytest.mark.parametrize("engine", ["python", "native"])
@pytest.mark.parametrize("data", ["{hdr.h.a, 5}", "{hdr.h.a, -1}", "{{hdr.h.a, 7}, hdr.h.c}"])
def test_a_number_without_a_width_cannot_be_hashed(data: str, engine: str) -> None:
    body = f"bit<16> x; hash(x, HashAlgorithm.crc16, 16w0, {data}, 16w9); hdr.h.c = x;"
    with pytest.raises(P4Error, match="a number without a width"):
        make_switch(load_text(program(body), "p.p4"), engine)
