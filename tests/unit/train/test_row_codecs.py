# SPDX-License-Identifier: Apache-2.0
"""Quantised and sampled messages in training: bytes, means, staleness, and what the controller does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from feature_codecs import decoded
from offramp.codecs.base import CODECS
from offramp.codecs.plain import PlainCodec
from offramp.codecs.sampled import SampledCodec
from offramp.codecs.sylvie import SylvieCodec
from offramp.sylvie.message import message_bytes
from offramp.sylvie.widths import candidates, importance, joint_widths
from offramp.sylvie.wire import SYLVIE
from offramp.train.control import AdaptiveControl
from offramp.train.planned import plan_run
from offramp.train.propagators.channel import open_channel
from offramp.train.settings import TrainSettings
from offramp.train.trainer import Trainer
from offramp.workers.mailbox import Key
from offramp_base.errors import OfframpError

BASE = TrainSettings(
    "random", workers=3, propagator="p2p", partition="hash", hidden=16, epochs=8, lr=0.03, schedule="g3", bins=2
)


def test_what_a_switch_adds_and_what_messages_sample():
    codecs = {name: CODECS.get(name) for name in ("fp32", "q1", "q8", "adaqp", "sylvie")}
    assert {name: codec.bits for name, codec in codecs.items()} == {
        "fp32": 32,
        "q1": 1,
        "q8": 8,
        "adaqp": 2,
        "sylvie": None,
    }
    assert [name for name, codec in codecs.items() if codec.summable] == ["q1", "q8"]
    assert [name for name, codec in codecs.items() if codec.samples] == ["fp32", "q1", "q8"]


def run(in_group, graph, settings):
    """Epochs of rank 0 and everyone's traffic."""
    jobs = plan_run(graph, settings).jobs([])

    def work(group):
        with open_channel(jobs[group.rank], group) as channel:
            return Trainer(jobs[group.rank], group, channel).run(), channel.traffic

    outcomes = in_group(settings.workers, work)
    return outcomes[0][0], [traffic for _, traffic in outcomes], jobs


def message_sizes(jobs, settings, base: int, *, joint: bool, width: int) -> int:
    """Bytes of one layer's messages, or their gradients, from the formula (S18)."""
    total = 0
    for job in jobs:
        for peer in range(settings.workers):
            of = [message for message in job.rows.sends if message.peer == peer]
            if not of:
                continue
            p = importance(job.rows.degree[np.concatenate([message.rows for message in of])])
            for message in of:
                mine, p = p[: len(message.rows)], p[len(message.rows) :]
                widths = joint_widths(mine, base) if joint else np.full(len(mine), base)
                counts = [(widths == bits).sum() for bits in candidates(base)]
                total += message_bytes(counts, width, base, compact=True)
    return total


@pytest.mark.parametrize(("codec", "base"), [("q1", 1), ("q2", 2), ("q4", 4), ("q8", 8)])
def test_bytes_of_fixed_widths(in_group, graph, codec: str, base: int) -> None:
    settings = replace(BASE, codec=codec, model="gcnii")
    epochs, traffic, jobs = run(in_group, graph, settings)
    expected = 8 * 2 * message_sizes(jobs, settings, base, joint=False, width=16)
    assert sum(t.payload_up for t in traffic) == sum(t.payload_down for t in traffic) == expected
    assert {epoch.bits for epoch in epochs} == {base}


@pytest.fixture
def _every_epoch_takes_a_second(monkeypatch) -> None:
    """The controller's decision depends on the loss alone."""
    observe = AdaptiveControl.observe
    monkeypatch.setattr(AdaptiveControl, "observe", lambda self, loss, _: observe(self, loss, 1.0))


@pytest.mark.full
@pytest.mark.usefixtures("_every_epoch_takes_a_second")
def test_bytes_follow_the_controller(in_group, graph) -> None:
    settings = replace(BASE, codec="sylvie", epochs=24)
    epochs, traffic, jobs = run(in_group, graph, settings)
    width = 3  # the second layer narrows to the classes
    expected = sum(2 * message_sizes(jobs, settings, epoch.bits, joint=True, width=width) for epoch in epochs)
    assert sum(t.payload_up for t in traffic) == expected
    assert len({epoch.bits for epoch in epochs}) > 1
    assert not any(epoch.stale for epoch in epochs)


@pytest.mark.full
@pytest.mark.parametrize("schedule", ["stale", "adaptive"])
@pytest.mark.usefixtures("_every_epoch_takes_a_second")
def test_stale_messages_are_read_with_the_width_they_were_made_with(in_group, graph, schedule: str) -> None:
    """S15, S16: width and mode change while messages are on their way."""
    epochs, _, _ = run(in_group, graph, replace(BASE, codec="sylvie", schedule=schedule, epochs=24))
    assert len({(epoch.bits, epoch.stale) for epoch in epochs}) > 1, [(e.bits, e.stale) for e in epochs]
    assert epochs[-1].loss < 0.8 * epochs[0].loss


@pytest.mark.full
def test_eight_bits_are_near_to_no_quantisation(in_group, graph) -> None:
    losses = {
        codec: np.array([e.loss for e in run(in_group, graph, replace(BASE, codec=codec))[0]])
        for codec in ("fp32", "q8", "q1")
    }
    error = {codec: np.abs(losses[codec] / losses["fp32"] - 1).max() for codec in ("q8", "q1")}
    assert error["q8"] < 0.01 < error["q1"] < 0.5


@pytest.mark.full
def test_the_same_seed_gives_the_same_run(in_group, graph) -> None:
    first, second = (run(in_group, graph, replace(BASE, codec="q2", sample=0.5))[0] for _ in range(2))
    assert [e.loss for e in first] == [e.loss for e in second]


def codecs_of_a_pair(graph, make):
    """Make the plans of two workers and their codecs: the sender's and the receiver's."""
    plans = [job.rows for job in plan_run(graph, replace(BASE, workers=2, partition="hash")).jobs([])]
    sender, receiver = (make(plan, rank) for rank, plan in enumerate(plans))
    return plans, sender, receiver


@pytest.mark.full
def test_means_of_quantised_and_sampled_rows_are_the_rows(graph) -> None:
    def quantised(plan, rank):
        return SylvieCodec(plan, rank, 3, base=2, joint=True)

    def sampled(_, rank):
        return SampledCodec(PlainCodec(torch.float32), rank, 0.3, 3)

    for make, deviation in ((quantised, 0.02), (sampled, 0.08)):
        plans, sender, receiver = codecs_of_a_pair(graph, make)
        x = torch.rand(len(plans[0].ids), 16, generator=torch.Generator().manual_seed(1))
        sent = plans[0].sends[0]
        got = next(m for m in plans[1].receives if m.bin == sent.bin)
        total = torch.zeros(len(sent.rows), 16)
        for step in range(2000):
            key = Key(step, 1, backward=False, bin=sent.bin)
            total += decoded(receiver, sender.encode(x, sent, key), got, key, 16)
        assert (total / 2000 - x[sent.rows]).abs().mean() < deviation


def test_a_sample_is_the_same_there_and_back(graph) -> None:
    plans, sender, receiver = codecs_of_a_pair(
        graph, lambda _, rank: SampledCodec(PlainCodec(torch.float32), rank, 0.4, 1)
    )
    sent = plans[0].sends[0]
    got = next(m for m in plans[1].receives if m.bin == sent.bin)
    there, back = (Key(7, 1, backward=backward, bin=sent.bin) for backward in (False, True))
    rows = decoded(receiver, sender.encode(torch.ones(len(plans[0].ids), 4), sent, there), got, there, 4)
    gradients = decoded(sender, receiver.encode(torch.ones(len(plans[1].ids), 4), got, back), sent, back, 4)
    assert torch.equal(rows, gradients)
    assert set(rows.unique().tolist()) == {0.0, 2.5}


def test_foreign_messages_are_refused(graph) -> None:
    plans, sender, receiver = codecs_of_a_pair(graph, lambda plan, rank: SylvieCodec(plan, rank, 3, base=2, joint=True))
    sent = plans[0].sends[0]
    got = next(m for m in plans[1].receives if m.bin == sent.bin)
    key = Key(3, 1, backward=False, bin=sent.bin)
    payload = sender.encode(torch.rand(len(plans[0].ids), 8), sent, key)
    decoded(receiver, payload, got, key, 8)
    for spoilt, asked in ((payload, key._replace(step=4)), (payload[:-1], key), (payload[:3], key), (payload[1:], key)):
        with pytest.raises(OfframpError):
            decoded(receiver, spoilt, got, asked, 8)


def test_all_workers_decide_alike(in_group, graph) -> None:
    """S13: what each observes is the same."""
    settings = replace(BASE, codec="sylvie", schedule="adaptive", epochs=12)
    jobs = plan_run(graph, settings).jobs([])

    def work(group):
        with open_channel(jobs[group.rank], group) as channel:
            return [(epoch.bits, epoch.stale) for epoch in Trainer(jobs[group.rank], group, channel).run()]

    decisions = in_group(settings.workers, work)
    assert decisions[0] == decisions[1] == decisions[2]
    assert AdaptiveControl.of(settings).used == (1, False)


@pytest.mark.parametrize("base", [2, 32])
@pytest.mark.parametrize("compact", [False, True])
def test_bounds_are_compact_where_there_are_any_and_it_was_asked(graph, base: int, compact: bool) -> None:
    plans, sender, receiver = codecs_of_a_pair(
        graph, lambda plan, rank: SylvieCodec(plan, rank, 3, base=base, joint=False, compact=compact)
    )
    sent = plans[0].sends[0]
    got = next(m for m in plans[1].receives if m.bin == sent.bin)
    key = Key(3, 1, backward=False, bin=sent.bin)
    x = torch.rand(len(plans[0].ids), 8)
    payload = sender.encode(x, sent, key)
    counts = [len(sent.rows) if bits == base else 0 for bits in candidates(base)]
    assert len(payload) == message_bytes(counts, 8, base, compact=compact and base != 32)
    assert SYLVIE.decode(payload.numpy().tobytes())["compact"] == (compact and base != 32)
    if base == 32:
        assert torch.equal(decoded(receiver, payload, got, key, 8), x[sent.rows])


@pytest.mark.parametrize("ranking", ["ecdf", "dense"])
def test_ranks_in_one_pool_of_all_workers(graph, ranking: str) -> None:
    """Every worker ranks its rows among all that travel, as a brute-force count over all messages does."""
    settings = replace(BASE, codec="sylvie", ranking=ranking, pool="all")
    plans = [job.rows for job in plan_run(graph, settings).jobs([])]
    degrees = np.concatenate([plan.degree[message.rows] for plan in plans for message in plan.receives])
    p_of = dict(zip(degrees.tolist(), importance(degrees, ranking).tolist(), strict=True))
    for rank, plan in enumerate(plans):
        codec = SylvieCodec.of(settings, plan, rank)
        for end, messages in (("sent", plan.sends), ("received", plan.receives)):
            for message in messages:
                expected = [p_of[degree] for degree in plan.degree[message.rows].tolist()]
                assert codec._importance[end, message.layer, message.peer, message.bin].tolist() == expected


def test_a_ranking_without_sylvie_is_refused() -> None:
    for field, value in (("ranking", "dense"), ("pool", "all")):
        with pytest.raises(OfframpError, match="goes with codec sylvie only"):
            replace(BASE, codec="q4", **{field: value})
