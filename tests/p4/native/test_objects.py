# SPDX-License-Identifier: Apache-2.0
"""Registers, counters, meters, profiles, value sets and replication: what the control plane sees on both engines."""

from __future__ import annotations

import logging
import random

import pytest

from offramp_p4.frontend import load_text
from offramp_p4.native import NativeSwitch
from offramp_p4.state import (
    ANY,
    ActionData,
    CloneSession,
    Exact,
    GroupAction,
    MemberAction,
    MeterCell,
    Range,
    Replica,
    TableEntry,
    Ternary,
)
from p4_programs import program
from twins import AnySwitch, Twins

pytestmark = pytest.mark.p4


def frames(rng: random.Random, count: int = 40) -> list[tuple[int, bytes]]:
    return [(rng.randrange(4), rng.randbytes(4)) for _ in range(count)]


REGISTERS = program(
    """
    bit<130> wide; int<7> small; bool flag; bit<8> plain;
    r130.read(wide, (bit<32>)hdr.h.a); wide = wide + 130w1 << 120 | (bit<130>)hdr.h.c;
    r130.write((bit<32>)hdr.h.b, wide);
    r7.read(small, (bit<32>)hdr.h.a); small = small - 3; r7.write((bit<32>)hdr.h.a, small);
    r1.read(flag, (bit<32>)hdr.h.b); r1.write((bit<32>)hdr.h.b, !flag);
    plain = 9; r8.read(plain, (bit<32>)hdr.h.c); r8.write((bit<32>)hdr.h.c, plain + 1); other.read(plain, 3);
    hdr.h.a = plain; sm.egress_spec = 1;
    """,
    local="""
    register<bit<130>>(20) r130; register<int<7>>(200) r7; register<bool>(64) r1;
    register<bit<8>>(1000) r8; register<bit<8>>(1000) other;
    """,
)


@pytest.mark.full
def test_registers() -> None:
    twins = Twins(load_text(REGISTERS))
    rng = random.Random(1)
    for _ in range(5):
        twins.send(frames(rng))
        for name, size in [("I.r130", 20), ("I.r7", 200), ("I.r1", 64), ("I.r8", 1000), ("I.other", 1000)]:
            index = rng.randrange(size)
            value = rng.getrandbits(twins.engine.registers[name].width.width)
            twins.each(lambda s, n=name, i=index, v=value: s.registers[n].write(i, v))
            assert twins.native.registers[name].read(index) == value
    twins.each(lambda s: s.reset())
    twins.check()
    assert not any(twins.native.registers["I.r8"].values)


def test_cells_of_a_register_are_a_sequence() -> None:
    values = NativeSwitch(load_text(REGISTERS)).registers["I.r7"].values
    values[3] = -5
    values[5:7] = [1, 2]
    assert (values[3], values[-197], values[4:8]) == (-5, -5, [0, 1, 2, 0])
    assert len(values) == 200
    assert values == [*[0] * 3, -5, 0, 1, 2, *[0] * 193]
    with pytest.raises(IndexError):
        values[200]
    with pytest.raises(TypeError):
        values.append(1)


COUNTED = program(
    """
    c.count((bit<32>)hdr.h.a); m.execute_meter((bit<32>)hdr.h.b, meta.m); n.execute_meter(0, meta.w);
    hdr.h.a = meta.m; hdr.h.c = (bit<16>)meta.w; t.apply(); sm.egress_spec = 1;
    """,
    local="""
    counter(100, CounterType.bytes) c; meter(200, MeterType.packets) m; meter(1, MeterType.bytes) n;
    direct_meter<bit<8>>(MeterType.bytes) dm; direct_counter(CounterType.packets) dc;
    action colour() { dm.read(hdr.h.b); }
    action none() { }
    table t { key = { hdr.h.b: ternary; } actions = { colour; none; } default_action = none();
              meters = dm; counters = dc; }
    """,
)


@pytest.mark.full
def test_counters_and_meters() -> None:
    twins = Twins(load_text(COUNTED))
    rng = random.Random(2)

    def configure(s: AnySwitch) -> None:
        for i in range(0, 200, 3):
            s.meters["I.m"].cells[i].configure(((1000.0 * i, i), (1500.0 * i, 2 * i)), s.now_us)
        s.meters["I.n"].cells[0].configure(((1e4, 50), (2e4, 200)))
        for i in range(4):
            entry = TableEntry((Ternary(i, 3),), ActionData("I.colour", ()), 1)
            if i == 2:
                entry.meter = MeterCell()
                entry.meter.configure(((500.0, 20), (900.0, 30)))
            s.tables["I.t"].insert(entry)

    twins.each(configure)
    for now_us in (0, 10, 5_000, 5_000, 1_000_000, 2_000_003):
        twins.at(now_us)
        twins.send(frames(rng, 120))
    # Entries with meters come and go, also beyond the memory that there is, and keep their meters.
    for i in range(60):
        parts = (Ternary(i, 0xFF),), ActionData("I.colour", ()), 5
        twins.each(lambda s, parts=parts: s.tables["I.t"].insert(TableEntry(*parts)))
        if i % 3 == 0:
            twins.send(frames(rng, 5))
    kept = [s.tables["I.t"].get((Ternary(2, 3),), 1) for s in twins.engines]
    twins.each(lambda s: s.tables["I.t"].delete((Ternary(2, 3),), 1))
    twins.send(frames(rng))
    for switch, entry in zip(twins.engines, kept, strict=True):
        assert entry is not None
        switch.tables["I.t"].insert(entry)
    twins.at(2_100_000)
    twins.send(frames(rng, 100))
    twins.each(lambda s: s.counters["I.c"].write(7, 3, 1 << 40))
    twins.check()
    twins.each(lambda s: s.reset())
    twins.send(frames(rng))


PROFILED = program(
    """
    if (t.apply().hit) { hdr.h.b = 1; }
    switch (u.apply().action_run) { set: { hdr.h.c = 1; } default: { hdr.h.c = 2; } }
    sm.egress_spec = 1;
    """,
    local="""
    action_selector(HashAlgorithm.crc16, 100, 14) sel; action_profile(50) prof;
    action set(bit<8> v) { hdr.h.a = v; }
    action wide(bit<8> v, bit<100> w) { hdr.h.a = v; meta.w = (bit<32>)w; }
    table t { key = { hdr.h.a: ternary; hdr.h.b: selector; hdr.h.c: selector; }
              actions = { set; wide; } default_action = set(99); implementation = sel; }
    table u { key = { hdr.h.b: exact; } actions = { set; wide; } default_action = wide(3, 4); implementation = prof; }
    """,
)


@pytest.mark.full
def test_profiles_and_selectors() -> None:
    twins = Twins(load_text(PROFILED))
    rng = random.Random(3)

    def everything(s: AnySwitch) -> None:
        for member in (1, 5, 70000):
            s.profiles["I.sel"].insert_member(member, ActionData("I.set", (member % 200,)))
        s.profiles["I.prof"].insert_member(2, ActionData("I.wide", (17, 1 << 99)))
        s.profiles["I.sel"].insert_group(9, (1, 5, 70000, 5))
        s.profiles["I.sel"].insert_group(10, ())
        s.tables["I.t"].insert(TableEntry((Ternary(0, 1),), GroupAction(9), 3))
        s.tables["I.t"].insert(TableEntry((Ternary(1, 3),), GroupAction(10), 2))
        s.tables["I.t"].insert(TableEntry((Ternary(3, 7),), MemberAction(5), 1))
        s.tables["I.u"].insert(TableEntry((Exact(1),), MemberAction(2)))

    twins.each(everything)
    twins.send(frames(rng, 200))
    changes = [
        lambda s: s.profiles["I.sel"].modify_member(5, ActionData("I.wide", (44, 3))),
        lambda s: s.profiles["I.sel"].modify_group(10, (70000,)),
        lambda s: s.profiles["I.sel"].modify_group(9, (1,)),
        lambda s: s.profiles["I.sel"].delete_member(5),  # an entry still points to it
        lambda s: s.profiles["I.sel"].delete_group(10),
        lambda s: s.profiles["I.sel"].insert_member(5, ActionData("I.set", (1,))),
        lambda s: s.tables["I.u"].insert(TableEntry((Exact(7),), MemberAction(2))),
        lambda s: s.profiles["I.prof"].modify_member(2, ActionData("I.set", (5,))),
    ]
    for change in changes:
        twins.each(change)
        twins.send(frames(rng, 100))
    twins.each(lambda s: s.reset())
    twins.send(frames(rng, 20))


VALUE_SETS = program(
    "sm.egress_spec = 1;",
    plocals="value_set<bit<8>>(8) one; value_set<pair_t>(8) two;",
    top="struct pair_t { @match(range) bit<8> a; @match(ternary) bit<16> c; }",
    pbody="transition select(hdr.h.a) { one: single; default: more; }",
    states="""
    state single { hdr.h.b = 1; transition accept; }
    state more { transition select(hdr.h.a, hdr.h.c) { two: both; (_, 7): accept; default: none; } }
    state both { hdr.h.b = 2; transition accept; }
    state none { hdr.h.b = 3; transition accept; }
    """,
)


@pytest.mark.full
def test_value_sets() -> None:
    twins = Twins(load_text(VALUE_SETS))
    rng = random.Random(4)
    one, two = sorted(twins.engine.value_sets, key=lambda n: n.endswith("two"))
    twins.send(frames(rng))
    twins.each(lambda s: s.value_sets[one].set([(Exact(3),), (Exact(200),)]))
    twins.each(lambda s: s.value_sets[two].set([(Range(10, 60), Ternary(1, 1)), (Range(40, 90), ANY)]))
    twins.send([(0, bytes([i % 256, 0, 0, i % 7])) for i in range(512)])
    twins.each(lambda s: s.value_sets[two].members.clear())
    twins.send([(0, bytes([i, 0, 0, i % 7])) for i in range(256)])


COPIES = program(
    "sm.mcast_grp = (bit<16>)hdr.h.a; clone(CloneType.I2E, (bit<32>)hdr.h.b); sm.egress_spec = (bit<9>)hdr.h.c;"
)


@pytest.mark.full
def test_replication_changes_between_batches() -> None:
    twins = Twins(load_text(COPIES))
    frames_ = [(0, bytes([group, session, 0, 5]) + bytes(20)) for group in range(4) for session in range(4)]
    replicas = tuple(Replica(port, port + 100) for port in range(3))
    changes = [
        lambda s: s.pre.multicast.update({1: replicas, 2: ()}),
        lambda s: s.pre.clones.__setitem__(1, CloneSession(replicas[:1], 0, 10)),
        lambda s: s.pre.clones.setdefault(2, CloneSession(replicas)),
        lambda s: s.pre.multicast.pop(1),
        lambda s: setattr(s.pre, "multicast", {3: replicas[1:]}),
        lambda s: s.pre.multicast.__setitem__(1, replicas[2:]),
        lambda s: s.pre.clones.clear(),
        lambda s: s.reset(),
    ]
    for change in changes:
        twins.each(change)
        twins.send(frames_)


TALKATIVE = program(
    """
    log_msg("a {} and {} of {}", {hdr.h.a, hdr.h.c, hdr.h}); assert(hdr.h.a != 3);
    digest<note_t>(1, {hdr.h.b, -7, meta.m});
    assume(hdr.h.b != 4); log_msg("end"); digest(1, hdr.h.c); sm.egress_spec = 1;
    """,
    top="struct note_t { bit<8> b; int<9> i; bit<8> m; }",
)


def test_messages_digests_and_checks(caplog: pytest.LogCaptureFixture) -> None:
    switch_texts = []
    packets = [(0, bytes([a, b, 1, 2])) for a in range(5) for b in range(6)]
    twins = Twins(load_text(TALKATIVE))
    twins.send(packets)
    assert len(twins.digests[0]) == 2 * 4 * 5
    for switch in twins.engines:
        caplog.clear()
        with caplog.at_level(logging.INFO, "offramp_p4"):
            for packet in packets:
                switch.process_one(*packet)
        switch_texts.append([(r.levelname, r.name, r.getMessage()) for r in caplog.records])
    assert switch_texts[0] == switch_texts[1]
    assert len(switch_texts[0]) > len(packets)


RANDOM = program(
    """
    bit<8> r8; bit<33> r33; bit<63> r63; bit<16> h;
    random(r8, hdr.h.a, hdr.h.b); random(r33, 33w0, 33w0x1FFFFFFFF); random(r63, 63w5, 63w0x7000000000000000);
    hash(h, HashAlgorithm.random, 16w0, {hdr.h.a}, 32w65536);
    hdr.h.a = r8; hdr.h.b = r33[32:25] ^ r33[7:0]; hdr.h.c = h ^ r63[62:47]; sm.egress_spec = 1;
    """
)


@pytest.mark.parametrize("seed", [0, 1, 12345678901234567890])
def test_random_numbers_are_the_same_for_a_seed(seed: int) -> None:
    twins = Twins(load_text(RANDOM), seed=seed)
    rng = random.Random(seed)
    for _ in range(5):
        twins.send(frames(rng, 200))
