# SPDX-License-Identifier: Apache-2.0
"""Large arrays that follow each other in the same memory."""

from __future__ import annotations

import ctypes
import platform
import sys

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # <malloc.h>


def keep_freed_memory() -> bool:
    """Let this process keep freed memory for later allocations; returns whether its C library can.

    glibc takes every array above some megabytes from the kernel and hands it back, and the kernel clears each page
    again: on graphs of a hundred million edges that took as long as the work itself.
    """
    if sys.platform != "linux" or platform.libc_ver()[0] != "glibc":
        return False
    library = ctypes.CDLL(None)
    return bool(library.mallopt(_MMAP_MAX, 0)) and bool(library.mallopt(_TRIM_THRESHOLD, -1))
