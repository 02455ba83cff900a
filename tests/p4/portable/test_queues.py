# SPDX-License-Identifier: Apache-2.0
"""PSA and PNA behind a traffic manager: the class of service is the queue, and copies queue as packets do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from both_engines import MakeSwitch
from offramp_p4 import PlainSwitch
from offramp_p4 import make_switch as make_either
from offramp_p4.frontend import load
from offramp_p4.queued import QueuedSwitch
from offramp_p4.state import ActionData, CloneSession, Exact, Replica, TableEntry
from offramp_p4.tm import QueueConfig, TmConfig
from psa_orders import CLONE, DROP, EGRESS_CLONE, RESUBMIT, order

pytestmark = pytest.mark.p4

PSA = load(Path(__file__).with_name("psa.p4"))
PNA = load(Path(__file__).with_name("pna.p4"))
SLOW = 10**6
MakeQueued = Callable[..., QueuedSwitch]


@pytest.fixture
def plain(make_switch: MakeSwitch) -> Callable[[], PlainSwitch]:
    """Makes a switch without queues."""

    def make() -> PlainSwitch:
        switch = make_switch(PSA, cpu_port=255)
        switch.pre.multicast[7] = (Replica(4, 1), Replica(5, 2))
        switch.pre.clones[8] = CloneSession((Replica(6, 3),), class_of_service=2)
        return switch

    return make


@pytest.fixture
def queued(plain: Callable[[], PlainSwitch]) -> MakeQueued:
    """Makes one with queues."""
    return lambda config=None: QueuedSwitch(plain(), config or TmConfig.uniform(rate_bps=SLOW))


def test_the_higher_class_leaves_first(queued: MakeQueued) -> None:
    node = queued()
    for number, cos in enumerate((0, 0, 3, 7)):
        node.receive(number, 1, order(cos=cos) + bytes([number]))
    assert [each.frame[-1] for each in node.advance(10**15)] == [0, 3, 2, 1]
    assert node.tm.queue(3, 7).stats.enqueued == 1


def test_a_class_without_a_queue_is_dropped(queued: MakeQueued) -> None:
    node = queued()
    node.receive(0, 1, order(cos=8))
    assert node.advance(10**15) == []
    assert node.tm.misdirected == 1


def test_clones_take_their_sessions_class(queued: MakeQueued) -> None:
    node = queued()
    node.receive(0, 1, order(CLONE, session=8))
    assert [each.port for each in node.advance(10**15)] == [3, 6]
    assert node.tm.queue(6, 2).stats.dequeued == 1


def test_recirculated_packets_queue_for_their_way_back(queued: MakeQueued) -> None:
    fast, slow = queued(TmConfig()), queued(TmConfig.uniform(recirculation_bps=SLOW))
    for node in (fast, slow):
        node.receive(0, 1, order(port=0xFFFA))
    (now,), (later,) = fast.advance(10**15), slow.advance(10**15)
    assert now.frame == later.frame
    assert (now.ps, later.ps) == (0, slow.tm.queue(-1, 0).stats.dequeued * 84 * 8 * 10**12 // SLOW)


@pytest.mark.full
def test_a_traffic_manager_without_limits_changes_nothing(queued: MakeQueued, plain: Callable[[], PlainSwitch]) -> None:
    node, other = queued(TmConfig()), plain()
    for number in range(60):
        frame = order((0, RESUBMIT, CLONE, EGRESS_CLONE)[number % 4], (3, 0xFFFA)[number % 2], (0, 7, 0)[number % 3], 8)
        node.receive(number * 10**6, 1, frame)
        got = Counter((each.port, each.frame) for each in node.advance(number * 10**6 + 1))
        assert got == Counter(other.process_one(1, frame)), number


def test_a_full_queue_drops(queued: MakeQueued) -> None:
    node = queued(TmConfig.uniform(rate_bps=SLOW, queue=QueueConfig(limit_packets=1)))
    for number in range(3):
        node.receive(number, 1, order())
    assert len(node.advance(10**15)) == 2
    assert node.tm.queue(3, 0).stats.dropped == 1


def load_of(seed: int) -> list[tuple[int, bytes]]:
    """Random requests at random times."""
    rng, now, load = Random(seed), 0, []
    for _ in range(120):
        now += rng.choice((0, 10**6, 10**8))
        flags = rng.choice((0, 0, DROP, RESUBMIT, CLONE, EGRESS_CLONE, CLONE | EGRESS_CLONE))
        asked = order(flags, rng.choice((3, 4, 0xFFFA, 0xFFFD)), rng.choice((0, 0, 7, 9)), 8, rng.randrange(9))
        load.append((now, asked + rng.randbytes(rng.randrange(60))))
    return load


@pytest.mark.full
@pytest.mark.parametrize("seed", range(4))
def test_both_engines_do_the_same_to_the_picosecond(seed: int) -> None:
    config = TmConfig.uniform(
        rate_bps=10 * SLOW,
        queue=QueueConfig(limit_packets=6, ecn_bytes=40),
        recirculation_bps=SLOW,
        weights={0: 1, 1: 3},
    )
    nodes = []
    for engine in ("python", "native"):
        switch = make_either(PSA, engine, cpu_port=255, max_passes=20)
        switch.pre.multicast[7] = (Replica(4, 1), Replica(5, 2))
        switch.pre.clones[8] = CloneSession((Replica(6, 3), Replica(3, 0)), class_of_service=2, packet_length=20)
        nodes.append(QueuedSwitch(switch, config))
    for number, (now, frame) in enumerate(load_of(seed)):
        for node in nodes:
            node.receive(now, 1, frame)
        if number % 10 == 9:
            assert nodes[0].advance(now) == nodes[1].advance(now)
    assert nodes[0].advance(10**15) == nodes[1].advance(10**15)
    left, right = (
        [(p, n, q.stats) for p, n, q in node.tm.queues() if q.stats.enqueued or q.stats.dropped] for node in nodes
    )
    assert left == right
    assert nodes[0].switch.stats == nodes[1].switch.stats
    assert nodes[0].switch.stats.recirculations > 0
    assert sum(q.dropped for _, _, q in left) > 0


def test_a_card_sends_by_its_class_too(make_switch: MakeSwitch) -> None:
    card = make_switch(PNA)
    for flow in (1, 2):
        card.tables["Main.flows"].insert(TableEntry((Exact(flow),), ActionData("Main.forward", (4,))))
    node = QueuedSwitch(card, TmConfig.uniform(rate_bps=SLOW))
    for number, cos in enumerate((0, 1, 5)):
        node.receive(number, 0, bytes([0, 1, cos, 0]) + bytes(4))
    assert [each.frame[2] for each in node.advance(10**15)] == [0, 5, 1]


def card_load_of(seed: int) -> list[tuple[int, int, bytes]]:
    """Times, ports and packets that learn, restart timers, mirror and recirculate, over half a minute."""
    rng, now, load = Random(seed), 0, []
    for _ in range(200):
        now += rng.choice((0, 10**6, 10**8, 10**12))
        asked = [rng.randrange(5), rng.randrange(4), rng.choice((0, 0, 1, 7, 9)), rng.choice((0, 0, 1, 9))]
        port = rng.choice((3, 4, 0xFFFFFFFD, 0xFFFFFFFA))
        load.append((now, rng.randrange(4), bytes(asked) + port.to_bytes(4, "big") + rng.randbytes(rng.randrange(60))))
    return load


@pytest.mark.full
@pytest.mark.parametrize("seed", range(4))
def test_cards_on_both_engines_do_the_same_to_the_picosecond(seed: int) -> None:
    config = TmConfig.uniform(
        rate_bps=10 * SLOW,
        queue=QueueConfig(limit_packets=6, ecn_bytes=40),
        recirculation_bps=SLOW,
        weights={0: 1, 1: 3},
    )
    nodes = []
    for engine in ("python", "native"):
        card = make_either(PNA, engine, cpu_port=255, max_passes=6, host_ports=[3])
        card.pre.clones[5] = CloneSession((Replica(6, 3), Replica(3, 0)), class_of_service=2, packet_length=20)
        nodes.append(QueuedSwitch(card, config))
    for number, (now, port, frame) in enumerate(card_load_of(seed)):
        for node in nodes:
            node.receive(now, port, frame)
        if number % 10 == 9:
            assert nodes[0].advance(now) == nodes[1].advance(now)
    assert nodes[0].advance(10**15) == nodes[1].advance(10**15)
    assert nodes[0].switch.stats == nodes[1].switch.stats
    left, right = (list(node.switch.tables["Main.flows"].entries) for node in nodes)
    assert left == right
    stats = nodes[0].switch.stats
    assert min(stats.recirculations, stats.clones, stats.looped, stats.packets_out) > 0
