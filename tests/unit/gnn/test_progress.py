# SPDX-License-Identifier: Apache-2.0
"""A run of ``offramp gnn train`` that goes on from its state ends with the bits of one that never stopped.

Blind to GPUs, and to models of a user's own that keep anything but parameters and buffers.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from offramp.gnn.fit import train_rank  # noqa: E402
from offramp.gnn.settings import GnnJob, GnnSettings  # noqa: E402
from offramp.graph.cut import cut  # noqa: E402
from offramp.graph.source import in_memory  # noqa: E402
from offramp.graph.store import write_store  # noqa: E402
from offramp.workers.processes import run_workers  # noqa: E402
from offramp_base.errors import OfframpError  # noqa: E402

EPOCHS, KEPT = 7, 3
MASKS = ("train", "val", "test")
CASES = {
    "constant": {"dropout": 0.3, "norm": "batch"},
    "cosine": {"lr_schedule": "cosine", "codec": "q4"},
    "step": {"lr_schedule": "step", "codec": "sylvie"},
    "plateau": {"lr_schedule": "plateau", "patience": 5, "metric": "f1", "norm": "graph"},
}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    rng = np.random.default_rng(0)
    u, v = rng.integers(0, 40, (2, 160))
    labels = np.arange(40) % 3
    x = rng.normal(size=(40, 5)).astype(np.float32)
    x[np.arange(40), labels] += 1.5
    fields = {"x": x, "y": labels} | {f"{name}_mask": np.arange(40) % 5 == at for at, name in enumerate(MASKS)}
    whole = in_memory("random", 40, u, v, fields, {})
    folder = tmp_path_factory.mktemp("store")
    for parts in (1, 2):
        write_store(whole, cut(whole, parts, "stream", parts, 0), parts, folder / str(parts), "stream")
    return folder


def outcome_of(result):
    return [(e.epoch, e.loss, e.train, e.val, e.test, e.lr) for e in result.epochs], result.best


def resumed_cases(group, folder, report):
    """What each case comes to in one run, in one that resumes from a file, and in one that does from a URL."""
    rows = {}
    for name, values in CASES.items():
        file, url = f"{folder}/{name}.npz", f"file://{folder}/{name}"
        settings = GnnSettings(f"{folder}/2", hidden=6, epochs=EPOCHS, seed=3, state_every=KEPT, **values)

        def keep(epoch, file=file, name=name):
            if epoch.epoch == KEPT + 1:
                shutil.copy(file, f"{folder}/{name}-kept.npz")

        def trained(given):
            return outcome_of(train_rank(group, GnnJob(given), lambda _: None))

        whole = outcome_of(train_rank(group, GnnJob(replace(settings, state=file)), keep))
        group.max(torch.zeros(1))  # the copy is whole
        kept = f"{folder}/{name}-kept.npz"
        rows[name] = [whole, trained(replace(settings, resume=kept, checkpoint=f"{folder}/{name}.pt"))]
        if name == "constant":
            train_rank(group, GnnJob(replace(settings, epochs=4, state=url)), lambda _: None)
            rows[name].append(trained(replace(settings, resume=url)))
    return rows if group.rank == 0 else None


@pytest.mark.full
def test_each_case_resumes_to_the_bit_and_on_another_number_of_ranks(store: Path) -> None:
    rows = run_workers(resumed_cases, [str(store)] * 2, print)
    for name, (whole, *others) in rows.items():
        assert len(whole[0]) == EPOCHS, name
        for other in others:
            assert other == whole, name
    alone = GnnSettings(str(store / "1"), hidden=6, epochs=EPOCHS, seed=3, **CASES["constant"])
    epochs, _ = run_workers(on_one, [(alone, str(store / "constant-kept.npz"))], print)
    assert np.allclose([row[1] for row in epochs], [row[1] for row in rows["constant"][0][0]], atol=1e-4)


def on_one(group, item, report):
    settings, kept = item
    return outcome_of(train_rank(group, GnnJob(replace(settings, resume=kept)), report))


@pytest.fixture(scope="module")
def state(store: Path) -> GnnSettings:
    settings = GnnSettings(str(store / "1"), hidden=6, epochs=2, state=str(store / "run.npz"), lr_schedule="plateau")
    run_workers(plain, [settings], print)
    return settings


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden": 5}, "its hidden is 6, this run's is 5"),
        ({"model": "gcn"}, "its model is sage, this run's is gcn"),
        ({"epochs": 2}, "has 2 epochs, expected epochs above that"),
        ({"staleness": "stale"}, "resume FILE: goes with staleness sequential only"),
    ],
)
def test_what_is_no_state_of_this_run_is_refused(state: GnnSettings, changes, message: str) -> None:
    with pytest.raises(OfframpError) as caught:
        run_workers(plain, [replace(state, **{"epochs": 4, "state": None, "resume": state.state, **changes})], print)
    assert message.replace("FILE", state.state) in str(caught.value)


def plain(group, settings, report):
    return outcome_of(train_rank(group, GnnJob(settings), report))


def test_a_state_that_is_damaged_is_refused(state: GnnSettings, tmp_path: Path) -> None:
    file = tmp_path / "run.npz"
    with np.load(state.state) as archive:
        good = dict(archive)
    random, schedule = good["random"], good["schedule"]
    spoilt = {"best": [np.array([0.5, 9.0])], "random": [0 * random], "schedule": [np.zeros(3), schedule * np.nan]}
    for spoil in ({name: value} for name, values in spoilt.items() for value in values):
        np.savez(file, **{**good, **spoil})
        with pytest.raises(OfframpError, match="expected a checkpoint: "):
            run_workers(plain, [replace(state, epochs=4, state=None, resume=str(file))], print)
