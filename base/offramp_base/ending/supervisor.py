# SPDX-License-Identifier: Apache-2.0
"""The process that a command's caller knows: it waits for the one that works, and ends it when told to.

It holds nothing and computes nothing, so a signal always finds it ready, whatever the work is busy with: a compiled
loop, a solver that keeps Python's lock, a child that is stopped. Every process that the work has started and lost
becomes its child (``PR_SET_CHILD_SUBREAPER``), so it can see that none is left.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Final

from offramp_base.ending import linux
from offramp_base.ending.signals import ENDING, ORPHANS_S, UNWIND_S, leave_if_signalled, raise_when_signalled, status_of

_SHOW_CURSOR: Final = "\x1b[?25h"
_KERNEL: Final = 0x80
"""``si_code`` of a signal that no process sent: it came from a key or the hang-up of a terminal (sigaction(2))."""


def supervised(work: Callable[[], object]) -> None:
    """Do the work in a process of its own, and end with its exit status; returns in that process alone.

    SIGINT, SIGTERM and SIGHUP end it within two seconds, with one line and 128 and the signal's number as exit
    status; a second one ends it at once. If this process is killed, the work unwinds as after SIGTERM.
    """
    if not sys.platform.startswith("linux"):
        work()
        return
    os.environ["PYTHONWARNINGS"] = ",".join(
        # The tracker of multiprocessing speaks of what it tidies up after a kill, which is what it is for.
        filter(None, (os.environ.get("PYTHONWARNINGS"), "ignore:resource_tracker:UserWarning"))
    )
    ignored = {number for number in (signal.SIGINT, signal.SIGHUP) if signal.getsignal(number) is signal.SIG_IGN}
    linux.adopt_orphans()
    for number in (*ENDING, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    awaited = signal.pthread_sigmask(signal.SIG_BLOCK, {*ENDING, signal.SIGCHLD})
    parent = os.getpid()
    child = os.fork()
    if child:
        os._exit(_Supervisor(child, ignored).run())
    raise_when_signalled()
    linux.signal_at_parents_end(signal.SIGTERM, parent)
    signal.pthread_sigmask(signal.SIG_SETMASK, awaited)
    try:
        work()
    finally:
        leave_if_signalled()


class _Supervisor:
    """Waits for the process that works."""

    def __init__(self, child: int, ignored: set[signal.Signals]) -> None:
        self._child, self._ignored = child, ignored
        self._status: int | None = None

    def run(self) -> int:
        """The exit status of the command."""
        signal_number = self._wait(None)
        if signal_number is not None:
            self._send(signal_number)
            if self._wait(UNWIND_S) is not None or self._status is None:  # told twice, or not done in time
                self._send(signal.SIGKILL)
                while self._status is None:
                    self._wait(None)
        assert self._status is not None, "without a limit, only its end and a signal are waited for"
        linux.end_children(ORPHANS_S)
        code = os.waitstatus_to_exitcode(self._status)
        number = signal_number or -min(code, 0) or next((each for each in ENDING if code == status_of(each)), 0)
        if number:
            from offramp_base.ending.left import sweep

            sweep()
            self._say(number, killed=code < 0)
            return status_of(number)
        return code

    def _wait(self, seconds: float | None) -> signal.Signals | None:
        """Wait until the work has ended, ``seconds`` have passed, or a signal asks it to end; returns that signal."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while True:
            self._reap()
            if self._status is not None:
                return None
            awaited = {*ENDING, signal.SIGCHLD}
            if deadline is None:
                news = signal.sigwaitinfo(awaited)
            else:
                within = signal.sigtimedwait(awaited, max(0.0, deadline - time.monotonic()))
                if within is None:
                    return None
                news = within
            number = signal.Signals(news.si_signo)
            if number is signal.SIGCHLD:
                continue
            # Shells let jobs in the background ignore the terminal's keys; who names this process means it.
            if number not in self._ignored or (number is signal.SIGINT and news.si_code != _KERNEL):
                return number

    def _reap(self) -> None:
        """Reap every child that has ended."""
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return
                if pid == self._child:
                    self._status = status

    def _send(self, number: signal.Signals) -> None:
        """Send a signal to the work; it has not been reaped, so its process id is still its own."""
        if self._status is None:
            os.kill(self._child, number)

    @staticmethod
    def _say(number: int, *, killed: bool) -> None:
        """Print the one line that says how the command ended."""
        cursor = _SHOW_CURSOR if killed and sys.stderr.isatty() else ""
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(f"{cursor}ended by {signal.Signals(number).name}\n")
            sys.stderr.flush()
