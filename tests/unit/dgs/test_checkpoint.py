# SPDX-License-Identifier: Apache-2.0
"""A run that resumes from its checkpoint against one that never ended, to the bit; checkpoints of other runs.

Blind to a lag of ``free``, where time decides when masks take effect.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from torch.distributed.checkpoint import FileSystemReader

from dgs_runs import planted, settings, train
from offramp.dgs.run import train_dgs
from offramp.train.stored_state import forget
from offramp_base.errors import OfframpError
from offramp_sim.switchgnn.thread_group import open_threads

GRAPH = planted(n=90, columns=12, informative=4)[0]
SHORT = {"explain_epochs": 4, "batch": 10}


class KilledError(Exception):
    pass


def killed_after(how, epochs: int) -> None:
    """A run that dies when it reports an epoch, and has kept its state by then."""

    def report(epoch) -> None:
        if epoch.epoch == epochs:
            raise KilledError

    with pytest.raises(KilledError):
        train_dgs(GRAPH, how, on_epoch=report, launch=open_threads)


def numbers(result) -> list[tuple[float, ...]]:
    return [
        (e.epoch, e.reported.loss, e.test_accuracy, e.reported.version, e.reported.explanations) for e in result.epochs
    ]


CASES = {
    "masks come at once": {"lag": 0},
    "an explanation is under way at the end": {"period": 5, "lag": 4},
    "beside": {"explain": "beside", "period": 4},
    "random columns": {"sampler": "random", "columns": 0.5, "period": 5},
    "whole rows for explanations": {"explain_features": "fetch", "explain_scope": "classes"},
    "dropout and adam": {"dropout": 0.3, "lr": 0.05, "workers": 2},
}


@pytest.mark.parametrize("changes", CASES.values(), ids=CASES)
def test_a_resumed_run_ends_with_the_bits_of_one_that_never_ended(changes, tmp_path) -> None:
    path = str(tmp_path / "run.npz")
    how = settings(**({"epochs": 5} | SHORT | changes))
    whole = train(GRAPH, how)
    killed_after(replace(how, checkpoint=path, checkpoint_every=1), 3)
    resumed = train(GRAPH, replace(how, resume=path))
    assert numbers(resumed) == numbers(whole)[3:]
    for mine, theirs in zip(resumed.masks, whole.masks, strict=True):
        assert (mine is None) == (theirs is None)
        if mine is not None and theirs is not None:
            assert mine.version == theirs.version
            assert np.array_equal(mine.nodes, theirs.nodes)
            assert np.array_equal(mine.features, theirs.features)
    assert np.array_equal(resumed.epochs[-1].reported.weights, whole.epochs[-1].reported.weights)


def test_writing_checkpoints_changes_nothing(tmp_path) -> None:
    how = settings(epochs=4, period=5, lag=4, **SHORT)
    kept = replace(how, checkpoint=str(tmp_path / "run.npz"), checkpoint_every=1)
    assert numbers(train(GRAPH, kept)) == numbers(train(GRAPH, how))


def test_a_url_has_each_workers_state_in_its_own_file(tmp_path) -> None:
    url = f"file://{tmp_path}/run"
    how = settings(epochs=4, period=5, lag=4, **SHORT)
    whole = train(GRAPH, how)
    killed_after(replace(how, checkpoint=url, checkpoint_every=1), 2)
    resumed = train(GRAPH, replace(how, resume=url))
    assert numbers(resumed) == numbers(whole)[2:]
    folder = tmp_path / "run" / (tmp_path / "run" / "latest").read_text()
    names = FileSystemReader(folder).read_metadata().state_dict_metadata
    assert {f"rank{rank}.{name}" for rank in range(3) for name in ("rows", "known", "counts", "masks.nodes")} <= set(
        names
    )
    forget(url)


def test_checkpoints_of_other_runs_are_refused_by_what_differs(tmp_path) -> None:
    path = str(tmp_path / "run.npz")
    how = settings(epochs=2)
    train(GRAPH, replace(how, checkpoint=path))
    for changes, line in (
        ({"fanout": (4, 4)}, r"its fanout is \[3, 3\], this run's is \[4, 4\]"),
        ({"workers": 2}, "its workers is 3, this run's is 2"),
        ({"seed": 1}, "its seed is 0, this run's is 1"),
        ({}, "has 2 epochs, expected epochs above that"),
    ):
        with pytest.raises(OfframpError, match=line):
            train(GRAPH, replace(how, resume=path, **changes))
    with np.load(path) as archive:
        arrays = dict(archive)
    arrays["rank1.rows"] = arrays["rank1.rows"][:-1]
    np.savez(path, **arrays)
    with pytest.raises(OfframpError, match=r"rank1\.rows is float32 of shape"):
        train(GRAPH, replace(how, epochs=3, resume=path))
