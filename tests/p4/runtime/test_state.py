# SPDX-License-Identifier: Apache-2.0
"""State of the control plane: entries that are constant, deleted, modified; notifications and their receivers.

Oracle: look-ups of packets and of the control plane, which must agree. Each test kills a small change of the code that
the tests beside it let live.
"""

from __future__ import annotations

import pytest

from frames import mac
from offramp_base.p4rt.schema import v1
from offramp_base.p4rt.status import Code
from offramp_p4.runtime import arbitration, roles
from offramp_p4.state.match import Exact, Ternary
from offramp_p4.state.profile import ActionData
from offramp_p4.state.table import TableEntry
from p4_programs import program

TABLES = program(
    "sm.egress_spec = 1; mixed.apply(); masks.apply();",
    local="""
    action to(bit<9> port) { sm.egress_spec = port; }
    table mixed {
        key = { hdr.h.a: exact; } actions = { to; NoAction; }
        entries = { const 1: to(11); 2: to(12); }
    }
    table masks { key = { hdr.h.b: ternary; } actions = { to; NoAction; } }
    """,
)


def port(switch, a=0, b=0):
    ((out_port, _),) = switch.process_one(0, bytes([a, b, 0, 0]))
    return out_port


def to(number):
    return ActionData("I.to", (number,))


@pytest.fixture
def switch(make_switch):
    return make_switch(TABLES)


def test_clear_leaves_constant_entries(switch):
    table = switch.tables["I.mixed"]
    table.insert(TableEntry((Exact(3),), to(13)))
    assert [port(switch, a) for a in range(4)] == [1, 11, 12, 13]
    table.clear()
    assert [port(switch, a) for a in range(4)] == [1, 11, 1, 1]
    assert [e.const for e in table.entries] == [True]
    table.insert(TableEntry((Exact(3),), to(23)))
    assert port(switch, 3) == 23


def test_a_deleted_ternary_entry_is_found_no_more(switch):
    table = switch.tables["I.masks"]
    for number, (value, mask, priority) in enumerate([(1, 0xFF, 30), (1, 0x0F, 20), (0, 0, 10), (1, 0x03, 20)]):
        table.insert(TableEntry((Ternary(value, mask),), to(20 + number), priority))
    assert port(switch, b=1) == 20  # the structures of the look-up are built now
    table.delete((Ternary(1, 0xFF),), 30)
    assert port(switch, b=1) == 21
    table.delete((Ternary(1, 0x0F),), 20)
    assert port(switch, b=1) == 23
    table.delete((Ternary(1, 0x03),), 20)
    assert port(switch, b=1) == 22
    table.delete((Ternary(0, 0),), 10)
    assert port(switch, b=1) == 1
    assert not len(table)


def test_modify_replaces_metadata_too(lab):
    session = lab.session
    entry = session.table_entry("flows", {"hdr.ethernet.dst": mac(1)}, "to", {"port": 2})
    entry.table_entry.metadata = b"first"
    session.insert([entry])
    entry.table_entry.metadata = b"second"
    session.modify([entry])
    assert [e.metadata for e in session.read_table("flows")] == [b"second"]
    entry.table_entry.metadata = b""
    session.modify([entry])
    assert [e.metadata for e in session.read_table("flows")] == [b""]


def test_the_primary_is_told_last():
    """By the time the notice reaches the new primary, no other client still takes itself for the primary."""
    heard: list[tuple[str, int]] = []
    seats = arbitration.Arbitration(0)

    def controller(name):
        return arbitration.Controller(lambda message: heard.append((name, message.arbitration.status.code)))

    def bids(who, number):
        update = v1.MasterArbitrationUpdate()
        update.election_id.low = number
        seats.update(who, update)

    first, second, third = controller("first"), controller("second"), controller("third")
    bids(first, 5)
    bids(second, 3)
    heard.clear()
    bids(third, 4)
    assert heard == [("third", Code.ALREADY_EXISTS)]
    heard.clear()
    bids(second, 9)  # stands between the others in the list
    assert heard == [("first", Code.ALREADY_EXISTS), ("third", Code.ALREADY_EXISTS), ("second", Code.OK)]
    heard.clear()
    bids(first, 11)  # stands first
    assert [name for name, _ in heard] == ["second", "third", "first"]


def metadata(**values):
    return [v1.PacketMetadata(metadata_id=int(number[1:]), value=value) for number, value in values.items()]


@pytest.mark.parametrize(
    ("wanted", "takes"),
    [
        (None, [False, False, False]),
        ((), [True, True, True]),
        ((1, b"\x05"), [True, False, False]),
        ((2, b"\x05"), [False, True, False]),
        ((3, b"\x05"), [False, False, False]),
    ],
)
def test_packet_in_filters_look_at_field_and_value(wanted, takes):
    role = roles.Role(packet_in=wanted)
    packets = [metadata(_1=b"\x05", _2=b"\x06"), metadata(_1=b"\x06", _2=b"\x05"), metadata(_1=b"\x06", _2=b"\x07")]
    assert [role.takes_packet(packet) for packet in packets] == takes


def test_an_evicted_controller_is_nobody():
    seats = arbitration.Arbitration(0)
    seats.max_controllers = 2
    ended = []

    def enter(number, role=""):
        controller = arbitration.Controller(lambda _: None, ended.append)
        update = v1.MasterArbitrationUpdate()
        update.role.name = role
        if number is not None:
            update.election_id.low = number
        seats.update(controller, update)
        return controller

    idle, role_primary = enter(None), enter(1, "x")
    primary = enter(7)
    assert [error.code for error in ended] == [Code.RESOURCE_EXHAUSTED]
    assert not seats.is_primary(idle)
    assert seats.is_primary(primary)
    seats.leave(idle)  # twice is once
    assert enter(8)
    assert not seats.is_primary(role_primary)
    assert seats.is_primary(primary) is False
    with pytest.raises(Exception, match="more than 2 open streams"):
        enter(2)
    assert [c for c, _ in seats.primaries()] != [primary]
