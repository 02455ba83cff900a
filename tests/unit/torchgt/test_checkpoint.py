# SPDX-License-Identifier: Apache-2.0
"""A run that goes on from its checkpoint against one that never ended, to the bit; checkpoints of other runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from offramp.torchgt.run import prepare, train
from offramp.torchgt.trainer import TransformerTrainer
from offramp_base.errors import OfframpError
from offramp_sim.switchgnn.thread_group import run_group


def killed_after(settings, epochs: int, path: Path | str):
    """The checkpoint of a run that dies when it reports epoch ``epochs``."""

    class Killed(Exception):
        pass

    def report(epoch) -> None:
        if epoch.epoch == epochs:
            raise Killed

    with pytest.raises(Killed):
        train(replace(settings, checkpoint=str(path), checkpoint_every=1), report)


@pytest.mark.parametrize("attention", ["topology", "interleaved", "reformed"])
def test_a_resumed_run_ends_with_the_bits_of_one_that_never_ended(attention, settings, tmp_path) -> None:
    whole = settings(epochs=6, workers=1, attention=attention, dropout=0.2, beta="0.4", period=2)
    expected = train(whole)
    killed_after(whole, 3, tmp_path / "run.npz")
    resumed = train(replace(whole, resume=str(tmp_path / "run.npz")))
    assert [e.epoch for e in resumed.epochs] == [4, 5, 6]
    assert [e.loss for e in resumed.epochs] == [e.loss for e in expected.epochs[3:]]
    for name, values in expected.weights.items():
        assert np.array_equal(resumed.weights[name], values), name


def test_the_tuner_goes_on_where_it_was(settings, tmp_path) -> None:
    whole = settings(epochs=4, workers=1, attention="reformed", beta="auto")
    killed_after(whole, 2, tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as file:
        assert len(file["history"]) == 2
    assert len(train(replace(whole, resume=str(tmp_path / "run.npz"))).epochs) == 2


def test_checkpoints_of_other_runs_are_refused_by_what_differs(settings, tmp_path) -> None:
    path = str(tmp_path / "run.npz")
    first = settings(epochs=2, workers=1, attention="topology", checkpoint=path)
    train(first)
    for changes, line in (
        ({"hidden": 32}, "its hidden is 16, this run's is 32"),
        ({"lr": 1e-4}, "its lr is 0.002, this run's is 0.0001"),
        ({}, "has 2 epochs, expected epochs above that"),
    ):
        with pytest.raises(OfframpError, match=line):
            train(replace(first, checkpoint=None, resume=path, **changes))


@pytest.mark.full
def test_other_numbers_of_ranks_resume_from_a_url(settings) -> None:
    url = "memory://torchgt/run"
    whole = train(settings(epochs=3, workers=1, attention="topology", dropout=0.2))
    killed_after(settings(epochs=3, workers=1, attention="topology", dropout=0.2), 1, url)
    jobs = prepare(settings(epochs=3, workers=2, attention="topology", dropout=0.2, resume=url)).jobs
    resumed = run_group(2, lambda group: TransformerTrainer(jobs[group.rank], group).run())[0]
    assert [epoch.loss for epoch in resumed] == pytest.approx([epoch.loss for epoch in whole.epochs[1:]], abs=1e-10)
