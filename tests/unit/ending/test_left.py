# SPDX-License-Identifier: Apache-2.0
"""Remains of killed processes are removed by the next one; everything else stays."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from offramp_base.ending import left
from offramp_base.ending.left import namespaces, sweep, temporary_folder
from offramp_base.ending.owner import is_left, is_process, owned_name, owner, owner_of
from offramp_base.iproute import NAMESPACES, ip


@pytest.fixture(autouse=True)
def place(monkeypatch) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="left-") as name:  # pytest's are too long for sockets
        monkeypatch.setattr(tempfile, "tempdir", name)
        monkeypatch.setattr(left, "_swept", set())
        yield Path(name)


def of_the_dead() -> str:
    """The beginning of a name of what a process owned that has ended."""
    program = "from offramp_base.ending.owner import owned_name; print(owned_name())"
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.strip()


def test_a_killed_process_folder_is_removed_by_the_next_that_makes_one(place: Path) -> None:
    program = """
import os, signal, tempfile
from offramp_base.ending.left import temporary_folder
with temporary_folder() as name:
    open(name + "/file", "w").close()
    os.kill(os.getpid(), signal.SIGKILL)
"""
    environment = {**os.environ, "TMPDIR": str(place)}
    done = subprocess.run([sys.executable, "-c", program], check=False, env=environment)
    assert done.returncode == -signal.SIGKILL
    (remains,) = place.iterdir()
    assert is_left(remains.name)
    with temporary_folder() as mine:
        assert [path.name for path in place.iterdir()] == [Path(mine).name]
    assert not list(place.iterdir())


def test_only_what_certainly_belongs_to_the_dead_is_removed(place: Path) -> None:
    dead = of_the_dead()
    elsewhere = place / "something-else"
    pid, start, where = dead.removeprefix("offramp-").removesuffix("-").split(".")
    keep = {
        owned_name() + "mine",
        f"offramp-{os.getpid()}.{start}x.{where}-other",
        f"offramp-{pid}.{start}.00000000-another-boot-or-container",
        f"offramp-{pid}-old",
        "offramp-abcdefgh",
        f"x{dead}",
        "something-else",
    }
    for name in keep:
        (place / name).mkdir()
    (elsewhere / "precious").touch()
    (place / f"{dead}link").symlink_to(elsewhere)
    (place / f"{dead}file").touch()
    (place / f"{dead}folder" / "deep").mkdir(parents=True)
    (place / f"{dead}folder" / "deep" / "link").symlink_to(elsewhere)
    sweep()
    assert {path.name for path in place.iterdir()} == keep | {f"{dead}link", f"{dead}file"}
    assert (elsewhere / "precious").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
def test_other_users_folders_stay(place: Path) -> None:
    theirs = place / f"{of_the_dead()}theirs"
    theirs.mkdir()
    os.chown(theirs, 12345, 12345)
    sweep()
    assert theirs.exists()


def test_a_process_id_that_is_used_again_is_not_the_owner() -> None:
    pid, start, where = owner().split(".")
    assert not is_left(f"offramp-{pid}.{start}.{where}-")
    assert is_left(f"offramp-{pid}.{int(start, 16) - 1:x}.{where}-")


def test_a_zombie_is_dead() -> None:
    code = "from offramp_base.ending.owner import owned_name; print(owned_name())"
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    name = child.stdout.readline()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert is_left(name)
    child.communicate()


def test_sockets_have_room_whatever_the_folder_for_temporary_files(place: Path, monkeypatch) -> None:
    long = place / ("x" * 80)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    with temporary_folder() as name, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{name}/listener-of-something")


@pytest.mark.netns
@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
def test_namespaces_of_the_dead_are_removed() -> None:
    name = f"{of_the_dead()}hub"
    ip("netns", "add", name)
    with namespaces(["a", "b"]) as mine:
        assert not (NAMESPACES / name).exists()
        assert all((NAMESPACES / each).exists() for each in mine)
    assert not any((NAMESPACES / each).exists() for each in mine)


def test_a_process_that_has_been_killed_has_ended_though_its_memory_is_still_being_freed() -> None:
    code = "import sys; held = bytearray(b'x') * (256 << 20); sys.stdout.write('ready\\n'); sys.stdout.flush(); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        name = owner_of(process.pid)
        assert is_process(name)
        process.kill()
        assert not is_process(name)
