# SPDX-License-Identifier: Apache-2.0
"""The time-stamp service of compiled code: nanoseconds of a clock that counts up (``reg_ts_func``)."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import Any

from offramp_base.native.records import Record, offset
from offramp_base.native.subset import Words, call_back, inlined


class ClockedState(Record):
    """Common beginning of every state of compiled code: a clock, and the time that it fills in."""

    clock: int  # address of the function
    argument: int
    seconds: int
    nanoseconds: int


@inlined
def now_ns(state: ClockedState) -> int:
    """The current time in ns."""
    call_back(state.clock, state.argument, int(Words(state) + offset(ClockedState.seconds)))
    return state.seconds * 1000000000 + state.nanoseconds


class Clock:
    """A clock that Python and compiled code read alike: the machine's monotonic one, or a user's function."""

    def __init__(self, function: Callable[[], int] | None = None) -> None:
        """``function`` returns nanoseconds that never decrease."""
        self.now: Callable[[], int] = function or time.monotonic_ns
        self.real = function is None
        """Whether it is the machine's clock."""
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
        """Install the clock in a state's first words; it must live as long as they are used."""
        state[ClockedState.clock], state[ClockedState.argument] = self._words
