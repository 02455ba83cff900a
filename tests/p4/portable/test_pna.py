# SPDX-License-Identifier: Apache-2.0
"""PNA: the cache of flows with its timers, directions, passes, mirrors, and bmv2's version of the architecture."""

from __future__ import annotations

from pathlib import Path

import pytest

from both_engines import MakeSwitch
from offramp_base.errors import OfframpError
from offramp_p4 import PlainSwitch
from offramp_p4.frontend import load
from offramp_p4.portable.hashing import toeplitz
from offramp_p4.state import ActionData, CloneSession, Exact, Replica, TableEntry

pytestmark = pytest.mark.p4

PROGRAM = load(Path(__file__).with_name("pna.p4"))
LEARN, RESTART, PROFILE, MIRROR, DECRYPT = 1, 2, 3, 4, 0xEE
SECOND = 1_000_000


def order(kind: int, flow: int = 7, profile: int = 0, passes: int = 0, port: int = 4) -> bytes:
    return bytes([kind, flow, profile, passes]) + port.to_bytes(4, "big")


def note(direction: int = 0, number: int = 0, flow: int = 0) -> bytes:
    return bytes([direction, number]) + flow.to_bytes(4, "big")


@pytest.fixture
def card(make_switch: MakeSwitch) -> PlainSwitch:
    return make_switch(PROGRAM, host_ports=[3])


def flows(card: PlainSwitch) -> list[int]:
    return [entry.keys[0].value for entry in card.tables["Main.flows"].entries]  # type: ignore[union-attr]


def test_a_miss_adds_the_entry_that_the_next_packet_hits(card: PlainSwitch) -> None:
    assert card.process_one(0, order(0)) == []  # not asked to learn
    assert card.process_one(0, order(LEARN)) == [(1, order(LEARN) + note(flow=1))]
    assert card.process_one(0, order(0) + b"x") == [(4, order(0) + note() + b"x")]
    (entry,) = card.tables["Main.flows"].entries
    assert (entry.action, entry.packets) == (ActionData("Main.forward", (4,)), 1)


def test_a_full_table_adds_nothing(card: PlainSwitch) -> None:
    sent = [card.process_one(0, order(LEARN, flow)) for flow in range(3)]
    assert [len(frames) for frames in sent] == [1, 1, 0]
    assert flows(card) == [0, 1]


def test_a_flow_is_one_in_both_directions(card: PlainSwitch) -> None:
    card.process_one(0, order(LEARN, 6))
    assert card.process_one(3, order(0, 7)) == [(4, order(0, 7) + note(direction=1))]
    assert card.process_one(0, order(0, 7)) == []


def test_entries_expire_unless_the_program_restarts_their_time(card: PlainSwitch) -> None:
    """Profile 0 is 10 s, profile 1 is 30 s; a plain hit changes nothing."""

    def at(seconds: float, kind: int, profile: int = 0) -> bool:
        card.now_us = int(seconds * SECOND)
        return bool(card.process_one(0, order(kind, profile=profile)))

    assert [at(0, LEARN), at(9, 0), at(9.999_999, 0), at(10, 0)] == [True, True, True, False]
    assert flows(card) == []
    assert [at(20, LEARN), at(29, RESTART), at(38.9, 0), at(39, 0)] == [True, True, True, False]
    assert [at(40, LEARN), at(45, PROFILE, 1), at(74.9, 0), at(75, 0)] == [True, True, True, False]
    card.process_one(0, order(LEARN))
    card.reset()
    assert flows(card) == []


def test_an_entry_has_few_timers_however_often_its_time_changes(card: PlainSwitch) -> None:
    card.process_one(0, order(LEARN))
    for number in range(200):
        card.now_us = number
        card.process_one(0, order(PROFILE, profile=number & 1))
    flows = card._objects.flows  # type: ignore[union-attr]
    assert flows.timers <= 3
    card.now_us = 31 * SECOND
    assert card.process_one(0, order(0)) == []


def test_what_a_controller_has_removed_does_not_expire_again(card: PlainSwitch) -> None:
    card.process_one(0, order(LEARN))
    table = card.tables["Main.flows"]
    table.delete((Exact(7),))
    table.insert(TableEntry((Exact(7),), ActionData("Main.forward", (9,))))
    card.now_us = 100 * SECOND
    assert card.process_one(0, order(0)) == [(9, order(0) + note())]


def test_recirculation_counts_passes(card: PlainSwitch) -> None:
    card.process_one(0, order(LEARN))
    ((port, frame),) = card.process_one(0, order(0, passes=2))
    assert (port, frame) == (4, order(0) + note(number=2))
    assert (card.stats.recirculations, card.stats.passes) == (2, 4)


def test_mirrors_are_copies_of_what_leaves(card: PlainSwitch) -> None:
    card.pre.clones[5] = CloneSession((Replica(8, 0),), packet_length=9)
    asked = order(MIRROR)
    assert card.process_one(0, asked) == [(8, (asked + note(flow=0))[:9])]  # dropped, and mirrored all the same
    card.process_one(0, order(LEARN))
    assert [port for port, _ in card.process_one(0, asked)] == [8, 4]


def test_nothing_here_decrypts(card: PlainSwitch) -> None:
    assert card.process_one(0, order(DECRYPT)) == []
    assert card.stats.dropped == 1


BMV2 = """
#include <core.p4>
#include <bmv2/pna.p4>
header h_t { bit<8> from_host; bit<8> again; bit<8> status; bit<8> flow; }
struct headers_t { h_t h; }
struct meta_t { }
struct none_t { }
parser Parse(packet_in p, out headers_t h, inout meta_t m, in pna_main_parser_input_metadata_t istd) {
    state start { p.extract(h.h); transition accept; }
}
control Main(inout headers_t h, inout meta_t m, in pna_main_input_metadata_t istd,
             inout pna_main_output_metadata_t ostd) {
    action known() { }
    action miss() { h.h.status = (bit<8>)add_entry_if(h.h.flow != 0, "known", (none_t){}, (ExpireTimeProfileId_t)8w0); }
    table flows { key = { h.h.flow : exact; } actions = { known; miss; } default_action = miss; add_on_miss = true; }
    apply {
        flows.apply();
        h.h.from_host = is_host_port(istd.input_port) ? 8w1 : 8w0;
        h.h.again = istd.recirculated ? 8w1 : 8w0;
        send_to_port(istd.input_port);
    }
}
control Deparse(packet_out p, inout headers_t h, in meta_t m, in pna_main_output_metadata_t ostd) {
    apply { p.emit(h); }
}
PNA_NIC(Parse(), Main(), Deparse()) main;
"""


def test_bmv2s_version_has_sources_and_a_status(make_switch: MakeSwitch) -> None:
    card = make_switch(BMV2, host_ports=[2])
    assert card.process_one(2, b"\0\0\xff\x05") == [(2, b"\1\0\0\x05")]
    assert card.process_one(1, b"\0\0\xff\x05") == [(1, b"\0\0\xff\x05")]  # hit
    assert card.process_one(1, b"\0\0\xff\0") == [(1, b"\0\0\1\0")]  # not asked to add


def test_a_packet_adds_the_key_that_it_has_missed(make_switch: MakeSwitch) -> None:
    """The key is evaluated once: here it is another number each time."""
    card = make_switch(BMV2.replace("h.h.flow : exact", '(FlowIdUint_t)allocate_flow_id() : exact @name("id")'))
    for _ in range(3):
        card.process_one(1, b"\0\0\xff\x05")
    assert [entry.keys for entry in card.tables["Main.flows"].entries] == [(Exact(n),) for n in range(3)]


def test_a_table_that_learns_has_exact_keys(make_switch: MakeSwitch) -> None:
    with pytest.raises(OfframpError, match="add_on_miss and keys that are not exact"):
        make_switch(BMV2.replace("h.h.flow : exact", "h.h.flow : ternary"))


def test_toeplitz_is_microsofts() -> None:
    """Two of the suite's IPv4 vectors: addresses and ports, source first."""
    sent = bytes([66, 9, 149, 187, 161, 142, 100, 80]) + (2794).to_bytes(2, "big") + (1766).to_bytes(2, "big")
    assert (toeplitz(sent), toeplitz(sent[:8])) == (0x51CCC178, 0x323E8FC2)
