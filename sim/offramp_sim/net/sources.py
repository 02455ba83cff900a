# SPDX-License-Identifier: Apache-2.0
"""Traffic: when a host sends which frame. Rates are of the line: preamble, FCS and gap count."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from random import Random

from offramp_base.wire.ethernet import wire_bytes
from offramp_p4.tm.config import check
from offramp_p4.tm.line import PS_PER_S

Timed = Iterator[tuple[int, bytes]]
"""(picoseconds, frame) in ascending order."""


def constant_rate(frame: bytes, rate_bps: int, *, start_ps: int = 0, stop_ps: int | None = None) -> Timed:
    """``frame`` again and again at exactly ``rate_bps``, from ``start_ps`` until before ``stop_ps`` (None: forever).

    Raises:
        OfframpError: the rate is below 1.
    """
    check("rate_bps", rate_bps)
    bits = wire_bytes(len(frame)) * 8
    times = (start_ps + number * bits * PS_PER_S // rate_bps for number in count())
    return _until(stop_ps, times, frame)


def poisson(frame: bytes, rate_bps: int, random: Random, *, start_ps: int = 0, stop_ps: int | None = None) -> Timed:
    """``frame`` at exponentially distributed intervals, ``rate_bps`` on average.

    Raises:
        OfframpError: the rate is below 1.
    """
    check("rate_bps", rate_bps)
    mean_ps = wire_bytes(len(frame)) * 8 * PS_PER_S / rate_bps

    def times() -> Iterator[int]:
        now_ps = start_ps
        while True:
            now_ps += round(random.expovariate(1 / mean_ps))
            yield now_ps

    return _until(stop_ps, times(), frame)


def bursts(
    frame: bytes,
    rate_bps: int,
    random: Random,
    *,
    mean_frames: float,
    start_ps: int = 0,
    stop_ps: int | None = None,
) -> Timed:
    """Bursts of geometrically distributed length at exponential intervals; all frames of one at the same instant.

    ``rate_bps`` is the average of all, ``mean_frames`` (1 up) the mean length of a burst.

    Raises:
        OfframpError: a number is below 1.
    """
    check("rate_bps", rate_bps)
    check("mean_frames", mean_frames)
    mean_ps = mean_frames * wire_bytes(len(frame)) * 8 * PS_PER_S / rate_bps

    def times() -> Iterator[int]:
        now_ps = start_ps
        while True:
            now_ps += round(random.expovariate(1 / mean_ps))
            yield now_ps
            while random.random() >= 1 / mean_frames:
                yield now_ps

    return _until(stop_ps, times(), frame)


def _until(stop_ps: int | None, times: Iterator[int], frame: bytes) -> Timed:
    for time_ps in times:
        if stop_ps is not None and time_ps >= stop_ps:
            return
        yield time_ps, frame
