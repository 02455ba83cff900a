# SPDX-License-Identifier: Apache-2.0
"""Attacks of another user of the machine on what is kept and read back: folders laid in wait, links, and races.

The attacker is a real one: a child process that has become user 65534. Blind to attackers with more rights.
"""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from offramp.cluster.model import ClusterSwitch
from offramp.job import ledger
from offramp_base.ending.left import temporary_folder
from offramp_base.ending.owner import owned_name, owner
from offramp_base.errors import OfframpError
from offramp_base.kept_files import KeptFiles
from offramp_base.private_folder import make_private

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
NOBODY = 65534
KEY = "key"
NAME = hashlib.sha256(KEY.encode()).hexdigest() + ".o"
EVIL = hashlib.sha256(KEY.encode() + b"\0evil").digest() + b"evil"
"""Contents whose digest is right: anybody can compute it."""
RACES = 300


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder like /tmp, to which the attacker has a way."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    for parent in (tmp_path, *tmp_path.parents):
        with suppress(PermissionError):
            parent.chmod(parent.stat().st_mode | 0o011)
    return folder


@contextmanager
def attacking(attack: Callable[[], None], *, once: bool = False) -> Iterator[None]:
    """Another user carries out an attack meanwhile, again and again, or once before."""
    child = os.fork()
    if not child:
        try:
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os.umask(0)
            attack()
            while not once:
                with suppress(OSError):
                    attack()
        finally:
            os._exit(0)
    if once:
        os.waitpid(child, 0)
        yield
        return
    try:
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def kept(folder: Path) -> KeptFiles:
    return KeptFiles("things", lambda: folder, ".o", most_files=4)


def lie_in_wait(folder: Path) -> None:
    folder.mkdir()
    (folder / NAME).write_bytes(EVIL)


def test_what_another_user_keeps_is_not_read_nor_written(shared):
    folder = shared / "cache"
    with attacking(lambda: lie_in_wait(folder), once=True):
        assert (folder / NAME).read_bytes() == EVIL
        assert kept(folder).get(KEY) is None
        kept(folder).put(KEY, b"mine")
        assert (folder / NAME).read_bytes() == EVIL
        with pytest.raises(OfframpError, match="it belongs to user 65534"):
            make_private(folder)


def test_a_file_of_another_user_in_our_folder_counts_as_absent(shared):
    """As a mistake in modes would allow it."""
    folder = shared / "cache"
    folder.mkdir(mode=0o700)
    (folder / NAME).write_bytes(EVIL)
    assert kept(folder).get(KEY) == b"evil"
    os.chown(folder / NAME, NOBODY, NOBODY)
    assert kept(folder).get(KEY) is None


def test_links_to_our_own_files_are_not_followed(shared):
    target = shared / "secret"
    target.write_bytes(EVIL)
    folder = shared / "cache"
    folder.mkdir(mode=0o700)
    (folder / NAME).symlink_to(target)
    assert kept(folder).get(KEY) is None
    kept(folder).put(KEY, b"mine")
    assert target.read_bytes() == EVIL
    assert kept(folder).get(KEY) == b"mine"


def test_a_race_for_the_folder_never_yields_what_another_user_wrote(shared):
    folder = shared / "cache"
    victim = shared / "victim"
    victim.mkdir(mode=0o700)

    def exchange_folder() -> None:
        with suppress(OSError):
            folder.symlink_to(victim)
        with suppress(OSError):
            folder.unlink()
        with suppress(OSError):
            lie_in_wait(folder)
        with suppress(OSError):
            (folder / NAME).unlink()
        with suppress(OSError):
            folder.rmdir()

    with attacking(exchange_folder):
        for _ in range(RACES):
            assert kept(folder).get(KEY) in (None, b"mine")
            kept(folder).put(KEY, b"mine")
    assert not (victim / NAME).exists() or (victim / NAME).read_bytes()[32:] == b"mine"


def test_folders_of_ended_processes_are_removed_and_those_of_other_users_are_not(shared):
    pid, _, where = owner().split(".")
    ended = f"offramp-{pid}.0.{where}-"
    (shared / f"{ended}mine").mkdir()
    with attacking((shared / f"{ended}theirs").mkdir, once=True):
        victim = shared / "victim"
        victim.mkdir()
        (shared / f"{ended}link").symlink_to(victim)
        with temporary_folder(shared) as fresh:
            assert Path(fresh).name.startswith(owned_name())
            assert Path(fresh).stat().st_mode & 0o777 == 0o700
        assert sorted(each.name for each in shared.iterdir()) == sorted([f"{ended}theirs", f"{ended}link", "victim"])


def test_a_ledger_is_not_kept_where_another_user_writes(shared):
    """A cluster file names the socket; beside it, its author may have laid a link in the lock's place."""
    target = shared / "precious"
    target.write_text("precious")

    def trap() -> None:
        (shared / "lab" / "ledger").mkdir(parents=True)
        (shared / "lab" / "ledger" / "lock").symlink_to(target)

    with attacking(trap, once=True):
        switch = ClusterSwitch(name="s", control=f"unix:{shared}/lab/p4runtime")
        with pytest.raises(OfframpError, match="belongs to user 65534"), ledger.opened(switch):
            pass
        assert target.read_text() == "precious"


COMPILE = """
import os, subprocess
from pathlib import Path
from offramp_base.ending.left import temporary_folder
with temporary_folder(Path({folder!r})) as aside:
    words = ["g++", "-x", "c++", "-c", "-", "-o", aside + "/x.o"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, env=os.environ | {{"TMPDIR": aside}}) as compiler:
        compiler.stdin.write(b"int a;")  # without its end the compiler waits, with its own file open
        compiler.stdin.flush()
        print(compiler.pid, flush=True)
        compiler.wait()
"""


@pytest.mark.full
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_what_a_killed_compiler_leaves_is_in_the_cache_and_goes_with_the_next_start(tmp_path, number):
    cache, temporary = tmp_path / "cache", tmp_path / "temporary"
    cache.mkdir(mode=0o700)
    temporary.mkdir()
    words = [sys.executable, "-c", COMPILE.format(folder=str(cache))]
    environment = os.environ | {"TMPDIR": str(temporary)}
    with subprocess.Popen(words, stdout=-1, stderr=-3, env=environment, process_group=0) as process:
        compiler = int(process.stdout.readline())
        deadline = time.monotonic() + 60
        while not list(cache.glob("*/cc*.s")):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.kill(process.pid, number)
        os.kill(compiler, signal.SIGKILL)
        os.killpg(process.pid, signal.SIGKILL) if number == signal.SIGKILL else process.wait(60)
    assert list(temporary.iterdir()) == []
    with temporary_folder(cache) as fresh:
        assert [str(each) for each in cache.iterdir()] == [fresh]
