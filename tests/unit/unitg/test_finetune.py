# SPDX-License-Identifier: Apache-2.0
"""U6 and U7: fine-tuning paused anywhere is the same to the bit, and its end never holds the pipeline up."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from offramp.graph.data import Graph
from offramp.unitg.collaborator import EmbeddingTable
from offramp.unitg.finetune import FineTuner, Texts
from offramp.unitg.gate import Gate
from offramp.unitg.job import plan
from offramp.unitg.language_model import LanguageModel
from offramp.unitg.rank import Rank
from offramp.unitg.settings import UnitgSettings
from offramp_sim.switchgnn.thread_group import run_group

STEPS = 6


def tune(
    graph: Graph,
    settings: UnitgSettings,
    ranks: int,
    disturb: Callable[[Gate, threading.Event], None] | None = None,
    steps: int = STEPS,
) -> tuple[list[FineTuner], EmbeddingTable]:
    """``ranks`` replicas; ``disturb`` turns each one's gate until told to end."""
    job = plan(graph, replace(settings, stages=ranks)).jobs[0]
    corpus = job.corpus
    assert corpus is not None
    table = EmbeddingTable(graph.vertices, graph.width)

    def work(group: Any) -> FineTuner:
        gate, over = Gate(is_open=True), threading.Event()
        tuner = FineTuner(
            corpus.model(settings, graph.width, graph.classes),
            Texts(torch.from_numpy(corpus.tokens).long(), torch.from_numpy(corpus.labels)),
            corpus.batches,
            group.mailbox(30, None),
            gate,
            lr=0.01,
            table=table if group.rank == 0 else None,
        )
        thread = threading.Thread(target=disturb, args=(gate, over), daemon=True) if disturb else None
        if thread:
            thread.start()
        tuner.run(steps)
        over.set()
        if thread:
            thread.join()
        return tuner

    return run_group(ranks, work), table


def flicker(gate: Gate, over: threading.Event) -> None:
    times = random.Random(id(gate))
    while not over.is_set():
        gate.pause()
        time.sleep(times.uniform(0, 0.002))
        gate.resume()
        time.sleep(times.uniform(0, 0.002))


def weights(model: LanguageModel) -> list[torch.Tensor]:
    return list(model.state_dict().values())


@pytest.mark.full
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_paused_is_bit_identical(graph: Graph, base: UnitgSettings, ranks: int) -> None:
    plain, table = tune(graph, base, ranks)
    paused, other = tune(graph, base, ranks, flicker)
    for a, b in zip(plain, paused, strict=True):
        assert (a.progress.fault, b.progress.fault) == (None, None)
        assert a.progress.losses == b.progress.losses
        assert all(torch.equal(x, y) for x, y in zip(weights(a.model), weights(b.model), strict=True))
        assert all(torch.equal(x, y) for x, y in zip(weights(plain[0].model), weights(a.model), strict=True))
    numeric = torch.rand(graph.vertices, graph.width)
    assert torch.equal(table.features(numeric)[0], other.features(numeric)[0])


def test_ranks_average_what_one_rank_would_do(graph: Graph, base: UnitgSettings) -> None:
    """Two ranks with batches of b are one rank with batches of 2b: the mean of two means of equal size."""
    two, _ = tune(graph, base, 2, steps=1)
    one, _ = tune(graph, replace(base, lm_batch=2 * base.lm_batch), 1, steps=1)
    mean = np.mean([two[0].progress.losses, two[1].progress.losses], axis=0)
    np.testing.assert_allclose(mean, one[0].progress.losses, rtol=1e-5)
    for x, y in zip(two[0].model.parameters(), one[0].model.parameters(), strict=True):
        if x.grad is None:
            assert y.grad is None
        else:
            torch.testing.assert_close(x.grad, y.grad, rtol=1e-4, atol=1e-6)


@pytest.mark.full
def test_it_learns(graph: Graph, base: UnitgSettings) -> None:
    (tuner,), _ = tune(graph, replace(base, text="topics", lm_batch=12, lm_length=12), 1)
    tuner.run(40)
    assert np.mean(tuner.progress.losses[-5:]) < 0.7 * tuner.progress.losses[0]


def test_a_crashed_replica_stops_neither_pipeline_nor_peers(train: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    replicas = []
    plain = FineTuner._step

    def step(self: FineTuner, number: int) -> None:
        replicas.append(self)
        if number == 1 and self._mailbox.rank == 1:
            raise RuntimeError("out of memory")
        plain(self, number)

    monkeypatch.setattr(FineTuner, "_step", step)
    outcome = train(epochs=6, device_ms=2)
    assert len(outcome.epochs) == 6
    assert outcome.ranks[1].progress.fault == "RuntimeError: out of memory"
    assert outcome.ranks[0].progress.fault == "OfframpError: rank 1 has ended its part"


@pytest.mark.full
def test_done_early_and_done_late(train: Any) -> None:
    early = train(epochs=8, lm_batch=60, device_ms=2)
    assert early.ranks[0].progress.steps == early.ranks[1].progress.steps == 1
    late = train(epochs=1, lm_epochs=4)
    assert late.ranks[0].progress.steps == late.ranks[1].progress.steps > 8
    assert late.seconds > late.gnn_seconds


def test_a_run_that_fails_leaves_no_thread(graph: Graph, base: UnitgSettings) -> None:
    job = plan(graph, replace(base, stages=1)).jobs[0]
    before = threading.active_count()

    def work(group: Any) -> None:
        with Rank(group, job) as rank:
            rank.start_lm(10_000)
            raise ValueError("the pipeline")

    with pytest.raises(ValueError, match="the pipeline"):
        run_group(1, work)
    assert threading.active_count() == before
