# SPDX-License-Identifier: Apache-2.0
"""Look-ups that are hinted ahead: the packets are those of the Python engine, whatever is hinted; and what is.

Blind to time, which hints are for: docs/decisions.md has it.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from offramp_base.wire.batch import PacketBatch
from offramp_p4.engines import make_switch
from offramp_p4.frontend import load_text
from offramp_p4.native import NativeSwitch
from offramp_p4.state import ActionData, Exact, Lpm, TableEntry
from p4_programs import program

pytestmark = [pytest.mark.p4, pytest.mark.full]

ENTRIES = 3000
"""More than a table has that is not hinted of."""
LOCAL = """
    action give(bit<8> v) { hdr.h.a = v; }
    action jump(bit<8> v) { meta.w = meta.w + (bit<32>)v; }
    table wide { key = { hdr.h.c: exact; meta.w: exact; } actions = { jump; NoAction; } size = 10000; }
    table plain { key = { hdr.h.c: exact; hdr.h.b: exact; } actions = { give; NoAction; } size = 10000; }
    table inner { key = { meta.w: exact; } actions = { give; NoAction; } size = 10000; }
"""
BODY = "wide.apply(); plain.apply(); inner.apply(); sm.egress_spec = 1;"
AGAIN = """
    if (hdr.h.b > 0) { hdr.h.b = hdr.h.b - 1; meta.w = meta.w + 1; recirculate_preserving_field_list(1); }
"""
EGRESS = "control E(inout headers hdr, inout meta_t meta, inout standard_metadata_t sm) { apply {"


def counting() -> str:
    """Packets that come again with a key that counts, as SwitchGNN's."""
    text = program(local=LOCAL, body=BODY)
    text = text.replace("bit<32> w;", "@field_list(1) bit<32> w;")
    return text.replace(EGRESS, EGRESS + AGAIN)


def filled(switch) -> None:
    rng = np.random.default_rng(1)
    for c in range(ENTRIES // 6):
        for w in range(6):
            action = ActionData("I.jump", (int(rng.integers(0, 3)),))
            switch.tables["I.wide"].insert(TableEntry((Exact(c), Exact(w)), action))
            action = ActionData("I.give", (int(rng.integers(0, 256)),))
            switch.tables["I.plain"].insert(TableEntry((Exact(c), Exact(w)), action))
    for w in range(ENTRIES):
        switch.tables["I.inner"].insert(TableEntry((Exact(w),), ActionData("I.give", (w % 256,))))


def test_packets_are_those_of_the_other_engine() -> None:
    loaded, rng = load_text(counting()), np.random.default_rng(2)
    native, python = (make_switch(loaded, engine) for engine in ("native", "python"))
    for switch in (native, python):
        filled(switch)
    for count in (0, 1, 2, 3, 5, 9, 200):
        frames = []
        for _ in range(count):
            key = int(rng.integers(0, ENTRIES // 5)).to_bytes(2, "big")
            whole = bytes([1, int(rng.integers(0, 9))]) + key + rng.bytes(20)
            frames.append((0, whole[: int(rng.choice([0, 1, 3, 4, 24]))] if rng.random() < 0.3 else whole))
        batch = PacketBatch.of(frames)
        assert list(native.process(batch)) == list(python.process(batch))
    assert native.stats == python.stats
    assert native.stats.recirculations > 200


REGISTERS = """
    register<bit<32>>(70000) sums; register<bit<32>>(70000) marks; register<bit<16>>(70000) counts;
    register<bit<32>>(70000) others;
    action reach(bit<16> base) { meta.i = (bit<32>)base + (bit<32>)hdr.h.a; }
    action straight(bit<32> at) { meta.i = at; }
    action twice(bit<32> at) { meta.i = at << 1; }
    table hops {
        key = { hdr.h.c: exact; meta.w: exact; } actions = { reach; straight; twice; NoAction; } size = 10000;
    }
"""
ADD = """
    meta.i = 0; hops.apply();
    bit<32> v; sums.read(v, meta.i); v = v + meta.w + 1; sums.write(meta.i, v); hdr.h.c = hdr.h.c; sm.egress_spec = 1;
    marks.write(meta.i, v); bit<16> n; counts.read(n, meta.i); counts.write(meta.i, n + 1);
    others.write((bit<32>)hdr.h.b, v);
"""


def reaching() -> str:
    """Packets that come again, each time to other rows of registers."""
    text = program(local=REGISTERS, body=ADD)
    text = text.replace("bit<32> w;", "@field_list(1) bit<32> w; bit<32> i;")
    return text.replace(EGRESS, EGRESS + AGAIN)


def test_registers_of_the_next_pass_are_hinted_of_and_hold_what_the_other_engine_holds() -> None:
    loaded, rng = load_text(reaching()), np.random.default_rng(3)
    native, python = (make_switch(loaded, engine) for engine in ("native", "python"))
    actions = [("I.reach", 1 << 16), ("I.straight", 1 << 32), ("I.twice", 40000), ("I.straight", 70000)]
    for c in range(ENTRIES // 6):
        for w in range(6):
            if rng.random() < 0.1:
                continue  # the hint finds nothing
            name, most = actions[int(rng.integers(0, 4))]
            entry = TableEntry((Exact(c), Exact(w)), ActionData(name, (int(rng.integers(0, most)),)))
            for switch in (native, python):
                switch.tables["I.hops"].insert(entry)
    frames = []
    for _ in range(400):
        key = int(rng.integers(0, ENTRIES // 5)).to_bytes(2, "big")
        frames.append((0, bytes([int(rng.integers(0, 256)), int(rng.integers(0, 9))]) + key + rng.bytes(20)))
    batch = PacketBatch.of(frames)
    assert list(native.process(batch)) == list(python.process(batch))
    assert native.stats == python.stats
    for name in ("I.sums", "I.marks", "I.counts", "I.others"):
        held, expected = native.registers[name], python.registers[name]
        assert [held.read(i) for i in range(held.size)] == [expected.read(i) for i in range(expected.size)]
    source = NativeSwitch(loaded).source
    assert len(re.findall(r'call void @"rt.hint_line"', source)) == 4  # sums and marks, and counts, of two actions


def hints(text: str, function: str) -> int:
    """Number of hints in a function."""
    source = NativeSwitch(load_text(text)).source
    (body,) = re.findall(rf"define internal void @\"p4.{function}\".*?\n}}", source, re.DOTALL)
    return body.count('@"rt.hint_')


def test_tables_with_keys_in_the_frame_are_hinted_of() -> None:
    text = counting()
    assert hints(text, "foresee_slots") == hints(text, "foresee_rows") == 2  # all but the one with metadata alone
    source = NativeSwitch(load_text(text)).source
    assert len(re.findall(r'call void @"rt.hint_next"', source)) == 1  # the one whose key counts


def test_other_searches_and_places_that_packets_decide_are_not() -> None:
    local = LOCAL.replace("hdr.h.c: exact; meta.w: exact", "hdr.h.c: ternary").replace("hdr.h.b: exact", "hdr.h.b: lpm")
    assert hints(program("wide.apply(); plain.apply(); inner.apply();", local=local), "foresee_slots") == 0
    late = program("wide.apply();", local=LOCAL)
    late = late.replace("start { pkt", "start { pkt.advance((bit<32>)sm.packet_length); pkt")
    assert hints(late, "foresee_slots") == 0


PREFIXES = """
    action give(bit<8> v) { hdr.h.a = v; }
    table routes { key = { hdr.h.c: lpm; } actions = { give; NoAction; } size = 10000; }
    table shallow { key = { hdr.h.b: lpm; } actions = { give; NoAction; } size = 10000; }
    table wide { key = { hdr.h.b ++ hdr.h.c ++ meta.w: lpm @name("k"); } actions = { give; NoAction; } size = 10000; }
"""


def test_roots_and_slots_of_prefixes_are_hinted_of_and_packets_are_those_of_the_other_engine() -> None:
    body = "routes.apply(); shallow.apply(); wide.apply(); sm.egress_spec = 1;"
    text = program(body, local=PREFIXES).replace("bit<8> a; bit<8> b; bit<16> c;", "bit<8> a; bit<64> b; bit<32> c;")
    assert [hints(text, f"foresee_{kind}") for kind in ("roots", "slots", "rows")] == [2, 2, 0]
    loaded, rng = load_text(text), np.random.default_rng(4)
    native, python = (make_switch(loaded, engine) for engine in ("native", "python"))
    known, seen = [], set()
    for i in range(ENTRIES):
        for name, width in (("I.routes", 32), ("I.shallow", 64)):
            length = int(rng.choice([0, 8, 15, 16, 17, 24, 31, width]))
            value = int.from_bytes(rng.bytes(width // 8), "big") >> (width - length) << (width - length)
            entry = TableEntry((Lpm(value, length),), ActionData("I.give", (i % 256,)))
            if (name, value, length) not in seen:
                seen.add((name, value, length))
                known.append((name, value))
                for switch in (native, python):
                    switch.tables[name].insert(entry)
    frames = []
    for name, value in (known[int(i)] for i in rng.integers(0, len(known), 300)):
        b, c = rng.bytes(8), rng.bytes(4)
        if name == "I.routes":
            c = value.to_bytes(4, "big")
        else:
            b = value.to_bytes(8, "big")
        whole = rng.bytes(1) + b + c + rng.bytes(20)
        frames.append((0, whole[: int(rng.choice([0, 1, 9, 12, 33]))] if rng.random() < 0.3 else whole))
    for count in (1, 5, 6, 7, 300):
        batch = PacketBatch.of(frames[:count])
        assert list(native.process(batch)) == list(python.process(batch))
    assert native.stats == python.stats
