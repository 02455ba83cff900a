# SPDX-License-Identifier: Apache-2.0
"""RECONCILE_AND_COMMIT and the other actions of SetForwardingPipelineConfig (section 14), and reading it (section 15).

Oracle: everything that can be read, before and after.
"""

from __future__ import annotations

import pytest

from frames import ethernet, mac
from offramp_base.p4rt.schema import v1
from offramp_base.p4rt.status import RpcError
from p4rt_lab import DELETE, INSERT, MODIFY

GET = v1.GetForwardingPipelineConfigRequest


def filled(lab):
    """State of every kind."""
    session, make = lab.session, lab.session.make
    flow = session.table_entry("flows", {"hdr.ethernet.dst": mac(1)}, "to", {"port": 2})
    flow.table_entry.idle_timeout_ns, flow.table_entry.metadata = 10**9, b"mine"
    police = session.table_entry("policed", {"hdr.ethernet.src": 3}, "police", priority=4)
    police.table_entry.meter_config.CopyFrom(v1.MeterConfig(cir=1, cburst=2, pir=3, pburst=4))
    hops, ways = (session.index.action_profiles[n].preamble.id for n in ("hops", "ways"))
    action = make.action("to", {"port": 4})
    member = v1.ActionProfileMember(action_profile_id=hops, member_id=1, action=action)
    use = session.table_entry("shared_hops", {"hdr.ethernet.type": 5})
    use.table_entry.action.action_profile_member_id = 1
    shot = session.table_entry("spread", {"hdr.ethernet.type": 6})
    shot.table_entry.action.action_profile_action_set.action_profile_actions.add(action=action, weight=2)
    shot.table_entry.action.action_profile_action_set.action_selection_mode = v1.ActionProfileActionSet.RANDOM
    assert ways
    match = v1.FieldMatch(field_id=1, exact=v1.FieldMatch.Exact(value=b"\x05"))
    values = v1.ValueSetEntry(
        value_set_id=session.index.value_sets["tagged"].preamble.id, members=[v1.ValueSetMember(match=[match])]
    )
    digest = v1.DigestEntry(digest_id=session.index.digests["learn_t"].preamble.id)
    digest.config.max_list_size = 3
    lab.write(
        (INSERT, flow),
        (INSERT, police),
        (INSERT, v1.Entity(action_profile_member=member)),
        (INSERT, use),
        (INSERT, shot),
        (MODIFY, v1.Entity(value_set_entry=values)),
        (INSERT, v1.Entity(digest_entry=digest)),
        (INSERT, make.multicast_group(1, [(1, 1), (2, 2)])),
        (INSERT, make.clone_session(5, [(3, 0)], max_bytes=20)),
        (MODIFY, make.counter("events", 2, 7, 8)),
        (MODIFY, make.register("store", 0, 7)),
        (MODIFY, make.register("store", 1, 99)),
        (MODIFY, make.default_entry("flows", "drop")),
    )
    meter = v1.MeterEntry(meter_id=session.index.meters["rates"].preamble.id, index=v1.Index(index=1))
    meter.config.CopyFrom(v1.MeterConfig(cir=5, cburst=6, pir=7, pburst=8))
    lab.write((MODIFY, v1.Entity(meter_entry=meter)))
    lab.packets(1, ethernet(dst=1), ethernet(dst=1), ethernet(dst=8), ethernet(src=3))


def everything(lab):
    table = v1.TableEntry(
        counter_data=v1.CounterData(),
        meter_config=v1.MeterConfig(),
        meter_counter_data=v1.MeterCounterData(),
        time_since_last_hit=v1.TableEntry.IdleTimeout(),
    )
    green = v1.DirectMeterEntry(counter_data=v1.MeterCounterData())
    filters = [
        v1.Entity(table_entry=table),
        v1.Entity(direct_counter_entry=v1.DirectCounterEntry()),
        v1.Entity(direct_meter_entry=green),
        v1.Entity(action_profile_member=v1.ActionProfileMember()),
        v1.Entity(action_profile_group=v1.ActionProfileGroup()),
        v1.Entity(counter_entry=v1.CounterEntry()),
        v1.Entity(meter_entry=v1.MeterEntry(counter_data=v1.MeterCounterData())),
        v1.Entity(register_entry=v1.RegisterEntry()),
        v1.Entity(digest_entry=v1.DigestEntry()),
        v1.Entity(value_set_entry=v1.ValueSetEntry()),
        v1.Entity(packet_replication_engine_entry=v1.PacketReplicationEngineEntry()),
        v1.Entity(extern_entry=v1.ExternEntry()),
    ]
    table.table_id, table.is_default_action = lab.session.index.tables["flows"].preamble.id, True
    for field in ("time_since_last_hit", "meter_counter_data"):
        table.ClearField(field)
    filters.append(v1.Entity(table_entry=table))
    return [e.SerializeToString(deterministic=True) for e in lab.session.read(filters)]


def reconcile(lab, old="", new="", count=1):
    source = lab.program.read_text()
    assert source.count(old) >= count
    # The session clears replication before it pushes, so the request is made here.
    request = v1.SetForwardingPipelineConfigRequest(
        election_id=lab.session._election(), action=v1.SetForwardingPipelineConfigRequest.RECONCILE_AND_COMMIT
    )
    request.config.p4_device_config = source.replace(old, new).encode() if old else source.encode()
    lab.service.set_pipeline(request)


def test_the_same_program_keeps_everything(lab):
    filled(lab)
    before, pipeline = everything(lab), lab.device.pipeline
    reconcile(lab)
    assert lab.device.pipeline is not pipeline
    assert everything(lab) == before
    (police,) = lab.read(direct_meter_entry=v1.DirectMeterEntry(counter_data=v1.MeterCounterData()))
    assert police.counter_data.green.packet_count == 1
    assert len(lab.device.pipeline.switch.profiles["I.ways"].random_groups) == 1
    assert lab.packets(1, ethernet(dst=1)) == [(2, ethernet(dst=1))]


def test_a_changed_program_keeps_what_it_still_has(lab):
    filled(lab)
    before = everything(lab)
    reconcile(lab, "mark_to_drop(std);", "std.egress_spec = 511;")
    assert everything(lab) == before


def test_a_value_set_that_is_empty_keeps_none_of_the_others_back(plain_lab):
    text = plain_lab.program.read_text()
    text = text.replace("(4) tagged;", "(4) none;\n    value_set<bit<16>>(4) tagged;").replace(
        "tagged : mark;", "none : mark;\n            tagged : mark;"
    )
    plain_lab.session.push(b"", text.encode())
    plain_lab.program = Replaced(text)
    filled(plain_lab)
    before = everything(plain_lab)
    reconcile(plain_lab)
    assert everything(plain_lab) == before


def test_idle_timers_go_on(lab):
    filled(lab)
    reconcile(lab)
    lab.device.time_ns += 10**9
    assert lab.session.stream.next("idle_timeout_notification", 5).table_entry[0].metadata == b"mine"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("hdr.ethernet.dst : exact;", "hdr.ethernet.dst : ternary;", "I.flows is another one"),
        ("action to(bit<9> port)", "action to(bit<9> port, bit<1> x)", "I.to is another one"),
        ("(4) tagged", "(4) labelled", "P.tagged is gone"),
        ("register<bit<16>>(4) store", "register<bit<16>>(1) store", "register I.store does not fit"),
        (
            "counter(4, CounterType.packets) events",
            "counter(2, CounterType.packets) events",
            "counter I.events does not",
        ),
        ("meter(4, MeterType.packets) rates", "meter(1, MeterType.packets) rates", "meter I.rates does not fit"),
    ],
)
def test_state_that_cannot_be_kept_changes_nothing(plain_lab, old, new, message):
    filled(plain_lab)
    before, pipeline = everything(plain_lab), plain_lab.device.pipeline
    if "labelled" in new:
        source = plain_lab.program.read_text().replace("tagged", "labelled")
        plain_lab.program = Replaced(source)
        old = new = ""
    if "ternary" in new:
        plain_lab.program = Replaced(plain_lab.program.read_text().replace("            counters = flow_count;", ""))
    if old.startswith(("register", "counter", "meter")):
        plain_lab.program = Replaced(plain_lab.program.read_text().replace("3,", "0,").replace("count(3)", "count(0)"))
    with pytest.raises(RpcError) as failure:
        reconcile(plain_lab, old, new)
    assert failure.value.code.name == "INVALID_ARGUMENT"
    assert failure.value.message.startswith(f"the state cannot be kept: {message}")
    plain_lab.program = Replaced("")
    assert plain_lab.device.pipeline is pipeline
    assert everything(plain_lab) == before


class Replaced:
    """A program whose text is not in a file."""

    def __init__(self, text):
        self._text = text

    def read_text(self):
        return self._text


def test_reconcile_needs_a_configuration_and_may_be_the_first(plain_lab):
    request = v1.SetForwardingPipelineConfigRequest(election_id=plain_lab.session._election(), action=5)
    with pytest.raises(RpcError, match="INVALID_ARGUMENT: the configuration is missing"):
        plain_lab.service.set_pipeline(request)
    plain_lab.device.pipeline = None
    reconcile(plain_lab)
    assert plain_lab.session.read_table("flows") == []


def test_deleted_initial_entries_do_not_return(plain_lab):
    source = plain_lab.program.read_text().replace("const entries", "entries")
    plain_lab.session.push(b"", source.encode())
    (entry,) = plain_lab.session.read_table("fixed")
    entry.is_const = False
    plain_lab.write((DELETE, v1.Entity(table_entry=entry)))
    plain_lab.program = Replaced(source)
    reconcile(plain_lab)
    assert plain_lab.session.read_table("fixed") == []


@pytest.mark.parametrize("kind", GET.ResponseType.values())
def test_each_response_type(plain_lab, kind):
    source = plain_lab.program.read_bytes()
    plain_lab.session.push(b"", source, cookie=77)
    reply = plain_lab.service.get_pipeline(GET(response_type=kind))
    assert reply.config.cookie.cookie == 77
    assert reply.config.HasField("p4info") == (kind in {GET.ALL, GET.P4INFO_AND_COOKIE})
    assert reply.config.p4_device_config == (source if kind in {GET.ALL, GET.DEVICE_CONFIG_AND_COOKIE} else b"")


@pytest.mark.parametrize(
    ("action", "config", "code"),
    [
        (0, True, "INVALID_ARGUMENT"),
        (9, True, "INVALID_ARGUMENT"),
        (4, True, "INVALID_ARGUMENT"),
        (4, False, "NOT_FOUND"),
    ]
    + [(number, False, "INVALID_ARGUMENT") for number in (1, 2, 3, 5)],
)
def test_actions_that_do_not_go(plain_lab, action, config, code):
    request = v1.SetForwardingPipelineConfigRequest(election_id=plain_lab.session._election(), action=action)
    if config:
        request.config.p4_device_config = plain_lab.program.read_bytes()
    with pytest.raises(RpcError) as failure:
        plain_lab.service.set_pipeline(request)
    assert failure.value.code.name == code
