# SPDX-License-Identifier: Apache-2.0
"""Multicast groups and clone sessions with backup replicas (section 9.5), on both engines."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import namespaces
from frames import ethernet, mac
from offramp_base.p4rt.schema import v1
from offramp_base.p4rt.session import Session
from offramp_base.transport import open_io
from offramp_base.wire.batch import PacketBatch
from offramp_p4.embedded import EmbeddedSwitch
from p4rt_lab import DELETE, INSERT, MODIFY

FEATURES = Path(__file__).with_name("features.p4")

FRAME = ethernet(dst=1)


def entity(lab, kind, number, *replicas):
    """Each replica is a list of ``(port, instance)``: itself, then its backups."""
    message = (
        lab.session.make.multicast_group(number, []) if kind == "group" else lab.session.make.clone_session(number, [])
    )
    pre = message.packet_replication_engine_entry
    entry = pre.multicast_group_entry if kind == "group" else pre.clone_session_entry
    for (port, instance), *backups in replicas:
        replica = entry.replicas.add(port=bytes([port]), instance=instance)
        for backup, other in backups:
            replica.backup_replicas.add(port=bytes([backup]), instance=other)
    return message


@pytest.fixture
def flooding(lab):
    flood = lab.session.table_entry("flows", {"hdr.ethernet.dst": mac(1)}, "flood", {"group": 1})
    lab.write((INSERT, flood))
    lab.device.set_links({1: True, 2: True, 3: True, 4: True})
    return lab


def ports(lab):
    return sorted(port for port, _ in lab.packets(1, FRAME))


def test_the_first_replica_whose_link_is_up_is_used(flooding):
    written = entity(flooding, "group", 1, [(2, 1), (3, 2), (4, 3)], [(1, 9)])
    flooding.write((INSERT, written))
    for up, expected in [
        ({1, 2, 3, 4}, [1, 2]),
        ({1, 3, 4}, [1, 3]),
        ({1, 4}, [1, 4]),
        ({1}, [1]),
        ({1, 2}, [1, 2]),
        ({2}, [1, 2]),  # a replica without backups is sent whatever its link
    ]:
        flooding.device.set_links({n: n in up for n in (1, 2, 3, 4)})
        assert ports(flooding) == expected
    wanted = v1.PacketReplicationEngineEntry(multicast_group_entry=v1.MulticastGroupEntry())
    assert flooding.read(packet_replication_engine_entry=wanted) == [written.packet_replication_engine_entry]
    flooding.write((DELETE, written))
    assert ports(flooding) == []


def test_clone_sessions_have_backups_too(lab):
    lab.write(
        (INSERT, lab.session.table_entry("flows", {"hdr.ethernet.dst": mac(1)}, "mirror")),
        (INSERT, entity(lab, "session", 5, [(3, 0), (4, 0)])),
    )
    lab.device.set_links({3: True, 4: True})
    assert 3 in ports(lab)
    lab.device.set_links({3: False, 4: True})
    assert 4 in ports(lab)
    assert 3 not in ports(lab)


def test_rules(flooding):
    lab = flooding
    group = entity(lab, "group", 1, [(2, 1)])
    lab.write((INSERT, group))
    assert lab.refusal((INSERT, group))[0] == "ALREADY_EXISTS"
    missing = entity(lab, "group", 2, [(2, 1)])
    for kind in (MODIFY, DELETE):
        assert lab.refusal((kind, missing))[0] == "NOT_FOUND"
    for bad in (
        entity(lab, "group", 0, [(2, 1)]),
        entity(lab, "session", 0, [(2, 1)]),
        entity(lab, "group", 3, [(2, 0x10000)]),
        entity(lab, "group", 3, [(2, 1)], [(2, 1)]),
        entity(lab, "group", 3, [(2, 1)], [(3, 1), (2, 1)]),
        entity(lab, "group", 3, [(2, 1), (2, 5)]),
        v1.Entity(packet_replication_engine_entry=v1.PacketReplicationEngineEntry()),
    ):
        assert lab.refusal((INSERT, bad))[0] == "INVALID_ARGUMENT"
    tagged = entity(lab, "group", 1, [(4, 1)])
    tagged.packet_replication_engine_entry.multicast_group_entry.metadata = b"tag"
    lab.write((MODIFY, tagged))
    (read,) = lab.read(packet_replication_engine_entry=tagged.packet_replication_engine_entry)
    assert read == tagged.packet_replication_engine_entry
    assert ports(lab) == [4]


@pytest.mark.full
@pytest.mark.netns
def test_links_of_interfaces_are_followed(tmp_path):
    """The link of a port goes down and comes back; its replica moves to the backup and returns."""
    namespaces.require()
    with namespaces.Namespace() as namespace:
        for port in (1, 2, 3):
            namespace.veth(f"h{port}", f"s{port}")
        running = EmbeddedSwitch(
            FEATURES,
            [1, 2, 3],
            workdir=tmp_path / "s",
            interfaces=["s1", "s2", "s3"],
            launcher=namespace.command,
        )
        with running, Session(running.address) as session:
            group = session.make.multicast_group(1, [(2, 1)])
            replica = group.packet_replication_engine_entry.multicast_group_entry.replicas[0]
            replica.backup_replicas.add(port=b"\x03", instance=2)
            session.insert([group, session.table_entry("flows", {"hdr.ethernet.dst": mac(1)}, "flood", {"group": 1})])
            links = {n: namespace.call(lambda n=n: open_io(f"h{n}")) for n in (1, 2, 3)}

            def goes_to(port):
                deadline = time.monotonic() + 10
                while time.monotonic() < deadline:
                    links[1].send(PacketBatch.of([(0, FRAME)]))
                    if FRAME in links[port].receive(0.2).frames():
                        return True
                return False

            assert goes_to(2)
            namespace.run("ip", "link", "set", "h2", "down")  # s2 loses its carrier
            assert goes_to(3)
            namespace.run("ip", "link", "set", "h2", "up")
            links[2].close()
            links[2] = namespace.call(lambda: open_io("h2"))
            assert goes_to(2)
            for link in links.values():
                link.close()
