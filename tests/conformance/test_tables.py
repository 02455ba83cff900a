# SPDX-License-Identifier: Apache-2.0
"""Tables, default actions and counters, and what the data plane does with them.

Oracle: hand-written expectations, the same for every switch; bmv2 where it is installed.
"""

from __future__ import annotations

import pytest

from frames import ethernet, ipv4, mac
from offramp_base.errors import OfframpError
from offramp_base.p4rt.schema import v1
from offramp_base.p4rt.status import RpcError


def forward(session, dst, port):
    return session.table_entry("IngressImpl.mac", {"hdr.ethernet.dst": mac(dst)}, "forward", {"port": port})


def test_exact_match_forwards_unchanged(target, session):
    target.open_all()
    session.insert([forward(session, 1, 2), forward(session, 2, 3)])
    frame = ethernet(dst=1, src=9) + b"payload"
    target.exchange(1, frame, ethernet(dst=2, src=9) + b"other", ethernet(dst=77, src=9))
    assert target.receive(2, 1) == [frame]
    assert target.receive(3, 1) == [ethernet(dst=2, src=9) + b"other"]
    assert target.silent(2)
    assert target.silent(4)


def test_modify_and_delete(target, session):
    target.open_all()
    session.insert([forward(session, 1, 2)])
    session.modify([forward(session, 1, 3)])
    target.exchange(1, ethernet(dst=1))
    assert target.receive(3, 1) == [ethernet(dst=1)]
    session.delete([session.table_entry("mac", {"hdr.ethernet.dst": mac(1)})])
    target.exchange(1, ethernet(dst=1))
    assert target.silent(3)
    assert session.read_table("mac") == []


def test_longest_prefix_wins_and_rewrites(target, session):
    target.open_all()
    session.insert(
        session.table_entry(
            "routes",
            {"hdr.ipv4.dst": (prefix, length)},
            "route_to",
            {"port": port, "next_hop": mac(hop)},
        )
        for prefix, length, port, hop in [
            (0x0A000000, 8, 2, 0x22),
            (0x0A010000, 16, 3, 0x33),
            (0x0A010100, 24, 4, 0x44),
        ]
    )
    for dst, port, hop in [(0x0A7F0001, 2, 0x22), (0x0A017F01, 3, 0x33), (0x0A010105, 4, 0x44)]:
        target.exchange(1, ethernet(dst=1, type=0x0800) + ipv4(dst=dst))
        assert target.receive(port, 1) == [ethernet(dst=hop, type=0x0800) + ipv4(dst=dst)]
    target.exchange(1, ethernet(dst=1, type=0x0800) + ipv4(dst=0x0B000001))
    assert all(target.silent(port) for port in (2, 3, 4))


def test_ternary_follows_priority(target, session):
    target.open_all()
    session.insert([forward(session, 1, 2)])
    everything = session.table_entry("acl", {}, "mark", {"index": 1}, priority=1)
    some = session.table_entry("acl", {"hdr.ethernet.src": (0x10, 0xF0)}, "drop", priority=2)
    exception = session.table_entry("acl", {"hdr.ethernet.src": 0x15}, "mark", {"index": 2}, priority=3)
    session.insert([everything, some, exception])
    target.exchange(1, ethernet(dst=1, src=0x20), ethernet(dst=1, src=0x12), ethernet(dst=1, src=0x15))
    sources = [frame[11] for frame in target.receive(2, 2)]
    assert sources == [0x20, 0x15]
    cells = session.read_counter("marked")
    assert [cells[i][0] for i in range(4)] == [0, 1, 1, 0]


def test_default_action_changes_and_resets(target, session):
    target.open_all()
    session.default_action("mac", "forward", {"port": 4})
    target.exchange(1, ethernet(dst=5))
    assert target.receive(4, 1) == [ethernet(dst=5)]
    session.default_action("mac", None)
    target.exchange(1, ethernet(dst=5))
    assert target.silent(4)


def test_direct_and_indirect_counters_count_packets_and_bytes(target, session):
    target.open_all()
    key = {"hdr.ipv4.dst": (0x0A000000, 8)}
    session.insert([session.table_entry("routes", key, "route_to", {"port": 2, "next_hop": 7})])
    session.insert([session.table_entry("acl", {}, "mark", {"index": 3}, priority=1)])
    frame = ethernet(type=0x0800) + ipv4(dst=0x0A000001)
    target.exchange(1, frame, frame, frame)
    assert len(target.receive(2, 3)) == 3
    assert session.read_counter("marked", 3) == {3: (3, 3 * len(frame))}
    wanted = v1.DirectCounterEntry(table_entry=session.table_entry("routes", key).table_entry)
    (entity,) = session.read([v1.Entity(direct_counter_entry=wanted)])
    data = entity.direct_counter_entry.data
    assert (data.packet_count, data.byte_count) == (3, 3 * len(frame))
    session.write_counter("marked", 3, packets=100, octets=5)
    assert session.read_counter("marked", 3) == {3: (100, 5)}


def test_read_back_what_was_written(session):
    entries = [
        session.table_entry("acl", {"hdr.ethernet.type": 0x1234}, "mark", {"index": 4}, priority=7),
        session.table_entry("acl", {"hdr.ethernet.src": (0x100, 0xF00)}, "drop", priority=9),
    ]
    session.insert(entries)
    read = {e.priority: e for e in session.read_table("acl")}
    assert read == {e.table_entry.priority: e.table_entry for e in entries}


def test_const_entries_act_and_can_be_read(target, session):
    target.open_all()
    target.exchange(1, ethernet(type=0x88B5), ethernet(type=0x88B6), ethernet(type=0x88B6))
    assert target.silent(2)
    cells = session.read_counter("marked")
    assert (cells[5][0], cells[6][0]) == (1, 2)
    const = {e.match[0].exact.value: e.is_const for e in session.read_table("fixed")}
    assert const.keys() == {b"\x88\xb5", b"\x88\xb6"}
    with pytest.raises(OfframpError, match="refused 1 of 1 updates"):
        session.insert([session.table_entry("fixed", {"hdr.ethernet.type": 1}, "NoAction")])


def test_batch_goes_on_after_an_error(session):
    entries = [forward(session, 1, 1), forward(session, 1, 2), forward(session, 3, 3)]
    with pytest.raises(RpcError) as failure:
        session.insert(entries)
    assert [e.canonical_code for e in failure.value.errors] == [0, 6, 0]
    assert "refused 1 of 3 updates; update 1 (insert IngressImpl.mac): ALREADY_EXISTS" in str(failure.value)
    assert len(session.read_table("mac")) == 2


def test_thousand_entries(target, session):
    target.open_all()
    session.insert((forward(session, 0x1000 + i, 1 + i % 4) for i in range(1000)), batch=300)
    assert len(session.read_table("mac")) == 1000
    target.exchange(1, *(ethernet(dst=0x1000 + i) for i in (0, 1, 2, 3, 999)))
    assert [f[5] for f in target.receive(4, 2)] == [3, 0xE7]
    assert target.receive(2, 1) == [ethernet(dst=0x1001)]
