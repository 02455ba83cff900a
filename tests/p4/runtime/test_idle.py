# SPDX-License-Identifier: Apache-2.0
"""Idle time-outs (sections 9.1.8 and 16.4), on both engines, in time that only the test moves."""

from __future__ import annotations

import pytest

from frames import ethernet, mac
from offramp_base.p4rt.schema import v1
from p4rt_lab import DELETE, INSERT, MODIFY

MS = 1_000_000


def flow(lab, number, timeout_ns=0, metadata=b"", port=2):
    entity = lab.session.table_entry("flows", {"hdr.ethernet.dst": mac(number)}, "to", {"port": port})
    entity.table_entry.idle_timeout_ns, entity.table_entry.metadata = timeout_ns, metadata
    return entity


def expired(lab, wait_s=2.0):
    """The numbers of the flows in the next notification; empty if none comes."""
    message = lab.session.stream.next("idle_timeout_notification", wait_s)
    return [] if message is None else sorted(e.match[0].exact.value[-1] for e in message.table_entry)


def test_entry_is_reported_when_it_has_not_been_hit(lab):
    lab.write((INSERT, flow(lab, 1, 5 * MS, b"tag")), (INSERT, flow(lab, 2)))
    lab.device.time_ns += 4 * MS
    assert expired(lab, 0.1) == []
    lab.device.time_ns += 1 * MS
    (entry,) = lab.session.stream.next("idle_timeout_notification", 2).table_entry
    assert entry == v1.TableEntry(table_id=entry.table_id, match=entry.match, idle_timeout_ns=5 * MS, metadata=b"tag")
    assert entry.match[0].exact.value == mac(1).to_bytes(6, "big")


def test_it_is_reported_again_after_another_period(lab):
    lab.write((INSERT, flow(lab, 1, 5 * MS)))
    for _ in range(3):
        lab.device.time_ns += 5 * MS
        assert expired(lab) == [1]
        assert expired(lab, 0.05) == []


@pytest.mark.full
def test_a_hit_starts_the_period_anew(lab):
    lab.write((INSERT, flow(lab, 1, 5 * MS)), (INSERT, flow(lab, 2, 5 * MS)))
    lab.device.time_ns += 3 * MS
    assert lab.packets(1, ethernet(dst=1)) == [(2, ethernet(dst=1))]
    lab.device.time_ns += 2 * MS
    assert expired(lab) == [2]
    lab.device.time_ns += 2 * MS
    assert expired(lab, 0.05) == []
    lab.device.time_ns += 1 * MS
    assert expired(lab) == [1]


def test_modified_and_deleted_entries(lab):
    lab.write(*((INSERT, flow(lab, n, 5 * MS)) for n in (1, 2, 3)))
    lab.write((MODIFY, flow(lab, 1, 9 * MS)), (MODIFY, flow(lab, 2)), (DELETE, flow(lab, 3)))
    lab.device.time_ns += 8 * MS
    assert expired(lab, 0.1) == []
    lab.device.time_ns += 1 * MS
    assert expired(lab) == [1]


def test_notifications_of_one_table_are_coalesced(lab):
    lab.write(*((INSERT, flow(lab, n, 5 * MS)) for n in range(1, 6)))
    lab.device.time_ns += 7 * MS
    assert expired(lab) == [1, 2, 3, 4, 5]
    assert expired(lab, 0.05) == []


def test_time_since_last_hit(lab):
    lab.write((INSERT, flow(lab, 1)), (INSERT, flow(lab, 2)))
    lab.device.time_ns += 3 * MS
    lab.packets(1, ethernet(dst=2))
    lab.device.time_ns += 4 * MS
    wanted = lab.session.table_entry("flows", {}).table_entry
    assert not any(e.HasField("time_since_last_hit") for e in lab.read(table_entry=wanted))
    wanted.time_since_last_hit.SetInParent()
    idle_ns = {e.match[0].exact.value[-1]: e.time_since_last_hit.elapsed_ns for e in lab.read(table_entry=wanted)}
    assert idle_ns == {1: 7 * MS, 2: 4 * MS}


def test_what_is_refused(lab):
    other = lab.session.table_entry("named", {"std.ingress_port": 1, "vrf": 1}, "NoAction")
    other.table_entry.idle_timeout_ns = 5
    assert lab.refusal((INSERT, other)) == ("INVALID_ARGUMENT", "table I.named has no idle time-out")
    hit = flow(lab, 1)
    hit.table_entry.time_since_last_hit.elapsed_ns = 1
    message = "table I.flows: time_since_last_hit cannot be written"
    assert lab.refusal((INSERT, hit)) == ("INVALID_ARGUMENT", message)
    assert lab.refusal((INSERT, flow(lab, 1, -1)))[0] == "INVALID_ARGUMENT"
    default = lab.session.make.default_entry("flows", "drop")
    default.table_entry.idle_timeout_ns = 5
    message = "table I.flows: the default entry has no idle time-out"
    assert lab.refusal((MODIFY, default)) == ("INVALID_ARGUMENT", message)
    wanted = lab.session.table_entry("named", {}).table_entry
    wanted.time_since_last_hit.SetInParent()
    with pytest.raises(Exception, match="1 of the reads failed"):
        lab.read(table_entry=wanted)


def test_timers_of_the_past_are_forgotten(plain_lab):
    lab = plain_lab
    lab.write((INSERT, flow(lab, 1, 10**15)))
    for _ in range(1000):
        lab.write((MODIFY, flow(lab, 1, 10**15)))
    assert len(lab.device.pipeline.timers._heap) < 100
