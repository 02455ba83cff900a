# SPDX-License-Identifier: Apache-2.0
"""Messages and sums as coflows of Hermod's end-host scheduler: the same numbers, and what overtakes what."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
import torch

from offramp.hermod.factors import CType
from offramp.hermod.mailbox import CoflowMailbox
from offramp.train.planned import plan_run
from offramp.train.propagators.channel import open_channel
from offramp.train.settings import TrainSettings
from offramp.train.trainer import Trainer
from offramp.workers.mailbox import Key, PeerLostError, parse_header
from offramp_base.errors import OfframpError

BASE = TrainSettings(
    "random", workers=3, propagator="p2p", partition="hash", hidden=6, epochs=3, layers=3, schedule="g3", bins=3
)


@pytest.fixture(autouse=True)
def _loopback(monkeypatch) -> None:
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")


def losses(in_group, graph, settings) -> list[float]:
    jobs = plan_run(graph, settings).jobs([])

    def work(group):
        with open_channel(jobs[group.rank], group) as channel:
            epochs = Trainer(jobs[group.rank], group, channel).run()
            return [epoch.loss for epoch in epochs], channel.traffic

    outcomes = in_group(settings.workers, work)
    assert sum(t.payload_up for _, t in outcomes) == sum(t.payload_down for _, t in outcomes)
    return outcomes[0][0]


@pytest.mark.full
@pytest.mark.parametrize("changes", [{"dtype": "float64"}, {"codec": "q2", "schedule": "stale"}, {"model": "gat"}])
@pytest.mark.parametrize("priorities", ["hermod", "none"])
def test_training_is_that_of_any_mailbox(in_group, graph, priorities: str, changes: dict) -> None:
    settings = replace(BASE, **changes)
    expected = losses(in_group, graph, settings)
    course = losses(in_group, graph, replace(settings, priorities=priorities))
    assert course == pytest.approx(expected, rel=1e-12 if settings.dtype == "float64" else 1e-5)


def hold_until_all_can_go(box: CoflowMailbox, count: int, size: int) -> None:
    """Keep back that the peer waits for payloads of ``size`` until it waits for all, then say it of the last first."""
    ledger = box._endpoint._ledger
    ready, held = ledger.ready, []

    def gathered(route, total) -> None:
        if total != size:
            ready(route, total)
            return
        held.append(route)
        if len(held) == count:
            for each in sorted(held, reverse=True):
                ready(each, size)

    ledger.ready = gathered


def test_rows_overtake_sums_and_later_rows(in_group) -> None:
    """On a slow card, posted in the worst order: with priorities what is needed first arrives first."""
    rate, size = 2e6, 60_000  # 0.24 s each

    def arrivals(group, by_priority: bool) -> list[int]:
        box = CoflowMailbox(group, 20, 4, by_priority=by_priority, rate_bps=rate)
        order: list[int] = []
        deliver = box.deliver

        def noted(peer, key, payload) -> None:
            order.append(key.layer)
            deliver(peer, key, payload)

        box.deliver = noted
        if by_priority:
            hold_until_all_can_go(box, 3, size)
        group.gather(None, None)
        total = box.start_sum(torch.full((size // 4,), float(group.rank + 1)))
        labels = []
        for layer in (3, 2, 1):
            key = Key(1, layer, backward=False, bin=0)
            box.post(1 - group.rank, key, torch.full((size,), layer, dtype=torch.uint8))
            labels.append((1 - group.rank, key))
        for label in labels:
            box.wait([label])
            assert (box.take(label) == label[1].layer).all()
        total()
        box.close()
        return order

    ordered = in_group(2, lambda group: arrivals(group, True))
    fifo = in_group(2, lambda group: arrivals(group, False))
    assert fifo == [[3, 2, 1]] * 2
    assert all(order.index(1) < order.index(3) and order.index(2) < order.index(3) for order in ordered)


@pytest.mark.parametrize("sums", [False, True])
def test_a_worker_that_leaves_is_a_lost_peer(in_group, graph, sums: bool) -> None:
    """The others end at once, in one line, though nobody told them; a launcher believes a death first."""
    ready = threading.Barrier(2)

    def work(group):
        box = CoflowMailbox(group, 30, 2, by_priority=True)
        box.start_sum(torch.ones(3))()  # so that they are connected
        if group.rank == 0:
            ready.wait(20)
            box._endpoint.close()
            return
        ready.wait(20)
        if sums:
            box.start_sum(torch.ones(3))()
        else:
            box.wait([(0, Key(1, 1, backward=False, bin=0))])

    with pytest.raises(PeerLostError, match=r"^worker 1: rank 0\b"):
        in_group(2, work)


def test_sums_are_dp_and_rows_ep(in_group, monkeypatch) -> None:
    from offramp.hermod.endhost.endpoint import Endpoint

    seen: set[tuple[int, CType, int]] = set()
    exchange = Endpoint.exchange

    def recorded(self, message, outgoing, incoming, factors=None, order=None):
        if factors is not None:
            seen.add((factors.mid, factors.ctype, factors.lid))
        return exchange(self, message, outgoing, incoming, factors, order)

    monkeypatch.setattr(Endpoint, "exchange", recorded)

    def work(group):
        box = CoflowMailbox(group, 20, 2, by_priority=True)
        sums = torch.ones(3)
        done = box.start_sum(sums)
        for backward in (False, True):
            box.post(1 - group.rank, Key(1, 1, backward=backward, bin=0), torch.zeros(4, dtype=torch.uint8))
        done()
        box.close()
        return sums.tolist()

    assert in_group(2, work) == [[2.0] * 3] * 2
    assert seen == {(0, CType.DP, 0), (0, CType.EP, 1), (0, CType.EP, 3)}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"priorities": "high"}, "priorities high: expected one of hermod, none"),
        ({"priorities": "none", "schedule": "plain"}, "priorities none: goes with schedule other than plain"),
    ],
)
def test_golden_errors(changes: dict, message: str) -> None:
    with pytest.raises(OfframpError) as caught:
        replace(BASE, **changes)
    assert str(caught.value) == message


@pytest.mark.parametrize("words", [[0, 0, 0, 0, -1], [0, 0, 0, 0, (1 << 32) + 1], [0, 0, 2, 0, 1], [-2, 0, 0, 0, 1]])
def test_headers_that_no_message_has_are_refused(words: list[int]) -> None:
    with pytest.raises(OfframpError, match=r"^worker 3 announces a message of -?\d+ bytes: its header is not valid$"):
        parse_header(3, words)
    assert parse_header(3, [5, 4, 1, 2, 1 << 32]) == (Key(5, 4, True, 2), 1 << 32)
