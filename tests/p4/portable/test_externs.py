# SPDX-License-Identifier: Apache-2.0
"""PSA's externs one by one, against values from elsewhere."""

from __future__ import annotations

import zlib

import pytest

from both_engines import MakeSwitch
from offramp_base.errors import OfframpError
from offramp_p4 import PlainSwitch
from offramp_p4 import make_switch as make_either
from offramp_p4.frontend import load_text
from offramp_p4.runtime.p4info import generate
from offramp_p4.state import ActionData, Exact, GroupAction, MeterCell, TableEntry

pytestmark = pytest.mark.p4

PROGRAM = """
#include <core.p4>
#include <psa.p4>
header word_t { bit<32> a; bit<16> b; bit<16> c; bit<12> d; bit<4> e; }
struct headers_t { word_t w; }
struct none_t { }
struct pair_t { bit<12> high; bit<4> low; }
struct meta_t { pair_t pair; }
DECLARED
parser IP(packet_in p, out headers_t h, inout meta_t m, in psa_ingress_parser_input_metadata_t i, in none_t r,
          in none_t c) {
    state start { p.extract(h.w); transition accept; }
}
control I(inout headers_t h, inout meta_t m, in psa_ingress_input_metadata_t i,
          inout psa_ingress_output_metadata_t o) {
    OBJECTS
    apply { send_to_port(o, (PortId_t)32w1); BODY }
}
control ID(packet_out p, out none_t c, out none_t r, out none_t n, inout headers_t h, in meta_t m,
           in psa_ingress_output_metadata_t o) { apply { p.emit(h); } }
parser EP(packet_in p, out headers_t h, inout meta_t m, in psa_egress_parser_input_metadata_t i, in none_t n,
          in none_t a, in none_t b) { state start { transition accept; } }
control E(inout headers_t h, inout meta_t m, in psa_egress_input_metadata_t i,
          inout psa_egress_output_metadata_t o) { apply { } }
control ED(packet_out p, out none_t c, out none_t r, inout headers_t h, in meta_t m,
           in psa_egress_output_metadata_t o, in psa_egress_deparser_input_metadata_t i) { apply { } }
PSA_Switch(IngressPipeline(IP(), I(), ID()), PacketReplicationEngine(), EgressPipeline(EP(), E(), ED()),
           BufferingQueueingEngine()) main;
"""


def psa(body: str, objects: str = "", declared: str = "") -> str:
    return PROGRAM.replace("BODY", body).replace("OBJECTS", objects).replace("DECLARED", declared)


def words(switch: PlainSwitch, a: int = 0, b: int = 0, c: int = 0, d: int = 0, e: int = 0) -> list[int]:
    """The fields of the packet that leaves."""
    number = ((a << 16 | b) << 16 | c) << 16 | d << 4 | e
    ((port, frame),) = switch.process_one(0, number.to_bytes(10, "big"))
    assert port == 1
    whole = int.from_bytes(frame, "big")
    return [whole >> 48, whole >> 32 & 0xFFFF, whole >> 16 & 0xFFFF, whole >> 4 & 0xFFF, whole & 15]


@pytest.mark.parametrize(
    ("algorithm", "call", "want"),
    [
        ("CRC32", "{ h.w.b, h.w.c }", zlib.crc32(b"\x12\x34\x56\x78")),
        ("CRC32", "{ h.w.d }", zlib.crc32(b"\x0a\xbc")),  # zeros in front, as psa_switch has it
        ("CRC16", "{ 32w0x31323334, 32w0x35363738, 8w0x39 }", 0xBB3D),  # the check value of CRC-16/ARC
        ("IDENTITY", "{ h.w.b, h.w.d }", 0x1234ABC),
        ("ONES_COMPLEMENT16", "{ h.w.b, h.w.c }", 0xFFFF - (0x1234 + 0x5678)),
        ("CRC32", "32w1000, { h.w.b, h.w.c }, 32w7", 1000 + zlib.crc32(b"\x12\x34\x56\x78") % 7),
        ("CRC32", "32w1000, { h.w.b }, h.w.a", 1000),  # by zero
    ],
)
def test_hashes(make_switch: MakeSwitch, algorithm: str, call: str, want: int) -> None:
    text = psa(f"h.w.a = hash.get_hash({call});", f"Hash<bit<32>>(PSA_HashAlgorithm_t.{algorithm}) hash;")
    assert words(make_switch(text), 0, 0x1234, 0x5678, 0xABC)[0] == want


def test_an_internet_checksum_is_updated(make_switch: MakeSwitch) -> None:
    """RFC 1624's example: 0x5555 becomes 0x3285 under the checksum 0xDD2F, which becomes 0x0000."""
    text = psa(
        "sum.set_state(~h.w.b); sum.subtract({ h.w.c }); sum.add(16w0x3285); h.w.b = sum.get();"
        "h.w.c = sum.get_state(); sum.clear(); h.w.a[15:0] = sum.get();",
        "InternetChecksum() sum;",
    )
    assert words(make_switch(text), b=0xDD2F, c=0x5555)[:3] == [0xFFFF, 0, 0xFFFF]


def test_registers_begin_as_the_program_says(make_switch: MakeSwitch) -> None:
    text = psa(
        "h.w.b = r.read(h.w.e); r.write(h.w.e, h.w.c); h.w.c = r.read(h.w.e);",
        "Register<bit<16>, bit<4>>(4, 0xbeef) r;",
    )
    switch = make_switch(text)
    assert words(switch, c=7, e=3)[1:3] == [0xBEEF, 7]
    assert words(switch, c=8, e=3)[1:3] == [7, 8]
    assert words(switch, c=9, e=4)[1:3] == [0, 0]  # there is no such cell
    assert list(switch.registers["I.r"].values) == [0xBEEF, 0xBEEF, 0xBEEF, 8]
    switch.reset()
    assert words(switch, e=3)[1] == 0xBEEF


def test_registers_of_structs(make_switch: MakeSwitch) -> None:
    """A cell is one number for the control plane."""
    text = psa(
        "m.pair = r.read(8w1); r.write(8w1, { h.w.d, m.pair.low + 1 }); h.w.d = m.pair.high; h.w.e = m.pair.low;",
        "Register<pair_t, bit<8>>(2) r;",
    )
    switch = make_switch(text)
    assert [words(switch, d=d)[3:] for d in (5, 6, 7)] == [[0, 0], [5, 1], [6, 2]]
    assert switch.registers["I.r"].read(1) == 7 << 4 | 3


def test_registers_of_wide_structs(make_switch: MakeSwitch) -> None:
    """Fields of any width and sign, in a number of 144 bits; outside of the register all are 0."""
    declared = "struct wide_t { int<7> low; bit<128> middle; bit<9> high; }"
    text = psa(
        "r.write(h.w.e, { (int<7>)-3, 128w1 ++ 128w0 == 256w1 ? 128w0 : (bit<128>)h.w.a << 90, 9w0x1ab });"
        "wide_t read = r.read(h.w.e); h.w.b = (bit<16>)(bit<9>)read.high; h.w.c = (bit<16>)(int<16>)read.low;"
        "h.w.a = (bit<32>)(read.middle >> 90);",
        "Register<wide_t, bit<4>>(8) r;",
        declared,
    )
    switch = make_switch(text)
    assert words(switch, a=0xCAFE, e=5)[:3] == [0xCAFE, 0x1AB, 0xFFFD]
    assert switch.registers["I.r"].read(5) == (0x7D << 128 | 0xCAFE << 90) << 9 | 0x1AB
    assert words(switch, a=0xCAFE, e=9)[:3] == [0, 0, 0]


def test_random_numbers_stay_in_their_range_and_follow_from_the_seed(make_switch: MakeSwitch) -> None:
    text = psa("h.w.b = r.read();", "Random<bit<16>>(200, 203) r;")
    drawn = [words(s)[1] for s in [make_switch(text, seed=4)] for _ in range(50)]
    assert set(drawn) == {200, 201, 202, 203}
    assert drawn == [words(s)[1] for s in [make_switch(text, seed=4)] for _ in range(50)]


TABLE = """
    DirectMeter(PSA_MeterType_t.PACKETS) rate;
    action run() { h.w.b = rate.execute() == PSA_MeterColor_t.RED ? 16w9 : 16w1; }
    table t { key = { h.w.c : exact; } actions = { run; } default_action = run; psa_direct_meter = rate; }
"""


def test_a_miss_runs_the_meter_of_the_default_entry(make_switch: MakeSwitch) -> None:
    """A table with a direct meter and no direct counter: entries' meters are not the default's."""
    switch = make_switch(psa("t.apply();", TABLE))
    table = switch.tables["I.t"]
    entry = TableEntry((Exact(1),), ActionData("I.run"))
    entry.meter = MeterCell()
    table.insert(entry)
    assert words(switch, c=1)[1] == 1
    assert entry.meter is not None
    entry.meter.configure(((1.0, 2), (1.0, 2)))
    assert [words(switch, c=2)[1] for _ in range(4)] == [1, 1, 1, 1]
    assert [words(switch, c=1)[1] for _ in range(4)] == [1, 1, 9, 9]


def test_checksums_gather_what_they_are_given(make_switch: MakeSwitch) -> None:
    """Two at a time, neither of which knows of the other's data; each begins empty with every packet."""
    text = psa(
        "other.update({ h.w.c }); sum.update({ h.w.b }); other.clear(); sum.update({ h.w.c, h.w.d });"
        "other.update({ h.w.b }); h.w.a = sum.get(); h.w.b = other.get();",
        "Checksum<bit<32>>(PSA_HashAlgorithm_t.CRC32) sum; Checksum<bit<16>>(PSA_HashAlgorithm_t.CRC16) other;",
    )
    switch = make_switch(text)
    for _ in range(2):
        got = words(switch, b=0x3132, c=0x5678, d=0xABC)
        assert got[:2] == [zlib.crc32(b"\x31\x32\x56\x78\xab\xc0"), 0x4594]


def test_a_checksum_of_much_data(make_switch: MakeSwitch) -> None:
    text = psa(
        "for (bit<16> n in 16w0 .. 16w299) { sum.update({ h.w.b, n }); } h.w.a = sum.get();",
        "Checksum<bit<32>>(PSA_HashAlgorithm_t.CRC32) sum;",
    )
    data = b"".join(b"\x12\x34" + i.to_bytes(2, "big") for i in range(300))
    assert words(make_switch(text), b=0x1234)[0] == zlib.crc32(data)


TIMED = """
    table t { key = { h.w.c : exact; } actions = { NoAction; } psa_idle_timeout = PSA_IdleTimeout_t.NOTIFY_CONTROL; }
"""


def test_a_hit_restarts_the_time_of_an_entry(make_switch: MakeSwitch) -> None:
    switch = make_switch(psa("t.apply();", TIMED))
    switch.tables["I.t"].insert(TableEntry((Exact(1),), ActionData("NoAction"), idle_timeout_ns=10**9))
    for now_us, key in ((5, 1), (7, 2)):
        switch.now_us = now_us
        words(switch, c=key)
    (entry,) = switch.tables["I.t"].entries
    assert entry.last_hit_us == 5


def test_failed_checks_drop(make_switch: MakeSwitch) -> None:
    switch = make_switch(psa("assert(h.w.b != 3);"))
    assert switch.process_one(0, bytes(5) + b"\3" + bytes(4)) == []
    assert (switch.stats.failed_checks, switch.stats.dropped) == (1, 1)


COLOURED = """
    Meter<bit<8>>(2, PSA_MeterType_t.PACKETS) rate;
    action run(PSA_MeterColor_t before) { h.w.b = rate.execute(8w0, before) == PSA_MeterColor_t.RED ? 16w9 : 16w1; }
    table t { key = { h.w.a : exact; } actions = { run; NoAction; } }
"""


def test_an_entry_supplies_an_enum(make_switch: MakeSwitch) -> None:
    """The members are numbered in their order, as data of an action as elsewhere; RED is 0, GREEN 1."""
    switch = make_switch(psa("t.apply();", COLOURED))
    for key, colour in ((0, 0), (1, 1)):
        switch.tables["I.t"].insert(TableEntry((Exact(key),), ActionData("I.run", (colour,))))
    assert [words(switch, a=key)[1] for key in (0, 1)] == [9, 1]
    info = generate(load_text(psa("t.apply();", COLOURED)))
    param = next(a for a in info.actions if a.preamble.name == "I.run").params[0]
    assert (param.bitwidth, param.type_name.name) == (0, "PSA_MeterColor_t")


EMPTY = """
    ActionSelector(PSA_HashAlgorithm_t.CRC16, 8, 8) groups;
    action run(bit<16> v) { h.w.b = v; }
    table t { key = { h.w.a : exact; h.w.c : selector; } actions = { run; NoAction; } psa_implementation = groups;
              psa_empty_group_action = EMPTY; }
"""


@pytest.mark.parametrize("action", ["NoAction", "NoAction()"])
def test_an_empty_group_does_nothing(make_switch: MakeSwitch, action: str) -> None:
    switch = make_switch(psa("t.apply();", EMPTY.replace("EMPTY", action)))
    switch.profiles["I.groups"].insert_group(1, ())
    switch.tables["I.t"].insert(TableEntry((Exact(0),), GroupAction(1)))
    assert words(switch, b=5)[1] == 5
    with pytest.raises(OfframpError, match="psa_empty_group_action other than NoAction"):
        load_text(psa("t.apply();", EMPTY.replace("EMPTY", "run(3)")))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (psa("h.w.a = x.y();", "Strange() x;", "extern Strange { Strange(); bit<32> y(); }"), "extern Strange.y"),
        (psa("", "Register<headers_t, bit<8>>(2) r;"), "a register of headers_t"),
        (psa("h.w.b = r.read();", "Random<bit<16>>(5, 4) r;"), "5 is above 4"),
        (
            psa("", "Counter<bit<32>, bit<32>>(0xffffffff, PSA_CounterType_t.BYTES) c;"),
            "at most 1073741824 are allowed",
        ),
        (psa("", "Meter<bit<32>>(0xffffffff, PSA_MeterType_t.BYTES) c;"), "at most 1073741824 are allowed"),
        (PROGRAM.replace("#include <psa.p4>", "package Odd(); Odd() main;").split("header")[0], "architecture Odd"),
    ],
)
def test_what_is_not_executed_is_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(OfframpError, match=message):
        make_either(load_text(text), "python")
