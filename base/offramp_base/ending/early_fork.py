# SPDX-License-Identifier: Apache-2.0
"""A fork server that is itself a fork of this process, and so has what this process has imported.

:mod:`multiprocessing` starts its own as a new interpreter, which imports everything again: PyTorch takes two seconds. A
fork is safe only while there is no other thread that could hold a lock, and before a pool of OpenMP has worked, which
does not survive it; afterwards the new interpreter is right.
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import sys
import threading
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Final

_KNOWN: Final = (3, 11) <= sys.version_info < (3, 14)
"""Versions whose server is described by an address, a pipe and a process; later ones agree on a key as well."""


_allowed = False


def allow_forks() -> None:
    """Declare that this process runs a program that has computed nothing yet, unlike a user of the library."""
    global _allowed  # noqa: PLW0603 - of the process
    _allowed = True


def fork_now(preload: Sequence[str], folder: str) -> bool:
    """Let multiprocessing use a fork of this process as its fork server, if it has none yet.

    To be called before anything has been computed: pools of OpenMP cannot be seen from here. Threads that OpenBLAS
    starts when it is imported do no harm, since it knows forks.

    Args:
        preload: modules that the server imports before it serves, in order.
        folder: folder of the server's socket.

    Returns:
        Whether there is one now. False without :func:`allow_forks`, where this process has other threads in Python, or
        an unknown version of it: multiprocessing starts a new interpreter then, when it needs one.
    """
    import tempfile
    from multiprocessing import forkserver, resource_tracker

    server: Any = forkserver._forkserver
    if server._forkserver_pid is not None:
        return True
    if not _allowed or not _KNOWN or threading.active_count() > 1:
        return False
    resource_tracker.ensure_running()
    address = str(Path(tempfile.mkdtemp(prefix="listener-", dir=folder)) / "socket")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        Path(address).chmod(0o600)
        listener.listen()
        ours, theirs = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            _serve(listener.detach(), ours, preload)
    os.close(ours)
    server._forkserver_address, server._forkserver_alive_fd, server._forkserver_pid = address, theirs, pid
    return True


def _serve(listener: int, alive: int, preload: Sequence[str]) -> None:
    """Be the server; the stack above belongs to the process that was forked, and is never returned to."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        _close_as_exec({0, 1, 2, listener, alive})
        from multiprocessing import forkserver

        forkserver.main(listener, alive, list(preload))
    except SystemExit:
        code = 0  # no client is left
    finally:
        os._exit(code)


def _close_as_exec(kept: Collection[int]) -> None:
    """Close what a new interpreter would not have got: a pipe left open here would hide that its owner has ended."""
    for name in list(Path("/proc/self/fd").iterdir()):
        number = int(name.name)
        if number in kept:
            continue
        try:
            if fcntl.fcntl(number, fcntl.F_GETFD) & fcntl.FD_CLOEXEC:
                os.close(number)
        except OSError:
            continue  # that of the listing itself
