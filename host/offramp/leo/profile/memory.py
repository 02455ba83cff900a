# SPDX-License-Identifier: Apache-2.0
"""The machine's own memory as a link: copy rate, message rate at random places, latency of a chain of loads."""

from __future__ import annotations

import time
from functools import cache
from typing import Any, Final

import numpy as np

from offramp.leo.config.models import LinkProfile
from offramp_base.native.subset import Words, copy, native

_BYTES: Final = 32 << 20
_LINE: Final = 64
_HOPS: Final = 200_000


@native
def chase(chain: Words, hops: int) -> int:
    """Follow a chain of loads, each of which waits for the previous one."""
    at = 0
    for _ in range(hops):
        at = chain[at]
    return at


@native
def scatter(into: Words, source: Words, places: Words, count: int) -> int:
    """Copy one line from place to place, ``count`` times."""
    for i in range(count):
        copy(into + places[i], source + places[i], 64)
    return count


@native
def move(into: Words, source: Words, size: int, times: int) -> int:
    """Copy ``size`` bytes again and again."""
    for _ in range(times):
        copy(into, source, size)
    return times


@cache
def _functions() -> dict[str, Any]:
    from offramp_base.native.library import compiled

    return {function.__name__: compiled(function) for function in (chase, scatter, move)}


def measure_memory(repeats: int = 5) -> LinkProfile:
    """Take the best of several measurements, since the machine may be shared.

    Raises:
        OfframpError: llvmlite is missing.
    """
    functions = _functions()
    rng = np.random.default_rng(0)
    lines = _BYTES // _LINE
    chain = np.zeros(_BYTES // 8, np.int64)
    order = rng.permutation(lines) * (_LINE // 8)
    chain[order] = np.roll(order, -1)
    source, into = np.ones(_BYTES // 8, np.int64), np.zeros(_BYTES // 8, np.int64)
    places = rng.integers(0, lines, _HOPS) * (_LINE // 8)
    latency = min(_seconds(functions["chase"], chain, _HOPS) for _ in range(repeats)) / _HOPS
    rate = _HOPS / min(_seconds(functions["scatter"], into, source, places, _HOPS) for _ in range(repeats))
    moved = min(_seconds(functions["move"], into, source, _BYTES, 1) for _ in range(repeats))
    return LinkProfile(bw_gbps=_BYTES * 8 / moved / 1e9, mps=rate, latency_ns=latency * 1e9)


def _seconds(function: Any, *args: Any) -> float:
    begun = time.perf_counter()
    function(*args)
    return time.perf_counter() - begun
