# SPDX-License-Identifier: Apache-2.0
"""The packet generator's tables: what is written is what it does, in the device's time."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import pytest

from bfrt_requests import Requests, refused
from offramp_base.wire.batch import PacketBatch
from offramp_p4 import make_switch
from offramp_p4.frontend import load_pushed
from offramp_p4.runtime.device import P4Device
from offramp_p4_tools.bfrt.service import BfrtService
from tna_programs import packet, tna

pytestmark = pytest.mark.p4

PROGRAM = """
    tm.bypass_egress = 1;
    if (ig.ingress_port == 68 && hdr.h.a != 0xAB) { tm.ucast_egress_port = 9; }
    else if (ig.ingress_port != 68) { tm.ucast_egress_port = 68; }
    else { tm.ucast_egress_port = 3; }
"""
PAYLOAD = list(range(40, 60))
APP, BUFFER, PORT = "tf1.pktgen.app_cfg", "tf1.pktgen.pkt_buffer", "tf1.pktgen.port_cfg"


@pytest.fixture(scope="module")
def program():
    return load_pushed(tna(PROGRAM), "generator.p4")


@pytest.fixture
def bed(program, engine: str, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A device whose clock the test moves, with a generator whose port is open and whose buffer is filled."""
    clock = SimpleNamespace(now_us=0)
    monkeypatch.setattr(P4Device, "now_ns", property(lambda _: clock.now_us * 1000))
    clock.device = P4Device(0, partial(make_switch, engine=engine))
    clock.device.load(program)
    clock.client = c = Requests(BfrtService(clock.device))

    def left(now_us: int, *frames: tuple[int, bytes]) -> list[tuple[int, bytes]]:
        clock.now_us = now_us
        return list(clock.device.process(PacketBatch.of(frames)))

    clock.left = left
    c.modify(PORT, {"dev_port": 68}, pktgen_enable=True)
    c.modify(BUFFER, {"pkt_buffer_offset": 160, "pkt_buffer_size": len(PAYLOAD)}, buffer=PAYLOAD)
    return clock


def app(number: int) -> dict[str, int]:
    return {"app_id": number}


def configure(c: Requests, number: int, trigger: str, **more: int) -> None:
    counts = {"trigger_counter": 0, "batch_counter": 0, "pkt_counter": 0}
    c.modify(APP, app(number), trigger, pkt_len=len(PAYLOAD), pkt_buffer_offset=160, **counts, **more)


def frames(number: int, note: int, packets: int) -> list[tuple[int, bytes]]:
    return [
        (9, bytes([number]) + note.to_bytes(3, "big") + i.to_bytes(2, "big") + bytes(PAYLOAD)) for i in range(packets)
    ]


@pytest.mark.full
def test_what_is_written_can_be_read(bed: SimpleNamespace) -> None:
    c = bed.client
    assert c.get(BUFFER, {"pkt_buffer_offset": 160, "pkt_buffer_size": 20})[0]["buffer"] == PAYLOAD
    given = c.entry(BUFFER, {"pkt_buffer_offset": 32, "pkt_buffer_size": 3})
    given.data.fields.add(field_id=1).stream = b"abc"  # as the SDE's client has it
    c.write("MODIFY", given)
    assert c.get(BUFFER, {"pkt_buffer_offset": 32, "pkt_buffer_size": 3})[0]["buffer"] == list(b"abc")
    (port,) = c.get(PORT, {"dev_port": 68})
    names = ("recirculation_enable", "pktgen_enable", "pattern_matching_enable")
    assert [port[name] for name in names] == [True, True, False]
    configure(c, 3, "trigger_timer_periodic", timer_nanosec=5000, batch_count_cfg=2, packets_per_batch_cfg=3, ibg=7)
    (read,) = c.get(APP, app(3))
    given = {"timer_nanosec": 5000, "batch_count_cfg": 2, "packets_per_batch_cfg": 3, "ibg": 7, "pkt_len": 20}
    assert read | given | {"action": "trigger_timer_periodic", "app_enable": False} == read
    assert len(c.get(APP)) == 8
    c.delete(APP)
    assert c.get(APP, app(3))[0]["action"] == "trigger_timer_one_shot"


def test_a_timer_in_the_devices_time(bed: SimpleNamespace) -> None:
    c = bed.client
    configure(c, 2, "trigger_timer_periodic", timer_nanosec=50_000, packets_per_batch_cfg=1)
    bed.now_us = 100
    c.modify(APP, app(2), app_enable=True)
    assert bed.device.due_s == pytest.approx(50e-6)
    assert bed.left(149) == []
    assert bed.left(250) == frames(2, 0, 2) * 3
    read = c.get(APP, app(2))[0]
    assert [read[name] for name in ("trigger_counter", "batch_counter", "pkt_counter")] == [3, 3, 6]
    c.modify(APP, app(2), app_enable=False)
    assert bed.left(1000) == []
    assert bed.device.due_s is None


def test_a_recirculated_packet(bed: SimpleNamespace) -> None:
    c = bed.client
    c.modify(PORT, {"dev_port": 68}, pattern_matching_enable=True)
    pattern = {"pattern_value": 0xAB000007, "pattern_mask": 0xFFFF00FF}
    configure(c, 1, "trigger_recirc_pattern", packets_per_batch_cfg=2, app_enable=True, **pattern)
    sent = packet(a=0xAB, c=0x5507)
    assert bed.left(5, (0, sent), (0, packet(a=0xAB, c=8))) == [
        (3, sent),
        (3, packet(a=0xAB, c=8)),
        *frames(1, 0x005507, 3),
    ]


def test_a_port_that_is_disabled_or_loses_its_link(bed: SimpleNamespace) -> None:
    c = bed.client
    configure(c, 6, "trigger_port_down", app_enable=True)
    for port in (11, 12):
        c.insert("$PORT", {"$DEV_PORT": port}, SPEED="BF_SPEED_100G", PORT_ENABLE=True)
    c.modify("$PORT", {"$DEV_PORT": 11}, PORT_ENABLE=False)  # it is not watched
    assert bed.left(1) == []
    for port in (11, 12):
        c.modify(PORT, {"dev_port": port}, clear_port_down_enable=True)
        c.modify("$PORT", {"$DEV_PORT": port}, PORT_ENABLE=True)
    c.modify("$PORT", {"$DEV_PORT": 11}, PORT_ENABLE=False)
    assert bed.left(2) == frames(6, 11, 1)
    bed.device.set_links({12: False})
    assert bed.left(3) == frames(6, 12, 1)
    bed.device.set_links({12: True})
    bed.device.set_links({12: False})
    assert bed.left(4) == []


def test_refused(bed: SimpleNamespace) -> None:
    c = bed.client
    wrong = "INVALID_ARGUMENT"
    assert refused(lambda: c.modify(APP, app(8), "trigger_port_down")) == "NOT_FOUND"
    assert refused(lambda: c.modify(APP, app(0), "trigger_timer_one_shot")) == wrong
    assert refused(lambda: c.modify(APP, app(0), "trigger_recirc_pattern", pattern_value=1)) == wrong
    assert refused(lambda: c.modify(APP, app(0), pkt_len=3)) == wrong
    assert refused(lambda: c.modify(APP, app(0), ipg_jitter=3)) == "UNIMPLEMENTED"
    assert refused(lambda: c.modify(PORT, {"dev_port": 67}, pktgen_enable=True)) == wrong
    assert refused(lambda: c.modify(PORT, {"dev_port": 300}, clear_port_down_enable=True)) == wrong
    assert refused(lambda: c.modify(PORT, {"dev_port": 4}, recirculation_enable=True)) == "UNIMPLEMENTED"
    part = {"pkt_buffer_offset": 16376, "pkt_buffer_size": 20}
    assert refused(lambda: c.modify(BUFFER, part, buffer=PAYLOAD)) == wrong
    assert refused(lambda: c.modify(BUFFER, {**part, "pkt_buffer_offset": 0}, buffer=[1])) == wrong
