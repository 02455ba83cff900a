"""Child processes: they end when they are told, and with their parent however that ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import threading
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Final

STOP_S: Final = 5.0


def stop(process: subprocess.Popen[str] | subprocess.Popen[bytes] | BaseProcess, grace_s: float = STOP_S) -> None:
    """End a child: by SIGTERM, and if it has not ended in time, by SIGKILL, which also ends one that is stopped.

    It has been waited for when this returns. With ``grace_s`` of 0 it is killed at once.
    """
    if grace_s > 0:
        process.terminate()
        if _ended(process, grace_s):
            return
    process.kill()
    _ended(process, None)


def how_ended(process: BaseProcess) -> str:
    """What a child's exit status says: ``killed by SIGKILL`` or ``exit code 7``; waits for it."""
    process.join(STOP_S)
    code = process.exitcode
    if code is not None and code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"exit code {code}"


def ends_with_parent() -> None:
    """Let this process of :mod:`multiprocessing` end with its parent, and leave the terminal's keys to that."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    threading.Thread(target=_follow_parent, name="parent", daemon=True).start()


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
