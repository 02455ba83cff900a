# SPDX-License-Identifier: Apache-2.0
"""PSA and PNA behind a traffic manager: the class of service is the queue, and copies queue as packets do."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from offramp_base.errors import OfframpError
from offramp_p4 import PlainSwitch, make_switch
from offramp_p4.frontend import load
from offramp_p4.paced import PacedSwitch
from offramp_p4.queued import QueuedSwitch
from offramp_p4.state import ActionData, CloneSession, Exact, Replica, TableEntry
from offramp_p4.tm import QueueConfig, TmConfig
from psa_orders import CLONE, EGRESS_CLONE, RESUBMIT, order

pytestmark = pytest.mark.p4

PSA = load(Path(__file__).with_name("psa.p4"))
PNA = load(Path(__file__).with_name("pna.p4"))
SLOW = 10**6


def plain_switch() -> PlainSwitch:
    switch = make_switch(PSA, "python", cpu_port=255)
    switch.pre.multicast[7] = (Replica(4, 1), Replica(5, 2))
    switch.pre.clones[8] = CloneSession((Replica(6, 3),), class_of_service=2)
    return switch


def queued(config: TmConfig | None = None) -> QueuedSwitch:
    return QueuedSwitch(plain_switch(), config or TmConfig.uniform(rate_bps=SLOW))


def test_the_higher_class_leaves_first() -> None:
    node = queued()
    for number, cos in enumerate((0, 0, 3, 7)):
        node.receive(number, 1, order(cos=cos) + bytes([number]))
    assert [each.frame[-1] for each in node.advance(10**15)] == [0, 3, 2, 1]
    assert node.tm.queue(3, 7).stats.enqueued == 1


def test_a_class_without_a_queue_is_dropped() -> None:
    node = queued()
    node.receive(0, 1, order(cos=8))
    assert node.advance(10**15) == []
    assert node.tm.misdirected == 1


def test_clones_take_their_sessions_class() -> None:
    node = queued()
    node.receive(0, 1, order(CLONE, session=8))
    assert [each.port for each in node.advance(10**15)] == [3, 6]
    assert node.tm.queue(6, 2).stats.dequeued == 1


def test_recirculated_packets_queue_for_their_way_back() -> None:
    fast, slow = queued(TmConfig()), queued(TmConfig.uniform(recirculation_bps=SLOW))
    for node in (fast, slow):
        node.receive(0, 1, order(port=0xFFFA))
    (now,), (later,) = fast.advance(10**15), slow.advance(10**15)
    assert now.frame == later.frame
    assert (now.ps, later.ps) == (0, slow.tm.queue(-1, 0).stats.dequeued * 84 * 8 * 10**12 // SLOW)


def test_a_traffic_manager_without_limits_changes_nothing() -> None:
    node, plain = queued(TmConfig()), plain_switch()
    for number in range(60):
        frame = order((0, RESUBMIT, CLONE, EGRESS_CLONE)[number % 4], (3, 0xFFFA)[number % 2], (0, 7, 0)[number % 3], 8)
        node.receive(number * 10**6, 1, frame)
        got = Counter((each.port, each.frame) for each in node.advance(number * 10**6 + 1))
        assert got == Counter(plain.process_one(1, frame)), number


def test_a_full_queue_drops() -> None:
    node = queued(TmConfig.uniform(rate_bps=SLOW, queue=QueueConfig(limit_packets=1)))
    for number in range(3):
        node.receive(number, 1, order())
    assert len(node.advance(10**15)) == 2
    assert node.tm.queue(3, 0).stats.dropped == 1


def test_auto_takes_the_engine_that_has_queues() -> None:
    paced = PacedSwitch(PSA, TmConfig())
    assert paced.engine == "python"
    assert "traffic manager" in paced.why
    with pytest.raises(OfframpError, match="a traffic manager for PSA_Switch programs"):
        PacedSwitch(PSA, TmConfig(), "native")


def test_a_card_sends_by_its_class_too() -> None:
    card = make_switch(PNA, "python")
    for flow in (1, 2):
        card.tables["Main.flows"].insert(TableEntry((Exact(flow),), ActionData("Main.forward", (4,))))
    node = QueuedSwitch(card, TmConfig.uniform(rate_bps=SLOW))
    for number, cos in enumerate((0, 1, 5)):
        node.receive(number, 0, bytes([0, 1, cos, 0]) + bytes(4))
    assert [each.frame[2] for each in node.advance(10**15)] == [0, 5, 1]
