# SPDX-License-Identifier: Apache-2.0
"""The same packets at the same times through the traffic managers of both engines: everything is equal.

The Python engine's is the oracle; it has its own, tests/support/byte_scheduler.py. Blind to what both get wrong.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from offramp_base.errors import OfframpError
from offramp_base.wire.batch import PacketBatch
from offramp_p4 import ir, make_switch
from offramp_p4.frontend import load, load_text
from offramp_p4.paced import PacedSwitch
from offramp_p4.queued import QueuedSwitch
from offramp_p4.state import ActionData, CloneSession, Exact, Replica, TableEntry
from offramp_p4.stf.control import StfControl
from offramp_p4.stf.parse import parse
from offramp_p4.tm import PortConfig, QueueConfig, TmConfig
from p4_programs import program
from queued_pair import ENGINES, Pair, random_config

pytestmark = pytest.mark.p4

FOLDER = Path(__file__).parent
STF = FOLDER.parent / "stf"


MARKS = program("sm.egress_spec = (bit<9>)hdr.h.a; sm.priority = (bit<3>)hdr.h.b;").replace(
    "inout standard_metadata_t sm) { apply { } }",
    """inout standard_metadata_t sm) {
        apply { if (hdr.h.c != 0) { hdr.h.c = hdr.h.c - 1; recirculate_preserving_field_list(0); } }
    }""",
)


@cache
def loaded(name: str) -> ir.Program:
    if name == "marks":
        return load_text(MARKS)
    return load(FOLDER / f"{name}.p4" if name in ("queues", "rounds") else STF / f"{name}.p4")


def ip(draw: random.Random, size: int) -> bytes:
    """A frame that can be marked, behind the orders of queues.p4 in the place of its addresses."""
    kind = draw.choice([b"\x08\x00\x45", b"\x86\xdd\x60", b"\x81\x00\x00\x05\x08\x00\x45", b"\x12\x34\x00"])
    return (kind + bytes([draw.randrange(256)]) + draw.randbytes(60)).ljust(size, b"\1")[:size]


def play(
    pair: Pair, draw: random.Random, packet: Callable[[], tuple[int, bytes]], *, longest_ps: int, singly: float
) -> None:
    """Packets alone and in batches, with pauses of up to ``longest_ps``, until the last has left."""
    now = left = 0
    for _ in range(40):
        now += draw.choice([0, 0, 1, 10**6, draw.randrange(longest_ps)])
        kind = draw.random()
        if kind < singly:
            pair.receive(now, *packet())
        elif kind < 0.8:
            times = [now := now + draw.choice([0, 1, draw.randrange(longest_ps)]) for _ in range(draw.randrange(12))]
            pair.receive_batch(times, [packet() for _ in times])
        else:
            left += pair.advance(now)
    left += pair.advance(10**15)
    assert left
    assert pair.nodes[0].next_ps is None


@pytest.mark.full
@pytest.mark.parametrize("seed", range(30))
def test_random_traffic(seed: int) -> None:
    draw = random.Random(seed)
    pair = Pair(loaded("queues"), random_config(draw), max_passes=draw.choice([3, 400]))
    for node in pair.nodes:
        node.switch.pre.multicast[1] = (Replica(2, 1), Replica(3, 1), Replica(2, 2), Replica(70_000, 3))
        node.switch.pre.clones[1] = CloneSession((Replica(4, 0), Replica(511, 1)), packet_length=40)
    if draw.random() < 0.5:
        pair.observe()

    def packet() -> tuple[int, bytes]:
        orders = bytes([draw.randrange(6), draw.randrange(8), draw.randrange(7), draw.randrange(4)])
        return draw.randrange(512), (orders + bytes(22))[:12] + ip(draw, draw.choice([0, 10, 52, 90, 600, 1500]))

    play(pair, draw, packet, longest_ps=10**8, singly=0.4)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(30))
def test_packets_that_go_round_unchanged(seed: int) -> None:
    """Machine code lets them pass queues by that they would leave at once; nobody may see that."""
    draw = random.Random(seed)
    free = TmConfig(PortConfig(draw.choice([None, 10**10]), tuple(QueueConfig() for _ in range(8))))
    config = random_config(draw) if seed % 3 == 0 else free
    pair = Pair(loaded("rounds"), config, max_passes=draw.choice([3, 400]))
    clones = draw.choice([1, 4])
    for node in pair.nodes:
        node.switch.pre.multicast[1] = (Replica(2, 1), Replica(3, 1), Replica(2, 2))
        node.switch.pre.clones[1] = CloneSession((Replica(clones, 0),))
    if seed % 10 == 9:
        pair.observe()

    def packet() -> tuple[int, bytes]:
        orders = [draw.randrange(6), draw.choice([0, 0, draw.randrange(8)]), draw.choice([0, 0, 0, 1, 2, 3, 4, 5])]
        return draw.randrange(512), bytes([*orders, draw.randrange(6)]) + draw.randbytes(draw.choice([7, 8, 60, 1400]))

    play(pair, draw, packet, longest_ps=10**7, singly=0.2)
    assert pair.nodes[1].switch.stats.recirculations > (20 if config is free else 0)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(4))
def test_marks(seed: int) -> None:
    draw = random.Random(seed)
    queues = tuple(QueueConfig(ecn_bytes=draw.randrange(300)) for _ in range(8))
    pair = Pair(loaded("marks"), TmConfig(PortConfig(10**8, queues)))
    for _ in range(30):
        frames = [
            bytes([draw.randrange(3), draw.randrange(8), 0, draw.choice([0, 0, 2])]) + bytes(8) + ip(draw, size)
            for size in draw.choices([1, 5, 30, 34, 38, 54, 90, 600], k=20)
        ]
        pair.receive_batch([0] * 20, [(1, frame) for frame in frames])
    pair.advance(10**15)
    marked = [queue.stats.marked for _, _, queue in pair.nodes[1].tm.queues()]
    assert sum(marked) > 50
    assert pair.nodes[1].switch.stats.recirculations > 50


@pytest.mark.full
@pytest.mark.parametrize("name", ["clones", "passes", "replication", "registers", "tables"])
def test_the_programs_of_the_stf_tests(name: str) -> None:
    text = (STF / f"{name}.stf").read_text()
    draw = random.Random(name)
    pair = Pair(loaded(name), TmConfig.uniform(rate_bps=10**8, queue=QueueConfig(limit_packets=20)), max_passes=50)
    controls = [StfControl(node.switch) for node in pair.nodes]
    sent = []
    for command in parse(text, name):
        if command.name == "packet":
            sent.append((command.numbers[0], bytes.fromhex(command.data)))
        elif command.name != "expect":
            for control in controls:
                control.execute(command)
    now = 0
    for _ in range(20):
        times = [now := now + draw.randrange(10**7) for _ in range(20)]
        packets = []
        for _ in times:
            port, frame = draw.choice(sent)
            damaged = bytearray(frame + draw.randbytes(draw.randrange(60)))
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
            packets.append((port, bytes(damaged)))
        pair.receive_batch(times, packets)
        pair.advance(now)
    pair.advance(10**15)
    python, native = (node.switch for node in pair.nodes)
    for register, state in python.registers.items():
        assert list(native.registers[register].values) == list(state.values)


COUNTED = program(
    "t.apply(); sm.egress_spec = 1;",
    local="direct_counter(CounterType.packets) n;"
    "table t { key = { hdr.h.a: exact; } actions = { NoAction; } counters = n; }",
)


@pytest.mark.full
def test_entries_that_go_between_arrivals_keep_their_counts() -> None:
    pair = Pair(load_text(COUNTED), TmConfig())
    entries = [[TableEntry((Exact(i),), ActionData("NoAction", ())) for i in range(5)] for _ in pair.nodes]
    for round_ in range(5):
        for node, changes in zip(pair.nodes, entries, strict=True):
            table = node.switch.tables["I.t"]
            for entry in changes[round_:]:
                if round_:
                    table.delete(entry.keys)
                table.insert(entry)
            for i in (round_, 4, 4, 9):
                node.receive(round_, 1, bytes([i, 0, 0, 0]))
            table.delete(changes[round_].keys)
            node.receive(round_, 1, bytes([round_, 0, 0, 0]))
    pair.check()
    assert [e.packets for e in entries[1]] == [e.packets for e in entries[0]] == [1, 1, 1, 1, 11]
    assert pair.nodes[1].switch.tables["I.t"].hits == pair.nodes[0].switch.tables["I.t"].hits == 15


@pytest.mark.full
def test_paced_switches_agree_and_forget() -> None:
    draw = random.Random(5)
    pair = [PacedSwitch(loaded("queues"), TmConfig.uniform(rate_bps=10**7), engine) for engine in ENGINES]
    assert [paced.engine for paced in pair] == list(ENGINES)
    now = 0
    for round_ in range(3):
        for _ in range(30):
            now += draw.choice([0, 50, 1000])
            batch = PacketBatch.of(
                [(1, bytes([draw.randrange(4), draw.randrange(8), 0, 0]) + bytes(60)) for _ in range(draw.randrange(9))]
            )
            for paced in pair:
                paced.now_us = now
            want, got = (list(paced.process(batch)) for paced in pair)
            assert got == want
            assert pair[0].next_us == pair[1].next_us
            assert pair[0].stats == pair[1].stats
        if round_ == 1:
            for paced in pair:
                paced.reset()
                assert paced.next_us is None


def test_many_packets_keep_little_memory() -> None:
    """Frames that have left give their memory to those that come."""
    node = QueuedSwitch(make_switch(loaded("queues"), "native"), TmConfig())
    batch = PacketBatch.of([(1, bytes([1, 0, 4, 2]) + bytes(1000))] * 500)
    for now in range(40):
        node.receive_batch(np.full(500, now, np.int64), batch)
        assert len(node.advance(now)) == 500
        if now == 1:
            before = len(node.tm._chunks)
    assert len(node.tm._chunks) == before


@pytest.mark.parametrize("engine", ENGINES)
def test_wrong_batches_change_nothing(engine: str) -> None:
    node = QueuedSwitch(make_switch(loaded("queues"), engine), TmConfig())
    batch = PacketBatch.of([(1, bytes(30))] * 2)
    node.advance(10)
    for times, message in (
        ([9, 20], "a frame arrives at 9 ps: the switch is at 10 ps"),
        ([30, 20], "a frame arrives at 20 ps: the switch is at 30 ps"),
        ([30], "2 packets and 1 times"),
    ):
        with pytest.raises(OfframpError, match=message):
            node.receive_batch(np.array(times, np.int64), batch)
    assert node.switch.stats.packets_in == 0
    assert node.advance(100) == []


@pytest.mark.parametrize("engine", ENGINES)
def test_a_mark_of_another_length_is_refused(engine: str) -> None:
    config = TmConfig(default=PortConfig(10**7, (QueueConfig(ecn_bytes=0),)))
    node = QueuedSwitch(make_switch(loaded("queues"), engine), config, mark=lambda frame: frame + b"!")
    for _ in range(2):
        node.receive(0, 1, bytes([1, 0, 0, 0]) + bytes(30))
    with pytest.raises(OfframpError, match="mark: a frame of 34 bytes came back with 35"):
        node.advance(10**10)


def test_native_lines_have_a_fastest_rate() -> None:
    switch = make_switch(load_text(program("sm.egress_spec = 1;")), "native")
    with pytest.raises(OfframpError, match=r"port rate_bps is 10000000000000: the native engine's lines"):
        QueuedSwitch(switch, TmConfig.uniform(rate_bps=10**13))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_paused_port_begins_nothing_and_others_go_on(engine: str) -> None:
    """Frames of 1,000 bytes at 1 Gbit/s on two ports; one is paused while it sends, then again while it is empty."""
    node = QueuedSwitch(make_switch(loaded("marks"), engine), TmConfig.uniform(rate_bps=10**9))
    time = 8 * 1024 * 1000
    for port in (1, 2, 1, 2, 1):
        node.receive(0, 3, bytes([port, 0, 0, 0]).ljust(1000, b"x"))
    left = node.advance(0)
    node.tm.pause(1, 10 * time)
    assert node.next_ps == time
    left += node.advance(9 * time)
    assert [(d.ps, d.port) for d in left] == [(time, 1), (time, 2), (2 * time, 2)]
    assert [(d.ps, d.port) for d in node.advance(20 * time)] == [(11 * time, 1), (12 * time, 1)]
    node.tm.pause(1, 30 * time)
    node.receive(25 * time, 3, bytes([1, 0, 0, 0]).ljust(1000, b"x"))
    assert node.next_ps == 30 * time
    assert [d.ps for d in node.advance(40 * time)] == [31 * time]
