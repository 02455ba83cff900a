# SPDX-License-Identifier: Apache-2.0
"""Parts of v1model that STF tests cannot show: digests, selectors, meters, logs, checks, loops, seeds."""

from __future__ import annotations

import logging
import re

import numpy as np
import pytest

from both_engines import MakeSwitch
from offramp_base.errors import OfframpError
from offramp_base.wire.batch import PacketBatch
from offramp_p4 import PlainSwitch
from offramp_p4.records import Digest, SwitchStats
from offramp_p4.source import Unsupported
from offramp_p4.state import (
    ActionData,
    CloneSession,
    Exact,
    GroupAction,
    MemberAction,
    Range,
    Replica,
    StateError,
    TableEntry,
    Ternary,
)
from p4_programs import program


@pytest.fixture
def switch(make_switch: MakeSwitch) -> MakeSwitch:
    """``switch(body, **parts)``: a switch with a program of these parts."""

    def make(body: str, *, max_passes: int = 10_000, seed: int = 0, **parts: str) -> PlainSwitch:
        return make_switch(program(body, **parts), max_passes=max_passes, seed=seed)

    return make


def test_timestamps_show_virtual_time(switch: MakeSwitch) -> None:
    s = switch("hdr.h.c = (bit<16>)sm.ingress_global_timestamp; sm.egress_spec = 1;")
    assert s.process_one(0, bytes(4)) == [(1, bytes(4))]
    s.now_us = 0x1234
    assert s.process_one(0, bytes(4)) == [(1, b"\0\0\x12\x34")]


def test_checksum16_of_the_older_library(switch: MakeSwitch) -> None:
    s = switch("hdr.h.c = sum.get({ hdr.h.a, hdr.h.b, 16w0x5678 }); sm.egress_spec = 1;", local="Checksum16() sum;")
    assert s.process_one(0, b"\x12\x34\0\0") == [(1, b"\x12\x34\x97\x53")]


def test_digests_carry_the_values_of_the_call(switch: MakeSwitch) -> None:
    s = switch(
        "seen_t d = { hdr.h.a, hdr.h.c }; digest<seen_t>(1, d); hdr.h.a = 9; digest(1, { hdr.h.a });",
        top="struct seen_t { bit<8> x; bit<16> y; }",
    )
    s.process_one(0, b"\1\2\3\4")  # nobody listens
    got: list[Digest] = []
    s.on_digest = got.append
    s.process_one(0, b"\1\2\3\4")
    assert [d.values for d in got] == [(1, 0x0304), (9,)]
    assert got[0].name == "seen_t"


SELECTOR = """
    action_selector(HashAlgorithm.crc16, 16, 14) members;
    action send(bit<9> port) { sm.egress_spec = port; }
    table t {
        key = { hdr.h.a : exact; hdr.h.b : selector; hdr.h.c : selector; }
        actions = { send; NoAction; }
        implementation = members;
    }
"""


def test_action_selector_spreads_by_hash_and_keeps_flows_together(switch: MakeSwitch) -> None:
    s = switch("sm.egress_spec = 9; t.apply();", local=SELECTOR)
    profile, table = s.profiles["I.members"], s.tables["I.t"]
    for port in (1, 2, 3):
        profile.insert_member(port, ActionData("I.send", (port,)))
    profile.insert_group(7, [1, 2, 3])
    table.insert(TableEntry((Exact(1),), GroupAction(7)))
    table.insert(TableEntry((Exact(2),), MemberAction(2)))
    ports = {}
    for flow in range(64):
        frame = bytes([1, flow, 0, 1])
        ((port, _),) = s.process_one(0, frame)
        assert s.process_one(0, frame) == [(port, frame)]
        ports[port] = ports.get(port, 0) + 1
    assert set(ports) == {1, 2, 3}
    assert s.process_one(0, bytes([2, 0, 0, 1])) == [(2, bytes([2, 0, 0, 1]))]
    assert s.process_one(0, bytes([3, 0, 0, 1]))[0][0] == 9
    profile.modify_group(7, [])
    assert s.process_one(0, bytes([1, 0, 0, 1]))[0][0] == 9


def test_selector_picks_by_crc16_modulo_members(switch: MakeSwitch) -> None:
    s = switch("t.apply();", local=SELECTOR)
    for port in (1, 2, 3):
        s.profiles["I.members"].insert_member(port, ActionData("I.send", (port,)))
    s.profiles["I.members"].insert_group(7, [3, 1, 2])
    s.tables["I.t"].insert(TableEntry((Exact(1),), GroupAction(7)))
    # CRC-16/ARC of 31 32 33 is 0xBA04
    ((port, _),) = s.process_one(0, b"\x01\x31\x32\x33")
    assert port == [3, 1, 2][0xBA04 % 3]


def test_meters_see_virtual_time(switch: MakeSwitch) -> None:
    s = switch("m.execute_meter(0, hdr.h.a); sm.egress_spec = 1;", local="meter(2, MeterType.packets) m;")
    colours = lambda n: [s.process_one(0, bytes(4))[0][1][0] for _ in range(n)]  # noqa: E731
    assert colours(3) == [0, 0, 0]
    s.meters["I.m"].cells[0].configure(((1000.0, 2), (2000.0, 4)), s.now_us)
    assert colours(6) == [0, 0, 1, 1, 2, 2]
    s.now_us += 1000  # one more token in the committed bucket, two in the peak bucket
    assert colours(3) == [0, 1, 2]


def test_direct_meters_and_counters_live_in_their_entries(switch: MakeSwitch) -> None:
    s = switch(
        "t.apply(); sm.egress_spec = 1;",
        local="""
        direct_meter<bit<2>>(MeterType.bytes) m;
        direct_counter(CounterType.packets_and_bytes) c;
        action colour() { bit<2> v; m.read(v); hdr.h.b = (bit<8>)v; c.count(); }
        table t { key = { hdr.h.a : exact; } actions = { colour; NoAction; } meters = m; counters = c; }
        """,
    )
    entry = TableEntry((Exact(1),), ActionData("I.colour"))
    s.tables["I.t"].insert(entry)
    assert s.process_one(0, b"\1\2\3\4")[0][1] == b"\1\0\3\4"
    assert entry.meter is not None
    entry.meter.configure(((1.0, 4), (1.0, 8)))
    assert [s.process_one(0, b"\1\2\3\4")[0][1][1] for _ in range(3)] == [0, 1, 2]
    assert (entry.packets, entry.bytes) == (4, 16)
    assert (s.tables["I.t"].hits, s.tables["I.t"].misses) == (4, 0)
    assert s.counters["I.c"].table == "I.t"


def test_random_is_a_function_of_the_seed(switch: MakeSwitch) -> None:
    body = "random(hdr.h.a, 10, 20); random(hdr.h.b, 5, 4); sm.egress_spec = 1;"

    def draws(seed: int) -> list[bytes]:
        s = switch(body, seed=seed)
        return [s.process_one(0, bytes(4))[0][1] for _ in range(50)]

    assert draws(1) == draws(1)
    assert draws(1) != draws(2)
    assert {frame[0] for frame in draws(1)} == set(range(10, 21))
    assert {frame[1] for frame in draws(1)} == {0}  # an empty range leaves the result alone


def test_log_msg(switch: MakeSwitch, caplog: pytest.LogCaptureFixture) -> None:
    s = switch('log_msg("a {} of {} x", { hdr.h.a, hdr.h.c }); log_msg("plain");')
    with caplog.at_level(logging.INFO, logger="offramp_p4"):
        s.process_one(0, b"\1\2\3\4")
    assert [record.getMessage() for record in caplog.records] == ["a 1 of 772 x", "plain"]


def test_log_msg_of_headers_and_structs(switch: MakeSwitch, caplog: pytest.LogCaptureFixture) -> None:
    """As bmv2 prints them, and the values behind them in their own places."""
    s = switch('log_msg("h {}, m {}, {}.", { hdr.h, meta, hdr.h.isValid() });')
    with caplog.at_level(logging.INFO, logger="offramp_p4"):
        s.process_one(0, b"\1\2\3\4")
    (record,) = caplog.records
    assert re.fullmatch(r"h \(a:1,b:2,c:772\), m \((\w+:0,?)+\), 1\.", record.getMessage())


def test_a_failed_assert_drops_the_packet_and_is_counted(switch: MakeSwitch, caplog: pytest.LogCaptureFixture) -> None:
    s = switch("sm.egress_spec = 1; assert(hdr.h.a != 7); assume(hdr.h.b == 0);")
    assert len(s.process_one(0, bytes(4))) == 1
    assert s.process_one(0, b"\7\0\0\0") == []
    assert s.process_one(0, b"\0\1\0\0") == []
    assert (s.stats.failed_checks, s.stats.dropped) == (2, 2)
    assert "assert failed" in caplog.text


def test_a_packet_that_loops_for_ever_is_dropped_and_counted(switch: MakeSwitch) -> None:
    s = switch("resubmit_preserving_field_list(0);", max_passes=50)
    assert s.process_one(0, bytes(4)) == []
    assert (s.stats.passes, s.stats.looped) == (50, 1)
    assert s.process_one(0, bytes(4)) == []
    assert s.stats.passes == 100


def test_truncated_clones_and_unknown_groups(switch: MakeSwitch) -> None:
    s = switch("clone(CloneType.I2E, 3); sm.mcast_grp = 8;")
    assert s.process_one(0, b"12345678") == []
    s.pre.clones[3] = CloneSession((Replica(4, 1), Replica(5, 2)), packet_length=6)
    s.pre.multicast[8] = (Replica(6, 0),)
    assert s.process_one(0, b"12345678") == [(4, b"123456"), (5, b"123456"), (6, b"12345678")]
    assert s.stats == SwitchStats(packets_in=2, packets_out=3, dropped=1, passes=2, clones=2, replicas=3, truncated=2)


def test_parser_value_sets(switch: MakeSwitch) -> None:
    s = switch(
        "sm.egress_spec = (bit<9>)meta.m;",
        plocals="value_set<bit<8>>(2) one; value_set<tuple_t>(4) two;",
        top="struct tuple_t { @match(ternary) bit<8> x; @match(range) bit<16> y; }",
        pbody="transition select(hdr.h.a) { one : first; default : more; }",
        states="""
        state more { transition select(hdr.h.b, hdr.h.c) { two : second; default : accept; } }
        state first { meta.m = 1; transition accept; }
        state second { meta.m = 2; transition accept; }
        """,
    )
    ports = lambda: [s.process_one(0, f)[0][0] for f in (b"\5\0\0\0", b"\0\x1f\0\7", b"\0\x2f\0\7")]  # noqa: E731
    assert ports() == [0, 0, 0]
    s.value_sets["P.one"].set([(Exact(5),)])
    s.value_sets["P.two"].set([(Ternary(0x10, 0xF0), Range(5, 9))])
    assert ports() == [1, 2, 0]
    with pytest.raises(StateError, match="at most 2"):
        s.value_sets["P.one"].set([(Exact(1),)] * 3)


def test_older_forms_name_the_fields_to_keep(switch: MakeSwitch) -> None:
    s = switch(
        """
        sm.egress_spec = 1;
        hdr.h.b = meta.m;
        hdr.h.c = (bit<16>)sm.ingress_port;
        if (sm.instance_type == 0) { meta.m = 7; resubmit({ meta.m, sm.ingress_port }); }
        """
    )
    assert s.process_one(300, bytes(4)) == [(1, b"\0\7\1\x2c")]


def test_batches_do_what_single_packets_do(switch: MakeSwitch) -> None:
    body = "sm.mcast_grp = (bit<16>)hdr.h.a; sm.egress_spec = (bit<9>)hdr.h.b;"
    one, many = switch(body), switch(body)
    rng = np.random.default_rng(1)
    frames = [bytes(rng.integers(0, 4, rng.integers(0, 9)).astype(np.uint8)) for _ in range(200)]
    for s in (one, many):
        s.pre.multicast[2] = (Replica(1, 0), Replica(2, 0))
    batch = PacketBatch.of([(i % 3, frame) for i, frame in enumerate(frames)])
    expected = [out for i, frame in enumerate(frames) for out in one.process_one(i % 3, frame)]
    assert list(many.process(batch)) == expected
    assert one.stats == many.stats
    assert one.stats.parse_errors > 0
    assert list(many.process(PacketBatch.empty())) == []


def test_reset_brings_back_the_start(switch: MakeSwitch) -> None:
    s = switch(
        "r.read(meta.w, 0); meta.w = meta.w + 1; r.write(0, meta.w); c.count(1); t.apply(); sm.egress_spec = 1;",
        local="""
        register<bit<32>>(1) r; counter(2, CounterType.packets) c;
        table t { key = { hdr.h.a : exact; } actions = { NoAction; } entries = { 1 : NoAction(); } }
        """,
    )
    s.tables["I.t"].insert(TableEntry((Exact(2),), ActionData("NoAction")))
    s.pre.multicast[1] = (Replica(1, 0),)
    s.process_one(0, bytes(4))
    assert (s.registers["I.r"].read(0), s.counters["I.c"].packets, len(s.tables["I.t"])) == (1, [0, 1], 2)
    s.reset()
    assert (s.registers["I.r"].read(0), s.counters["I.c"].packets, len(s.tables["I.t"])) == (0, [0, 0], 1)
    assert (s.pre.multicast, s.stats) == ({}, SwitchStats())
    assert s.process_one(0, bytes(4)) != []


def test_registers_check_what_the_control_plane_writes(switch: MakeSwitch) -> None:
    s = switch("", local="register<int<8>>(4) r;")
    r = s.registers["I.r"]
    r.write(3, 0xFE)
    assert (r.values[3], r.read(3)) == (-2, 0xFE)
    for index, value, message in [(4, 0, "index 4 is outside 0..3"), (0, 256, "value 256 does not fit int<8>")]:
        with pytest.raises(StateError, match=message):
            r.write(index, value)


def test_what_v1model_cannot_run_is_refused_when_loaded(switch: MakeSwitch) -> None:
    with pytest.raises(Unsupported, match=r"a register of meta_t"):
        switch("", local="register<meta_t>(4) r;")
    with pytest.raises(OfframpError, match="max_passes is 0"):
        switch("", max_passes=0)
