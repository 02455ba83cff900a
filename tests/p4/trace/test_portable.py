# SPDX-License-Identifier: Apache-2.0
"""Traces of PSA and PNA programs: known to the last value, and of switches that do what they do without."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from offramp_p4.frontend import load, load_text
from offramp_p4.state import ActionData, CloneSession, Exact, GroupAction, Replica, TableEntry
from offramp_p4.switch import Switch
from offramp_p4.trace import PacketTrace
from offramp_p4.trace.alternatives import alternatives
from psa_orders import CLONE, DROP, EGRESS_CLONE, EGRESS_DROP, RECIRCULATE, RESUBMIT, order
from trace_text import shown

pytestmark = pytest.mark.p4
GOLDEN = Path(__file__).parent / "golden"
PROGRAMS = Path(__file__).parents[1] / "portable"
PSA, PNA = load(PROGRAMS / "psa.p4"), load(PROGRAMS / "pna.p4")
PSA_PACKETS = (
    order(cos=5),
    order(RESUBMIT | CLONE, session=8),
    order(group=7),
    order(group=70),
    order(EGRESS_CLONE, port=RECIRCULATE & 0xFFFF, session=8),
    order(DROP),
    order(EGRESS_DROP),
    order(port=3)[:5],
)
PNA_PACKETS = (
    bytes([1, 7, 0, 0, 0, 0, 0, 4]),  # learns
    bytes([4, 7, 0, 1, 0, 0, 0, 4]),  # hits, is mirrored and recirculates
    bytes([0xEE, 7, 0, 0, 0, 0, 0, 4]),
    bytes([0, 9, 0, 0, 0, 0, 0, 4]),
    bytes([1, 7, 0]),
)


def set_up(switch: Switch) -> Switch:
    switch.pre.multicast[7] = (Replica(4, 1), Replica(5, 2))
    switch.pre.clones[8] = CloneSession((Replica(6, 3), Replica(70_000, 0)), class_of_service=2)
    switch.pre.clones[5] = CloneSession((Replica(8, 0),))
    return switch


@pytest.mark.parametrize(("name", "packets"), [("psa", PSA_PACKETS), ("pna", PNA_PACKETS)])
def test_what_packets_meet(name: str, packets: tuple[bytes, ...]) -> None:
    traces: list[PacketTrace] = []
    switch = set_up(Switch({"psa": PSA, "pna": PNA}[name], trace=traces.append))
    for packet in packets:
        switch.process_one(1, packet)
    assert shown(*traces) == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.full
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("program", "packets"), [(PSA, PSA_PACKETS), (PNA, PNA_PACKETS)], ids=["psa", "pna"])
def test_a_traced_switch_does_the_same(program: object, packets: tuple[bytes, ...], seed: int) -> None:
    """Every output is that of a span, and every span leads to something."""
    rng, traces = Random(seed), list[PacketTrace]()
    plain, traced = set_up(Switch(program, max_passes=9)), set_up(Switch(program, max_passes=9, trace=traces.append))  # type: ignore[arg-type]
    for _ in range(100):
        asked = bytearray(rng.choice(packets) + rng.randbytes(rng.randrange(20)))
        asked[rng.randrange(len(asked))] = rng.choice((0, 1, 2, 8, 255))
        expected = plain.process_one(1, bytes(asked))
        assert traced.process_one(1, bytes(asked)) == expected
        spans = traces[-1].spans
        assert [span.output for span in spans if span.output is not None] == expected
        assert [s for s in spans if not (s.output or s.dropped or any(traces[-1].children(s)))] == []
        assert all(span.parent is None or span.parent < span.id for span in spans)
        assert traces[-1].to_json()
    assert traced.stats == plain.stats
    assert [t.hits for t in traced.tables.values()] == [t.hits for t in plain.tables.values()]


def test_a_packet_that_never_ends_is_cut_off_and_the_trace_says_so() -> None:
    traces: list[PacketTrace] = []
    switch = set_up(Switch(PNA, max_passes=2, trace=traces.append))
    switch.process_one(1, bytes([0, 7, 0, 9, 0, 0, 0, 4]))
    assert traces[0].spans[-1].dropped == "the packet has used up its 2 passes"


SPREAD = """
#include <core.p4>
#include <pna.p4>
header h_t { bit<8> a; }
struct headers_t { h_t h; }
struct meta_t { }
parser Parse(packet_in p, out headers_t h, inout meta_t m, in pna_main_parser_input_metadata_t i) {
    state start { p.extract(h.h); transition accept; }
}
control Pre(in headers_t h, inout meta_t m, in pna_pre_input_metadata_t i, inout pna_pre_output_metadata_t o) {
    apply { }
}
control Main(inout headers_t h, inout meta_t m, in pna_main_input_metadata_t i, inout pna_main_output_metadata_t o) {
    ActionSelector(PNA_HashAlgorithm_t.CRC16, 8, 8) ways;
    action forward(bit<32> port) { send_to_port((PortId_t)port); }
    table t { key = { h.h.a : exact; h.h.a : selector; } actions = { forward; } pna_implementation = ways; }
    apply { t.apply(); }
}
control Deparse(packet_out p, in headers_t h, in meta_t m, in pna_main_output_metadata_t o) { apply { p.emit(h); } }
PNA_NIC(Parse(), Pre(), Main(), Deparse()) main;
"""


def test_every_way_through_a_selector() -> None:
    program = load_text(SPREAD)

    def make(sink) -> Switch:  # type: ignore[no-untyped-def]
        switch = Switch(program, trace=sink)
        for member in (1, 2, 3):
            switch.profiles["Main.ways"].insert_member(member, ActionData("Main.forward", (10 * member,)))
        switch.profiles["Main.ways"].insert_group(1, (1, 2, 3))
        switch.tables["Main.t"].insert(TableEntry((Exact(5),), GroupAction(1)))
        return switch

    ports = [span.output[0] for trace in alternatives(make, (0, b"\5")) for span in trace.spans if span.output]
    assert ports == [10, 20, 30]
