# SPDX-License-Identifier: Apache-2.0
"""Dumps on a signal, also while a rank waits in C++, where Python's own handlers would run only afterwards.

``faulthandler`` writes the program's stack from within its C handler; a thread reads it from a pipe and dumps it with
the latest collectives.
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
"""Seconds of silence after which a stack, which arrives in many small writes, is complete."""
_MOST: Final = 1 << 16
_log = logging.getLogger("offramp.torch")


@cache
def dump_on_signal() -> None:
    """Dump all groups whose settings name a folder whenever this process gets :data:`SIGNAL`.

    A program's own handler is kept.
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
