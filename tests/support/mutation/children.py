# SPDX-License-Identifier: Apache-2.0
"""A child process that runs tests, and its end, which comes by processor time and not by the clock.

A campaign may be stopped for a while, and a machine may be busy: a child that cannot run is not late. One that has used
its processor time is, and so is one all of whose processes have slept for long.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

KILLED, SURVIVED, SLOW = "killed", "survived", "timeout"
_TICKS = os.sysconf("SC_CLK_TCK")
_QUICK_S, _STEP_S, _BEGIN_S = 0.005, 0.25, 0.5
_ASLEEP = "SI"
_PR_SET_PDEATHSIG = 1


def fork(work: Callable[[], int]) -> int:
    """A child in a session of its own, whose exit code ``work`` returns; its process id."""
    child = os.fork()
    if not child:
        status = 1
        try:
            die_with_parent()
            os.setsid()
            status = work()
        finally:
            os._exit(status)
    return child


def die_with_parent() -> None:
    """The kernel kills this process when the one that has forked it ends: a campaign that is stopped stops at once."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def outcome(child: int, cpu_s: float, asleep_s: float) -> str:
    """Wait for a child, or end it and all of its session when it has used ``cpu_s`` or slept for ``asleep_s``."""
    try:
        status = _wait(child, cpu_s, asleep_s)
    finally:
        for process, *_ in _session(child):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
    if status is None:
        os.waitpid(child, 0)
        return SLOW
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF:  # its own alarm
        return SLOW
    return SURVIVED if status == 0 else KILLED


def _wait(child: int, cpu_s: float, asleep_s: float) -> int | None:
    begun, asleep, spent = time.monotonic(), 0.0, 0.0
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        if time.monotonic() - begun < _BEGIN_S:
            time.sleep(_QUICK_S)
            continue
        time.sleep(_STEP_S)
        processes = list(_session(child))
        before, spent = spent, max(spent, sum(cpu for _, _, cpu in processes))
        if spent == before and all(state in _ASLEEP for _, state, _ in processes):
            asleep += _STEP_S  # never the time that has passed meanwhile: this process may have been stopped
        if spent > cpu_s or asleep > asleep_s:
            return None


def _session(leader: int) -> Iterator[tuple[int, str, float]]:
    """Living processes of a session: id, state, and processor time with that of children it has waited for (s)."""
    for name in filter(str.isdecimal, (each.name for each in Path("/proc").iterdir())):
        try:
            fields = Path(f"/proc/{name}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[3]) == leader and fields[0] != "Z":
            yield int(name), fields[0], sum(map(int, fields[11:15])) / _TICKS
