# SPDX-License-Identifier: Apache-2.0
"""Golden error messages of the embedded switch: what a controller sees when an update is wrong."""

from __future__ import annotations

import pytest

from frames import mac
from offramp_base.p4rt.schema import v1
from offramp_base.p4rt.status import Code, RpcError


@pytest.fixture(autouse=True)
def _ours(target):
    target.require("our error messages")


def refusal(session, update):
    with pytest.raises(RpcError) as failure:
        session.write([update])
    (error,) = failure.value.errors
    return Code(error.canonical_code).name, error.message


def insert(entity):
    return v1.Update(type=v1.Update.INSERT, entity=entity)


CASES = {
    "value too wide": (
        lambda e: setattr(e.match[0].exact, "value", b"\x01" * 7),
        "INVALID_ARGUMENT",
        "table IngressImpl.mac, key hdr.ethernet.dst: 0x1010101010101 does not fit 48 bits",
    ),
    "empty value": (
        lambda e: setattr(e.match[0].exact, "value", b""),
        "INVALID_ARGUMENT",
        "table IngressImpl.mac, key hdr.ethernet.dst: an empty byte string is not a value",
    ),
    "key missing": (
        lambda e: e.ClearField("match"),
        "INVALID_ARGUMENT",
        "table IngressImpl.mac, key hdr.ethernet.dst is missing: an exact match has no don't-care",
    ),
    "unknown field": (
        lambda e: setattr(e.match[0], "field_id", 9),
        "INVALID_ARGUMENT",
        "table IngressImpl.mac has no match field with id 9",
    ),
    "wrong match kind": (
        lambda e: e.match[0].ternary.SetInParent(),
        "INVALID_ARGUMENT",
        "table IngressImpl.mac, key hdr.ethernet.dst: expected a match of kind exact, got ternary",
    ),
    "unknown table": (
        lambda e: setattr(e, "table_id", 0x02000001),
        "INVALID_ARGUMENT",
        "no table has id 0x02000001",
    ),
    "unknown action": (
        lambda e: setattr(e.action.action, "action_id", 0x01000001),
        "INVALID_ARGUMENT",
        "no action has id 0x01000001",
    ),
    "no action": (
        lambda e: e.ClearField("action"),
        "INVALID_ARGUMENT",
        "table IngressImpl.mac: expected an action, got none",
    ),
    "parameter missing": (
        lambda e: e.action.action.ClearField("params"),
        "INVALID_ARGUMENT",
        "action IngressImpl.forward takes 1 parameters, got 0",
    ),
    "parameter too wide": (
        lambda e: setattr(e.action.action.params[0], "value", b"\x02\x00"),
        "INVALID_ARGUMENT",
        "action IngressImpl.forward, parameter port: 0x200 does not fit 9 bits",
    ),
    "priority": (
        lambda e: setattr(e, "priority", 3),
        "INVALID_ARGUMENT",
        "table IngressImpl.mac: exact and lpm entries have priority 0, got 3",
    ),
    "constness": (
        lambda e: setattr(e, "is_const", True),
        "INVALID_ARGUMENT",
        "table IngressImpl.mac: is_const cannot be written",
    ),
    "time-out": (
        lambda e: setattr(e, "idle_timeout_ns", 5),
        "INVALID_ARGUMENT",
        "table IngressImpl.mac has no idle time-out",
    ),
    "no direct counter": (
        lambda e: e.counter_data.SetInParent(),
        "INVALID_ARGUMENT",
        "table IngressImpl.mac has no direct counter",
    ),
    "member of no profile": (
        lambda e: setattr(e.action, "action_profile_member_id", 5),
        "INVALID_ARGUMENT",
        "table IngressImpl.mac: expected an action, got action_profile_member_id",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_table_entry(session, case):
    spoil, code, message = CASES[case]
    entity = session.table_entry("mac", {"hdr.ethernet.dst": mac(1)}, "forward", {"port": 1})
    spoil(entity.table_entry)
    assert refusal(session, insert(entity)) == (code, message)
    assert session.read_table("mac") == []


def test_entry_that_is_not_there(session):
    entity = session.table_entry("mac", {"hdr.ethernet.dst": mac(1)}, "drop")
    for kind in (v1.Update.MODIFY, v1.Update.DELETE):
        code, message = refusal(session, v1.Update(type=kind, entity=entity))
        assert (code, message) == ("NOT_FOUND", "table IngressImpl.mac: no entry with this match")


def test_full_table(session):
    session.insert(session.table_entry("mac", {"hdr.ethernet.dst": mac(i)}, "drop") for i in range(2048))
    one_more = session.table_entry("mac", {"hdr.ethernet.dst": mac(2048)}, "drop")
    assert refusal(session, insert(one_more)) == (
        "RESOURCE_EXHAUSTED",
        "table IngressImpl.mac holds at most 2048 entries",
    )


def test_ternary_rules(session):
    def acl(**match):
        entity = session.table_entry("acl", {"hdr.ethernet.src": (1, 1)}, "drop", priority=1)
        for name, value in match.items():
            setattr(entity.table_entry.match[0].ternary, name, value)
        return insert(entity)

    what = "table IngressImpl.acl, key hdr.ethernet.src"
    assert refusal(session, acl(value=b"\x03")) == (
        "INVALID_ARGUMENT",
        f"{what}: 0x3 has bits outside its mask 0x1",
    )
    assert refusal(session, acl(value=b"\0", mask=b"\0")) == (
        "INVALID_ARGUMENT",
        f"{what}: the mask is 0 (leave out a don't-care)",
    )
    no_priority = session.table_entry("acl", {}, "drop")
    assert refusal(session, insert(no_priority)) == (
        "INVALID_ARGUMENT",
        "table IngressImpl.acl: priority must be above 0, got 0",
    )


def test_lpm_rules(session):
    entity = session.table_entry("routes", {"hdr.ipv4.dst": (0x0A000000, 8)}, "drop")
    entity.table_entry.match[0].lpm.value = b"\x0a\0\0\x01"
    assert refusal(session, insert(entity)) == (
        "INVALID_ARGUMENT",
        "table IngressImpl.routes, key hdr.ipv4.dst: 0xa000001 has bits beyond its prefix of 8",
    )
    entity.table_entry.match[0].lpm.prefix_len = 33
    assert refusal(session, insert(entity)) == (
        "INVALID_ARGUMENT",
        "table IngressImpl.routes, key hdr.ipv4.dst: prefix length 33 is outside 1..32 (leave out a don't-care)",
    )


def test_default_actions(session):
    const = session.make.default_entry("acl", "drop")
    assert refusal(session, v1.Update(type=v1.Update.MODIFY, entity=const)) == (
        "PERMISSION_DENIED",
        "table IngressImpl.acl: the default action is const",
    )
    plain = session.make.default_entry("mac", "drop")
    assert refusal(session, insert(plain)) == (
        "INVALID_ARGUMENT",
        "table IngressImpl.mac: the default entry can only be modified",
    )
    scoped = session.table_entry("acl", {}, "NoAction", priority=1)
    assert refusal(session, insert(scoped)) == (
        "PERMISSION_DENIED",
        "table IngressImpl.acl: action NoAction is not allowed in entries",
    )


def test_what_is_not_offered_is_named(session):
    extern = v1.Entity(extern_entry=v1.ExternEntry(extern_type_id=1))
    assert refusal(session, insert(extern)) == ("INVALID_ARGUMENT", "no extern type has id 0x1")
    assert refusal(session, insert(v1.Entity())) == ("INVALID_ARGUMENT", "the entity is empty")
    counter = session.make.counter("marked", 0)
    assert refusal(session, insert(counter)) == (
        "INVALID_ARGUMENT",
        "counter IngressImpl.marked can only be modified",
    )
    with pytest.raises(RpcError, match=r"INVALID_ARGUMENT: .*atomicity 7 is unknown"):
        session._call("Write", v1.WriteRequest(election_id=session._election(), atomicity=7, updates=[]))


def test_backup_replicas_are_checked(session):
    group = session.make.multicast_group(1, [(1, 1)])
    entry = group.packet_replication_engine_entry.multicast_group_entry
    entry.replicas[0].backup_replicas.add(port=b"\x01", instance=2)
    assert refusal(session, insert(group)) == (
        "INVALID_ARGUMENT",
        "multicast group 1: a backup replica has the port 1 of its replica",
    )
    entry.replicas.add(port=b"\x02", instance=1)
    del entry.replicas[0].backup_replicas[:]
    entry.replicas[0].backup_replicas.add(port=b"\x02", instance=1)
    assert refusal(session, insert(group)) == (
        "INVALID_ARGUMENT",
        "multicast group 1: two replicas have the same port and instance",
    )


def test_reads_say_what_was_wrong(session):
    wanted = [v1.Entity(table_entry=v1.TableEntry()), v1.Entity(), session.make.counter("marked", 99)]
    with pytest.raises(RpcError) as failure:
        list(session.read(wanted))
    assert [Code(e.canonical_code).name for e in failure.value.errors] == [
        "OK",
        "INVALID_ARGUMENT",
        "OUT_OF_RANGE",
    ]
    assert failure.value.errors[2].message == "counter IngressImpl.marked: index 99 is outside 0..7"


def test_names_are_checked_before_anything_is_sent(session):
    for call, message in [
        (lambda: session.table_entry("macc", {}), "no table 'macc' in the pipeline; did you mean 'mac'?"),
        (
            lambda: session.table_entry("mac", {"dst": 1}),
            "IngressImpl.mac has no key 'dst'; it has hdr.ethernet.dst",
        ),
        (
            lambda: session.table_entry("mac", {}, "forward", {"p": 1}),
            "IngressImpl.forward has no parameter 'p'; it has port",
        ),
    ]:
        with pytest.raises(Exception, match=r".") as failure:
            call()
        assert str(failure.value) == message
