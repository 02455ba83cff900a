# SPDX-License-Identifier: Apache-2.0
"""Dumps on a signal, also while a rank waits in C++, where Python's own handlers would run only afterwards.

``faulthandler`` writes from within its handler, in C, where the program is; a thread reads that out of a pipe and
dumps it with the last collectives.
"""

from __future__ import annotations

import faulthandler
import logging
import os
import select
import signal
import threading
from functools import cache
from typing import Final

from offramp.torch.dispatcher import every

SIGNAL: Final = signal.SIGUSR1
_QUIET_S: Final = 0.05
"""After which a stack is complete, which comes in many small writes."""
_MOST: Final = 1 << 16
_log = logging.getLogger("offramp.torch")


@cache
def dump_on_signal() -> None:
    """Dump all groups whose settings name a folder whenever this process gets :data:`SIGNAL`.

    A program that has a handler of its own keeps it.
    """
    if signal.getsignal(SIGNAL) is not signal.SIG_DFL:
        _log.warning("%s has a handler already: it writes no dump", SIGNAL.name)
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)  # a handler must not wait for a thread that may wait for the lock it holds
    faulthandler.register(SIGNAL, file=writing, all_threads=False)
    threading.Thread(target=_serve, args=(reading,), name="offramp dumps", daemon=True).start()


def _serve(reading: int) -> None:
    while True:
        text = os.read(reading, _MOST)
        while select.select([reading], [], [], _QUIET_S)[0]:
            text += os.read(reading, _MOST)
        stack = text.decode(errors="replace").splitlines()
        for each in list(every):
            each.dump(SIGNAL.name, stack)
