# SPDX-License-Identifier: Apache-2.0
"""Linux's means to end a process and all that it has started: prctl(2), and the tree of processes."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from pathlib import Path
from typing import Final

from offramp_base.ending.lasting import lasts

_PDEATHSIG: Final = 1
_CHILD_SUBREAPER: Final = 36
_POLL_S: Final = 0.005


def signal_at_parents_end(number: signal.Signals, parent: int) -> None:
    """Have the kernel send this process a signal when the thread that started it ends; ends now if that has happened.

    Args:
        number: signal to send.
        parent: process id of the parent, as it was before this process was started.
    """
    _prctl(_PDEATHSIG, number)
    if os.getppid() != parent:
        os._exit(128 + number)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends."""
    _prctl(_CHILD_SUBREAPER, 1)


def end_children(grace_s: float) -> None:
    """End what this process has started, and what that has started: by SIGTERM, then by force; waits for all of it.

    What is meant to last (:mod:`offramp_base.ending.lasting`) stays.
    """
    adopt_orphans()
    signalled: set[int] = set()
    deadline = time.monotonic() + grace_s
    while _any_left() and (left := [child for child in _children() if not lasts(child)]):
        force = time.monotonic() > deadline
        for child in left:
            if force or child not in signalled:
                signalled.add(child)
                with contextlib.suppress(OSError):
                    os.kill(child, signal.SIGKILL if force else signal.SIGTERM)
        time.sleep(_POLL_S)


def _any_left() -> bool:
    """Reap every child that has ended; whether there are further children."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _children() -> list[int]:
    """Process ids of the children of this process."""
    children, of = [], os.getpid()
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                status = (entry / "stat").read_text("ascii", "replace")
            except OSError:  # it has just ended
                continue
            if int(status.rpartition(")")[2].split()[1]) == of:
                children.append(int(entry.name))
    return children


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), 0, 0, 0)
