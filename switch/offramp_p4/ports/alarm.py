# SPDX-License-Identifier: Apache-2.0
"""A descriptor that becomes readable at a time finer than the milliseconds of poll(2): timerfd_create(2)."""

from __future__ import annotations

import contextlib
import ctypes
import os
import time
from typing import Final

_LIBC = ctypes.CDLL(None, use_errno=True)
_NS: Final = 1_000_000_000


class _Timespec(ctypes.Structure):
    _fields_ = (("tv_sec", ctypes.c_long), ("tv_nsec", ctypes.c_long))


class _Itimerspec(ctypes.Structure):
    _fields_ = (("it_interval", _Timespec), ("it_value", _Timespec))


class Alarm:
    """Readable, once set, after some time.

    Raises:
        OSError: the system has no descriptor left.
    """

    def __init__(self) -> None:
        self._descriptor: int = _LIBC.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        if self._descriptor < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    def fileno(self) -> int:
        """The descriptor to poll for POLLIN."""
        return self._descriptor

    def set(self, seconds: float) -> None:
        """Ring in ``seconds``, and not at the time set before."""
        whole, rest = divmod(max(1, round(seconds * _NS)), _NS)  # 0 would switch it off
        when = _Itimerspec(_Timespec(0, 0), _Timespec(whole, rest))
        _LIBC.timerfd_settime(self._descriptor, 0, ctypes.byref(when), None)

    def clear(self) -> None:
        """Ring no more until it is set again."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._descriptor, 8)

    def close(self) -> None:
        """Release the descriptor."""
        os.close(self._descriptor)
