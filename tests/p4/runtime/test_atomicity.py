# SPDX-License-Identifier: Apache-2.0
"""Batches under each atomicity (section 12.2).

Oracle: what a read of everything gives before and after. Blind to what is volatile: levels of meters.
"""

from __future__ import annotations

import random
import threading

import pytest

from frames import ethernet, mac
from offramp_base.errors import OfframpError
from offramp_base.p4rt.schema import v1
from offramp_base.p4rt.status import Code, RpcError
from p4rt_lab import DELETE, INSERT, MODIFY

ALL_OR_NONE = [v1.WriteRequest.ROLLBACK_ON_ERROR, v1.WriteRequest.DATAPLANE_ATOMIC]


def everything(lab):
    table = v1.TableEntry(counter_data=v1.CounterData(), meter_config=v1.MeterConfig())
    filters = [
        v1.Entity(table_entry=table),
        v1.Entity(action_profile_member=v1.ActionProfileMember()),
        v1.Entity(action_profile_group=v1.ActionProfileGroup()),
        v1.Entity(counter_entry=v1.CounterEntry()),
        v1.Entity(meter_entry=v1.MeterEntry()),
        v1.Entity(register_entry=v1.RegisterEntry()),
        v1.Entity(digest_entry=v1.DigestEntry()),
        v1.Entity(value_set_entry=v1.ValueSetEntry()),
        v1.Entity(packet_replication_engine_entry=v1.PacketReplicationEngineEntry()),
    ]
    return sorted(e.SerializeToString(deterministic=True) for e in lab.session.read(filters))


def candidates(lab):
    """Entities of every kind that can be inserted, modified or deleted, some of them wrongly."""
    session, make = lab.session, lab.session.make
    out = []
    for number in (1, 2, 3):
        for port in (2, 3):
            flow = session.table_entry("flows", {"hdr.ethernet.dst": mac(number)}, "to", {"port": port})
            flow.table_entry.counter_data.packet_count = number
            out.append(flow)
        police = session.table_entry("policed", {"hdr.ethernet.src": (number, 7)}, "police", priority=number)
        police.table_entry.meter_config.CopyFrom(v1.MeterConfig(cir=number, cburst=1, pir=9, pburst=1))
        out += [police, make.multicast_group(number, [(number, 1)]), make.clone_session(number, [(number, 0)])]
        out += [make.counter("events", number, number), make.register("store", number, number)]
    profile = lab.session.index.action_profiles["hops"].preamble.id
    action = make.action("to", {"port": 4})
    out += [
        v1.Entity(action_profile_member=v1.ActionProfileMember(action_profile_id=profile, member_id=n, action=action))
        for n in (1, 2)
    ]
    use = session.table_entry("shared_hops", {"hdr.ethernet.type": 5})
    use.table_entry.action.action_profile_member_id = 1
    members = session.index.value_sets["tagged"].preamble.id
    match = v1.FieldMatch(field_id=1, exact=v1.FieldMatch.Exact(value=b"\x05"))
    value_set = v1.ValueSetEntry(value_set_id=members, members=[v1.ValueSetMember(match=[match])])
    digest = session.index.digests["learn_t"].preamble.id
    return [
        *out,
        use,
        v1.Entity(value_set_entry=value_set),
        v1.Entity(digest_entry=v1.DigestEntry(digest_id=digest, config=v1.DigestEntry.Config(max_list_size=3))),
        make.default_entry("flows", "drop"),
        make.default_entry("flows"),
    ]


def attempt(lab, updates, atomicity):
    """Write a batch; its error, or None."""
    try:
        lab.write(*updates, atomicity=atomicity)
    except RpcError as error:
        return error
    return None


@pytest.mark.parametrize("atomicity", ALL_OR_NONE)
def test_a_failing_batch_leaves_no_trace(lab, atomicity):
    rng, entities = random.Random(5), candidates(lab)
    kept = undone = 0
    for _ in range(200):
        before = everything(lab)
        updates = [
            (rng.choice([INSERT, INSERT, MODIFY, DELETE]), rng.choice(entities)) for _ in range(rng.randint(1, 4))
        ]
        error = attempt(lab, updates, atomicity)
        if error is None:
            kept += 1
            continue
        undone += 1
        codes = [Code(e.canonical_code) for e in error.errors]
        assert len(codes) == len(updates)
        assert codes.count(Code.ABORTED) == len(updates) - 1
        assert everything(lab) == before
    assert kept > 10
    assert undone > 20


def test_the_data_plane_follows_what_was_undone(lab):
    def flow(port):
        return lab.session.table_entry("flows", {"hdr.ethernet.dst": mac(1)}, "to", {"port": port})

    lab.write((INSERT, flow(2)))
    lab.packets(1, ethernet())
    with pytest.raises(RpcError):
        lab.write((DELETE, flow(2)), (INSERT, flow(3)), (INSERT, flow(4)), atomicity=ALL_OR_NONE[0])
    assert lab.packets(1, ethernet()) == [(2, ethernet())]
    wanted = lab.session.table_entry("flows", {}).table_entry
    wanted.counter_data.SetInParent()
    (entry,) = lab.read(table_entry=wanted)
    assert entry.counter_data.packet_count == 2


def test_the_session_names_the_update_to_blame(lab):
    entry = lab.session.table_entry("flows", {"hdr.ethernet.dst": mac(1)}, "drop")
    updates = [v1.Update(type=INSERT, entity=entry)] * 2
    with pytest.raises(RpcError, match=r"refused 2 of 2 updates; update 1 \(insert I.flows\): ALREADY_EXISTS"):
        lab.session.write(updates, atomicity="ROLLBACK_ON_ERROR")
    assert lab.session.read_table("flows") == []


def test_continue_on_error_does_what_it_can(lab):
    good = lab.session.table_entry("flows", {"hdr.ethernet.dst": mac(1)}, "drop")
    bad = lab.session.table_entry("flows", {}, "drop")
    with pytest.raises(RpcError) as failure:
        lab.write((INSERT, bad), (INSERT, good), (DELETE, bad))
    assert [e.canonical_code for e in failure.value.errors] == [Code.INVALID_ARGUMENT, 0, Code.INVALID_ARGUMENT]
    assert not failure.value.errors[1].message
    assert len(lab.session.read_table("flows")) == 1


@pytest.mark.full
def test_no_packet_sees_half_of_an_atomic_batch(lab):
    """Two entries always name one port; packets of one batch that run between the writes would show two."""

    def flows(port):
        make = lab.session.table_entry
        return [make("flows", {"hdr.ethernet.dst": mac(n)}, "to", {"port": port}) for n in range(1, 101)]

    lab.write(*((INSERT, e) for e in flows(2)))
    versions = {port: [(MODIFY, e) for e in flows(port)] for port in (2, 3)}
    done = threading.Event()
    failures: list[OfframpError] = []

    def writer():
        try:
            for turn in range(40):
                lab.write(*versions[2 + turn % 2], atomicity=v1.WriteRequest.DATAPLANE_ATOMIC)
        except OfframpError as error:
            failures.append(error)
        finally:
            done.set()

    thread = threading.Thread(target=writer)
    thread.start()
    rounds = 0
    frames = [ethernet(dst=1), ethernet(dst=100)] * 10
    while not done.is_set():
        assert len({port for port, _ in lab.packets(1, *frames)}) == 1
        rounds += 1
    thread.join()
    assert failures == []
    assert rounds > 1
