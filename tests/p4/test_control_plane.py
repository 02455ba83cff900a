# SPDX-License-Identifier: Apache-2.0
"""A control plane that writes and reads while packets run, and what many entries cost, on both engines."""

from __future__ import annotations

import gc
import random
import sys
import threading
import time
from collections.abc import Callable

import pytest

from both_engines import MakeSwitch
from offramp_base.wire.batch import PacketBatch
from offramp_p4 import PlainSwitch
from offramp_p4.frontend import load_text
from offramp_p4.state import ANY, ActionData, CloneSession, Exact, Lpm, Range, Replica, TableEntry, Ternary
from p4_programs import program

pytestmark = pytest.mark.p4

TABLES = """
    action to(bit<9> port) { sm.egress_spec = port; }
    direct_counter(CounterType.packets) hits;
    table exact { key = { hdr.h.a: exact; } actions = { to; NoAction; } size = 20000; counters = hits; }
    table longest { key = { meta.w: lpm; } actions = { to; NoAction; } size = 20000; }
    table first { key = { meta.w: ternary; hdr.h.b: range; } actions = { to; NoAction; } size = 20000; }
    register<bit<32>>(16) seen;
"""
BODY = """
    meta.w = hdr.h.a ++ hdr.h.b ++ hdr.h.c;
    exact.apply(); longest.apply(); first.apply();
    bit<32> n; seen.read(n, 0); seen.write(0, n + 1);
"""
PROGRAM = load_text(program(BODY, local=TABLES))


def to(port: int) -> ActionData:
    return ActionData("I.to", (port,))


def lpm(value: int, length: int, port: int) -> TableEntry:
    return TableEntry((Lpm(value, length),), to(port))


def while_packets_run(switch: PlainSwitch, write: Callable[[], None], frames: list[bytes]) -> set[tuple[int, bytes]]:
    """Have a thread of its own write; all that has left meanwhile, at least ten batches of it."""
    batch = PacketBatch.of([(0, frame) for frame in frames])
    failures: list[BaseException] = []

    def work() -> None:
        try:
            write()
        except BaseException as failure:
            failures.append(failure)

    writer, left, batches = threading.Thread(target=work), set(), 0
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # threads take turns as often as can be
    try:
        writer.start()
        while writer.is_alive() or batches < 10:
            left |= set(switch.process(batch))
            batches += 1
        writer.join()
    finally:
        sys.setswitchinterval(interval)
    assert failures == []
    assert switch.stats.packets_in == batches * len(frames)
    return left


def test_entries_come_and_go_while_packets_run(make_switch: MakeSwitch) -> None:
    """A packet meets the table before a change or after it, never between; at the end nothing is lost."""
    switch = make_switch(PROGRAM)
    exact, longest, first = (switch.tables[f"I.{name}"] for name in ("exact", "longest", "first"))
    longest.insert(lpm(0, 0, 1))
    for i in range(500):
        longest.insert(lpm(i << 20, 12, 1))
        first.insert(TableEntry((Ternary(i << 20, 0xFFFFFFFF), Range(1, 2)), to(3), priority=1000 + i))
    draw = random.Random(2)

    def write() -> None:
        for i in range(400):
            value = draw.getrandbits(24) << 8
            longest.insert(lpm(value, 24, 2))
            first.insert(TableEntry((Ternary(value, 0xFFFFFF00), Range(0, 255)), to(3), priority=1 + i))
            longest.modify(lpm(0, 0, 1 + i % 2))
            if i % 3:
                longest.delete((Lpm(value, 24),))
                first.delete((Ternary(value, 0xFFFFFF00), Range(0, 255)), 1 + i)
            exact.insert(TableEntry((Exact(i % 256),), to(4)))
            exact.delete((Exact(i % 256),))
            exact.set_default(to(4) if i % 2 else None)
            switch.pre.multicast[i % 7] = (Replica(1, i),)
            switch.pre.clones[i % 5] = CloneSession((Replica(1, i),))

    left = while_packets_run(switch, write, [draw.randbytes(4) for _ in range(50)])
    assert {port for port, _ in left} <= {1, 2, 3, 4}
    # What is there now is found, and only that.
    fresh = make_switch(PROGRAM)
    for name, table in switch.tables.items():
        for entry in table.entries:
            fresh.tables[name].insert(TableEntry(entry.keys, entry.action, entry.priority))
    fresh.tables["I.exact"].set_default(to(4))
    frames = [draw.randbytes(4) for _ in range(200)]
    frames += [match.value.to_bytes(4, "big") for (match,) in (e.keys for e in longest.entries) if match != ANY]
    for frame in frames:
        assert switch.process_one(0, frame) == fresh.process_one(0, frame)


def test_counts_and_registers_can_be_read_while_packets_run(make_switch: MakeSwitch) -> None:
    switch = make_switch(PROGRAM)
    table, seen = switch.tables["I.exact"], switch.registers["I.seen"]
    entry = TableEntry((Exact(7),), to(1))
    table.insert(entry)
    read: list[tuple[int, int, int]] = []

    def look() -> None:
        for _ in range(300):
            read.append((seen.read(0), entry.packets, table.hits))
            seen.write(1, len(read))

    while_packets_run(switch, look, [bytes([7, 0, 0, 0])] * 40)
    for numbers in zip(*read, strict=True):
        assert list(numbers) == sorted(numbers)
    total = switch.stats.packets_in
    assert (seen.read(0), entry.packets, table.hits, seen.read(1)) == (total, total, total, 300)


def test_a_reset_waits_for_the_batch(make_switch: MakeSwitch) -> None:
    switch = make_switch(PROGRAM)
    seen = switch.registers["I.seen"]
    threads = [threading.Thread(target=lambda: [switch.reset() for _ in range(20)])]
    threads[0].start()
    batch = PacketBatch.of([(0, bytes(4))] * 50)
    while threads[0].is_alive():
        switch.process(batch)
    threads[0].join()
    switch.reset()
    switch.process(batch)
    assert (switch.stats.packets_in, seen.read(0)) == (50, 50)


def cost(run: Callable[[], object]) -> float:
    """Seconds of this process; collecting the garbage of other tests is not part of it."""
    gc.collect()
    gc.disable()
    try:
        start = time.process_time()
        run()
        return time.process_time() - start
    finally:
        gc.enable()


def inserted(switch: PlainSwitch, kind: str, count: int, *, between: bool) -> float:
    """Seconds of this process that it takes to insert entries; ``between``: with a packet after each that finds it."""
    table = switch.tables["I.first" if kind == "ternary" else "I.longest"]
    values = [i << 12 for i in range(1, count + 1)]
    if kind == "lpm":
        entries = [lpm(value, 20, 1) for value in values]
    else:
        entries = [
            TableEntry((Ternary(value, 0xFFFFFF00), Range(0, 255)), to(1), priority=i)
            for i, value in enumerate(values, 1)
        ]

    def run() -> None:
        for value, entry in zip(values, entries, strict=True):
            table.insert(entry)
            if between:
                assert switch.process_one(0, value.to_bytes(4, "big"))
        assert switch.process_one(0, values[-1].to_bytes(4, "big"))

    return cost(run)


@pytest.mark.full
@pytest.mark.parametrize("kind", [pytest.param("lpm", marks=pytest.mark.slow), "ternary"])
@pytest.mark.parametrize("between", [False, True], ids=["in bulk", "with packets between"])
def test_the_cost_of_an_insertion_is_bounded(make_switch: MakeSwitch, kind: str, between: bool) -> None:
    """Ten times as many entries take about ten times as long, where rebuilding would take a hundred times."""
    small = min(inserted(make_switch(PROGRAM), kind, 100, between=between) for _ in range(3))
    assert inserted(make_switch(PROGRAM), kind, 1000, between=between) < 40 * small


@pytest.mark.full
def test_the_cost_of_a_packet_does_not_depend_on_the_batch(make_switch: MakeSwitch) -> None:
    switch = make_switch(PROGRAM)
    count = 10_000 if switch.engine == "native" else 1000

    def seconds(packets: int) -> float:
        batch = PacketBatch.of([(0, bytes(4))] * packets)
        return cost(lambda: [switch.process(batch) for _ in range(count // packets)])

    seconds(count)
    small, large = (min(seconds(packets) for _ in range(3)) for packets in (count // 20, count))
    assert large < 4 * small


TIMED = load_text(
    program(
        "timed.apply();",
        local="""
    action to(bit<9> port) { sm.egress_spec = port; }
    table timed { key = { hdr.h.a: exact; } actions = { to; NoAction; } support_timeout = true; }
""",
    )
)


def test_hits_of_a_table_with_a_time_out_are_noted_and_not_counted(make_switch: MakeSwitch) -> None:
    switch = make_switch(TIMED)
    switch.tables["I.timed"].insert(TableEntry((Exact(7),), to(3), last_hit_us=-1))
    assert switch.process_one(0, bytes([7, 0, 0, 0]))
    (entry,) = switch.tables["I.timed"].entries
    assert (entry.packets, entry.bytes) == (0, 0)
    assert entry.last_hit_us >= 0
