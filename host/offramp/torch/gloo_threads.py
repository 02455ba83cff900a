# SPDX-License-Identifier: Apache-2.0
"""Gloo's threads let go of Python before this process ends, or before a group does.

A thread of gloo that ends a collective releases its tensors, for which it needs the interpreter's lock; and that may be
after the program's wait for the collective has returned. If the interpreter is ending by then, the lock ends the thread
instead, in a destructor: "terminate called without an active exception". If the group is ending, the thread that holds
the lock waits for gloo's, for ever. So whoever ends either waits first, without the lock, until they are idle.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import time
from pathlib import Path
from typing import Any, Final

LIMIT_S: Final = 1.0
"""Seconds after which a thread is left alone: what it waits for is another rank."""
_NAME: Final = "pt_gloo_runloop"
_TASKS: Final = Path("/proc/self/task")
_FUTEX: Final = ("202", "98")
"""Numbers of the system call on x86-64 and on others."""
_WAIT_BITSET: Final = 9
_COMMAND: Final = 0x7F
_LOOK_S: Final = 0.001


def wait_until_idle(limit_s: float = LIMIT_S) -> None:
    """Wait, without the interpreter's lock, until gloo's threads have nothing left to do, or for ``limit_s``."""
    deadline = time.monotonic() + limit_s
    while any(map(_busy, _threads())) and time.monotonic() < deadline:
        time.sleep(_LOOK_S)


def watch() -> None:
    """Have this process wait at its end; of a fork, which has groups without their threads, nothing ends the groups."""
    atexit.register(wait_until_idle)
    os.register_at_fork(after_in_child=_keep_groups)


def _threads() -> list[Path]:
    return [task for task in _TASKS.iterdir() if _text(task / "comm").startswith(_NAME)] if _TASKS.exists() else []


def _busy(task: Path) -> bool:
    """Whether a thread does something else than to wait, without a limit, for work."""
    call = _text(task / "syscall").split()
    if len(call) < 5 or call[0] not in _FUTEX:
        return call == ["running"] or len(call) >= 5
    return int(call[2], 16) & _COMMAND != _WAIT_BITSET or int(call[4], 16) != 0


def _text(path: Path) -> str:
    """The text of a file of the kernel's; empty if the thread has ended."""
    try:
        return path.read_text()
    except OSError:
        return ""


def _keep_groups() -> None:
    from torch.distributed import distributed_c10d

    world: Any = distributed_c10d._world
    for group in world.pg_map:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(group))
