# SPDX-License-Identifier: Apache-2.0
"""Outlines that machine code leaves, against traces of the Python engine: bmv2's event log of both has the same bytes.

Blind to what both engines get wrong, and to programs that bmv2's JSON cannot express.
"""

from __future__ import annotations

import struct
from pathlib import Path
from random import Random

import pytest

from offramp.p4src import p4_root
from offramp_base.wire.batch import PacketBatch
from offramp_p4 import ir
from offramp_p4.frontend import load, load_text
from offramp_p4.maker import SwitchMaker
from offramp_p4.native import NativeSwitch
from offramp_p4.state.random_control import RandomControl
from offramp_p4.switch import Switch
from offramp_p4.trace.sinks import TraceSink
from offramp_p4_tools.dropin.event_log import EventLog, EventType
from offramp_p4_tools.fuzz.parsed import parsed_packets
from offramp_p4_tools.fuzz.programs import random_program
from p4_programs import program

pytestmark = pytest.mark.p4

STF = {path.stem: path.with_suffix(".p4") for path in sorted((Path(__file__).parents[1] / "stf").glob("*.stf"))}
WAYS = program(
    """
    if (hdr.h.a == 0 && sm.instance_type == 0) { resubmit_preserving_field_list(1); }
    clone(CloneType.I2E, 1);
    sm.mcast_grp = (bit<16>)hdr.h.b;
    if (hdr.h.b == 0) { sm.egress_spec = 3; }
    """,
).replace(
    "control E(inout headers hdr, inout meta_t meta, inout standard_metadata_t sm) { apply { } }",
    """control E(inout headers hdr, inout meta_t meta, inout standard_metadata_t sm) {
        apply {
            if (sm.instance_type == 0 && hdr.h.c == 0) { clone(CloneType.E2E, 2); }
            if (hdr.h.c == 1) { hdr.h.c = 2; recirculate_preserving_field_list(1); }
            if (sm.egress_rid == 2) { mark_to_drop(sm); }
        }
    }""",
)


def messages(loaded: ir.Program, packets: list[tuple[int, bytes]], *, batch: bool) -> list[list[bytes]]:
    """What both engines publish of the packets, under one random control plane."""
    published = []
    for kind in ("native", "python"):
        out: list[bytes] = []
        log = EventLog(5, out.append)
        log.follow(lambda: loaded)
        switch = NativeSwitch(loaded, outline=log) if kind == "native" else Switch(loaded, trace=log)
        RandomControl(switch, 7).fill()
        if batch:
            switch.process(PacketBatch.of(packets))
        else:
            for port, frame in packets:
                switch.process_one(port, frame)
        published.append(out)
    return published


def kinds(out: list[bytes]) -> set[EventType]:
    return {EventType(struct.unpack_from("<i", raw)[0]) for raw in out}


@pytest.mark.each
@pytest.mark.parametrize("name", [*STF, "switchgnn/v1model"])
def test_event_logs_of_programs(name: str) -> None:
    loaded = load(STF.get(name, p4_root() / f"{name}.p4"))
    native, python = messages(loaded, list(parsed_packets(loaded, Random(name), 40)), batch=True)
    assert native == python


@pytest.mark.each
@pytest.mark.parametrize("seed", range(8))
def test_event_logs_of_random_programs(seed: int) -> None:
    loaded = load_text(random_program(seed).text)
    native, python = messages(loaded, list(parsed_packets(loaded, Random(seed), 40)), batch=False)
    assert native == python


@pytest.mark.parametrize("batch", [True, False])
def test_every_way_of_a_packet(batch: bool) -> None:
    """Resubmitted, recirculated, cloned twice, sent to groups, dropped, and too short to be parsed."""
    frames = [bytes([a, b, 0, c]) for a in (0, 1) for b in range(4) for c in range(2)]
    native, python = messages(load_text(WAYS), [(n % 8, f) for n, f in enumerate([*frames, b"", b"\0"])], batch=batch)
    assert native == python
    assert kinds(native) >= {EventType.PACKET_IN, EventType.PACKET_OUT, EventType.CONDITION_EVAL}
    assert max(struct.unpack_from("<iQIQQQ", raw)[5] for raw in native) > 4


def test_nobody_who_listens_costs_nothing_but_numbers() -> None:
    loaded, out, listened = load(STF["unions"]), [], [False]
    log = EventLog(5, out.append, lambda: listened[0])
    log.follow(lambda: loaded)
    switch = NativeSwitch(loaded, outline=log)
    batch = PacketBatch.of([(1, bytes(64))] * 3)
    for heard in (False, True, False, True):
        listened[0] = heard
        out.clear()
        assert list(switch.process(batch)) == list(NativeSwitch(loaded).process(batch))
        assert bool(out) == heard
    assert {struct.unpack_from("<iQIQQQ", raw)[4] for raw in out} == {9, 10, 11}
    assert switch.stats.packets_in == 12


def test_an_event_log_keeps_the_native_engine(tmp_path: Path) -> None:
    out: list[bytes] = []
    log = EventLog(5, out.append)
    loaded = load(STF["unions"])
    log.follow(lambda: loaded)
    switch = SwitchMaker(trace=TraceSink(None, None, further=log))(loaded)
    assert switch.engine == "native"
    switch.process_one(1, bytes(64))
    assert kinds(out) >= {EventType.PACKET_IN, EventType.PARSER_EXTRACT}
    traced = SwitchMaker(trace=TraceSink(None, str(tmp_path / "traces"), further=log))(loaded)
    assert traced.engine == "python"
