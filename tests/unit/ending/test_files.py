# SPDX-License-Identifier: Apache-2.0
"""A file is there as a whole or not at all; what killed writers have left goes, and nothing else."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from offramp_base.ending import files
from offramp_base.ending.files import sweep_partial, write_text, written


@pytest.fixture(params=[True, False], ids=["unnamed files", "a file system without"], autouse=True)
def _unnamed(request, monkeypatch) -> None:
    if not request.param:
        monkeypatch.setattr(files, "_unnamed", lambda _: None)


def dead_owner() -> str:
    program = "from offramp_base.ending.owner import owner; print(owner())"
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.strip()


def test_a_new_file_and_its_successor_with_the_mode_of_the_old_one(tmp_path: Path) -> None:
    path, old = tmp_path / "x", os.umask(0o027)
    try:
        write_text(path, "one")
        assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("one", 0o640)
        path.chmod(0o604)
        write_text(path, "two ü", "latin-1")
    finally:
        os.umask(old)
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"two \xfc", 0o604)
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("failure", [OSError, KeyboardInterrupt, SystemExit])
def test_a_block_that_fails_leaves_the_old_file_alone(tmp_path: Path, failure: type[BaseException]) -> None:
    path = tmp_path / "x"
    write_text(path, "old")

    def fail() -> None:
        with written(path) as file:
            file.write(b"half")
            raise failure

    with pytest.raises(failure):
        fail()
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


def test_all_of_it_is_synced_before_it_has_its_name(tmp_path: Path, monkeypatch) -> None:
    """The file with every byte, while the old one stands there still; then the folder."""
    path, seen = tmp_path / "x", []
    write_text(path, "old")
    monkeypatch.setattr(os, "fsync", lambda fd: seen.append((os.fstat(fd).st_size, path.read_text())))
    with written(path) as file:
        file.write(b"new")
        assert path.read_text() == "old"
    (size, before), (_, after) = seen
    assert (size, before, after) == (3, "old", "new")


def test_nothing_stays_open(tmp_path: Path) -> None:
    before = sum(1 for _ in Path("/proc/self/fd").iterdir())
    for _ in range(3):
        write_text(tmp_path / "x", "text")
    assert sum(1 for _ in Path("/proc/self/fd").iterdir()) == before


def test_links_and_what_is_no_file(tmp_path: Path) -> None:
    write_text(tmp_path / "x", "old")
    (tmp_path / "link").symlink_to("x")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "x").read_text() == "new"
    write_text(Path("/dev/null"), "text")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_pieces_of_the_dead_go_and_nothing_else(tmp_path: Path) -> None:
    dead = dead_owner()
    keep = {f".y.{dead}", f"x.{dead}", ".x.something", ".x", f".x.{dead}.more"}
    for name in keep | {f".x.{dead}"}:
        (tmp_path / name).touch()
    sweep_partial(tmp_path / "x")
    assert {p.name for p in tmp_path.iterdir()} == keep
    (tmp_path / "folder").mkdir()
    (tmp_path / f".x.{dead}").symlink_to("folder")
    sweep_partial(tmp_path / "x")
    assert (tmp_path / f".x.{dead}").is_symlink()
    if os.geteuid() == 0:
        (tmp_path / f".x.{dead}").unlink()
        (tmp_path / f".x.{dead}").touch()
        os.chown(tmp_path / f".x.{dead}", 12345, 12345)
        sweep_partial(tmp_path / "x")
        assert (tmp_path / f".x.{dead}").exists()
