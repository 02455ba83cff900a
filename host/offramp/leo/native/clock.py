# SPDX-License-Identifier: Apache-2.0
"""The time-stamp service of compiled code: nanoseconds of a clock that counts up (``reg_ts_func``)."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import Any, Final

from offramp_base.native.subset import Words, call_back, inlined

CLOCK: Final = 0  # words of every state of compiled code: the function, its argument, what it fills in
ARGUMENT: Final = 1
SECONDS: Final = 2
NANOSECONDS: Final = 3
CLOCK_WORDS: Final = 4


@inlined
def now_ns(state: Words) -> int:
    """The time now; the state begins with the words above."""
    call_back(state[CLOCK], state[ARGUMENT], int(state + SECONDS))
    return state[SECONDS] * 1000000000 + state[NANOSECONDS]


class Clock:
    """A clock that Python and compiled code read alike; the machine's monotonic one, or a function of the user's."""

    def __init__(self, function: Callable[[], int] | None = None) -> None:
        """``function`` gives nanoseconds that never fall."""
        self.now: Callable[[], int] = function or time.monotonic_ns
        self.real = function is None
        """Whether it is the machine's."""
        self._keep: Any = None
        if function is None:
            libc = ctypes.CDLL(None)
            self._words = (ctypes.cast(libc.clock_gettime, ctypes.c_void_p).value or 0, time.CLOCK_MONOTONIC)
            return

        def fill(_: int, place: int) -> None:
            words = (ctypes.c_int64 * 2).from_address(place)
            words[0], words[1] = divmod(function(), 10**9)

        self._keep = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)(fill)
        self._words = (ctypes.cast(self._keep, ctypes.c_void_p).value or 0, 0)

    def install(self, state: Any) -> None:
        """Put the clock into a state's first words; it must live as long as they are used."""
        state[CLOCK], state[ARGUMENT] = self._words
