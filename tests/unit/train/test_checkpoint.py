# SPDX-License-Identifier: Apache-2.0
"""A run that goes on from a checkpoint ends with the bits of one that never stopped."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import stat
import time
import tracemalloc
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from offramp.train.checkpoint import TrainingSnapshot, facts, load, save
from offramp.train.planned import plan_run
from offramp.train.propagators.channel import open_channel
from offramp.train.settings import TrainSettings
from offramp.train.trainer import Trainer
from offramp_base.ending.files import written
from offramp_base.ending.owner import owner
from offramp_base.errors import OfframpError

BASE = TrainSettings("random", workers=2, propagator="p2p", partition="hash", hidden=5, epochs=6, dropout=0.2)


def losses(in_group, graph, run_settings) -> list[float]:
    jobs = plan_run(graph, run_settings).jobs([])

    def work(group):
        with open_channel(jobs[group.rank], group) as channel:
            return [epoch.loss for epoch in Trainer(jobs[group.rank], group, channel).run()]

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
    monkeypatch.setattr("offramp.train.checkpoint.save", lambda path, snapshot, _: saved.append((path, snapshot.epoch)))
    path = tmp_path / "run.npz"
    losses(in_group, graph, replace(BASE, checkpoint=str(path), checkpoint_every=4))
    assert saved == [(path, 4), (path, 6)]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "sage"}, "its model is gcn, this run's is sage"),
        ({"workers": 3, "sample": 0.5, "schedule": "sequential"}, "its workers is 2, this run's is 3"),
        ({"hidden": 6}, "its hidden is 5, this run's is 6"),
        ({"epochs": 6}, "has 6 epochs, expected epochs above that"),
    ],
)
def test_other_runs_are_refused(in_group, graph, tmp_path: Path, changes, message: str) -> None:
    path = tmp_path / "run.npz"
    losses(in_group, graph, replace(BASE, checkpoint=str(path)))
    with pytest.raises(OfframpError) as caught:
        plan_run(graph, replace(BASE, resume=str(path), **{"epochs": 9, **changes}))
    assert str(caught.value) == f"resume {path}: {message}"


def test_garbage_is_refused(in_group, graph, tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    losses(in_group, graph, replace(BASE, checkpoint=str(path)))
    with np.load(path) as archive:
        good = dict(archive)
    known = facts(graph, BASE)
    shapes = [good[f"array{3 * n}"].shape for n in range((len(good) - 3) // 3)]
    for spoil in ({"facts": np.array("{}")}, {"facts": np.array("x")}, {"epoch": 0}, {"array0": good["array0"].T}):
        np.savez(path, **{**good, **spoil})
        with pytest.raises(OfframpError, match="expected a checkpoint"):
            load(path, known, shapes)
    np.savez(path, **{name: array for name, array in good.items() if name != "array4"})
    with pytest.raises(OfframpError, match="array4: missing"):
        load(path, known, shapes)
    path.write_bytes(b"PK garbage")
    with pytest.raises(OfframpError, match="expected a NumPy"):
        load(path, known, shapes)
    with pytest.raises(OfframpError, match="cannot be written: No such file or directory"):
        losses(in_group, graph, replace(BASE, workers=1, checkpoint=str(tmp_path / "none" / "run.npz")))


def _snapshot(epoch: int) -> TrainingSnapshot:
    return TrainingSnapshot(epoch, [np.full((64, 32), epoch, np.float32)] * 3, np.full((epoch, 2), epoch, np.float64))


KNOWN = {"graph": "g", "dtype": "float32"}
SHAPES = [torch.Size((64, 32))]


def _read(path: Path) -> int:
    snapshot = load(path, KNOWN, SHAPES)
    assert (snapshot.arrays[0] == snapshot.epoch).all()
    return snapshot.epoch


def test_a_write_that_fails_halfway_leaves_the_checkpoint_before(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "run.npz"
    save(path, _snapshot(1), KNOWN)
    real, synced = np.savez, []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(stat.S_ISDIR(os.fstat(descriptor).st_mode)))

    def fail(file, **arrays):
        real(file, **arrays)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", fail)
        with pytest.raises(OfframpError, match="cannot be written: No space left on device"):
            save(path, _snapshot(2), KNOWN)
    assert (_read(path), synced, [p.name for p in tmp_path.iterdir()]) == (1, [], ["run.npz"])
    save(path, _snapshot(3), KNOWN)
    assert (_read(path), synced) == (3, [False, True])  # the file, then its folder


@pytest.mark.full
@pytest.mark.parametrize("unnamed", [True, False], ids=["unnamed files", "a file system without"])
def test_killed_writers_leave_a_whole_checkpoint_and_the_next_one_removes_their_pieces(
    tmp_path: Path, monkeypatch, unnamed: bool
) -> None:
    if not unnamed:
        monkeypatch.setattr("offramp_base.ending.files._unnamed", lambda _: None)
    path, pieces = tmp_path / "run.npz", 0
    save(path, _snapshot(1), KNOWN)
    (tmp_path / f".run.npz.{owner()}").symlink_to(path)  # of a process that lives: not theirs to remove
    for round_ in range(12):
        child = os.fork()
        if not child:
            if not round_:
                with written(path) as file:
                    file.write(b"half of it")
                    os.kill(os.getpid(), signal.SIGKILL)
            for epoch in range(2, 10_000):
                save(path, _snapshot(epoch % 50 + 1), KNOWN)
            os._exit(0)
        time.sleep(0.01 + 0.007 * round_)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        _read(path)
        pieces += len(list(tmp_path.iterdir())) - 2
    assert unnamed or pieces
    (tmp_path / f".run.npz.{owner()}").unlink()
    save(path, _snapshot(7), KNOWN)
    assert (_read(path), [p.name for p in tmp_path.iterdir()]) == (7, ["run.npz"])


def _npy(header: bytes, content: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    return b"\x93NUMPY" + version + len(header).to_bytes(2, "little") + header + content


HOSTILE = {
    "more values than bytes": _npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776,), }\n"),
    "another shape": _npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", bytes(8)),
    "a negative shape": _npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (-1, -2), }\n", bytes(8)),
    "no shape": _npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': 5, }\n", bytes(20)),
    "objects": _npy(b"{'descr': '|O', 'fortran_order': False, 'shape': (64, 32), }\n", b"cos\nsystem\n(S'false'\ntR."),
    "another type": _npy(b"{'descr': '>f4', 'fortran_order': False, 'shape': (64, 32), }\n", bytes(8192)),
    "text": _npy(b"{'descr': '<U2048', 'fortran_order': False, 'shape': (), }\n", bytes(8192)),
    "no dictionary": _npy(b"(" * 9000),
    "code": _npy(b"__import__('os')._exit(1)\n"),
    "another version": _npy(b"{}", version=b"\x07\x00"),
    "nothing": b"",
    "no header": b"\x93NUMPY\x01\x00\xff\xff{",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("field", ["array0", "facts", "epoch", "history"])
@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_members_are_refused_with_one_line(tmp_path: Path, field: str, what: str) -> None:
    path = tmp_path / "run.npz"
    save(path, _snapshot(2), KNOWN)
    with zipfile.ZipFile(path) as good, zipfile.ZipFile(tmp_path / "bad.npz", "w") as bad:
        for name in good.namelist():
            bad.writestr(name, HOSTILE[what] if name == f"{field}.npy" else good.read(name))
    with pytest.raises(OfframpError) as caught:
        load(tmp_path / "bad.npz", KNOWN, SHAPES)
    assert str(tmp_path / "bad.npz") in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.full
def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    save(path, _snapshot(2), KNOWN)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as bomb, bomb.open("array9.npy", "w") as member:
        header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (67108864,), }\n"
        member.write(_npy(header))
        for _ in range(256):
            member.write(bytes(1 << 20))
    _extend(path)
    tracemalloc.start()
    with pytest.raises(
        OfframpError, match=r"array9 is float32 of shape \(67108864,\), not float32 of shape \(64, 32\)"
    ):
        load(path, KNOWN, SHAPES * 4)
    assert tracemalloc.get_traced_memory()[1] < 16 << 20
    tracemalloc.stop()


def _extend(path: Path) -> None:
    """Arrays 3 to 8, so that the bomb is the next one."""
    with zipfile.ZipFile(path, "a") as file:
        for number in range(3, 9):
            file.writestr(f"array{number}.npy", file.read("array0.npy"))


def test_damaged_files_are_refused_or_read(tmp_path: Path) -> None:
    path, rng = tmp_path / "run.npz", np.random.default_rng(1)
    save(path, _snapshot(2), KNOWN)
    whole = path.read_bytes()
    for _ in range(300):
        content = bytearray(whole[: rng.integers(len(whole))]) if rng.random() < 0.5 else bytearray(whole)
        for _ in range(rng.integers(4)):
            if content:
                content[rng.integers(len(content))] = rng.integers(256)
        path.write_bytes(content)
        with contextlib.suppress(OfframpError):
            load(path, KNOWN, SHAPES)
