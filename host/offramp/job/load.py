# SPDX-License-Identifier: Apache-2.0
"""The load that others put on this machine, as it is now: load averages remember a job's own calibration."""

from __future__ import annotations

import os
import time
from pathlib import Path
from statistics import mean
from typing import Final

_LOOKS: Final = 10
_BETWEEN_S: Final = 0.02
BUSY: Final = 0.5
"""Tasks of others for each processor from which on they decide what is measured."""


def tasks_of_others(path: Path = Path("/proc/loadavg")) -> float | None:
    """Mean number of tasks beside this one that run or wait for a processor, over 0.2 s.

    It is the fourth field of ``/proc/loadavg``; elsewhere the load average of the last minute; None where neither is.
    """
    counts = []
    for _ in range(_LOOKS):
        try:
            counts.append(int(path.read_text().split()[3].partition("/")[0]) - 1)
        except (OSError, LookupError, ValueError):
            break
        time.sleep(_BETWEEN_S)
    if counts:
        return max(0.0, mean(counts))
    try:
        return os.getloadavg()[0]
    except OSError:
        return None


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
