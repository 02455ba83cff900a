"""A run that goes on from a checkpoint ends with the bits of one that never stopped."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from offramp.errors import OfframpError
from offramp.train.checkpoint import facts, load
from offramp.train.planned import plan_run
from offramp.train.propagators import open_way
from offramp.train.settings import TrainSettings
from offramp.train.trainer import Trainer

BASE = TrainSettings("random", workers=2, propagator="p2p", partition="hash", hidden=5, epochs=6, dropout=0.2)


def losses(in_group, graph, run_settings) -> list[float]:
    jobs = plan_run(graph, run_settings).jobs([])

    def work(group):
        with open_way(jobs[group.rank], group) as way:
            return [epoch.loss for epoch in Trainer(jobs[group.rank], group, way).run()]

    return in_group(run_settings.workers, work)[0]


@pytest.mark.parametrize(
    ("schedule", "model"), [("plain", "gcn"), ("g3", "gat"), ("sequential", "gcnii"), ("intra", "dagnn")]
)
def test_the_same_bits(in_group, graph, tmp_path: Path, schedule: str, model: str) -> None:
    settings = replace(BASE, schedule=schedule, model=model, checkpoint=str(tmp_path / "run.npz"))
    whole = losses(in_group, graph, settings)
    assert losses(in_group, graph, replace(settings, epochs=4, checkpoint_every=3)) == whole[:4]
    assert losses(in_group, graph, replace(settings, resume=settings.checkpoint)) == whole[4:]
    assert [path.name for path in tmp_path.iterdir()] == ["run.npz"]


def test_every_so_many_epochs(in_group, graph, tmp_path: Path, monkeypatch) -> None:
    saved = []
    monkeypatch.setattr("offramp.train.trainer.save", lambda path, snapshot, _: saved.append((path, snapshot.epoch)))
    path = tmp_path / "run.npz"
    losses(in_group, graph, replace(BASE, checkpoint=str(path), checkpoint_every=4))
    assert saved == [(path, 4), (path, 6)]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "sage"}, "its model is gcn, this run's is sage"),
        ({"workers": 3}, "its workers is 2, this run's is 3"),
        ({"hidden": 6}, "its hidden is 5, this run's is 6"),
        ({"epochs": 6}, "has 6 epochs, expected --epochs above that"),
    ],
)
def test_other_runs_are_refused(in_group, graph, tmp_path: Path, changes, message: str) -> None:
    path = tmp_path / "run.npz"
    losses(in_group, graph, replace(BASE, checkpoint=str(path)))
    with pytest.raises(OfframpError) as caught:
        plan_run(graph, replace(BASE, resume=str(path), **{"epochs": 9, **changes}))
    assert str(caught.value) == f"--resume {path}: {message}"


def test_garbage_is_refused(in_group, graph, tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    losses(in_group, graph, replace(BASE, checkpoint=str(path)))
    with np.load(path) as archive:
        good = dict(archive)
    known = facts(graph, BASE)
    shapes = [good[f"array{3 * n}"].shape for n in range((len(good) - 3) // 3)]
    for spoil in ({"facts": np.array("{}")}, {"facts": np.array("x")}, {"epoch": 0}, {"array0": good["array0"].T}):
        np.savez(path, **{**good, **spoil})
        with pytest.raises(OfframpError, match="expected a file that --checkpoint wrote"):
            load(path, known, shapes)
    np.savez(path, **{name: array for name, array in good.items() if name != "array4"})
    with pytest.raises(OfframpError, match="array4: missing"):
        load(path, known, shapes)
    path.write_bytes(b"PK garbage")
    with pytest.raises(OfframpError, match="expected a NumPy"):
        load(path, known, shapes)
    with pytest.raises(OfframpError, match="cannot be written: No such file or directory"):
        losses(in_group, graph, replace(BASE, workers=1, checkpoint=str(tmp_path / "none" / "run.npz")))
