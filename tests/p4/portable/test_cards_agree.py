# SPDX-License-Identifier: Apache-2.0
"""PNA on both engines at once: random packets in batches, a controller and time between them; then all state.

Blind spot: what both engines take from one piece of Python, as the profiles of times to live.
"""

from __future__ import annotations

import threading
from pathlib import Path
from random import Random
from typing import Any

import pytest

from offramp_base.wire.batch import PacketBatch
from offramp_p4 import make_switch
from offramp_p4.frontend import load, load_text
from offramp_p4.native.cores import one_core
from offramp_p4.native.switch import NativeSwitch
from offramp_p4.portable.hashing import toeplitz
from offramp_p4.records import Digest
from offramp_p4.state import ActionData, CloneSession, Exact, MeterCell, Replica, StateError, TableEntry

pytestmark = pytest.mark.p4

PNA = Path(__file__).with_name("pna.p4")
SECOND = 1_000_000
TRACKER = """
#include <core.p4>
#include <pna.p4>
header flow_t { bit<8> order; bit<8> profile; bit<32> source; bit<64> peer; bit<8> seen; bit<32> count; bit<32> hash; }
struct headers_t { flow_t f; }
struct meta_t { bit<32> hash; }
struct known_t { int<17> delta; bit<70> wide; bool odd; }
struct told_t { bit<32> source; bit<8> seen; }
struct pair_t { bit<24> packets; bit<16> last; }
parser Parse(packet_in p, out headers_t h, inout meta_t m, in pna_main_parser_input_metadata_t i) {
    state start { p.extract(h.f); transition accept; }
}
control Pre(in headers_t h, inout meta_t m, in pna_pre_input_metadata_t i, inout pna_pre_output_metadata_t o) {
    apply { }
}
control Main(inout headers_t h, inout meta_t m, in pna_main_input_metadata_t i, inout pna_main_output_metadata_t o) {
    DirectCounter<bit<32>>(PNA_CounterType_t.PACKETS_AND_BYTES) hits;
    DirectMeter(PNA_MeterType_t.PACKETS) rate;
    Counter<bit<32>, bit<8>>(4, PNA_CounterType_t.BYTES) bytes;
    Register<pair_t, bit<8>>(8) pairs;
    Hash<bit<32>>(PNA_HashAlgorithm_t.TOEPLITZ) rss;
    Checksum<bit<16>>(PNA_HashAlgorithm_t.ONES_COMPLEMENT16) sum;
    action known(int<17> delta, bit<70> wide, bool odd) {
        hits.count();
        h.f.seen = rate.execute() == PNA_MeterColor_t.RED ? 8w2 : 8w1;
        h.f.count = (bit<32>)(int<32>)delta ^ (bit<32>)wide;
        if (odd) { h.f.count = ~h.f.count; }
        update_expire_info(h.f.order[0:0] == 1, h.f.order[1:1] == 1, (ExpireTimeProfileId_t)h.f.profile);
    }
    action fresh() {
        bool added = add_entry_if(h.f.order[2:2] == 0, "known",
            (known_t){ delta = (int<17>)(bit<17>)h.f.source, wide = 6w9 ++ h.f.peer, odd = h.f.source[0:0] == 1 },
            (ExpireTimeProfileId_t)h.f.profile);
        h.f.seen = added ? 8w3 : 8w4;
    }
    table flows {
        key = { h.f.source : exact; h.f.peer : exact; }
        actions = { known; fresh; }
        default_action = fresh;
        add_on_miss = true;
        pna_idle_timeout = PNA_IdleTimeout_t.AUTO_DELETE;
        pna_direct_counter = hits;
        pna_direct_meter = rate;
        size = SIZE;
    }
    apply {
        flows.apply();
        bytes.count(h.f.profile & 3);
        pair_t before = pairs.read(h.f.order & 7);
        pairs.write(h.f.order & 7, { before.packets + 1, (bit<16>)h.f.source });
        sum.update({ h.f.source, h.f.profile });
        sum.update({ h.f.peer });
        h.f.hash = rss.get_hash({ h.f.source, h.f.peer, h.f.source, h.f.peer, h.f.peer, h.f.peer });
        m.hash = (bit<32>)sum.get();
        h.f.count = h.f.count + m.hash + (bit<32>)before.last;
        send_to_port((PortId_t)(PortIdUint_t)(h.f.source & 7));
    }
}
control Deparse(packet_out p, in headers_t h, in meta_t m, in pna_main_output_metadata_t o) {
    Digest<told_t>() told;
    apply { if (h.f.seen == 3) { told.pack({ h.f.source, h.f.seen }); } p.emit(h); }
}
PNA_NIC(Parse(), Pre(), Main(), Deparse()) main;
"""


class Cards:
    """The same card on both engines."""

    def __init__(self, program: Any, **options: Any) -> None:
        self.engines = [make_switch(program, engine, host_ports=[3], **options) for engine in ("python", "native")]
        self.digests: list[list[Digest]] = [[], []]
        for card, digests in zip(self.engines, self.digests, strict=True):
            card.on_digest = digests.append

    def at(self, now_us: int) -> None:
        for card in self.engines:
            card.now_us = now_us

    def send(self, frames: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
        left, right = (list(card.process(PacketBatch.of(frames))) for card in self.engines)
        assert left == right
        return left

    def control(self, change: Any) -> None:
        """A change, which both take or both refuse."""
        refusals = []
        for card in self.engines:
            try:
                change(card)
                refusals.append("")
            except StateError as error:
                refusals.append(str(error))
        assert refusals[0] == refusals[1]

    def check(self) -> None:
        left, right = (_state(card) for card in self.engines)
        assert left == right
        assert self.digests[0] == self.digests[1]


def _state(card: Any) -> dict[str, Any]:
    return {
        "stats": card.stats,
        "registers": {name: list(r.values) for name, r in card.registers.items()},
        "counters": {name: (list(c.packets), list(c.bytes)) for name, c in card.counters.items()},
        "look-ups": {name: (t.hits, t.misses) for name, t in card.tables.items()},
        "entries": {name: [_entry(e) for e in t.entries] for name, t in card.tables.items()},
    }


def _entry(e: TableEntry) -> tuple[Any, ...]:
    levels = list(e.meter.levels) if e.meter is not None and e.meter.rates else []
    return e.keys, e.action, e.packets, e.bytes, e.last_hit_us, e.idle_timeout_ns, levels


def _flow(rng: Random, flows: int) -> bytes:
    order, profile, source = rng.randrange(8), rng.choice((0, 0, 1, 2, 9)), rng.randrange(flows)
    return bytes([order, profile]) + source.to_bytes(4, "big") + (source % 3).to_bytes(8, "big") + bytes(9)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(3))
def test_flows_are_learnt_and_forgotten_alike(seed: int) -> None:
    rng, now = Random(seed), 0
    cards = Cards(load_text(TRACKER.replace("SIZE", "40")))
    for _ in range(60):
        now += rng.choice((0, 1, SECOND, 4 * SECOND, 11 * SECOND))
        cards.at(now)
        cards.send([(rng.randrange(8), _flow(rng, 60)) for _ in range(rng.randrange(1, 12))])
        if rng.random() < 0.6:
            _disturb(cards, rng, now)
        if rng.random() < 0.2:
            cards.check()
    cards.check()
    stats = cards.engines[0].stats
    assert min(stats.packets_out, len(cards.digests[0])) > 50


def _disturb(cards: Cards, rng: Random, now: int) -> None:
    """A controller adds, changes and removes entries, learnt ones among them, and sets a profile's time."""
    known = [e.keys for e in cards.engines[0].tables["Main.flows"].entries]
    keys = rng.choice(known) if known and rng.random() < 0.7 else (Exact(rng.randrange(60)), Exact(0))
    action = ActionData("Main.known", (rng.randrange(1 << 17), rng.randrange(1 << 70), rng.randrange(2)))
    rates, life_ns, kind = ((0.5, 2), (1.0, 3)), rng.choice((0, 5 * 10**9)), rng.randrange(4)

    def change(card: Any) -> None:
        table = card.tables["Main.flows"]
        entry = TableEntry(keys, action, idle_timeout_ns=life_ns, last_hit_us=now)
        if kind == 0:
            table.insert(entry)
        elif kind == 1:
            table.modify(entry)
        elif kind == 2:
            table.delete(keys)
        else:
            known = table.get(keys)
            if known is not None:
                known.meter = known.meter or MeterCell()
                known.meter.configure(rates, now)
            card._objects.flows.expire_s[2] = 3 + now % 7

    cards.control(change)


@pytest.mark.full
def test_a_table_grows_within_a_batch() -> None:
    """Thousands of flows in one batch, each hit twice in the next, while counts of the earlier ones are pending."""
    cards = Cards(load_text(TRACKER.replace("SIZE", "3000")))
    frames = [(0, bytes([1, 0]) + n.to_bytes(4, "big") + bytes(17)) for n in range(3500)]
    cards.send(frames)
    cards.send([frames[n // 2] for n in range(7000)])
    cards.check()
    cards.at(10 * SECOND)
    cards.send(frames[:1])
    cards.check()
    assert len(cards.engines[1].tables["Main.flows"]) == 1


@pytest.mark.full
def test_a_reset_forgets_flows() -> None:
    cards = Cards(load(PNA))
    for _ in range(2):
        cards.send([(0, bytes([1, n, 0, 0, 0, 0, 0, 4])) for n in range(4)])
        cards.check()
        for card in cards.engines:
            card.reset()
        cards.check()


def test_orders_on_both_engines() -> None:
    rng = Random(7)
    cards = Cards(load(PNA), cpu_port=255, max_passes=6)
    for card in cards.engines:
        card.pre.clones[5] = CloneSession((Replica(8, 0), Replica(0xFFFFFFFD, 0), Replica(70_000, 0)), packet_length=9)
    for number in range(200):
        cards.at(number * SECOND)
        frames = []
        for _ in range(5):
            port = rng.choice((0, 4, 65_535, 65_536, 0xFFFFFFFA, 0xFFFFFFFD))
            asked = [rng.choice((0, 1, 1, 2, 3, 4, 0xEE)), rng.randrange(4), rng.randrange(3), rng.choice((0, 2, 9))]
            whole = bytes(asked) + port.to_bytes(4, "big") + rng.randbytes(rng.randrange(30))
            frames.append((rng.choice((0, 3, 255)), whole[: rng.choice((7, 99, 99, 99))]))
        cards.send(frames)
    cards.check()
    stats = cards.engines[0].stats
    assert min(stats.recirculations, stats.clones, stats.truncated, stats.looped, stats.parse_errors) > 0


MIRRORS = """
#include <core.p4>
#include <bmv2/pna.p4>
header h_t { bit<8> count; bit<8> last; }
struct headers_t { h_t h; }
struct meta_t { }
parser Parse(packet_in p, out headers_t h, inout meta_t m, in pna_main_parser_input_metadata_t i) {
    state start { p.extract(h.h); transition accept; }
}
control Main(inout headers_t h, inout meta_t m, in pna_main_input_metadata_t i, inout pna_main_output_metadata_t o) {
    apply {
        for (bit<8> n in 8w0 .. 8w9) {
            if (n < h.h.count) {
                mirror_packet((MirrorSlotId_t)(MirrorSlotIdUint_t)(n * h.h.last), (MirrorSessionId_t)(8w0 ++ n));
            }
        }
    }
}
control Deparse(packet_out p, inout headers_t h, in meta_t m, in pna_main_output_metadata_t o) { apply { p.emit(h); } }
PNA_NIC(Parse(), Main(), Deparse()) main;
"""


def test_slots_are_mirrored_in_order_and_once() -> None:
    cards = Cards(load_text(MIRRORS))
    for card in cards.engines:
        card.pre.clones.update({n: CloneSession((Replica(n, 0),)) for n in range(10)})

    def ports(count: int, step: int) -> list[int]:
        return [port for port, _ in cards.send([(0, bytes([count, step]))])]

    assert ports(3, 1) == [0, 1, 2]
    assert ports(4, 255) == [0, 3, 2, 1]  # slots 0, 255, 254, 253
    assert ports(10, 0) == [9]
    assert ports(10, 128) == [8, 9]


@pytest.mark.full
def test_toeplitz_hashes_meet_the_key_from_its_start_again() -> None:
    cards = Cards(load_text(TRACKER.replace("SIZE", "4")))
    source, peer = 0x01020304, 0x1122334455667788
    frame = bytes([4, 0]) + source.to_bytes(4, "big") + peer.to_bytes(8, "big") + bytes(9)
    ((_, reply),) = cards.send([(0, frame)])
    s, p = frame[2:6], frame[6:14]
    assert int.from_bytes(reply[-4:], "big") == toeplitz(s + p + s + p + p + p)


@pytest.mark.full
def test_a_controller_writes_while_packets_learn() -> None:
    """Neither waits for the other for ever, and no entry is lost."""
    card = make_switch(load_text(TRACKER.replace("SIZE", "100000")), "native")
    table, learnt = card.tables["Main.flows"], 3000

    def write() -> None:
        for number in range(2000):
            keys = (Exact(number), Exact(1 << 63))
            table.insert(TableEntry(keys, ActionData("Main.known", (0, 0, 0))))
            if number % 2:
                table.delete(keys)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    for start in range(0, learnt, 100):
        frames = [(0, bytes([1, 0]) + n.to_bytes(4, "big") + bytes(17)) for n in range(start, start + 100)]
        card.process(PacketBatch.of(frames))
    writer.join(60)
    assert not writer.is_alive()
    assert len(card.tables["Main.flows"]) == learnt + 1000
    frames = [(0, bytes([1, 0]) + n.to_bytes(4, "big") + bytes(17)) for n in range(learnt)]
    assert all(frame[14] == 1 for _, frame in card.process(PacketBatch.of(frames)))  # hits, all of them


@pytest.mark.full
def test_cards_that_learn_have_one_core() -> None:
    card = make_switch(load(PNA), "native")
    assert isinstance(card, NativeSwitch)
    assert one_core(card) == "its packets change entries of the table Main.flows"
    ids = MIRRORS.replace(
        "apply {\n        for", "apply { h.h.last = (bit<8>)(FlowIdUint_t)allocate_flow_id();\n        for"
    )
    for text, reason in ((MIRRORS, ""), (ids, "its packets share the flow ids")):
        switch = make_switch(load_text(text), "native")
        assert isinstance(switch, NativeSwitch)
        assert one_core(switch) == reason
