# SPDX-License-Identifier: Apache-2.0
"""Entries that BF-RT clients write decide what packets do, and are read back, on both engines."""

from __future__ import annotations

import pytest

from bfrt_requests import refused
from tna_programs import packet

pytestmark = pytest.mark.p4
MOST = (1 << 64) - 1


def test_exact_entries(bed):
    exact, c = "pipe.I.exact", bed.client
    c.insert(exact, {"hdr.h.a": 9}, "to", port=5)
    assert bed.send((1, packet(9))) == [(5, packet(9))]
    counts = {"COUNTER_SPEC_BYTES": 12, "COUNTER_SPEC_PKTS": 1}
    ttl = {"ENTRY_TTL": 0, "ENTRY_HIT_STATE": "ENTRY_ACTIVE"}
    assert c.get(exact, {"hdr.h.a": 9}) == [{"action": "to", "port": 5, **counts, **ttl, "key": {"hdr.h.a": 9}}]
    c.modify(exact, {"hdr.h.a": 9}, "to", port=6)
    assert c.get(exact)[0]["port"] == 6
    c.modify(exact, {"hdr.h.a": 9}, COUNTER_SPEC_PKTS=100)
    assert bed.send((1, packet(9))) == [(6, packet(9))]
    assert c.get(exact)[0]["COUNTER_SPEC_PKTS"] == 101
    assert refused(lambda: c.insert(exact, {"hdr.h.a": 9}, "to", port=5)) == "ALREADY_EXISTS"
    c.delete(exact, {"hdr.h.a": 9})
    assert bed.send((1, packet(9))) == []
    assert refused(lambda: c.delete(exact, {"hdr.h.a": 9})) == "NOT_FOUND"
    assert refused(lambda: c.get(exact, {"hdr.h.a": 9})) == "NOT_FOUND"


def test_counts_of_entries_that_are_gone_are_forgotten(bed):
    exact, counter, c = "pipe.I.exact", "pipe.I.counter", bed.client
    c.insert(counter, {"$COUNTER_INDEX": 2}, COUNTER_SPEC_PKTS=7)
    assert c.get(counter, {"$COUNTER_INDEX": 2}, from_hw=False)[0]["COUNTER_SPEC_PKTS"] == 7
    c.delete(counter)
    assert c.get(counter, {"$COUNTER_INDEX": 2}, from_hw=False)[0]["COUNTER_SPEC_PKTS"] == 0
    for _ in range(2):
        c.insert(exact, {"hdr.h.a": 9}, "to", port=5)
        assert c.get(exact, {"hdr.h.a": 9}, from_hw=False)[0]["COUNTER_SPEC_PKTS"] == 0
        bed.send((1, packet(9)))
        assert c.get(exact, {"hdr.h.a": 9})[0]["COUNTER_SPEC_PKTS"] == 1
        c.delete(exact, {"hdr.h.a": 9})


def test_a_table_is_full_and_is_cleared(bed):
    exact, c = "pipe.I.exact", bed.client
    entries = [c.entry(exact, {"hdr.h.a": n}, "to", port=n) for n in range(8, 17)]
    assert refused(lambda: c.write("INSERT", *entries)) == "RESOURCE_EXHAUSTED"
    assert c.get(exact) == []
    assert refused(lambda: c.write("INSERT", *entries, atomicity="CONTINUE_ON_ERROR")) == "RESOURCE_EXHAUSTED"
    assert len(c.get(exact)) == 8
    c.delete(exact)
    assert c.get(exact) == []


def test_defaults(bed):
    exact, c = "pipe.I.exact", bed.client
    assert c.get(exact, default=True)[0]["action"] == "miss"
    c.modify(exact, None, "to", port=7)
    assert bed.send((1, packet(9))) == [(7, packet(9))]
    reset = c.entry(exact, None)
    c.write("RESET", reset)
    assert bed.send((1, packet(9))) == []


def test_priorities_and_masks(bed):
    table, c = "pipe.I.ternary", bed.client
    every = {"hdr.h.c": (0, 0), "hdr.h.w": (0, "..", (1 << 32) - 1)}
    c.insert(table, {**every, "$MATCH_PRIORITY": 5}, "mark", value=1)
    c.insert(table, {"hdr.h.c": (0x10, 0xF0), "hdr.h.w": (2, "..", 3), "$MATCH_PRIORITY": 2}, "mark", value=2)
    assert [frame[1] for _, frame in bed.send(*((1, packet(3, c=0x1F, w=w)) for w in (1, 2, 3, 4)))] == [1, 2, 2, 1]
    keys = [entry["key"] for entry in c.get(table)]
    assert keys[0] == {**every, "$MATCH_PRIORITY": 5}
    assert keys[1] == {"hdr.h.c": (0x10, 0xF0), "hdr.h.w": (2, "..", 3), "$MATCH_PRIORITY": 2}


def test_prefixes(bed):
    table, c = "pipe.I.prefix", bed.client
    c.insert(table, {"hdr.h.w": (0x0A000000, "/", 8)}, "mark", value=1)
    c.insert(table, {"hdr.h.w": (0x0A010000, "/", 16)}, "mark", value=2)
    c.insert(table, {"hdr.h.w": (0, "/", 0)}, "mark", value=3)
    sent = bed.send(*((1, packet(4, w=w)) for w in (0x0A020304, 0x0A010203, 0x0B000000)))
    assert [frame[1] for _, frame in sent] == [1, 2, 3]
    assert c.get(table)[2]["key"] == {"hdr.h.w": (0, "/", 0)}


def test_direct_meters_and_registers(bed):
    c = bed.client
    c.insert("pipe.I.metered", {"hdr.h.a": 1}, "paced", port=5)
    rates = ("CIR_KBPS", "PIR_KBPS", "CBS_KBITS", "PBS_KBITS")
    assert [c.get("pipe.I.metered")[0][f"METER_SPEC_{r}"] for r in rates] == [MOST] * 4
    given = {f"METER_SPEC_{r}": n for r, n in zip(rates, (0, 0, 0, 0), strict=True)}
    c.modify("pipe.I.metered", {"hdr.h.a": 1}, **given)
    assert {n: v for n, v in c.get("pipe.I.metered")[0].items() if n in given} == given
    assert bed.send((1, packet(1)))[0][1][1] == 3  # red
    c.insert("pipe.I.registered", {"hdr.h.a": 2}, "noted", port=5, f1=40)
    assert bed.send((1, packet(2))) == [(5, packet(2, c=41))]
    assert c.get("pipe.I.registered")[0]["f1"] == 41


def test_members_and_groups(bed):
    c = bed.client
    for member in (1, 2, 3):
        c.insert("pipe.I.members", {"$ACTION_MEMBER_ID": member}, "mark", value=10 * member)
    group = {"$SELECTOR_GROUP_ID": 7}
    c.insert("pipe.I.groups", group, ACTION_MEMBER_ID=[1, 2], ACTION_MEMBER_STATUS=[True, False], MAX_GROUP_SIZE=4)
    c.insert("pipe.I.chosen", {"hdr.h.a": 5}, SELECTOR_GROUP_ID=7)
    assert {bed.send((1, packet(5, c=n)))[0][1][1] for n in range(8)} == {10}
    entry = c.entry("pipe.I.groups", group, ACTION_MEMBER_ID=[3], ACTION_MEMBER_STATUS=[True])
    c.write("MODIFY_INC", entry)
    assert {bed.send((1, packet(5, c=n)))[0][1][1] for n in range(8)} == {10, 30}
    assert c.get("pipe.I.groups", group)[0]["ACTION_MEMBER_ID"] == [1, 2, 3]
    picked = c.get("pipe.I.groups_get_member", {"$SELECTOR_GROUP_ID": 7, "hash_value": 1})
    assert picked[0]["ACTION_MEMBER_ID"] == 3
    assert refused(lambda: c.delete("pipe.I.members", {"$ACTION_MEMBER_ID": 3})) == "INVALID_ARGUMENT"
    assert refused(lambda: c.delete("pipe.I.groups", group)) == "INVALID_ARGUMENT"
    c.modify("pipe.I.chosen", {"hdr.h.a": 5}, ACTION_MEMBER_ID=2)
    assert bed.send((1, packet(5)))[0][1][1] == 20
    for table in ("pipe.I.chosen", "pipe.I.groups", "pipe.I.members"):
        c.delete(table)
        assert c.get(table) == []


def test_arrays(bed):
    c = bed.client
    c.modify("pipe.I.counter", {"$COUNTER_INDEX": 3}, COUNTER_SPEC_PKTS=5)
    bed.send((1, packet(9)), (1, packet(9)))
    assert c.get("pipe.I.counter", {"$COUNTER_INDEX": 3})[0]["COUNTER_SPEC_PKTS"] == 7
    c.insert("pipe.I.pairs", {"$REGISTER_INDEX": 2}, first=1, second=2)
    c.modify("pipe.I.pairs", {"$REGISTER_INDEX": 2}, second=0xFFFF)
    assert bed.device.pipeline.switch.registers["pipe.I.pairs"].read(2) == 0x1FFFF
    assert c.get("pipe.I.pairs", {"$REGISTER_INDEX": 2})[0]["first"] == 1
    c.modify("pipe.I.step", None, value=7)
    assert bed.send((1, packet(6))) == [(9, packet(6, b=12))]
    assert c.get("pipe.I.words", {"$REGISTER_INDEX": 1})[0]["f1"] == 12
    c.delete("pipe.I.words")
    assert [e["f1"] for e in c.get("pipe.I.words")] == [5] * 8
    c.modify("pipe.I.meter", {"$METER_INDEX": 1}, METER_SPEC_CIR_PPS=9)
    assert c.get("pipe.I.meter", {"$METER_INDEX": 1})[0]["METER_SPEC_CIR_PPS"] == 9
    assert refused(lambda: c.get("pipe.I.counter", {"$COUNTER_INDEX": 8})) == "INVALID_ARGUMENT"


def test_filters(bed):
    c = bed.client
    wanted = {
        "LPF_SPEC_TYPE": "RATE", "LPF_SPEC_GAIN_TIME_CONSTANT_NS": 1000.0, "LPF_SPEC_DECAY_TIME_CONSTANT_NS": 500.0,
        "LPF_SPEC_OUT_SCALE_DOWN_FACTOR": 3,
    }  # fmt: skip
    c.modify("pipe.I.low", {"$LPF_INDEX": 1}, **wanted)
    assert c.get("pipe.I.low", {"$LPF_INDEX": 1})[0] == {**wanted, "key": {"$LPF_INDEX": 1}}
    c.modify("pipe.I.red", {"$WRED_INDEX": 1}, WRED_SPEC_MAX_THRESH_CELLS=70)
    assert c.get("pipe.I.red", {"$WRED_INDEX": 1})[0]["WRED_SPEC_MAX_THRESH_CELLS"] == 70
    wrong = {**wanted, "LPF_SPEC_TYPE": "MAYBE"}
    assert refused(lambda: c.modify("pipe.I.low", {"$LPF_INDEX": 1}, **wrong)) == "INVALID_ARGUMENT"


def test_parsers(bed):
    c = bed.client
    c.insert("pipe.IP.known", {"f1": (0x10, 0xF0)})
    assert c.get("pipe.IP.known") == [{"key": {"f1": (0x10, 0xF0)}}]
    assert refused(lambda: c.insert("pipe.IP.known", {"f1": (0x1F, 0xF0)})) == "ALREADY_EXISTS"
    c.delete("pipe.IP.known", {"f1": (0x10, 0xF0)})
    metadata = "pipe.IP.$PORT_METADATA"
    c.insert(metadata, {"ig.ingress_port": 4}, label=0xABCD, rest=1)
    assert [frame[2:4] for _, frame in bed.send((4, packet(7)), (5, packet(7)))] == [b"\xab\xcd", b"\0\0"]
    assert c.get(metadata)[0] == {"label": 0xABCD, "rest": 1, "key": {"ig.ingress_port": 4}}


def test_multicast_and_mirrors(bed):
    c = bed.client
    for node, ports in ((1, [10, 11]), (2, [12])):
        c.insert("$pre.node", {"$MULTICAST_NODE_ID": node}, MULTICAST_RID=node, MULTICAST_LAG_ID=[], DEV_PORT=ports)
    lists = {"MULTICAST_NODE_L1_XID_VALID": [False, False], "MULTICAST_NODE_L1_XID": [0, 0]}
    c.insert("$pre.mgid", {"$MGID": 1}, MULTICAST_NODE_ID=[1, 2], **lists)
    assert [port for port, _ in bed.send((1, packet(3, c=0xFFFF))) if port != 9] == [10, 11, 12]
    c.modify("$pre.node", {"$MULTICAST_NODE_ID": 1}, DEV_PORT=[20])
    assert [port for port, _ in bed.send((1, packet(3, c=0xFFFF))) if port != 9] == [20, 12]
    c.delete("$pre.node", {"$MULTICAST_NODE_ID": 2})
    assert c.get("$pre.mgid")[0]["MULTICAST_NODE_ID"] == [1]
    assert [port for port, _ in bed.send((1, packet(3, c=0xFFFF))) if port != 9] == [20]
    unknown = {"MULTICAST_NODE_ID": [9], "MULTICAST_NODE_L1_XID_VALID": [False], "MULTICAST_NODE_L1_XID": [0]}
    assert refused(lambda: c.insert("$pre.mgid", {"$MGID": 2}, **unknown)) == "NOT_FOUND"
    session = {"session_enable": True, "direction": "BOTH", "ucast_egress_port": 3, "ucast_egress_port_valid": True}
    c.insert("$mirror.cfg", {"$sid": 5}, "$normal", **session, max_pkt_len=100)
    clone = bed.device.pipeline.switch.pre.clones[5]
    assert (clone.replicas[0].port, clone.packet_length) == (3, 100)
    c.modify("$mirror.cfg", {"$sid": 5}, "$normal", session_enable=False)
    assert bed.device.pipeline.switch.pre.clones == {}
