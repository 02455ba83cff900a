# SPDX-License-Identifier: Apache-2.0
"""Every system that trains has checkpoints, by one table: a new one without them fails here.

Blind to sums in switches, whose checkpoints are those of the same trainer (``tests/cluster``).
"""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from offramp.job.kind import KINDS
from offramp.job.training import Training
from offramp.published import PUBLISHED
from offramp.train.planned import plan_run
from offramp.train.propagators.channel import open_channel
from offramp.train.settings import TrainSettings
from offramp.train.stored_state import forget
from offramp.train.trainer import Trainer
from offramp_base.errors import OfframpError

FIELDS = {"checkpoint", "checkpoint_every", "resume"}
BASE = TrainSettings("random", workers=2, hidden=5, epochs=5, partition="hash", propagator="p2p")
SMALL = {"layers", "hidden", "partition", "worker_memory"}
"""Options of papers that a graph of 40 vertices does without."""
FULL_GRAPH = sorted(name for name, each in PUBLISHED.items() if each.command == "train" and name != "switchgnn")
STEPS = {
    "codes": {"schedule": "sequential", "codec": "q4", "dropout": 0.2},
    "samples": {"schedule": "g3", "sample": 0.5},
    "old rows": {"schedule": "stale", "dropout": 0.2},
    "old samples": {"schedule": "stale", "sample": 0.5},
    "old codes": {"schedule": "stale", "codec": "q8"},
    "a codec's widths": {"schedule": "intra", "codec": "adaqp"},
    "a controller": {"schedule": "adaptive", "codec": "sylvie", "dropout": 0.2},
}
"""Settings whose next epoch depends on the epochs before, or on their number, beyond the weights."""


def test_every_kind_of_training_job_has_checkpoints() -> None:
    kinds = [KINDS.get(name) for name in KINDS.names()]
    trained = [kind() for kind in kinds if issubclass(kind, Training)]
    assert len(trained) >= 4
    for kind in trained:
        assert {each.name for each in fields(kind.settings_class)} >= FIELDS, kind.words


def test_every_published_system_that_trains_is_one_of_them() -> None:
    words = {" ".join(KINDS.get(name).words) for name in KINDS.names() if issubclass(KINDS.get(name), Training)}
    assert {each.command for each in PUBLISHED.values() if each.command.startswith("train")} <= words


@pytest.mark.each
@pytest.mark.parametrize("system", ["plain", *FULL_GRAPH, *STEPS])
@pytest.mark.parametrize("place", ["file", "memory"])
def test_each_full_graph_system_resumes(in_group, graph, tmp_path: Path, system: str, place: str) -> None:
    published = {} if system not in PUBLISHED else {v.option: v.value for v in PUBLISHED[system].values}
    values = {name: value for name, value in published.items() if name not in SMALL} | STEPS.get(system, {})
    settings = replace(BASE, **values)
    where = str(tmp_path / "run.npz") if place == "file" else f"memory://each/{system}"

    def losses(given: TrainSettings) -> list[float]:
        jobs = plan_run(graph, given).jobs([])

        def work(group):
            with open_channel(jobs[group.rank], group) as channel:
                return [epoch.loss for epoch in Trainer(jobs[group.rank], group, channel).run()]

        return in_group(given.workers, work)[0]

    whole = losses(settings)
    losses(replace(settings, epochs=3, checkpoint=where))
    resumed = losses(replace(settings, resume=where))
    forget(where)
    assert resumed == whole[3:]
    assert len(resumed) == 2


@pytest.mark.parametrize(
    ("system", "spoilt", "message"),
    [
        ("old rows", {"rank1.steps": np.array([2, 3])}, "pass 2 and training step 3"),
        ("old rows", {"rank1.rows": np.zeros(1, np.float32)}, "rank1.rows is float32 of shape (1,)"),
        ("a codec's widths", {"rank0.widths": None}, "widths of [9] bits"),
    ],
)
def test_state_that_no_worker_has_is_refused(in_group, graph, tmp_path: Path, system, spoilt, message) -> None:
    path = tmp_path / "run.npz"
    settings = replace(BASE, epochs=2, checkpoint=str(path), **STEPS[system])

    def train(given: TrainSettings) -> None:
        jobs = plan_run(graph, given).jobs([])

        def work(group):
            with open_channel(jobs[group.rank], group) as channel:
                Trainer(jobs[group.rank], group, channel).run()

        in_group(given.workers, work)

    train(settings)
    with np.load(path) as archive:
        good = dict(archive)
    spoilt = {name: np.full_like(good[name], 9) if value is None else value for name, value in spoilt.items()}
    np.savez(path, **{**good, **spoilt})
    with pytest.raises(OfframpError) as caught:
        train(replace(settings, epochs=3, checkpoint=None, resume=str(path)))
    assert message in str(caught.value)


def test_evaluations_leave_the_rows_of_the_last_step_and_no_others(in_group, graph) -> None:
    jobs = plan_run(graph, replace(BASE, epochs=1, schedule="stale")).jobs([])

    def work(group):
        with open_channel(jobs[group.rank], group) as channel:
            trainer = Trainer(jobs[group.rank], group, channel)
            trainer.run()
            steps = []
            for _ in range(3):
                trainer.evaluate()
                steps.append(sorted({key.step for _, key in channel._inbox}))
            return steps

    for steps in in_group(2, work):
        assert all({1, 2 + number} <= set(seen) <= {1, 2 + number, 3 + number} for number, seen in enumerate(steps))
