# SPDX-License-Identifier: Apache-2.0
"""TensorBoard's and Weights & Biases' loggers: on stand-ins for both packages, and on these where they are installed.

Blind to Weights & Biases' server.
"""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from offramp.gnn import loggers  # noqa: E402
from offramp.gnn.fit import train_rank  # noqa: E402
from offramp.gnn.settings import GnnJob, GnnSettings  # noqa: E402
from offramp.graph.open_source import open_source  # noqa: E402
from offramp.graph.store import write_store  # noqa: E402
from offramp.workers.group import Group  # noqa: E402
from offramp_base.errors import OfframpError  # noqa: E402
from offramp_base.extras import needs  # noqa: E402

NAMES = {"loss", "accuracy/train", "accuracy/val", "accuracy/test", "lr", "seconds"}


class Recorder:
    """In place of both clients: what was logged, by step."""

    def __init__(self, folder: str = "") -> None:
        self.folder, self.rows, self.text, self.ended = folder, {}, {}, []

    def add_scalar(self, name: str, value: float, step: int) -> None:
        self.rows.setdefault(step, {})[name] = value

    def add_text(self, name: str, text: str) -> None:
        self.text[name] = text

    def close(self) -> None:
        self.ended.append(None)

    def log(self, numbers, step: int) -> None:
        self.rows[step] = numbers

    def finish(self, exit_code: int) -> None:
        self.ended.append(exit_code)


@pytest.fixture
def written(monkeypatch):
    """Stand-ins for both packages; what they were asked to make."""
    recorders: list[Recorder] = []

    def writer(folder: str) -> Recorder:
        recorders.append(Recorder(folder))
        return recorders[-1]

    def init(project: str, config: dict) -> Recorder:
        if project == "closed":
            raise Refused("no key\nfor this project")
        recorders.append(Recorder(project))
        recorders[-1].text = config
        return recorders[-1]

    class Refused(Exception):
        pass

    board, wandb = ModuleType("torch.utils.tensorboard"), ModuleType("wandb")
    board.SummaryWriter = writer
    wandb.init, wandb.errors = init, SimpleNamespace(Error=Refused)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", board)
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    return recorders


@pytest.fixture
def store(tmp_path):
    folder = tmp_path / "graph"
    folder.mkdir()
    rng = torch.Generator().manual_seed(0)
    np.save(folder / "edge_index.npy", torch.randint(20, (2, 60), generator=rng).numpy())
    np.save(folder / "x.npy", torch.randn(20, 4, generator=rng).numpy())
    np.save(folder / "y.npy", torch.randint(3, (20,), generator=rng).numpy())
    for name in ("train", "val", "test"):
        np.save(folder / f"{name}_mask.npy", np.ones(20, bool))
    write_store(open_source(str(folder)), np.zeros(20, np.int32), 1, tmp_path / "store", "given")
    (tmp_path / "own.py").write_text(
        "from torch import nn\n\n\ndef net(i, o):\n    m = nn.Linear(i, o)\n"
        "    m.forward = lambda x, e, f=m.forward: f(x)\n    return m\n"
    )
    return tmp_path


def settings(store, **changes) -> GnnSettings:
    return GnnSettings(str(store / "store"), model=f"{store / 'own.py'}:net", epochs=3, **changes)


def test_every_epoch_reaches_both_loggers(written, store) -> None:
    asked = settings(store, tensorboard="curves", wandb="mine", lr=0.02)
    done = train_rank(Group(), GnnJob(asked), lambda _: None)
    board, wandb = written
    assert (board.folder, wandb.folder) == ("curves", "mine")
    assert '"lr": 0.02' in board.text["settings"]
    assert wandb.text["lr"] == 0.02
    for recorder in written:
        assert sorted(recorder.rows) == [1, 2, 3]
        assert set(recorder.rows[1]) == NAMES
        assert [recorder.rows[e.epoch]["loss"] for e in done.epochs] == [e.loss for e in done.epochs]
    assert (board.ended, wandb.ended) == ([None], [0])


def test_a_run_that_fails_closes_its_files_and_says_so(written) -> None:
    def run() -> None:
        with loggers.TensorBoard("one") as board, loggers.WandB("two") as wandb:
            board(1, {"loss": 1.0})
            wandb(1, {"loss": 1.0})
            raise KeyError

    with pytest.raises(KeyError):
        run()
    assert [recorder.ended for recorder in written] == [[None], [1]]


def test_a_client_that_refuses_is_one_line(written) -> None:
    with pytest.raises(OfframpError, match=r"^wandb: no key for this project$"):
        loggers.WandB("closed")


@pytest.mark.parametrize(("logger", "package"), [(loggers.TensorBoard, "tensorboard"), (loggers.WandB, "wandb")])
def test_a_missing_package_is_named_with_its_extra(logger, package: str, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, "torch.utils.tensorboard", raising=False)
    with pytest.raises(OfframpError) as caught:
        logger("x")
    assert str(caught.value) == f"this {needs(package)}"


def test_tensorboard_itself_reads_the_curves(tmp_path) -> None:
    pytest.importorskip("tensorboard", reason="the package tensorboard is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with loggers.TensorBoard(tmp_path / "run", {"lr": 0.5}) as log:
        for step in (1, 2, 3):
            log(step, {"loss": 1 / step, "accuracy/val": step / 4})
    read = EventAccumulator(str(tmp_path / "run"))
    read.Reload()
    assert [(e.step, e.value) for e in read.Scalars("accuracy/val")] == [(1, 0.25), (2, 0.5), (3, 0.75)]
    assert set(read.Tags()["scalars"]) == {"loss", "accuracy/val"}


@pytest.mark.full
def test_weights_and_biases_itself_takes_a_run_offline(tmp_path, monkeypatch) -> None:
    pytest.importorskip("wandb", reason="the package wandb is not installed")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with loggers.WandB("offramp", {"lr": 0.5}) as log:
        log(1, {"loss": 0.5})
    assert list(tmp_path.glob("wandb/offline-run-*/*.wandb"))
