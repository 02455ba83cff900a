# SPDX-License-Identifier: Apache-2.0
"""The fork server that is a fork: it has what its parent imported, none of its descriptors, and ends with it."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from offramp_base.ending.left import temporary_folder

pytestmark = pytest.mark.skipif(sys.version_info >= (3, 14), reason="multiprocessing starts its own server there")

HEAD = """
import multiprocessing, os, signal, sys, threading
from multiprocessing import forkserver
from offramp_base.ending.early_fork import allow_forks, fork_now

allow_forks()

def links():
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            found.add(os.readlink(f"/proc/self/fd/{name}"))
        except OSError:
            pass
    return found

def child(pipe, where):
    signals = [signal.getsignal(n) == signal.SIG_DFL for n in (signal.SIGTERM, signal.SIGHUP)]
    pipe.send((os.getppid(), "fractions" in sys.modules, where in links(), signals))

def asked(where=""):
    context = multiprocessing.get_context("forkserver")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=child, args=(theirs, where))
    process.start(); theirs.close()
    answer = ours.recv(); process.join()
    return answer, process.exitcode
"""


def run(folder: Path, text: str) -> str:
    script = folder / "script.py"
    script.write_text(HEAD + 'if __name__ == "__main__":\n' + textwrap.indent(textwrap.dedent(text), "    "))
    with temporary_folder() as short:  # the paths of sockets have a limit, that of a test's folder has none
        words = [sys.executable, str(script), short]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_workers_are_forks_of_this_process(tmp_path: Path) -> None:
    text = """
        import fractions
        signal.signal(signal.SIGTERM, lambda *_: None)
        kept, other = os.pipe()
        assert fork_now([], sys.argv[1]) and fork_now([], sys.argv[1])
        server = forkserver._forkserver._forkserver_pid
        (parent, imported, open_there, signals), code = asked(os.readlink(f"/proc/self/fd/{kept}"))
        mode = os.stat(forkserver._forkserver._forkserver_address).st_mode
        print(parent == server, imported, open_there, signals, code, oct(mode & 0o777))
    """
    assert run(tmp_path, text) == "True True False [True, True] 0 0o600\n"


def test_other_threads_forbid_it_and_multiprocessing_starts_its_own(tmp_path: Path) -> None:
    text = """
        import fractions
        done = threading.Event()
        thread = threading.Thread(target=done.wait); thread.start()
        assert not fork_now([], sys.argv[1])
        done.set(); thread.join()
        (_, imported, _, _), code = asked()
        print(imported, code)
    """
    assert run(tmp_path, text) == "False 0\n"


def test_the_server_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    text = """
        assert fork_now([], sys.argv[1])
        print(forkserver._forkserver._forkserver_pid, flush=True)
        os._exit(0)  # as a kill: nothing is cleaned up
    """
    server = int(run(tmp_path, text))
    end = time.monotonic() + 30
    while Path(f"/proc/{server}").exists() and time.monotonic() < end:
        time.sleep(0.01)
    assert not Path(f"/proc/{server}").exists()


def test_who_only_calls_the_library_is_not_forked(tmp_path: Path) -> None:
    """It may have computed: OpenMP's pool would be missing in the workers, which would wait for it."""
    text = """
        from offramp_base.ending import early_fork
        early_fork._allowed = False
        assert not fork_now([], sys.argv[1])
        (parent, *_), code = asked()
        assert parent != os.getpid() and code == 0
    """
    run(tmp_path, text)
