# SPDX-License-Identifier: Apache-2.0
"""Sylvie's invariants at the trainer's level (sylvie-torchgt-unitg.md section 1.9): S14, S15, S17, S19 and S20."""

from __future__ import annotations

import random
import threading
from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest

from offramp.codecs.sylvie import SylvieCodec
from offramp.graph.data import build_graph
from offramp.sylvie.wire import PLAIN
from offramp.train.planned import plan_run
from offramp.train.propagators.channel import open_channel
from offramp.train.propagators.local import LocalPropagator
from offramp.train.settings import TrainSettings
from offramp.train.trainer import Trainer
from offramp.workers.group import Group
from offramp.workers.mailbox import Mailbox

BASE = TrainSettings(
    "random",
    workers=3,
    propagator="p2p",
    partition="hash",
    hidden=8,
    epochs=5,
    lr=0.03,
    layers=3,
    schedule="g3",
    bins=2,
)


def train(in_group, graph, settings, before=lambda trainer, number: None, transport=None) -> list[float]:
    """Losses; ``before`` is called on every worker before each epoch, ``transport(rank)`` delivers messages."""
    jobs = plan_run(graph, settings).jobs([])

    def work(group):
        if transport is not None:
            group.transport = transport(group.rank)
        with open_channel(jobs[group.rank], group) as channel:
            trainer = Trainer(jobs[group.rank], group, channel)
            losses = []
            for number in range(1, settings.epochs + 1):
                before(trainer, number)
                losses.append(trainer.epoch(number).loss)
            return losses

    return in_group(settings.workers, work)[0]


@pytest.mark.parametrize("model", ["gcn", "sage", "gat"])
def test_s14_32_bits_in_step_are_training_without_sylvie(in_group, graph, monkeypatch, model: str) -> None:
    """Bit by bit that of plain messages, and that of one process but for the order of additions."""
    settings = replace(BASE, model=model)
    vanilla = train(in_group, graph, settings)
    monkeypatch.setattr(
        "offramp.train.trainer.open_codec",
        lambda run, plan, rank: SylvieCodec(plan, rank, run.seed, base=PLAIN, joint=False),
    )
    assert train(in_group, graph, settings) == vanilla
    alone = replace(settings, propagator="local", schedule="sequential" if model == "gat" else "plain", bins=None)
    (job,) = plan_run(graph, alone).jobs([])
    with open_channel(job, Group()) as channel:
        expected = [e.loss for e in Trainer(job, Group(), channel if model == "gat" else LocalPropagator()).run()]
    np.testing.assert_allclose(vanilla, expected, rtol=1e-5)


def test_s15_what_is_read_is_of_this_epoch_or_of_the_one_before(in_group, graph, monkeypatch) -> None:
    """Modes change back and forth; no message is older than one epoch, none read in step is old."""
    stale = [False, True, True, False, True, False, False, True]
    settings = replace(BASE, epochs=len(stale), codec="q4")
    read: dict[int, set[tuple[int, bool]]] = defaultdict(set)
    epoch_of: dict[int, int] = {}
    take = Mailbox.take

    def recorded(self, label):
        payload = take(self, label)
        if payload is not None:
            read[epoch_of[self.rank]].add((label[1].step, label[1].backward))
        return payload

    def before(trainer, number: int) -> None:
        epoch_of[trainer._group.rank] = number
        trainer._computation.stale = stale[number - 1]
        trainer._group.gather(None, None)  # nobody notes messages under another worker's epoch

    monkeypatch.setattr(Mailbox, "take", recorded)
    train(in_group, graph, settings, before)
    for number, old in enumerate(stale, 1):
        assert read[number] == {(number - old, False), (number - old, True)}, number


def test_s17_a_gradient_comes_back_once_from_each_worker_that_needs_the_vertex(in_group, graph, monkeypatch) -> None:
    """Exactness (S14) says that they are added; this, that nothing is sent twice."""
    posted: Counter[tuple[bool, int, int]] = Counter()
    lock, encode = threading.Lock(), SylvieCodec.encode

    def recorded(self, x, message, key):
        with lock:
            posted.update((key.backward, key.layer, vertex) for vertex in message.ids.tolist())
        return encode(self, x, message, key)

    monkeypatch.setattr(SylvieCodec, "encode", recorded)
    settings = replace(BASE, codec="q8", epochs=1)
    train(in_group, graph, settings)
    boundary = plan_run(graph, settings).boundary
    needed = dict(zip(boundary.vertices.tolist(), boundary.r.tolist(), strict=True))
    assert max(needed.values()) == settings.workers - 1
    for backward in (False, True):
        for layer in (1, 2):
            assert {v: n for (b, at, v), n in posted.items() if (b, at) == (backward, layer)} == needed


@pytest.mark.parametrize("schedule", ["sequential", "g3", "stale"])
@pytest.mark.parametrize("workers", [2, 3, 4])
def test_s19_no_deadlock_with_a_slow_worker_and_one_without_boundary(in_group, schedule: str, workers: int) -> None:
    """The last worker owns a component of its own; everything that the first one sends is late."""
    n, alone = 30, 30 - 30 // workers
    rng = np.random.default_rng(workers)
    pairs = np.concatenate([rng.integers(0, alone, (60, 2)), rng.integers(alone, n, (20, 2))])
    graph = build_graph(
        "parts", n, (pairs[:, 0], pairs[:, 1]), features=rng.normal(size=(n, 4)).astype(np.float32),
        labels=np.arange(n) % 3, split="0.5/0.2/0.3",
    )  # fmt: skip
    settings = replace(BASE, workers=workers, partition="chunk", schedule=schedule, epochs=4, codec="q2", timeout_s=20)
    jobs = plan_run(graph, settings).jobs([])
    assert not jobs[-1].rows.sends
    assert not jobs[-1].rows.receives

    def transport(rank: int):
        return (lambda deliver: threading.Timer(0.02, deliver).start()) if rank == 0 else (lambda deliver: deliver())

    prompt = train(in_group, graph, settings)
    assert train(in_group, graph, settings, transport=transport) == prompt


@pytest.mark.full
@pytest.mark.parametrize("codec", ["q1", "adaqp"])
def test_s20_the_same_seed_gives_the_same_run_whatever_arrives_when(in_group, graph, codec: str) -> None:
    late = random.Random(1)

    def transport(_: int):
        return lambda deliver: threading.Timer(late.uniform(0, 0.004), deliver).start()

    settings = replace(BASE, codec=codec)
    prompt = train(in_group, graph, settings)
    assert train(in_group, graph, settings, transport=transport) == prompt
    assert train(in_group, graph, replace(settings, seed=1)) != prompt
