# SPDX-License-Identifier: Apache-2.0
"""Direct counters and meters, default entries, const entries, wildcard reads (sections 9.1, 9.3, 9.4)."""

from __future__ import annotations

import pytest

from frames import ethernet, mac
from offramp_base.p4rt.schema import v1
from offramp_base.p4rt.status import Code, RpcError
from p4rt_lab import DELETE, INSERT, MODIFY

FRAME = ethernet(dst=1)


def flow(lab, number=1, action="to", **data):
    entity = lab.session.table_entry(
        "flows", {"hdr.ethernet.dst": mac(number)}, action, {"port": 2} if action == "to" else {}
    )
    if data:
        entity.table_entry.counter_data.CopyFrom(v1.CounterData(**data))
    return entity


def counted(lab, key):
    """Packets and bytes in the direct counter of an entry, read in both ways."""
    wanted = v1.TableEntry()
    wanted.CopyFrom(key)
    wanted.counter_data.SetInParent()
    (entry,) = lab.read(table_entry=wanted)
    (direct,) = lab.read(direct_counter_entry=v1.DirectCounterEntry(table_entry=key))
    assert entry.counter_data == direct.data
    return direct.data.packet_count, direct.data.byte_count


def default(lab):
    return lab.session.make.default_entry("flows").table_entry


def test_counter_data_in_entries(lab):
    lab.write((INSERT, flow(lab, packet_count=5, byte_count=50)))
    key = flow(lab).table_entry
    key.ClearField("action")
    lab.packets(1, FRAME)
    assert counted(lab, key) == (6, 50 + len(FRAME))
    lab.write((MODIFY, flow(lab, action="drop")))
    assert counted(lab, key) == (6, 50 + len(FRAME))
    lab.write((MODIFY, flow(lab, packet_count=1)))
    assert counted(lab, key) == (1, 0)
    lab.write((MODIFY, v1.Entity(direct_counter_entry=v1.DirectCounterEntry(table_entry=key))))
    assert counted(lab, key) == (1, 0)


def test_the_default_entry_counts_misses(lab):
    lab.write((INSERT, flow(lab)))
    lab.packets(1, ethernet(dst=7), FRAME, ethernet(dst=8))
    assert counted(lab, default(lab)) == (2, 2 * len(FRAME))
    entity = lab.session.make.default_entry("flows", "drop")
    entity.table_entry.counter_data.packet_count = 10
    entity.table_entry.metadata = b"tag"
    lab.write((MODIFY, entity))
    lab.packets(1, ethernet(dst=7))
    assert counted(lab, default(lab)) == (11, len(FRAME))
    (entry,) = lab.read(table_entry=default(lab))
    assert (entry.metadata, entry.is_default_action) == (b"tag", True)
    lab.write((MODIFY, lab.session.make.default_entry("flows")))
    (entry,) = lab.read(table_entry=default(lab))
    assert entry.metadata == b""
    assert counted(lab, default(lab)) == (0, 0)


def test_the_default_entry_has_neither_key_nor_priority(lab):
    for change in ({"priority": 1}, {"match": flow(lab).table_entry.match}):
        entity = lab.session.make.default_entry("flows", "drop")
        entity.table_entry.MergeFrom(v1.TableEntry(**change))
        message = "table I.flows: the default entry has neither match nor priority"
        assert lab.refusal((MODIFY, entity)) == ("INVALID_ARGUMENT", message)
    assert lab.refusal((INSERT, lab.session.make.default_entry("flows", "drop")))[0] == "INVALID_ARGUMENT"
    assert lab.refusal((3, lab.session.make.default_entry("flows", "drop")))[0] == "INVALID_ARGUMENT"
    indirect = lab.session.make.default_entry("spread", "to", {"port": 1})
    assert lab.refusal((MODIFY, indirect))[0] == "INVALID_ARGUMENT"


def policed(lab, **rates):
    entity = lab.session.table_entry("policed", {}, "police", priority=1)
    if rates:
        entity.table_entry.meter_config.CopyFrom(v1.MeterConfig(**rates))
    return entity


def test_meter_config_in_entries(lab):
    lab.write((INSERT, flow(lab)), (INSERT, policed(lab, cir=1, cburst=2, pir=1, pburst=2)))
    assert len(lab.packets(1, FRAME, FRAME, FRAME)) == 2
    wanted = lab.session.table_entry("policed", {}).table_entry
    assert not lab.read(table_entry=wanted)[0].HasField("meter_config")
    wanted.meter_config.SetInParent()
    assert lab.read(table_entry=wanted)[0].meter_config == v1.MeterConfig(cir=1, cburst=2, pir=1, pburst=2)
    lab.write((MODIFY, policed(lab)))  # without a configuration it is green again
    assert not lab.read(table_entry=wanted)[0].HasField("meter_config")
    assert len(lab.packets(1, FRAME, FRAME, FRAME)) == 3
    direct = v1.DirectMeterEntry(table_entry=policed(lab).table_entry)
    direct.config.CopyFrom(v1.MeterConfig(cir=1, cburst=1, pir=1, pburst=1))
    lab.write((MODIFY, v1.Entity(direct_meter_entry=direct)))
    assert len(lab.packets(1, FRAME, FRAME, FRAME)) == 1


def colours(data):
    """Packets and bytes of each colour."""
    return [(each.packet_count, each.byte_count) for each in (data.green, data.yellow, data.red)]


def test_direct_meters_count_by_colour(lab):
    lab.write((INSERT, flow(lab)), (INSERT, policed(lab, cir=0, cburst=1, pir=0, pburst=3)))
    lab.packets(1, *[FRAME] * 5)
    wanted = policed(lab).table_entry
    wanted.ClearField("action")
    assert not lab.read(table_entry=wanted)[0].HasField("meter_counter_data")
    wanted.meter_counter_data.SetInParent()
    counted_colours = [(1, len(FRAME)), (2, 2 * len(FRAME)), (2, 2 * len(FRAME))]
    assert colours(lab.read(table_entry=wanted)[0].meter_counter_data) == counted_colours
    direct = v1.DirectMeterEntry(table_entry=policed(lab).table_entry)
    assert not lab.read(direct_meter_entry=direct)[0].HasField("counter_data")
    direct.counter_data.SetInParent()
    assert colours(lab.read(direct_meter_entry=direct)[0].counter_data) == counted_colours
    for change in (policed(lab, cir=1, cburst=9, pir=1, pburst=9), v1.Entity(direct_meter_entry=direct)):
        if change.HasField("direct_meter_entry"):
            change.direct_meter_entry.ClearField("counter_data")
        lab.write((MODIFY, change))
    assert colours(lab.read(direct_meter_entry=direct)[0].counter_data) == counted_colours
    clearing = policed(lab)
    clearing.table_entry.meter_counter_data.SetInParent()
    atomic = {"atomicity": v1.WriteRequest.ROLLBACK_ON_ERROR}
    assert lab.refusal((MODIFY, clearing), (INSERT, policed(lab)), **atomic)[0] == "ABORTED"
    assert colours(lab.read(direct_meter_entry=direct)[0].counter_data) == [(0, 0)] * 3
    lab.packets(1, FRAME)
    assert colours(lab.read(direct_meter_entry=direct)[0].counter_data) == [(1, len(FRAME)), (0, 0), (0, 0)]


def test_refused_meters_change_nothing(lab):
    bad = {"cir": 5, "cburst": 1, "pir": 4, "pburst": 1}
    assert lab.refusal((INSERT, policed(lab, **bad))) == (
        "INVALID_ARGUMENT",
        "table I.policed: the peak rate 4 is below the committed rate 5",
    )
    assert lab.session.read_table("policed") == []
    assert lab.refusal((INSERT, policed(lab, eburst=1)))[0] == "INVALID_ARGUMENT"
    coloured = policed(lab)
    coloured.table_entry.meter_counter_data.green.packet_count = 1
    message = "table I.policed: meter_counter_data can only be set to zero"
    assert lab.refusal((INSERT, coloured)) == ("INVALID_ARGUMENT", message)
    miss = lab.session.make.default_entry("policed", "drop")
    miss.table_entry.meter_config.cir = 1
    assert lab.refusal((MODIFY, miss)) == ("UNIMPLEMENTED", "table I.policed: v1model runs no direct meter on a miss")


def fixed(lab, action=None):
    entity = lab.session.table_entry("fixed", {"hdr.ethernet.type": 0x9999}, action)
    entity.table_entry.counter_data.packet_count = 40
    return entity


def test_only_direct_resources_of_const_entries_can_be_written(lab):
    lab.packets(1, ethernet(type=0x9999))
    lab.write((MODIFY, fixed(lab)))
    lab.packets(1, ethernet(type=0x9999))
    (entry,) = lab.read(table_entry=fixed(lab).table_entry)
    assert (entry.counter_data.packet_count, entry.is_const) == (41, True)
    for kind, action in ((MODIFY, "drop"), (INSERT, "drop"), (3, None)):
        assert lab.refusal((kind, fixed(lab, action)))[0] == "PERMISSION_DENIED"


@pytest.mark.parametrize("atomicity", [v1.WriteRequest.ROLLBACK_ON_ERROR, v1.WriteRequest.DATAPLANE_ATOMIC])
def test_resources_of_const_entries_are_restored_with_a_batch_that_fails(lab, atomicity):
    lab.packets(1, ethernet(type=0x9999))
    before = lab.read(table_entry=fixed(lab).table_entry)
    assert before[0].counter_data.packet_count == 1
    with pytest.raises(RpcError) as failure:
        lab.write((MODIFY, fixed(lab)), (DELETE, flow(lab, 9)), atomicity=atomicity)
    assert [Code(error.canonical_code).name for error in failure.value.errors] == ["ABORTED", "NOT_FOUND"]
    assert lab.read(table_entry=fixed(lab).table_entry) == before


@pytest.fixture
def many(plain_lab):
    make = plain_lab.session.table_entry
    entities = [flow(plain_lab, 1), flow(plain_lab, 2, "drop"), flow(plain_lab, 3)]
    entities[2].table_entry.metadata = b"tag"
    entities += [make("policed", {"hdr.ethernet.src": (1, 1)}, "drop", priority=p) for p in (1, 2)]
    plain_lab.write(*((INSERT, e) for e in entities))
    return plain_lab


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        ({}, 6),
        ({"table": "flows"}, 3),
        ({"table": "policed"}, 2),
        ({"table": "policed", "priority": 2}, 1),
        ({"table": "policed", "match": (1, 1)}, 2),
        ({"table": "policed", "match": (1, 1), "priority": 1}, 1),
        ({"table": "flows", "action": "drop"}, 1),
        ({"table": "flows", "metadata": b"tag"}, 1),
        ({"table": "flows", "metadata": b"other"}, 0),
    ],
)
def test_wildcard_reads(many, filters, count):
    wanted = v1.TableEntry()
    if "table" in filters:
        match = {"hdr.ethernet.src": filters["match"]} if "match" in filters else {}
        wanted = many.session.table_entry(filters["table"], match).table_entry
    wanted.priority, wanted.metadata = filters.get("priority", 0), filters.get("metadata", b"")
    if "action" in filters:
        wanted.action.action.action_id = many.session.index.actions[filters["action"]].preamble.id
    assert len(many.read(table_entry=wanted)) == count


def test_metadata_comes_back_in_the_form_it_was_written(many):
    old = flow(many, 9)
    old.table_entry.controller_metadata = 77
    many.write((INSERT, old))
    wanted = many.session.table_entry("flows", {}).table_entry
    wanted.controller_metadata = 77
    assert many.read(table_entry=wanted) == [old.table_entry]


def test_arrays(lab):
    """Counters, meters and registers by index, all of one, and all there are."""
    make = lab.session.make
    meter = v1.MeterEntry(meter_id=lab.session.index.meters["rates"].preamble.id)
    for index in range(4):
        one = v1.MeterEntry(meter_id=meter.meter_id, index=v1.Index(index=index))
        one.config.CopyFrom(v1.MeterConfig(cir=index, pir=9))
        lab.write((MODIFY, v1.Entity(meter_entry=one)), (MODIFY, make.counter("events", index, index)))
        lab.write((MODIFY, make.register("store", index, index)))
    assert [m.config.cir for m in lab.read(meter_entry=meter)] == [0, 1, 2, 3]
    assert [m.config.cir for m in lab.read(meter_entry=v1.MeterEntry())] == [0, 1, 2, 3]
    assert [c.data.packet_count for c in lab.read(counter_entry=v1.CounterEntry())] == [0, 1, 2, 3]
    assert [r.data.bitstring[0] for r in lab.read(register_entry=v1.RegisterEntry())] == [0, 1, 2, 3]
    lab.write((MODIFY, v1.Entity(meter_entry=meter)), (MODIFY, make.register("store", None, 7)))
    assert not any(m.HasField("config") for m in lab.read(meter_entry=meter))
    assert [r.data.bitstring[0] for r in lab.read(register_entry=v1.RegisterEntry())] == [7] * 4
    for entity in (make.register("store", 4, 1), make.counter("events", 4)):
        assert lab.refusal((MODIFY, entity))[0] == "OUT_OF_RANGE"
    for entity in (make.register("store", -1, 1), make.counter("events", -1)):
        assert lab.refusal((MODIFY, entity))[0] == "INVALID_ARGUMENT"
    bad = v1.RegisterEntry(register_id=make.register("store").register_entry.register_id, data=v1.P4Data(bool=True))
    assert lab.refusal((MODIFY, v1.Entity(register_entry=bad)))[0] == "INVALID_ARGUMENT"
    for kind in (INSERT, 3):
        for entity in (make.register("store", 1, 1), make.counter("events", 1), v1.Entity(meter_entry=meter)):
            assert lab.refusal((kind, entity))[0] == "INVALID_ARGUMENT"


def test_members_are_read_by_their_numbers_and_released_with_their_entries(lab):
    session, make = lab.session, lab.session.make
    hops = session.index.action_profiles["hops"].preamble.id
    members = [
        v1.ActionProfileMember(action_profile_id=hops, member_id=number, action=make.action("to", {"port": number}))
        for number in (1, 2)
    ]
    lab.write(*[(INSERT, v1.Entity(action_profile_member=member)) for member in members])
    for member in members:
        wanted = v1.ActionProfileMember(action_profile_id=hops, member_id=member.member_id)
        assert lab.read(action_profile_member=wanted) == [member]
    assert lab.read(action_profile_member=v1.ActionProfileMember()) == members
    uses = [session.table_entry("shared_hops", {"hdr.ethernet.type": kind}) for kind in (5, 6)]
    for use in uses:
        use.table_entry.action.action_profile_member_id = 1
        lab.write((INSERT, use))
        assert lab.refusal((DELETE, v1.Entity(action_profile_member=members[0])))[0] == "FAILED_PRECONDITION"
    for use in uses:
        assert lab.refusal((DELETE, v1.Entity(action_profile_member=members[0])))[0] == "FAILED_PRECONDITION"
        lab.write((DELETE, use))
    lab.write((DELETE, v1.Entity(action_profile_member=members[0])))
    assert lab.read(action_profile_member=v1.ActionProfileMember()) == members[1:]


def test_groups_and_sessions_are_read_apart(lab):
    make = lab.session.make
    group, clones = make.multicast_group(1, [(1, 1)]), make.clone_session(5, [(3, 0)])
    lab.write((INSERT, group), (INSERT, clones))
    pair = [e.packet_replication_engine_entry for e in (group, clones)]
    kinds = [{"multicast_group_entry": v1.MulticastGroupEntry()}, {"clone_session_entry": v1.CloneSessionEntry()}]
    for wanted, expected in ((kinds[0], pair[:1]), (kinds[1], pair[1:]), ({}, pair)):
        assert lab.read(packet_replication_engine_entry=v1.PacketReplicationEngineEntry(**wanted)) == expected


def test_value_sets(lab):
    number = lab.session.index.value_sets["tagged"].preamble.id

    def values(*members):
        entry = v1.ValueSetEntry(value_set_id=number)
        for member in members:
            entry.members.add().match.add(field_id=1).exact.value = member.to_bytes(2, "big").lstrip(b"\0")
        return v1.Entity(value_set_entry=entry)

    lab.write((MODIFY, values(0x9000, 5)))
    lab.packets(1, ethernet(type=0x9000), ethernet(type=0x9001))
    assert lab.session.read_counter("events", 3)[3][0] == 1
    assert lab.session.read_register("store", 3)[3] == 0x9000
    for wanted in (v1.ValueSetEntry(), v1.ValueSetEntry(value_set_id=number)):
        assert lab.read(value_set_entry=wanted) == [values(0x9000, 5).value_set_entry]
    assert lab.refusal((MODIFY, values(1, 2, 3, 4, 5)))[0] == "RESOURCE_EXHAUSTED"
    assert lab.refusal((MODIFY, values(1, 1)))[0] == "ALREADY_EXISTS"
    for kind in (INSERT, 3):
        assert lab.refusal((kind, values(1)))[0] == "INVALID_ARGUMENT"
    lab.write((MODIFY, values()))
    assert lab.read(value_set_entry=v1.ValueSetEntry())[0].members == []


def test_nothing_goes_before_there_is_a_pipeline(plain_lab):
    plain_lab.device.pipeline = None
    message = r"FAILED_PRECONDITION: .*no forwarding pipeline is loaded"
    with pytest.raises(RpcError, match=message):
        plain_lab.read(table_entry=v1.TableEntry())
    with pytest.raises(RpcError, match=message):
        plain_lab.write()
