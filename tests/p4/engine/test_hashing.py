# SPDX-License-Identifier: Apache-2.0
"""Hash algorithms against published check values."""

from __future__ import annotations

from random import Random

import pytest

from offramp_p4 import make_switch
from offramp_p4.frontend import load_text
from offramp_p4.source import P4Error
from offramp_p4.v1model.crc import CrcParameters, custom_algorithm, reversed_bits
from offramp_p4.v1model.hashing import algorithm
from offramp_p4_tools.bmv2.read import from_json
from offramp_p4_tools.bmv2.write import bmv2_text, calculations
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


CATALOGUE = [
    # The catalogue of parametrised CRC algorithms, each with its check value.
    (CrcParameters(16, 0x1021, 0xFFFF, 0, False, False), 0x29B1),  # CRC-16/IBM-3740
    (CrcParameters(16, 0x1021, 0, 0, False, False), 0x31C3),  # CRC-16/XMODEM
    (CrcParameters(16, 0x1021, 0xFFFF, 0xFFFF, True, True), 0x906E),  # CRC-16/IBM-SDLC
    (CrcParameters(16, 0x1021, 0x1D0F, 0, False, False), 0xE5CC),  # CRC-16/SPI-FUJITSU
    (CrcParameters(16, 0x1021, 0xB2AA, 0, True, True), 0x63D0),  # CRC-16/RIELLO
    (CrcParameters(32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, True, True), 0xE3069283),  # CRC-32/ISCSI
    (CrcParameters(32, 0x04C11DB7, 0xFFFFFFFF, 0xFFFFFFFF, False, False), 0xFC891918),  # CRC-32/BZIP2
    (CrcParameters(32, 0x04C11DB7, 0xFFFFFFFF, 0, True, True), 0x340BC6D9),  # CRC-32/JAMCRC
    (CrcParameters(16, 0x8005, 0, 0, True, True), 0xBB3D),  # CRC-16/ARC, which is bmv2's first
]


def _bit_by_bit(p: CrcParameters, data: bytes) -> int:
    remainder, top = p.initial_remainder, 1 << (p.width - 1)
    for byte in data:
        for bit in range(8):
            enters = byte >> (bit if p.data_reflected else 7 - bit) & 1
            out = bool(remainder & top) != bool(enters)
            remainder = (remainder << 1 ^ (p.polynomial if out else 0)) & (1 << p.width) - 1
    return (reversed_bits(remainder, p.width) if p.remainder_reflected else remainder) ^ p.final_xor_value


@pytest.mark.parametrize(("parameters", "check"), CATALOGUE)
def test_crcs_of_the_catalogue(parameters: CrcParameters, check: int) -> None:
    assert parameters.function()(CHECK) == _bit_by_bit(parameters, CHECK) == check


CUSTOM = """
#include <core.p4>
#include <v1model.p4>
header h_t { bit<72> data; bit<16> short; bit<32> long; bit<16> other; }
struct headers { h_t h; }
struct meta_t { }
parser P(packet_in p, out headers h, inout meta_t m, inout standard_metadata_t s) {
    state start { p.extract(h.h); transition accept; }
}
control V(inout headers h, inout meta_t m) { apply { } }
control I(inout headers h, inout meta_t m, inout standard_metadata_t s) {
    apply {
        hash(h.h.short, HashAlgorithm.crc16_custom, 16w0, { h.h.data }, 32w0x10000);
        hash(h.h.long, HashAlgorithm.crc32_custom, 32w0, { h.h.data }, 64w0x100000000);
        s.egress_spec = 1;
    }
}
control E(inout headers h, inout meta_t m, inout standard_metadata_t s) { apply { } }
control C(inout headers h, inout meta_t m) {
    apply { update_checksum(true, { h.h.data }, h.h.other, HashAlgorithm.crc16_custom); }
}
control D(packet_out p, in headers h) { apply { p.emit(h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"""


@pytest.mark.parametrize("engine", ["python", "native"])
@pytest.mark.parametrize("again", [False, True])
def test_custom_crcs_have_the_parameters_that_their_call_was_given(engine: str, again: bool) -> None:
    """Each call has its own, from the next packet on, until the switch is reset; also where bmv2's JSON was read."""
    loaded = load_text(CUSTOM)
    if again:
        loaded = from_json(bmv2_text(loaded), "program.json")
    switch = make_switch(loaded, engine)
    calls = calculations(loaded)
    assert [custom_algorithm(call) for (call,) in calls.values()] == ["crc16_custom", "crc32_custom", "crc16_custom"]

    def hashes() -> tuple[int, int, int]:
        ((_, frame),) = switch.process_one(0, CHECK + bytes(8))
        return tuple(int.from_bytes(frame[a:b], "big") for a, b in ((9, 11), (11, 15), (15, 17)))  # type: ignore[return-value]

    assert hashes() == (0xBB3D, 0xCBF43926, 0xBB3D)
    mixed = CrcParameters(16, 0x8BB7, 0x1234, 0x00FF, False, True)
    switch.crcs.set(calls["calc"][0], mixed)
    assert hashes() == (_bit_by_bit(mixed, CHECK), 0xCBF43926, 0xBB3D)
    for parameters, check in CATALOGUE:
        name, place = ("calc_0", 1) if parameters.width == 32 else ("calc_1", 2)
        switch.crcs.set(calls[name][0], parameters)
        assert hashes()[place] == check
    switch.reset()
    assert hashes() == (0xBB3D, 0xCBF43926, 0xBB3D)
