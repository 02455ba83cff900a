# SPDX-License-Identifier: Apache-2.0
"""Durations of items here: seconds on the reference machine, times the pace of a small workload."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Sequence
from functools import cache
from typing import Final

import numpy as np

from offramp.sweep import available_cores
from offramp_base.kept_files import KeptFiles
from offramp_base.private_folder import user_cache
from offramp_sim.reproduce.item import Item
from offramp_sim.reproduce.referee.case import ItemCase

REFERENCE_S: Final = 0.057
"""Processor time of :func:`workload` on the machine of the items' ``seconds``: two cores of an x86-64 server."""
_KEY: Final = f"workload 1, reference {REFERENCE_S}"
_TRIES: Final = 3
_FILES: Final = KeptFiles("the machine's pace", lambda: user_cache() / "offramp" / "pace", ".txt", most_files=4)


def workload() -> None:
    """A workload like most items': dictionaries and numbers of Python, and some NumPy."""
    chance = random.Random(0)
    counts: dict[int, float] = {}
    for _ in range(200_000):
        key = chance.getrandbits(12)
        counts[key] = counts.get(key, 0.0) * 0.5 + key
    values = np.random.default_rng(0).random(400_000)
    for _ in range(2):
        np.cumsum(np.sort(values))


@cache
def pace() -> float:
    """Time that this machine takes, over that of the reference machine; measured once and kept in the cache folder."""
    kept = _FILES.get(_KEY)
    try:
        known = float(kept or b"")
    except ValueError:
        known = 0.0
    if 0 < known < float("inf"):
        return known
    measured = min(_seconds() for _ in range(_TRIES)) / REFERENCE_S
    _FILES.put(_KEY, f"{measured:.4g}".encode())
    return measured


def crowding() -> float:
    """Slowdown by other programs that use the cores now; 1 at rest."""
    return max(1.0, (os.getloadavg()[0] + 1) / available_cores())


def item_seconds(item: Item, scale: float = 1.0) -> float:
    """Approximate seconds of an item on this machine at rest; an item without sizes takes the same at every scale."""
    return item.seconds * pace() * _size(item, scale)


def cases_seconds(item: Item, cases: Sequence[ItemCase], processes: int | None = None) -> float:
    """Approximate seconds of a referee's cases of one item at rest, as many at a time as there are processes."""
    count = max(1, min(processes or available_cores(), len(cases)))
    return sum(item.seconds * _size(item, case.scale) for case in cases) * pace() / count


def about(seconds: float) -> str:
    """An estimate in words, such as ``8 s``, ``4 min``, ``2 h``: one figure or two, for it is no more than that."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _size(item: Item, scale: float) -> float:
    return scale if len(item.sizes) > 1 else 1.0


def _seconds() -> float:
    start = time.process_time()  # other programs that use the cores do not count: the pace is kept for good
    workload()
    return time.process_time() - start
