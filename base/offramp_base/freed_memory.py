# SPDX-License-Identifier: Apache-2.0
"""Whether large arrays follow each other in the same memory, or go back to the kernel when they are freed."""

from __future__ import annotations

import ctypes
import platform
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _MMAP_MAX = -1, -3, -4  # <malloc.h>
_MOST_THRESHOLD = 32 << 20  # that glibc takes


def keep_freed_memory(most: int | None = None) -> bool:
    """Let this process keep freed memory for later allocations; returns whether its C library can.

    glibc takes every array above some megabytes from the kernel and hands it back, and the kernel clears each page
    again: on graphs of a hundred million edges that took as long as the work itself, in a switch a quarter of it.

    Args:
        most: bytes at the end of the heap that are kept, and only where arrays are below 32 MB; None: all.
    """
    where = (_MMAP_MAX, 0) if most is None else (_MMAP_THRESHOLD, _MOST_THRESHOLD)
    return _set(*where) and _set(_TRIM_THRESHOLD, -1 if most is None else most)


def return_freed_memory(least: int = 1 << 20) -> bool:
    """Let this process return every freed array of ``least`` bytes to the kernel; returns whether its C library can.

    glibc otherwise takes arrays of up to 32 MB from the heap once one of their size was freed, where what lies between
    them holds them back: a worker of two million vertices kept 180 MB that nothing used.
    """
    return _set(_MMAP_THRESHOLD, least)


def return_what_is_free() -> bool:
    """Return the free parts of the heap to the kernel, once; returns whether its C library can."""
    return _can_set() and bool(ctypes.CDLL(None).malloc_trim(0))


def _set(option: int, value: int) -> bool:
    return _can_set() and bool(ctypes.CDLL(None).mallopt(option, value))


def _can_set() -> bool:
    return sys.platform == "linux" and platform.libc_ver()[0] == "glibc"
