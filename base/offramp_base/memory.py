# SPDX-License-Identifier: Apache-2.0
"""Available memory, checked before input from outside takes it."""

from __future__ import annotations

import os
import resource
from pathlib import Path

from offramp_base.errors import OfframpError


def available_bytes() -> int | None:
    """Bytes that this process can still allocate, by machine and limit; None where the system does not say."""
    limits = [_of_machine(), _of_limit()]
    return min((limit for limit in limits if limit is not None), default=None)


def check_memory(needed: int, what: str) -> None:
    """Refuse an allocation that memory cannot hold.

    Raises:
        OfframpError: ``what`` needs more bytes than there are.
    """
    there = available_bytes()
    if there is not None and needed > there:
        raise OfframpError(f"{what}: needs {needed / 1e9:.1f} GB of memory, {there / 1e9:.1f} GB are free")


def _of_machine() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)


def _of_limit() -> int | None:
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    except OSError:
        return limit
    return max(0, limit - pages * os.sysconf("SC_PAGE_SIZE"))
