# SPDX-License-Identifier: Apache-2.0
"""A run of both models that resumes from its checkpoint against one that never ended; checkpoints of other runs.

Where both train at once, time decides which embeddings become features: there the language model alone has the same
bits, and the first epochs after a checkpoint. Blind to GPUs.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch.distributed.checkpoint import FileSystemReader

from offramp.graph.data import Graph
from offramp.train.stored_state import completed_epochs, forget
from offramp.unitg.finetune import FineTuner
from offramp.unitg.job import plan
from offramp.unitg.run import UnitgEpochs, train_rank
from offramp.unitg.settings import UnitgSettings
from offramp_base.errors import OfframpError
from offramp_sim.switchgnn.thread_group import run_group

CASES: dict[str, dict[str, Any]] = {
    "alone, with dropout": {"mode": "alone", "dropout": 0.3},
    "the text first": {"mode": "sequential", "dropout": 0.3},
    "between two rounds": {"mode": "glem", "rounds": 2, "after": 4},
    "between two rounds, with dropout": {"mode": "glem", "rounds": 2, "after": 4, "dropout": 0.3},
    "in a later round": {"mode": "glem", "rounds": 3, "after": 6},
    "layers that are computed again": {"mode": "alone", "activations": "recomputed"},
    "one stage": {"mode": "sequential", "stages": 1, "rounds": 2},
    "exits with few vertices": {"mode": "sequential", "exits": "none", "rounds": 2},
}


class KilledError(Exception):
    pass


def run(graph: Graph, settings: UnitgSettings, until: int | None = None) -> tuple[list[float], dict[str, Any]]:
    """Losses, and the weights of both models at the end; a run with ``until`` dies when it reports that epoch."""
    jobs = plan(graph, settings).jobs
    weights: dict[str, Any] = {}
    kept = UnitgEpochs.keep

    def keep(self: UnitgEpochs, number: int) -> None:
        kept(self, number)
        if number == settings.all_epochs:
            with self._rank.held():
                weights.update({name: np.array(array) for name, array in self._state(number).own.items()})
        if number == until:
            self._group.sum(torch.zeros(1))  # everybody has written its part
            raise KilledError

    def rank(group: Any) -> Any:
        return train_rank(group, jobs[group.rank], lambda _: None)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(UnitgEpochs, "keep", keep)
        if until is not None:
            with pytest.raises(KilledError):
                run_group(settings.stages, rank)
            return [], {}
        outcome = run_group(settings.stages, rank)[0]
    assert outcome is not None
    assert all(each.progress.fault is None for each in outcome.ranks)
    weights["lm losses"] = np.array([each.progress.losses for each in outcome.ranks])
    return [epoch.loss for epoch in outcome.epochs], weights


def same(mine: dict[str, Any], theirs: dict[str, Any]) -> None:
    assert mine.keys() == theirs.keys()
    for name, values in theirs.items():
        assert np.array_equal(mine[name], values), name


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_resumed_run_ends_with_the_bits_of_one_that_never_ended(graph, base, tmp_path, case) -> None:
    changes = {"epochs": 4, "stages": 2} | case
    after = changes.pop("after", 2)
    settings = replace(base, **changes)
    path = str(tmp_path / "run.npz")
    whole, weights = run(graph, settings)
    run(graph, replace(settings, checkpoint=path, checkpoint_every=1), until=after)
    losses, resumed = run(graph, replace(settings, resume=path))
    assert losses == whole[after:]
    same(resumed, weights)


@pytest.mark.parametrize("mode", ["interleaved", "colocated"])
def test_the_language_model_rests_after_the_same_step_everywhere_and_resumes(graph, base, tmp_path, mode) -> None:
    settings = replace(base, mode=mode, epochs=6, lm_epochs=3)
    path = str(tmp_path / "run.npz")
    _, weights = run(graph, settings)
    run(graph, replace(settings, checkpoint=path, checkpoint_every=1), until=2)
    losses, resumed = run(graph, replace(settings, resume=path))
    assert len(losses) == 4
    assert np.array_equal(resumed["lm losses"], weights["lm losses"])


def test_writing_checkpoints_changes_nothing(graph, base, tmp_path) -> None:
    settings = replace(base, mode="glem", rounds=2)
    kept = replace(settings, checkpoint=str(tmp_path / "run.npz"), checkpoint_every=1)
    (losses, weights), (expected, others) = run(graph, kept), run(graph, settings)
    assert losses == expected
    same(weights, others)


def test_a_url_has_each_stages_layers_and_the_text_once(graph, base, tmp_path) -> None:
    url = f"file://{tmp_path}/run"
    settings = replace(base, mode="sequential", stages=2, epochs=4)
    whole, weights = run(graph, settings)
    run(graph, replace(settings, checkpoint=url, checkpoint_every=2), until=2)
    assert completed_epochs(url) == 2
    folder = tmp_path / "run" / (tmp_path / "run/latest").read_text()
    names = FileSystemReader(folder).read_metadata().state_dict_metadata
    assert {"lm.model.classify.weight", "embeddings", "inputs"} <= set(names)
    layers = [name for name in names if name.startswith("model.")]
    assert len(layers) == len(list(settings.make_model(settings.widths(graph.width, graph.classes)).parameters()))
    losses, resumed = run(graph, replace(settings, resume=url))
    assert losses == whole[2:]
    same(resumed, weights)
    forget(url)


@pytest.mark.parametrize("stages", [5, 2, 3])
def test_other_numbers_of_stages_resume_without_texts(graph, base, stages) -> None:
    url = f"memory://unitg/{stages}"
    settings = replace(base, mode="alone", stages=3, microbatches=2, epochs=4, dropout=0.2)
    whole, _ = run(graph, settings)
    run(graph, replace(settings, checkpoint=url, checkpoint_every=2), until=2)
    losses, _ = run(graph, replace(settings, stages=stages, resume=url))
    forget(url)
    assert losses == whole[2:]


def test_checkpoints_of_other_runs_are_refused_by_what_differs(graph, base, tmp_path) -> None:
    path = str(tmp_path / "run.npz")
    settings = replace(base, mode="glem", rounds=2, checkpoint=path)
    run(graph, settings)
    for changes, line in (
        ({"hidden": 16}, "its hidden is 8, this run's is 16"),
        ({"stages": 1, "microbatches": 1}, "its microbatches is 2, this run's is 1"),
        ({"stages": 3, "microbatches": 2}, "its stages is 2, this run's is 3"),
        ({"lm_pseudo": 0.25}, "its lm_pseudo is 0.5, this run's is 0.25"),
        ({}, "has 6 epochs, expected epochs above that"),
    ):
        with pytest.raises(OfframpError, match=line):
            plan(graph, replace(settings, checkpoint=None, resume=path, **changes))


@pytest.mark.parametrize(("name", "value"), [("steps", -1), ("steps", 10**6), ("exits", -1), ("exits", 99)])
def test_progress_that_no_run_makes_is_refused(graph, base, tmp_path, name, value) -> None:
    path = tmp_path / "run.npz"
    settings = replace(base, mode="sequential", stages=1, epochs=2)
    run(graph, replace(settings, checkpoint=str(path), checkpoint_every=1), until=1)
    with np.load(path) as archive:
        arrays = dict(archive)
    (key,) = (each for each in arrays if each.endswith(f"lm.rank0.{name}"))
    arrays[key] = np.full_like(arrays[key], value)
    np.savez(path, **arrays)
    with pytest.raises(OfframpError, match=r"steps of the language model|exits"):
        plan(graph, replace(settings, resume=str(path)))


def test_no_checkpoint_is_written_of_a_language_model_that_has_failed(graph, base, tmp_path, monkeypatch) -> None:
    path, step = tmp_path / "run.npz", FineTuner._step
    failed = threading.Event()

    def fail(self: FineTuner, number: int) -> None:
        if number == 1 and self._mailbox.rank == 1:
            failed.set()
            raise OfframpError("no memory")
        step(self, number)

    monkeypatch.setattr(FineTuner, "_step", fail)
    jobs = plan(graph, replace(base, mode="sequential", checkpoint=str(path), checkpoint_every=1)).jobs
    outcome = run_group(2, lambda group: train_rank(group, jobs[group.rank], lambda _: None))[0]
    assert outcome is not None
    assert failed.is_set()
    assert "no memory" in outcome.ranks[1].progress.fault
    assert not path.exists()
