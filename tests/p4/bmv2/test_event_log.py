# SPDX-License-Identifier: Apache-2.0
"""bmv2's event log: a subscriber reads what a packet does, with the numbers of the document.

Blind spot: messages of bmv2's own hidden tables and actions, which source programs do not have.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from nanomsg_subscriber import message, subscriber
from offramp_base.wire.batch import PacketBatch
from offramp_p4_tools.dropin.event_log import EventLog
from offramp_p4_tools.dropin.event_log import EventType as T
from offramp_p4_tools.dropin.nanomsg import Publisher
from offramp_p4_tools.dropin.thrift.client import ThriftClient
from offramp_p4_tools.dropin.xxh64 import xxh64
from thrift_switch import answers, serving

pytestmark = pytest.mark.p4

PROGRAM = """
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> a; bit<8> b; bit<16> sum; }
struct headers { h_t first; h_t second; }
struct meta { }
parser P(packet_in p, out headers h, inout meta m, inout standard_metadata_t s) {
    state start {
        p.extract(h.first);
        transition select(h.first.b) { 1: more; default: accept; }
    }
    state more { p.extract(h.second); transition accept; }
}
control V(inout headers h, inout meta m) { apply { } }
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    action to(bit<9> port) { s.egress_spec = port; }
    action group() { s.mcast_grp = 7; }
    table t { key = { h.first.a : exact; } actions = { to; group; NoAction; } default_action = to(3); }
    apply {
        t.apply();
        if (h.second.isValid()) { h.first.setInvalid(); }
    }
}
control E(inout headers h, inout meta m, inout standard_metadata_t s) { apply { } }
control C(inout headers h, inout meta m) {
    apply { update_checksum(h.first.isValid(), { h.first.a, h.first.b }, h.first.sum, HashAlgorithm.csum16); }
}
control D(packet_out p, in headers h) { apply { p.emit(h.first); p.emit(h.second); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"""
PARSED = [(T.PARSER_START, 0), (T.PARSER_EXTRACT, "first"), (T.PARSER_DONE, 0)]
BOTH_PARSED = [*PARSED[:2], (T.PARSER_EXTRACT, "second"), (T.PARSER_DONE, 0)]


def sent(port: int, *headers: str, checksum: bool = False) -> list[tuple[object, ...]]:
    """The messages of a copy on its way out."""
    return [
        (T.PIPELINE_START, 1), (T.PIPELINE_DONE, 1), (T.DEPARSER_START, 0),
        *([(T.CHECKSUM_UPDATE, 0)] if checksum else []),
        *((T.DEPARSER_EMIT, name) for name in headers), (T.DEPARSER_DONE, 0), (T.PACKET_OUT, port),
    ]  # fmt: skip


@pytest.mark.parametrize(("text", "size"), [(b"", 0xEF46DB3751D8E999), (b"abc", 0x44BC2CF5AD770999)])
def test_xxh64(text: bytes, size: int) -> None:
    assert xxh64(text) == size
    assert xxh64(b"Nobody inspects the spammish repetition") == 0xFBCEA83C8A378BF1


@pytest.mark.parametrize("engine", ["native", "python"])
def test_a_subscriber_reads_what_packets_do(tmp_path: Path, engine: str) -> None:
    source = tmp_path / "program.p4"
    source.write_text(PROGRAM)
    with Publisher(f"ipc://{tmp_path}/events.ipc") as publisher:
        log = EventLog(5, publisher.publish)
        with serving(source, events=log, engine=engine) as server, ThriftClient("127.0.0.1", server.port) as client:
            document = json.loads(client.call("standard", "bm_get_config"))
            headers = {each["id"]: each["name"] for each in document["headers"]}
            (table,) = [t for p in document["pipelines"] for t in p["tables"] if t["name"] == "I.t"]
            actions = {n: each["name"] for n in table["action_ids"] for each in document["actions"] if each["id"] == n}
            answers(client, "table_add I.t I.to 1 => 2", "table_add I.t I.group 2 =>", "mc_mgrp_create 7",
                    "mc_node_create 1 4 5", "mc_node_associate 7 0")  # fmt: skip
            with subscriber(publisher) as reader:

                def messages(frame: bytes, count: int) -> dict[int, list[tuple[object, ...]]]:
                    """The messages of a packet, by copy."""
                    server._running.device.process(PacketBatch.of([(1, frame)]))
                    copies: dict[int, list[tuple[object, ...]]] = {}
                    for _ in range(count):
                        raw = message(reader)
                        kind, device, context, signature, _packet, copy = struct.unpack_from("<iQIQQQ", raw)
                        assert (device, context, signature) == (5, 0, xxh64(frame))
                        values: list[object] = list(struct.unpack(f"<{len(raw) // 4 - 10}i", raw[40:]))
                        if kind in {T.PARSER_EXTRACT, T.DEPARSER_EMIT}:
                            values[0] = headers[values[0]]
                        elif kind == T.ACTION_EXECUTE:
                            values[0] = actions[values[0]]
                        copies.setdefault(copy, []).append((kind, *values))
                    return copies

                hit = [(T.TABLE_HIT, table["id"], 0), (T.ACTION_EXECUTE, "I.to")]
                whole = [(T.PACKET_IN, 1), *PARSED, (T.PIPELINE_START, 0), *hit]
                condition = document["pipelines"][0]["conditionals"][0]["id"]
                whole += [(T.CONDITION_EVAL, condition, 0), (T.PIPELINE_DONE, 0), *sent(2, "first", checksum=True)]
                assert messages(bytes([1, 0, 0, 0]), len(whole)) == {0: whole}

                miss = [(T.TABLE_MISS, table["id"]), (T.ACTION_EXECUTE, "I.to")]
                whole = [(T.PACKET_IN, 1), *BOTH_PARSED, (T.PIPELINE_START, 0), *miss]
                whole += [(T.CONDITION_EVAL, condition, 1), (T.PIPELINE_DONE, 0), *sent(3, "second")]
                assert messages(bytes([9, 1, 0, 0] * 2), len(whole)) == {0: whole}

                group = [(T.TABLE_HIT, table["id"], 1), (T.ACTION_EXECUTE, "I.group")]
                whole = [(T.PACKET_IN, 1), *PARSED, (T.PIPELINE_START, 0), *group]
                whole += [(T.CONDITION_EVAL, condition, 0), (T.PIPELINE_DONE, 0)]
                copies = [sent(port, "first", checksum=True) for port in (4, 5)]
                seen = messages(bytes([2, 0, 0, 0]), len(whole) + sum(map(len, copies)))
                assert seen == {0: whole, 1: copies[0], 2: copies[1]}
