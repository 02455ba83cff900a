# SPDX-License-Identifier: Apache-2.0
"""Hashes, random numbers, checksums, counters, meters, selectors, parser externs and functions."""

from __future__ import annotations

import random
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp_p4 import PlainSwitch
from offramp_p4.frontend import load_text
from offramp_p4.source import Unsupported
from offramp_p4.state import ActionData, Exact, GroupAction, MeterCell, TableEntry
from offramp_p4.tna import hashing
from tna_programs import make, packet, tna

pytestmark = pytest.mark.p4

FORWARD = "tm.ucast_egress_port = 1; tm.bypass_egress = 1;"


def switch(body: str = "", **parts: str) -> PlainSwitch:
    return make(load_text(tna(FORWARD + body, **parts), "prog.p4"))


def one(s: PlainSwitch, rest: bytes = b"", **fields: int) -> bytes:
    ((_, out),) = s.process_one(0, packet(**fields, rest=rest))
    return out


# --- hashes

# (name, CRC of the digits 1 to 9, as in the catalogue of parametrised CRC algorithms)
CHECKS = [("CRC8", 0xF4), ("CRC16", 0xBB3D), ("CRC32", 0xCBF43926), ("CRC64", 0x6C40DF5F0B497347)]
DIGITS = int.from_bytes(b"123456789", "big")


@pytest.mark.parametrize(("name", "check"), CHECKS)
def test_crcs_of_the_catalogue(name: str, check: int) -> None:
    width = hashing.CRCS[name].width
    assert hashing.crc(hashing.CRCS[name], 72, width)(DIGITS) == check


# (parameters, the catalogue's check): KERMIT, XMODEM, CRC-32C, CRC-5/USB (reflected), CRC-6/GSM, CRC-12/DECT
CUSTOM = [
    (hashing.Crc(16, 0x1021, reverse=True), 0x2189),
    (hashing.Crc(16, 0x1021), 0x31C3),
    (hashing.Crc(32, 0x1EDC6F41, reverse=True, init=0xFFFFFFFF, xor=0xFFFFFFFF), 0xE3069283),
    (hashing.Crc(5, 0x05, reverse=True, init=0x1F, xor=0x1F), 0x19),
    (hashing.Crc(6, 0x2F, xor=0x3F), 0x13),
    (hashing.Crc(12, 0x80F), 0xF5B),
]


@pytest.mark.parametrize(("parameters", "check"), CUSTOM)
def test_crcs_of_other_polynomials(parameters: hashing.Crc, check: int) -> None:
    assert hashing.crc(parameters, 72, parameters.width)(DIGITS) == check


def test_widths_other_than_the_algorithm_s() -> None:
    crc32 = hashing.CRCS["CRC32"]
    assert hashing.crc(crc32, 72, 12)(DIGITS) == 0x926
    assert hashing.crc(crc32, 72, 12, msb=True)(DIGITS) == 0xCBF
    assert hashing.crc(crc32, 72, 40)(DIGITS) == 0x26CBF43926
    assert hashing.crc(crc32, 72, 40, extend=False)(DIGITS) == 0xCBF43926
    assert hashing.identity(8)(0x1234) == 0x34


@pytest.mark.full
@given(st.binary(min_size=1, max_size=9))
@settings(derandomize=True)
def test_exclusive_or_of_words_with_zeros_behind(data: bytes) -> None:
    padded = data + bytes(-len(data) % 4)
    want = 0
    for i in range(0, len(padded), 4):
        want ^= int.from_bytes(padded[i : i + 4], "big")
    assert hashing.xor(32, 8 * len(data), 32)(int.from_bytes(data, "big")) == want


@given(st.integers(0, 1 << 40), st.integers(0, 1 << 40))
@settings(derandomize=True)
def test_the_random_hash_is_linear_and_fixed(a: int, b: int) -> None:
    h = hashing.random_matrix(41, 16, random.Random(5))
    assert h(a) ^ h(b) ^ h(0) == h(a ^ b)
    assert h(a) == hashing.random_matrix(41, 16, random.Random(5))(a)


def test_hash_of_fields() -> None:
    s = switch("hdr.h.w = h.get({hdr.h.a, hdr.h.b, hdr.h.c});", local="Hash<bit<32>>(HashAlgorithm_t.CRC32) h;")
    assert one(s, a=1, b=2, c=3)[-4:] == zlib.crc32(b"\1\2\0\3").to_bytes(4, "big")


def test_hash_with_a_polynomial() -> None:
    poly = "CRCPolynomial<bit<16>>(0x1021, true, false, false, 0, 0) poly;"
    s = switch("hdr.h.c = h.get({hdr.h.w});", local=poly + "Hash<bit<16>>(HashAlgorithm_t.CUSTOM, poly) h;")
    kermit = hashing.crc(hashing.Crc(16, 0x1021, reverse=True), 32, 16)(0x12345678)
    assert one(s, w=0x12345678) == packet(c=kermit, w=0x12345678)
    with pytest.raises(Unsupported, match=r"Hash pipe\.I\.h with HashAlgorithm_t\.CUSTOM but without a CRCPolynomial"):
        switch("hdr.h.c = h.get({hdr.h.w});", local="Hash<bit<16>>(HashAlgorithm_t.CUSTOM) h;")


def test_random_numbers_come_from_the_seed() -> None:
    program = load_text(tna(FORWARD + "hdr.h.w = r.get();", local="Random<bit<32>>() r;"))
    first, again, other = (make(program, seed=n) for n in (1, 1, 2))
    drawn = [one(first) for _ in range(4)]
    assert len(set(drawn)) == 4
    assert [one(again) for _ in range(4)] == drawn
    assert [one(other) for _ in range(4)] != drawn


# --- checksums


def internet_checksum(data: bytes) -> int:
    data += bytes(len(data) & 1)
    total = sum(int.from_bytes(data[i : i + 2], "big") for i in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def test_verify_is_true_when_the_sum_is_wrong() -> None:
    s = switch(
        "if (md.flag) { hdr.h.a = 0xEE; }",
        iplocals="Checksum() sum;",
        ipbody="sum.add(hdr.h); md.flag = sum.verify(); transition accept;",
    )
    good = packet(b=2, w=77)
    good = packet(b=2, c=internet_checksum(good), w=77)
    assert s.process_one(0, good) == [(1, good)]
    assert s.process_one(0, packet(b=2, c=9, w=77)) == [(1, packet(a=0xEE, b=2, c=9, w=77))]


@given(st.integers(0, 255), st.integers(0, 0xFFFFFFFF))
@settings(derandomize=True, max_examples=30, deadline=None)
def test_update(b: int, w: int) -> None:
    assert one(UPDATE, b=b, w=w) == packet(b=b, c=internet_checksum(packet(b=b, w=w)), w=w)


UPDATE = switch(idlocal="Checksum() sum;", idbody="hdr.h.c = sum.update({hdr.h.a, hdr.h.b, hdr.h.w});")


def test_update_leaves_out_headers_that_are_not_valid_and_can_write_zero_as_ones() -> None:
    body = "hdr.h.c = sum.update(data = {{hdr.inner.w, 32w0xFFFF0000}}, zeros_as_ones = {});"
    for ones, want in (("false", 0), ("true", 0xFFFF)):
        s = switch("hdr.inner.w = 9;", idlocal="Checksum() sum;", idbody=body.format(ones))
        assert one(s) == packet(c=want)


RESIDUAL = {
    "iplocals": "Checksum() sum;",
    "idlocal": "Checksum() sum;",
    "idbody": "hdr.h.c = sum.update({hdr.h.a, hdr.h.b, hdr.h.w, md.x});",
}


@given(st.binary(max_size=12), st.integers(0, 0xFFFFFFFF))
@settings(derandomize=True, max_examples=30, deadline=None)
def test_a_checksum_with_payload_is_corrected_by_its_residual(payload: bytes, w: int) -> None:
    """The parser takes the old fields off the old checksum; what is left is the payload's sum."""
    old = packet(a=1, b=2, c=internet_checksum(packet(a=1, b=2, w=w) + payload), w=w, rest=payload)
    new = packet(a=1, b=2, w=w ^ 0xFF) + payload
    ((_, out),) = INCREMENTAL.process_one(0, old)
    assert internet_checksum(out) in (0, 0xFFFF)
    assert out == packet(a=1, b=2, c=internet_checksum(new), w=w ^ 0xFF, rest=payload)


INCREMENTAL = switch(
    "hdr.h.w = hdr.h.w ^ 0xFF;",
    ipbody="sum.subtract({hdr.h.a, hdr.h.b, hdr.h.w}); sum.subtract({hdr.h.c}); md.x = sum.get(); transition accept;",
    **RESIDUAL,
)


def test_subtract_all_takes_off_what_is_extracted_later() -> None:
    s = switch(
        "hdr.inner.w = 5; hdr.h.w = 6;",
        ipbody="sum.subtract(hdr.h); sum.subtract_all_and_deposit(md.x); transition more;",
        ipstates="state more { pkt.extract(hdr.inner); transition accept; }",
        **{**RESIDUAL, "idbody": "hdr.h.c = sum.update({hdr.h.a, hdr.h.b, hdr.h.w, hdr.inner, md.x});"},
    )
    inner, payload = packet(a=3, b=4, c=5, w=6), b"payload!"
    old = packet(a=1, c=internet_checksum(packet(a=1, w=9) + inner + payload), w=9) + inner + payload
    new_inner = packet(a=3, b=4, c=5, w=5)
    want = packet(a=1, c=internet_checksum(packet(a=1, w=6) + new_inner + payload), w=6) + new_inner + payload
    assert s.process_one(0, old) == [(1, want)]


# --- the parser


def test_port_metadata_is_what_the_control_plane_gave_the_port() -> None:
    s = switch(
        "hdr.h.w = md.w; hdr.h.c = md.x;",
        top="struct port_t { bit<32> w; bit<16> x; }",
        port="port_t p = port_metadata_unpack<port_t>(pkt); md.w = p.w; md.x = p.x;",
    )
    s._objects.port_metadata[3] = b"\1\2\3\4\5\6"
    assert s.process_one(3, packet()) == [(1, packet(c=0x0506, w=0x01020304))]
    assert s.process_one(4, packet()) == [(1, packet())]


def test_the_parser_counter_counts_headers() -> None:
    s = switch(
        iplocals="ParserCounter() left;",
        ipbody="left.set(hdr.h.a, 8w20, 8w1, 3w3, 8w0); transition loop;",
        ipstates="state loop { transition select(left.is_zero()) { true: accept; false: take; } }"
        "state take { pkt.advance(8); left.decrement(1); hdr.h.b = hdr.h.b + 1; transition loop; }",
    )
    assert one(s, a=6, rest=b"abcdef") == packet(a=6, b=3, rest=b"def")
    assert s.process_one(0, packet(a=21, rest=bytes(30))) == []  # above the maximum: CTR_RANGE
    assert s.stats.parse_errors == 1


def test_the_parser_counter_has_a_sign() -> None:
    s = switch(
        "if (md.flag) { hdr.h.b = 1; }",
        iplocals="ParserCounter() n;",
        ipbody="n.set(hdr.h.a); n.decrement(5); n.increment(1); md.flag = n.is_negative(); transition accept;",
    )
    assert [one(s, a=a)[1] for a in (3, 4)] == [1, 0]


STACK = """n.set(hdr.h.a); n.push(hdr.h.b); n.decrement(1); {more} n.pop();
    md.flag = n.is_zero(); transition accept;"""


@pytest.mark.parametrize(
    ("more", "zero"),
    [
        ("", (0, 9)),
        ("n.push(8w7); n.pop();", (0, 9)),
        ("n.push(hdr.h.b, 8w255, 8w0, 8w255, 8w3); n.pop(); n.pop(); n.push(8w1);", (0, 9)),
        ("n.push(8w1); n.push(8w2); n.push(8w3); n.pop(); n.pop(); n.pop();", (0, 9)),
        ("n.pop(); n.decrement(4);", (5, 0)),  # what is below an empty stack is 0
    ],
)
def test_the_stack_of_tofino_2s_parser_counter(more: str, zero: tuple[int, int]) -> None:
    s = switch(
        "if (md.flag) { hdr.h.c = 1; }",
        arch="#include <t2na.p4>",
        iplocals="ParserCounter() n;",
        ipbody=STACK.format(more=more),
        idbody="",
    )
    assert one(s, a=zero[0], b=zero[1])[3] == 1


def test_a_pushed_value_that_follows_another_is_refused() -> None:
    with pytest.raises(Unsupported, match=r"ParserCounter\.push with update_with_top"):
        switch(arch="#include <t2na.p4>", iplocals="ParserCounter() n;", ipbody="n.push(8w1, true); transition accept;")


def test_value_sets_and_priorities() -> None:
    s = switch(
        iplocals="value_set<bit<16>>(4) known; ParserPriority() p;",
        ipbody="p.set(3); transition select(hdr.h.c) { known: yes; default: accept; }",
        ipstates="state yes { hdr.h.a = 1; transition accept; }",
    )
    s.value_sets["pipe.IP.known"].set([(Exact(7),)])
    assert [one(s, c=c)[0] for c in (7, 8)] == [1, 0]


SHORT = {"ipbody": "pkt.extract(hdr.inner); transition accept;"}


def test_ingress_drops_packets_with_parser_errors_unless_it_looks_at_them() -> None:
    s = switch(**SHORT)
    assert s.process_one(0, packet()) == []
    assert (s.stats.parse_errors, s.stats.dropped) == (1, 1)
    s = switch("hdr.h.c = prsr.parser_err;", **SHORT)
    assert s.process_one(0, packet()) == [(1, packet(c=2))]
    s = switch("hdr.h.c = prsr.parser_err;", ipbody="transition select(hdr.h.a) { 1: accept; }")
    assert s.process_one(0, packet()) == []  # no match is always the end


def test_reject_ends_the_parser_and_egress_never_drops() -> None:
    assert one(switch(ipbody="transition reject;"), a=5) == packet(a=5)
    s = make(
        load_text(
            tna("tm.ucast_egress_port = 1;", epbody="pkt.extract(hdr.h); pkt.extract(hdr.inner);transition accept;")
        )
    )
    assert one(s, a=5) == packet(a=5)


def test_verify_is_refused() -> None:
    with pytest.raises(Unsupported, match="verify in a Tofino parser"):
        switch(ipbody="verify(hdr.h.a == 0, error.NoMatch); transition accept;")


# --- counters and meters


def test_counters_count_bytes_of_the_frame_less_an_adjustment() -> None:
    s = switch(
        "c.count(hdr.h.a); d.count(index = hdr.h.a, adjust_byte_count = 4);",
        local="Counter<bit<32>, bit<8>>(4, CounterType_t.PACKETS_AND_BYTES) c;"
        "Counter<bit<32>, bit<8>>(4, CounterType_t.BYTES) d;",
    )
    for a in (1, 1, 9):
        one(s, a=a, rest=bytes(12))
    assert (s.counters["pipe.I.c"].packets, s.counters["pipe.I.c"].bytes) == (
        [0, 2, 0, 0],
        [0, 48, 0, 0],
    )  # 8 + 12, and 4 of the check sequence
    assert s.counters["pipe.I.d"].bytes == [0, 40, 0, 0]


def test_direct_counters_count_where_the_action_says_so() -> None:
    s = switch(
        "t.apply();",
        local="DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) c;"
        "action yes() { c.count(); } action no() { }"
        "table t { key = { hdr.h.a: exact; } actions = { yes; no; } counters = c; default_action = yes; }",
    )
    table = s.tables["pipe.I.t"]
    for a, action in ((1, "yes"), (2, "no")):
        table.insert(TableEntry((Exact(a),), ActionData(f"I.{action}")))
    for a in (1, 1, 2, 3):
        one(s, a=a)
    assert [(e.packets, e.bytes) for e in table.entries] == [(2, 24), (0, 0)]


METER = "Meter<bit<8>>(4, MeterType_t.PACKETS{}) m;"


@pytest.mark.parametrize(("colours", "want"), [("", [0, 1, 3]), (", 7, 8, 9", [9, 8, 7])])
def test_meters_give_the_colours_of_the_program(colours: str, want: list[int]) -> None:
    s = switch("hdr.h.b = m.execute(hdr.h.a);", local=METER.format(colours))
    s.meters["pipe.I.m"].cells[2].configure(((1, 1), (1, 2)))
    assert [one(s, a=2)[1] for _ in range(3)] == want
    assert one(s, a=1)[1] == want[0]


def test_direct_meters() -> None:
    s = switch(
        "t.apply();",
        local="DirectMeter(MeterType_t.BYTES) m; action yes() { hdr.h.b = m.execute(); }"
        "table t { key = { hdr.h.a: exact; } actions = { yes; } meters = m; }",
    )
    entry = TableEntry((Exact(1),), ActionData("I.yes"))
    s.tables["pipe.I.t"].insert(entry)
    entry.meter = MeterCell()
    entry.meter.configure(((0, 12), (0, 24)))  # 8 bytes, and 4 of the check sequence
    assert [one(s, a=1)[1] for _ in range(3)] == [0, 1, 3]


def test_a_packet_never_gets_a_better_colour_than_it_has() -> None:
    cell = MeterCell()
    cell.configure(((0, 5), (0, 3)))
    assert [cell.execute_coloured(1, 0, c) for c in (2, 1, 0, 0, 1)] == [2, 1, 0, 0, 2]
    assert cell.levels == [3, 0]


# --- selectors, functions


SELECT = """
    ActionProfile(16) profile;
    Hash<bit<16>>(HashAlgorithm_t.CRC16) h;
    ActionSelector(profile, h, SelectorMode_t.FAIR, 8, 4) selector;
    action set(bit<8> x) { hdr.h.b = x; }
    table t {
        key = { hdr.h.a: exact; hdr.h.w: selector; }
        actions = { set; }
        implementation = selector;
    }
"""


@pytest.mark.full
def test_a_selector_picks_by_its_hash() -> None:
    s = switch("t.apply();", local=SELECT)
    profile = s.profiles["pipe.I.selector"]
    for i in range(3):
        s.profiles["pipe.I.profile"].insert_member(i, ActionData("I.set", (10 + i,)))
    profile.insert_group(1, [0, 1, 2])
    s.tables["pipe.I.t"].insert(TableEntry((Exact(1),), GroupAction(1)))
    crc16 = hashing.crc(hashing.CRCS["CRC16"], 32, 16)
    for w in range(20):
        assert one(s, a=1, w=w)[1] == 10 + crc16(w) % 3


def test_functions() -> None:
    body = """
        hdr.h.a = max(hdr.h.a, hdr.h.b); hdr.h.b = min(hdr.h.b, 8w4);
        funnel_shift_right(hdr.h.c, hdr.h.w[31:16], hdr.h.w[15:0], 4);
        hdr.h.w = sizeInBytes(hdr.h) + sizeInBits(hdr.mirror);
        if (is_validated(hdr.inner.a) || !is_validated(tm.ucast_egress_port)) { hdr.h.a = 0; }
    """
    assert one(switch(body), a=3, b=9, w=0x12345678) == packet(a=9, b=4, c=0x4567, w=32)
    with pytest.raises(Unsupported, match="is_validated of what is neither a header"):
        switch("if (is_validated(md.m)) { }")
    assert one(switch("hdr.inner.setValid(); invalidate(hdr.inner); invalidate(hdr.h.a);"), a=3) == packet()


def test_tofino_2() -> None:
    source = tna(
        FORWARD + "hdr.h.w = r.execute(hdr.h.a, md.w); hdr.h.c = md.w[15:0]; tm.qid = 100;",
        arch="#include <t2na.p4>",
        local="""Register<bit<32>, bit<8>>(4, 7) reg;
        RegisterAction<bit<32>, bit<8>, bit<32>>(reg) r = {
            void apply(inout bit<32> value, out bit<32> rv1, out bit<32> rv2) {
                rv1 = value; value = value + 1; rv2 = value;
            }
        };""",
    )
    assert one(make(load_text(source))) == packet(c=8, w=7)


@pytest.mark.parametrize("bits", [9, 10, 13, 16, 23])
def test_data_of_a_hash_begin_with_zeros_up_to_a_whole_byte(bits: int) -> None:
    get = f"hdr.h.w = h.get({{hdr.h.w[{bits - 1}:0]}});"
    s = switch(get, local="Hash<bit<32>>(HashAlgorithm_t.CRC32) h;")
    value = 0x5A5A5A5A
    data = (value & (1 << bits) - 1).to_bytes(-(-bits // 8), "big")
    assert one(s, w=value)[-4:] == zlib.crc32(data).to_bytes(4, "big")


@pytest.mark.parametrize("width", [1, 63, 64])
def test_random_numbers_have_the_width_of_their_type(width: int) -> None:
    local = f"Random<bit<{width}>>() r; bit<{width}> drawn;"
    low = "hdr.h.w = (bit<32>)r.get();" if width < 32 else "drawn = r.get(); hdr.h.w = drawn[31:0];"
    s = switch(low, local=local if width >= 32 else f"Random<bit<{width}>>() r;")
    drawn = {int.from_bytes(one(s)[-4:], "big") for _ in range(40)}
    assert max(drawn) >= 1 << min(width, 32) - 1
    assert max(drawn) < 1 << min(width, 32)
