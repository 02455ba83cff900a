# SPDX-License-Identifier: Apache-2.0
"""Multicast groups and clone sessions."""

from __future__ import annotations

import pytest

from frames import ethernet, mac
from offramp_base.p4rt.schema import v1
from offramp_base.p4rt.status import RpcError


@pytest.fixture
def flooding(session):
    entry = session.table_entry("mac", {"hdr.ethernet.dst": mac(0xFF)}, "flood", {"group": 5})
    session.insert([entry])
    return session


def test_multicast_copies_carry_their_instance(target, flooding):
    target.open_all()
    flooding.multicast_group(5, [(2, 20), (3, 30), (3, 31)])
    target.exchange(1, ethernet(dst=0xFF) + b"data")
    assert target.receive(2, 1) == [ethernet(dst=0xFF, src=20) + b"data"]
    assert sorted(f[11] for f in target.receive(3, 2)) == [30, 31]
    assert target.silent(4)


def test_multicast_group_changes_and_goes(target, flooding):
    target.open_all()
    flooding.multicast_group(5, [(2, 1)])
    flooding.multicast_group(5, [(4, 9)])
    target.exchange(1, ethernet(dst=0xFF))
    assert target.receive(4, 1) == [ethernet(dst=0xFF, src=9)]
    assert target.silent(2)
    flooding.delete([flooding.make.multicast_group(5, [])])
    target.exchange(1, ethernet(dst=0xFF))
    assert target.silent(4)


def test_groups_and_sessions_are_read_back(session):
    session.multicast_group(7, [(1, 1), (2, 5)])
    session.clone_session(9, [(3, 1)])
    wanted = v1.PacketReplicationEngineEntry(multicast_group_entry=v1.MulticastGroupEntry())
    (group,) = session.read([v1.Entity(packet_replication_engine_entry=wanted)])
    replicas = group.packet_replication_engine_entry.multicast_group_entry.replicas
    ports = {(int.from_bytes(r.port, "big") or r.egress_port, r.instance) for r in replicas}
    assert ports == {(1, 1), (2, 5)}
    wanted = v1.PacketReplicationEngineEntry(clone_session_entry=v1.CloneSessionEntry(session_id=9))
    (clone,) = session.read([v1.Entity(packet_replication_engine_entry=wanted)])
    assert clone.packet_replication_engine_entry.clone_session_entry.session_id == 9


@pytest.fixture
def mirroring(session):
    session.insert([session.table_entry("mac", {"hdr.ethernet.dst": mac(1)}, "forward", {"port": 2})])
    session.insert([session.table_entry("acl", {}, "mirror", priority=1)])
    return session


def test_clone_goes_beside_the_original(target, mirroring):
    target.open_all()
    mirroring.clone_session(7, [(4, 1)])
    frame = ethernet(dst=1) + bytes(range(100))
    target.exchange(1, frame)
    assert target.receive(2, 1) == [frame]
    assert target.receive(4, 1) == [ethernet(dst=1, src=1) + bytes(range(100))]


def test_clone_to_several_ports(target, mirroring):
    target.open_all()
    mirroring.clone_session(7, [(3, 5), (4, 6)])
    target.exchange(1, ethernet(dst=1))
    assert target.receive(3, 1) == [ethernet(dst=1, src=5)]
    assert target.receive(4, 1) == [ethernet(dst=1, src=6)]


def test_clone_is_cut_to_the_length_of_the_session(target, mirroring):
    target.require("clone truncation")
    target.open_all()
    mirroring.clone_session(7, [(4, 1)], max_bytes=20)
    target.exchange(1, ethernet(dst=1) + bytes(100))
    assert target.receive(4, 1) == [ethernet(dst=1, src=1) + bytes(6)]


def test_unknown_clone_session_makes_no_copy(target, mirroring):
    target.open_all()
    target.exchange(1, ethernet(dst=1))
    assert target.receive(2, 1) == [ethernet(dst=1)]
    assert target.silent(4)


def test_group_zero_is_refused(session):
    with pytest.raises(RpcError, match="INVALID_ARGUMENT"):
        session.multicast_group(0, [(1, 1)])
