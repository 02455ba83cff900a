# SPDX-License-Identifier: Apache-2.0
"""Training from mapped files equals training in memory to the bit. Blind spot: how much memory either takes."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import weakref
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from offramp.g3 import first_stage
from offramp.g3.store import MappedStore, mapped
from offramp.train import computation
from offramp.train.planned import plan_run
from offramp.train.propagators.channel import open_channel
from offramp.train.run import train
from offramp.train.settings import TrainSettings
from offramp.train.stored_job import StoredJob
from offramp.train.trainer import Trainer
from offramp.workers.budget import MemoryBudget
from offramp_base.errors import OfframpError

BASE = TrainSettings(
    "random", workers=2, propagator="p2p", partition="hash", hidden=8, epochs=3, schedule="g3", bins=3, dropout=0.3
)


class Unlimited(MemoryBudget):
    """Streams as under a limit, without one."""

    by = "nothing"

    def peak(self) -> int:
        """Nothing is counted."""
        return 7


def losses(in_group, graph, settings: TrainSettings, budget: MemoryBudget | None = None):
    jobs = plan_run(graph, settings).jobs([])

    def work(group):
        with open_channel(jobs[group.rank], group) as channel:
            trainer = Trainer(jobs[group.rank], group, channel, budget=budget)
            epochs = [(e.loss, e.test_accuracy, e.peak_bytes) for e in trainer.run()]
            return epochs, [p.detach().clone() for p in trainer.model.parameters()]

    return in_group(settings.workers, work)[0]


@pytest.mark.parametrize(
    ("model", "codec", "packing"),
    [
        ("gcn", "fp32", "alike"),
        ("sage", "fp32", "ready"),
        ("gat", "fp32", "alike"),
        ("gcnii", "sylvie", "ready"),
        ("dagnn", "fp32", "alike"),
    ],
)
def test_streamed_bins_have_the_same_bits(in_group, graph, monkeypatch, model: str, codec: str, packing: str) -> None:
    monkeypatch.setattr(first_stage, "ROWS", 7)  # pieces of the first stage too
    settings = replace(BASE, model=model, codec=codec, packing=packing)
    here, weights = losses(in_group, graph, settings)
    streamed, same = losses(in_group, graph, settings, Unlimited())
    assert [epoch[:2] for epoch in streamed] == [epoch[:2] for epoch in here]
    assert all(torch.equal(a, b) for a, b in zip(weights, same, strict=True))
    assert {epoch[2] for epoch in streamed} == {7}


@pytest.mark.parametrize("model", ["gcn", "sage", "gcnii", "dagnn", "jknet"])
def test_activations_in_files_have_the_same_bits(in_group, graph, monkeypatch, model: str) -> None:
    monkeypatch.setattr(computation, "LEAST_KEPT", 1)
    settings = replace(BASE, schedule="plain", bins=None, model=model)
    here, weights = losses(in_group, graph, settings)
    limited, same = losses(in_group, graph, settings, Unlimited())
    assert [epoch[:2] for epoch in limited] == [epoch[:2] for epoch in here]
    assert all(torch.equal(a, b) for a, b in zip(weights, same, strict=True))


@pytest.mark.parametrize(("budget", "in_files"), [(Unlimited(), True), (None, False)])
def test_activations_wait_in_files_under_a_limit(
    in_group, graph, monkeypatch, budget: MemoryBudget | None, in_files: bool
) -> None:
    monkeypatch.setattr(computation, "LEAST_KEPT", 1)
    jobs = plan_run(graph, replace(BASE, schedule="plain", bins=None)).jobs([])

    def work(group):
        with open_channel(jobs[group.rank], group) as channel:
            trainer = Trainer(jobs[group.rank], group, channel, budget=budget)
            store = trainer._computation._store
            count = [0]
            keep = store.kept
            store.kept = lambda tensor: (count.__setitem__(0, count[0] + 1), keep(tensor))[1]
            scores = trainer._forward()  # whose graph holds what was kept
            kept = count[0], len(store._files) if store.streams else 0
            trainer._computation.backward(scores.sum(), trainer._sum.start)
            trainer._sum.finish()
            return kept, "_remote_integer" in vars(channel)

    for (count, files), integers in in_group(2, work):
        assert (count > 2, files > 2) == (in_files, in_files)  # two are the sums of the input features
        assert not integers


def test_a_graph_is_not_in_memory_while_workers_with_a_limit_run() -> None:
    settings = replace(BASE, graph="sbm:n=60,k=3", schedule="plain", bins=None, worker_memory=200_000_000)
    loaded, there = [], []

    def load():
        graph = settings.load()
        loaded.append(weakref.ref(graph.features))
        return graph

    result = train(load, settings, on_epoch=lambda _: there.append(loaded[0]()))
    assert (there, len(loaded)) == ([None] * 3, 1)
    same = train(settings.load(), replace(settings, worker_memory=None))
    assert [epoch.loss for epoch in result.epochs] == [epoch.loss for epoch in same.epochs]


@pytest.mark.parametrize("schedule", ["g3", "stale"])
def test_messages_go_once_they_are_read_unless_the_next_epoch_reads_them(in_group, graph, schedule: str) -> None:
    settings = replace(BASE, schedule=schedule, dropout=0.0)
    jobs = plan_run(graph, settings).jobs([])

    def work(group):
        with open_channel(jobs[group.rank], group) as channel:
            Trainer(jobs[group.rank], group, channel, budget=Unlimited()).run()
            return [label for label, payload in channel._inbox.items() if payload.nbytes]

    left = in_group(settings.workers, work)
    assert [bool(labels) for labels in left] == [schedule == "stale"] * 2


def test_pieces_of_the_first_stage_change_sums_by_rounding_only(in_group, graph, monkeypatch) -> None:
    settings = replace(BASE, model="gcnii", dtype="float64")
    whole, _ = losses(in_group, graph, settings)
    monkeypatch.setattr(first_stage, "ROWS", 7)
    pieces, _ = losses(in_group, graph, settings)
    assert [e[0] for e in pieces] == pytest.approx([e[0] for e in whole], rel=1e-12)


def test_mapped_tensors_are_files_without_names(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    tensor = mapped(torch.float32, 300, 5)
    assert tensor.sum() == 0
    tensor[7] = 2
    assert tensor.sum() == 10
    assert list(tmp_path.iterdir()) == []
    assert mapped(torch.int64, 0, 3).shape == (0, 3)
    own, received = np.ones((2, 3), np.float32), np.zeros((1, 3), np.float32)
    assert MappedStore(torch.float32).stacked([own, received]).tolist() == [[1, 1, 1], [1, 1, 1], [0, 0, 0]]


def test_a_job_comes_back_from_its_file(tmp_path: Path, graph) -> None:
    job = plan_run(graph, BASE).jobs([])[1]
    stored = StoredJob.of(job, tmp_path / "job")
    back = stored.open()
    assert back.settings == job.settings
    assert np.array_equal(back.local.features, job.local.features)
    assert (back.rows.adjacency != job.rows.adjacency).nnz == 0
    assert [m.rows.tolist() for m in back.rows.sends] == [m.rows.tolist() for m in job.rows.sends]
    back.received_features[:] = 3  # the file, which the next to open it sees
    assert (stored.open().received_features == 3).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"device": "cuda"}, "goes with device cpu only"),
        ({"device": "cuda", "schedule": "plain"}, "goes with device cpu only"),
    ],
)
def test_a_budget_goes_with_bins_in_main_memory(changes, message: str) -> None:
    with pytest.raises(OfframpError, match=message):
        replace(BASE, bins=None, dropout=0.0, **changes, worker_memory=64 << 20)


def test_bins_take_an_eighth_unless_told_otherwise() -> None:
    limited = replace(BASE, bins=None, worker_memory=64 << 20)
    assert limited.memory_of_bins == 8 << 20
    assert replace(limited, bin_memory=1000).memory_of_bins == 1000
    assert replace(limited, bins=2).memory_of_bins is None


@pytest.mark.slow
def test_a_graph_of_ten_times_the_limit_trains_to_the_same_bits(tmp_path: Path) -> None:
    """Each of two workers has 640 MB of features of its own, and more of its neighbours', in 64 MB."""
    results = []
    for number, limit in enumerate(([], ["--worker-memory", "64MB"])):
        out = tmp_path / f"{number}.json"
        words = "train --graph sbm:n=80000,k=4,degree=6,features=4000 --workers 2 --propagator p2p --schedule g3"
        words += f" --model gcn --hidden 16 --epochs 2 --bin-memory 4000000 --json {out}"
        subprocess.run([sys.executable, "-m", "offramp", *words.split(), *limit], check=True, timeout=600)
        results.append(json.loads(out.read_text("utf-8"))["per_epoch"])
    assert [epoch["loss"] for epoch in results[0]] == [epoch["loss"] for epoch in results[1]]
    assert max(epoch["peak_bytes"] for epoch in results[1]) <= 64_000_000
