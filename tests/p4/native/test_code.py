# SPDX-License-Identifier: Apache-2.0
"""Optimised code takes the place of baseline code between two batches, and packets do not see when.

Blind to the time that it saves, which docs/results has.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from offramp_base.native.compiler import BASELINE, OPTIMISED
from offramp_base.wire.batch import PacketBatch
from offramp_p4 import PlainSwitch
from offramp_p4.engines import make_switch
from offramp_p4.frontend import load_text
from offramp_p4.maker import SwitchMaker
from offramp_p4.native import NativeSwitch
from offramp_p4.native import code as codes
from offramp_p4.native.architecture import PacketMode
from offramp_p4.optimising import OptimiseWhen
from offramp_p4.queued import QueuedSwitch
from offramp_p4.state import ActionData, Exact, TableEntry
from offramp_p4.tm import TmConfig
from p4_programs import program

pytestmark = pytest.mark.p4

TEXT = program(
    """
    bit<8> v; r.read(v, 0); v = v + hdr.h.a; r.write(0, v); hdr.h.b = v;
    bit<16> x; random(x, 16w0, 16w999); hdr.h.c = x; n.count(0); t.apply();
    sm.egress_spec = 1;
    """,
    local="""
    register<bit<8>>(1) r; counter(1, CounterType.packets) n;
    action set(bit<8> a) { hdr.h.a = a; }
    table t { key = { hdr.h.a : exact; } actions = { set; NoAction; } }
    """,
)
BATCHES = [[(0, bytes([10 * i + k, 0, 0, 0])) for k in range(5)] for i in range(6)]


@pytest.fixture(autouse=True)
def _nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def after_few_passes(monkeypatch: pytest.MonkeyPatch, passes: int) -> None:
    monkeypatch.setattr(codes, "_PASSES", dict.fromkeys(OptimiseWhen, passes) | {OptimiseWhen.AT_ONCE: 0})


def seen(switch: PlainSwitch) -> list[object]:
    """What packets, a control plane and the counts show, batch by batch."""
    switch.tables["I.t"].insert(TableEntry((Exact(20),), ActionData("I.set", (99,))))
    shown: list[object] = []
    for batch in BATCHES:
        shown.append(list(switch.process(PacketBatch.of(batch))))
        shown.append((switch.registers["I.r"].read(0), switch.counters["I.n"].packets[0], switch.stats.passes))
    (entry,) = switch.tables["I.t"].entries
    return [*shown, entry.action]


def level(switch: NativeSwitch, way: PacketMode = PacketMode.BATCH) -> int:
    return switch.code(way).level


def test_a_busy_switch_is_optimised_between_two_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    after_few_passes(monkeypatch, 12)
    loaded = load_text(TEXT)
    busy = NativeSwitch(loaded, seed=3, optimise=OptimiseWhen.WHEN_BUSY)
    assert level(busy) == BASELINE
    shown = seen(busy)
    assert level(busy) == OPTIMISED
    assert shown == seen(make_switch(loaded, "python", seed=3))
    assert level(NativeSwitch(loaded, optimise=OptimiseWhen.WHEN_BUSY)) == OPTIMISED, "what is kept is taken at once"


@pytest.mark.full
def test_another_process_optimises_while_packets_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    after_few_passes(monkeypatch, 1)
    loaded = load_text(TEXT)
    switch = NativeSwitch(loaded, seed=3, optimise=OptimiseWhen.ASIDE)
    plain = make_switch(loaded, "python", seed=3)
    frames = PacketBatch.of(BATCHES[0])
    for _ in range(2):
        assert list(switch.process(frames)) == list(plain.process(frames))
    compilation = switch._code._aside[PacketMode.BATCH]
    assert compilation.done.wait(60)
    assert level(switch) == BASELINE, "no packet has come since"
    for _ in range(2):
        assert list(switch.process(frames)) == list(plain.process(frames))
    assert level(switch) == OPTIMISED
    assert level(NativeSwitch(loaded, optimise=OptimiseWhen.ASIDE)) == OPTIMISED


@pytest.mark.full
@pytest.mark.parametrize("executable", ["/bin/false", "/nowhere/python"])
def test_packets_go_on_if_that_process_fails(
    executable: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    after_few_passes(monkeypatch, 1)
    monkeypatch.setattr("offramp_base.native.aside.sys.executable", executable)
    switch = NativeSwitch(load_text(TEXT), optimise=OptimiseWhen.ASIDE)
    for batch in BATCHES:
        assert len(switch.process(PacketBatch.of(batch))) == 5
        for compilation in switch._code._aside.values():
            assert compilation.done.wait(60)
    assert level(switch) == BASELINE
    (line,) = (r.getMessage() for r in caplog.records)
    assert line.startswith("<text>: packets go on with code that is not optimised: the process")


def test_packets_in_queues_stay_there(monkeypatch: pytest.MonkeyPatch) -> None:
    after_few_passes(monkeypatch, 7)
    loaded = load_text(TEXT)
    departures = []
    for when, first in ((OptimiseWhen.WHEN_BUSY, BASELINE), (OptimiseWhen.AT_ONCE, OPTIMISED)):
        switch = NativeSwitch(loaded, queued=True, optimise=when)
        assert level(switch, PacketMode.QUEUED) == first
        queued = QueuedSwitch(switch, TmConfig.uniform())
        for time, (port, frame) in enumerate(frame for batch in BATCHES for frame in batch):
            queued.receive(time, port, frame)
        assert level(switch, PacketMode.QUEUED) == OPTIMISED
        departures.append(queued.advance(1 << 60))
    assert departures[0] == departures[1]
    assert len(departures[0]) == 30


@pytest.mark.full
def test_threads_of_others_get_optimised_code_alone() -> None:
    switch = NativeSwitch(load_text(program("sm.egress_spec = 1;")), optimise=OptimiseWhen.WHEN_BUSY)
    assert level(switch) == BASELINE
    cores = switch.spread(2, lambda: None, lambda: None)
    assert cores.run
    assert {level(switch), level(switch, PacketMode.BURST)} == {OPTIMISED}


def test_a_served_switch_is_optimised_aside() -> None:
    switch = SwitchMaker()(load_text(program("sm.egress_spec = 1;")))
    assert isinstance(switch, NativeSwitch)
    assert level(switch) == BASELINE
