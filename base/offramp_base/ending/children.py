# SPDX-License-Identifier: Apache-2.0
"""Child processes: they end when they are told, and with their parent however that ends."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from functools import cache
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Final

from offramp_base.ending.left import temporary_folder

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext

STOP_S: Final = 5.0
_UNLESS_ORPHAN: Final = 'test "$PPID" = "$0" && exec "$@"'
"""A shell's program: the command, unless the process that started it ended before the kernel was told to watch it."""


def stop(process: subprocess.Popen[str] | subprocess.Popen[bytes] | BaseProcess, grace_s: float = STOP_S) -> None:
    """End a child by SIGTERM, or by SIGKILL if it has not ended in time; SIGKILL also ends a stopped one.

    It has been waited for when this returns. With ``grace_s`` of 0 it is killed at once.
    """
    if grace_s > 0:
        process.terminate()
        if _ended(process, grace_s):
            return
    process.kill()
    _ended(process, None)


def stop_group(leader: subprocess.Popen[str] | subprocess.Popen[bytes], grace_s: float = STOP_S) -> None:
    """End a process that leads a session, and all that it has started there, as :func:`stop` ends one process."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(leader.pid, number)
        deadline = time.monotonic() + grace_s
        while time.monotonic() < deadline:
            leader.poll()
            try:
                os.killpg(leader.pid, 0)
            except ProcessLookupError:
                leader.wait()
                return
            time.sleep(0.01)


def fork_server(preload: list[str]) -> ForkServerContext:
    """Starts processes as forks of a server that has imported these modules, and has no threads.

    The server's socket is in a temporary folder of ours: :mod:`multiprocessing` removes its own only where a process
    ends by itself.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(preload)
    multiprocessing.current_process()._config.setdefault("tempdir", servers_folder())  # type: ignore[attr-defined]
    return context


def servers_folder() -> str:
    """Folder in which fork servers have their sockets; it is removed with this process, however that ends."""
    return _folder().name


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return temporary_folder()


def ended_as(name: str, code: int | None) -> str:
    """A phrase for the end of a process with an exit code of :mod:`subprocess` or :mod:`multiprocessing`."""
    if code is not None and code < 0:
        return f"{name} was killed by {signal.Signals(-code).name}"
    return f"{name} ended with exit code {code}"


def is_stopped(pid: int) -> bool:
    """Whether a process has been stopped, by SIGSTOP or from a terminal (proc(5))."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()[0] == "T"
    except (OSError, IndexError):
        return False


def ends_with_parent() -> None:
    """Let this :mod:`multiprocessing` process end with its parent, and leave Ctrl-C to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    threading.Thread(target=_follow_parent, name="parent", daemon=True).start()


def until_parent_ends() -> list[str]:
    """Command prefix for a program that knows nothing of its parent: SIGTERM ends it when its parent ends, however.

    Its process id is that of the prefix. "Parent" is the thread that starts it (prctl(2)). Without setpriv
    (util-linux) it is empty.
    """
    if shutil.which("setpriv") is None:
        return []
    return ["setpriv", "--pdeathsig", "TERM", "sh", "-c", _UNLESS_ORPHAN, str(os.getpid())]


def _follow_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None, "called in a child of multiprocessing"
    wait([parent.sentinel])
    os._exit(1)


def _ended(process: subprocess.Popen[str] | subprocess.Popen[bytes] | BaseProcess, seconds: float | None) -> bool:
    if isinstance(process, BaseProcess):
        process.join(seconds)
        return not process.is_alive()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True
