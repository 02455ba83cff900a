# SPDX-License-Identifier: Apache-2.0
"""PSA and PNA over P4Runtime, on both engines: ports, direct objects, groups, digests, packet I/O, learnt entries."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from offramp_base.p4rt.schema import config, v1
from offramp_p4.frontend import load
from offramp_p4.runtime.p4info import generate
from p4rt_lab import CPU_PORT, DELETE, INSERT, MODIFY, Lab

pytestmark = pytest.mark.p4

FOLDER = Path(__file__).parent


def mac(dst: int, src: int = 0, kind: int = 0x800) -> bytes:
    return dst.to_bytes(6, "big") + src.to_bytes(6, "big") + kind.to_bytes(2, "big")


@pytest.fixture
def lab(engine: str) -> Iterator[Lab]:
    opened = Lab(engine, FOLDER / "control.p4")
    yield opened
    opened.close()


def test_entries_forward_count_and_meter(lab: Lab) -> None:
    entry = lab.session.table_entry("In.known", {"h.mac.dst": 1}, "In.forward", {"port": 3})
    entry.table_entry.meter_config.cir, entry.table_entry.meter_config.cburst = 1, 1
    entry.table_entry.meter_config.pir, entry.table_entry.meter_config.pburst = 1, 2
    lab.write((INSERT, entry))
    frame = mac(1)
    assert lab.packets(2, frame, frame, frame) == [(3, frame), (3, frame)]
    (read,) = lab.session.read_table("In.known")
    assert read.action.action.params[0].value == b"\x03"
    (counted,) = lab.read(
        direct_counter_entry=v1.DirectCounterEntry(table_entry=v1.TableEntry(table_id=entry.table_entry.table_id))
    )
    assert (counted.data.packet_count, counted.data.byte_count) == (3, 42)
    assert lab.session.read_counter("In.arrivals", 2) == {2: (3, 42)}
    assert lab.session.read_register("In.kinds") == {0: 7, 1: 8, 2: 7, 3: 7}


def test_groups(lab: Lab) -> None:
    lab.session.multicast_group(5, [(1, 0), (4, 1)])
    lab.write((INSERT, lab.session.table_entry("In.known", {"h.mac.dst": 9}, "In.flood", {"group": 5})))
    assert lab.packets(2, mac(9)) == [(1, mac(9)), (4, mac(9))]


def test_packets_to_and_from_the_controller(lab: Lab) -> None:
    digest = lab.device.pipeline.info.digests[0].preamble.id  # type: ignore[union-attr]
    lab.write((INSERT, v1.Entity(digest_entry=v1.DigestEntry(
        digest_id=digest, config=v1.DigestEntry.Config(max_list_size=1)
    ))))  # fmt: skip
    assert lab.packets(2, mac(7, src=8)) == []
    assert lab.session.packet_in(5.0) == (mac(7, src=8), {"port": 2})
    listed = lab.session.digest_list(5.0)
    assert listed is not None
    assert [m.bitstring for m in listed.data[0].struct.members] == [b"\x08", b"\x02"]
    lab.session.packet_out(mac(1), {"port": 6})
    end = time.monotonic() + 10
    while not lab.sent and time.monotonic() < end:
        time.sleep(0.001)
    assert lab.sent == [(6, mac(1))]
    assert lab.device.pipeline is not None
    assert lab.device.pipeline.switch.cpu_port == CPU_PORT


def test_a_selector_spreads_by_its_keys(lab: Lab) -> None:
    profile = next(p for p in lab.device.pipeline.info.action_profiles)  # type: ignore[union-attr]
    number = profile.preamble.id
    for member, port in ((1, 4), (2, 5)):
        action = lab.session.make.action("In.uplink", {"port": port})
        lab.write((INSERT, v1.Entity(action_profile_member=v1.ActionProfileMember(
            action_profile_id=number, member_id=member, action=action
        ))))  # fmt: skip
    group = v1.ActionProfileGroup(action_profile_id=number, group_id=1, max_size=4)
    for member in (1, 2):
        group.members.add(member_id=member, weight=1)
    lab.write((INSERT, v1.Entity(action_profile_group=group)))
    table = next(t for t in lab.device.pipeline.info.tables if t.preamble.name == "In.balanced")  # type: ignore[union-attr]
    entry = v1.TableEntry(table_id=table.preamble.id, priority=1)
    entry.action.action_profile_group_id = 1
    lab.write((INSERT, v1.Entity(table_entry=entry)))
    out = lab.packets(2, *(mac(1, src, 0xFFFF) for src in range(40)))
    assert {port for port, _ in out} == {4, 5}
    again = lab.packets(3, *(mac(1, src, 0xFFFF) for src in range(40)))
    assert [port for port, _ in again] == [port for port, _ in out]


def test_the_description_is_p4cs() -> None:
    info = generate(load(FOLDER / "control.p4"))
    assert info.pkg_info.arch == "psa"
    port = info.type_info.new_types["PortId_t"].translated_type
    assert (port.uri, port.sdn_bitwidth) == ("p4.org/psa/v1/PortId_t", 32)
    known = next(t for t in info.tables if t.preamble.name == "In.known")
    assert len(known.direct_resource_ids) == 2
    assert info.direct_counters[0].spec.unit == info.direct_counters[0].spec.BOTH
    assert info.counters[0].index_type_name.name == "PortId_t"
    assert (info.counters[0].size, info.registers[0].size) == (4, 4)
    assert info.action_profiles[0].with_selector
    assert [d.preamble.name for d in info.digests] == ["InDeparse.heard"]


@pytest.fixture
def card(engine: str) -> Iterator[Lab]:
    opened = Lab(engine, FOLDER / "pna.p4")
    yield opened
    opened.close()


def test_a_controller_reads_changes_and_removes_what_packets_have_learnt(card: Lab) -> None:
    learn, hit = (bytes([kind, 7, 0, 0]) + (4).to_bytes(4, "big") for kind in (1, 0))
    assert [port for port, _ in card.packets(0, learn, hit, hit)] == [1, 4, 4]
    (entry,) = card.session.read_table("Main.flows")
    assert (entry.match[0].exact.value, entry.action.action.params[0].value) == (b"\x07", b"\x04")
    (counted,) = card.read(
        direct_counter_entry=v1.DirectCounterEntry(table_entry=v1.TableEntry(table_id=entry.table_id))
    )
    assert counted.data.packet_count == 2
    again = card.session.table_entry("Main.flows", {"flow": 7}, "Main.forward", {"port": 9})
    assert card.refusal((INSERT, again))[0] == "ALREADY_EXISTS"
    card.write((MODIFY, again))
    assert [port for port, _ in card.packets(0, hit)] == [9]
    card.write((DELETE, again))
    assert card.packets(0, hit) == []
    assert list(card.session.read_table("Main.flows")) == []


def test_packets_to_a_cards_controller(card: Lab) -> None:
    to_cpu = bytes([1, 7, 0, 0, 0xFF, 0xFF, 0xFF, 0xFD])
    assert [port for port, _ in card.packets(0, to_cpu)] == [1]
    assert card.packets(0, to_cpu) == []
    assert card.session.packet_in(5.0) is not None


def test_pnas_description() -> None:
    info = generate(load(FOLDER / "pna.p4"))
    (table,) = info.tables
    assert info.pkg_info.arch == "pna"
    assert table.idle_timeout_behavior == config.Table.NOTIFY_CONTROL
    assert table.match_fields[0].name == "flow"
    assert info.direct_counters[0].direct_table_id == table.preamble.id
