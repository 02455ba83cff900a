# SPDX-License-Identifier: Apache-2.0
"""Roles (section 5): each with its own primary; what a role may write, read and hear."""

from __future__ import annotations

import pytest

from frames import ethernet, mac
from offramp_base.errors import OfframpError
from offramp_base.p4rt.schema import stratum, v1, wellknown
from offramp_base.p4rt.status import Code, RpcError
from offramp_p4.runtime import arbitration, roles
from p4rt_lab import CPU_PORT, INSERT, MODIFY

MS = 1_000_000


@pytest.fixture
def lab(plain_lab):
    return plain_lab


def ids(lab, *tables):
    return [lab.session.index.tables[t].preamble.id for t in tables]


def flow(session, number=1):
    return session.table_entry("flows", {"hdr.ethernet.dst": mac(number)}, "to", {"port": 2})


def policed(session, number=1):
    return session.table_entry("policed", {"hdr.ethernet.src": number}, "drop", priority=1)


def role(lab, name, election_id=1, **config):
    return lab.connect(election_id, role=name, role_config=stratum.P4RoleConfig(**config))


def test_each_role_has_its_own_primary(lab):
    other = lab.connect(election_id=9, role="other")
    lab.session.insert([flow(lab.session)])
    other.insert([flow(other, 2)])
    impostor = type(other)(other._connection, election_id=9)  # the id of the other role's primary
    with pytest.raises(RpcError, match="PERMISSION_DENIED"):
        lab.write((INSERT, flow(lab.session, 3)), session=impostor)


def test_unknown_role_is_not_found(lab):
    request = v1.WriteRequest(role="nobody", election_id=v1.Uint128(low=1))
    with pytest.raises(RpcError) as failure:
        lab.service.write(request)
    assert failure.value.code is Code.NOT_FOUND
    with pytest.raises(RpcError, match="NOT_FOUND"):
        list(lab.service.read(v1.ReadRequest(role="nobody")))


def test_backup_of_a_role_reads_but_does_not_write(lab):
    primary = lab.connect(election_id=5, role="x")
    with pytest.raises(OfframpError, match="another controller is primary"):
        lab.connect(election_id=4, role="x")
    primary.insert([flow(primary)])
    reader = type(primary)(primary._connection, election_id=4, role="x")
    assert len(reader.read_table("flows")) == 1
    with pytest.raises(RpcError, match="PERMISSION_DENIED"):
        reader.insert([flow(primary, 2)])


def test_a_role_writes_and_reads_what_is_its_own(lab):
    mine = role(lab, "police", exclusive_p4_ids=ids(lab, "policed"))
    mine.insert([policed(mine)])
    assert lab.refusal((INSERT, flow(lab.session)), session=mine) == (
        "PERMISSION_DENIED",
        "the role may not write this object",
    )
    group = mine.make.multicast_group(1, [(1, 1)])
    assert lab.refusal((INSERT, group), session=mine)[0] == "PERMISSION_DENIED"
    lab.session.insert([flow(lab.session)])
    seen = {e.table_entry.table_id for e in mine.read([v1.Entity(table_entry=v1.TableEntry())])}
    assert seen == set(ids(lab, "policed"))
    everything = {e.table_entry.table_id for e in lab.session.read([v1.Entity(table_entry=v1.TableEntry())])}
    assert everything >= set(ids(lab, "policed", "flows"))


def test_only_a_role_that_may_sets_the_pipeline(lab):
    mine = role(lab, "police", exclusive_p4_ids=ids(lab, "policed"))
    with pytest.raises(RpcError, match=r"PERMISSION_DENIED: .*role 'police' may not set the pipeline"):
        mine.push(b"", lab.program.read_bytes())
    admin = role(lab, "admin", can_push_pipeline=True)
    admin.push(b"", lab.program.read_bytes())


@pytest.mark.full
def test_exclusive_ids_of_two_roles_clash(lab):
    role(lab, "a", exclusive_p4_ids=ids(lab, "policed"), shared_p4_ids=ids(lab, "flows"))
    role(lab, "b", shared_p4_ids=ids(lab, "flows"))
    with pytest.raises(OfframpError, match="roles 'c' and 'a' both write object"):
        role(lab, "c", shared_p4_ids=ids(lab, "policed"))


def test_configuration_of_another_kind_is_refused(lab):
    with pytest.raises(
        OfframpError, match=r"role configuration of type 'p4.v1.Uint128': expected stratum.P4RoleConfig"
    ):
        lab.connect(role="odd", role_config=v1.Uint128(low=1))
    broken = wellknown.Any(type_url="type.googleapis.com/stratum.P4RoleConfig", value=b"\xff")
    with pytest.raises(RpcError, match=r"the role configuration is not a stratum.P4RoleConfig message"):
        roles.parse(broken)


def test_backups_hear_of_the_configuration(lab):
    config = stratum.P4RoleConfig(shared_p4_ids=ids(lab, "flows"))
    primary = lab.connect(2, role="x", role_config=config)
    update = primary.stream._arbitration
    got = stratum.P4RoleConfig()
    assert update.role.config.Unpack(got)
    assert got == config


def punted(lab):
    """A packet that ends at the CPU port, so with the metadata port "1"."""
    lab.packets(1, ethernet())


def test_packet_ins_are_filtered(lab):
    lab.session.insert([lab.session.table_entry("flows", {"hdr.ethernet.dst": mac(1)}, "to", {"port": CPU_PORT})])
    port = lab.session.index.controller_packet_metadata["packet_in"].metadata[0].id
    filters = stratum.P4RoleConfig.PacketFilter
    deaf = role(lab, "deaf")
    every = role(lab, "every", receives_packet_ins=True)
    one = role(lab, "one", receives_packet_ins=True, packet_in_filter=filters(metadata_id=port, value=b"1"))
    two = role(lab, "two", receives_packet_ins=True, packet_in_filter=filters(metadata_id=port, value=b"2"))
    punted(lab)
    heard = {s.role: s.packet_in(0.2) is not None for s in (lab.session, deaf, every, one, two)}
    assert heard == {"": True, "deaf": False, "every": True, "one": True, "two": False}


@pytest.mark.each
@pytest.mark.parametrize(
    ("given", "kept"), [(b"\0\0\0\1", b"\1"), (b"\0\0\0", b"\0"), (b"\0", b"\0"), (b"", b""), (b"\1\0", b"\1\0")]
)
def test_the_value_of_a_filter_is_the_shortest(given, kept):
    filters = stratum.P4RoleConfig.PacketFilter(metadata_id=3, value=given)
    config = stratum.P4RoleConfig(receives_packet_ins=True, packet_in_filter=filters)
    packed = wellknown.Any(type_url="/stratum.P4RoleConfig", value=config.SerializeToString())
    assert roles.parse(packed).packet_in == (3, kept)
    deaf = stratum.P4RoleConfig(packet_in_filter=filters)
    packed = wellknown.Any(type_url="/stratum.P4RoleConfig", value=deaf.SerializeToString())
    assert roles.parse(packed).packet_in is None


def test_notifications_go_to_the_roles_that_own_the_object(lab):
    mine = role(lab, "flows", shared_p4_ids=ids(lab, "flows"))
    other = role(lab, "police", shared_p4_ids=ids(lab, "policed"))
    entity = flow(mine)
    entity.table_entry.idle_timeout_ns = MS
    mine.insert([entity])
    lab.device.time_ns += MS
    lab.device.send_notices()
    heard = {s.role: s.stream.next("idle_timeout_notification", 0.3) is not None for s in (lab.session, mine, other)}
    assert heard == {"": True, "flows": True, "police": False}


def test_there_is_a_limit_to_roles(lab):
    update = v1.MasterArbitrationUpdate()
    for number in range(arbitration.MAX_ROLES - 1):
        update.role.name = f"r{number}"
        lab.device.arbitration.update(arbitration.Controller(lambda _: None), update)
    with pytest.raises(OfframpError, match="RESOURCE_EXHAUSTED: more than 256 roles"):
        lab.connect(role="one more")
    lab.write((MODIFY, lab.session.make.default_entry("flows", "drop")))
