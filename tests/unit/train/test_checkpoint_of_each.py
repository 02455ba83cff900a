# SPDX-License-Identifier: Apache-2.0
"""Every system that trains has checkpoints, by one table: a new one without them fails here.

Runs whose features are those of an epoch before (stale, adaptive) lose these with the process: they resume, but not to
the bit. Blind to sums in switches, whose checkpoints are those of the same trainer (``tests/cluster``).
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

FIELDS = {"checkpoint", "checkpoint_every", "resume"}
BASE = TrainSettings("random", workers=2, hidden=5, epochs=5, partition="hash", propagator="p2p")
SMALL = {"layers", "hidden", "partition", "worker_memory"}
"""Options of papers that a graph of 40 vertices does without."""
FULL_GRAPH = sorted(name for name, each in PUBLISHED.items() if each.command == "train" and name != "switchgnn")
REMEMBERS = {"pipegcn", "sylvie"}
"""Systems whose next epoch uses features of the last one."""


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
@pytest.mark.parametrize("system", ["plain", *FULL_GRAPH])
@pytest.mark.parametrize("place", ["file", "memory"])
def test_each_full_graph_system_resumes(in_group, graph, tmp_path: Path, system: str, place: str) -> None:
    values = {} if system == "plain" else {v.option: v.value for v in PUBLISHED[system].values if v.option not in SMALL}
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
    assert len(resumed) == 2
    if system in REMEMBERS:
        assert np.isfinite(resumed).all()
    else:
        assert resumed == whole[3:]
