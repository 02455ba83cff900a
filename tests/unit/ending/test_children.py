# SPDX-License-Identifier: Apache-2.0
"""How one child is ended, and what is said of its end. Oracle: exit codes, which name the signal that ended it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from functools import partial
from types import SimpleNamespace

import pytest

from offramp_base.ending.children import ended_as, ends_with_parent, is_stopped, stop

IGNORES = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(600)"


@pytest.mark.parametrize(
    ("ignores", "grace_s", "code"),
    [(False, 30, -signal.SIGTERM), (True, 0.1, -signal.SIGKILL), (False, 0, -signal.SIGKILL)],
)
def test_a_child_is_asked_first_unless_there_is_no_grace(ignores: bool, grace_s: float, code: int) -> None:
    command = [sys.executable, "-c", IGNORES] if ignores else ["sleep", "600"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        if ignores:
            assert child.stdout is not None
            child.stdout.readline()
        stop(child, grace_s)
        assert child.returncode == code


@pytest.mark.parametrize(("grace_s", "calls"), [(0.5, ["terminate", 0.5]), (0, ["kill", None])])
def test_the_shortest_grace_is_one(grace_s: float, calls: list[object]) -> None:
    seen: list[object] = []
    stop(
        SimpleNamespace(
            terminate=partial(seen.append, "terminate"), kill=partial(seen.append, "kill"), wait=seen.append
        ),
        grace_s,
    )
    assert seen == calls


def test_a_stopped_child_is_known_and_ended() -> None:
    with subprocess.Popen(["sleep", "600"]) as child:
        assert not is_stopped(child.pid)
        child.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
        assert is_stopped(child.pid)
        stop(child, 0)
    assert not is_stopped(child.pid)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (-9, "x was killed by SIGKILL"),
        (-1, "x was killed by SIGHUP"),
        (0, "x ended with exit code 0"),
        (1, "x ended with exit code 1"),
        (None, "x ended with exit code None"),
    ],
)
def test_words_for_an_end(code: int | None, words: str) -> None:
    assert ended_as("x", code) == words


def _child(pipe) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ends_with_parent()
    os.kill(os.getpid(), signal.SIGINT)  # left to the parent
    pipe.send([signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)])
    time.sleep(600)


def test_ctrl_c_is_left_to_the_parent_and_sigterm_is_not() -> None:
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=_child, args=(theirs,))
    child.start()
    try:
        theirs.close()
        assert ours.recv() == [signal.SIG_IGN, signal.SIG_DFL, signal.SIG_DFL]
    finally:
        stop(child)
    assert child.exitcode == -signal.SIGTERM
