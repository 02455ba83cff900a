# SPDX-License-Identifier: Apache-2.0
"""Signals in the process that works: the first one unwinds the main thread, further ones change nothing."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from types import FrameType
from typing import Final

from offramp_base.ending.linux import adopt_orphans, end_children

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
UNWIND_S: Final = 1.0
"""Seconds that a command may take to clean up."""
ORPHANS_S: Final = 0.25
"""Seconds between telling processes that a command leaves running to end and killing them."""


_begun: list[int] = []
"""The signal that has ended the command."""


class EndedBySignal(BaseException):
    """A signal has ended the command; this is not an error of the operation under way.

    Attributes:
        number: the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def status_of(number: int) -> int:
    """Exit status of a command that a signal ended, as shells have it: 130 for SIGINT, 143 for SIGTERM."""
    return 128 + number


def raise_when_signalled() -> None:
    """Let the signals of :data:`ENDING` raise :exc:`EndedBySignal` in the main thread."""

    def end(number: int, _: FrameType | None) -> None:
        if _begun:
            return
        _begun.append(number)
        _silence()
        adopt_orphans()  # unwinding may end processes whose children live on
        limit = threading.Timer(UNWIND_S, leave, [number])  # for when it is the supervisor that was killed
        limit.daemon = True
        limit.start()
        raise EndedBySignal(number)

    for number in ENDING:
        signal.signal(number, end)


def leave_if_signalled() -> None:
    """End at once if a signal has arrived, even if :exc:`EndedBySignal` has become another exception on its way."""
    if _begun:
        leave(_begun[0])


def leave(number: int) -> None:
    """End at once, with all children and temporary folders; threads that compute are not waited for."""
    from offramp_base.ending.left import sweep_folders

    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    end_children(ORPHANS_S)
    sweep_folders(own=True)
    os._exit(status_of(number))


def _silence() -> None:
    """Suppress output of unwinding: the supervisor prints the one line. A terminal gets its cursor back."""
    with contextlib.suppress(OSError, ValueError):
        if not sys.stderr.isatty():
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 2)
            os.close(nowhere)
