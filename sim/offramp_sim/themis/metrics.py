# SPDX-License-Identifier: Apache-2.0
"""Metrics of the network from a timeline (paper sections 3, 6.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from offramp.themis.network import Network
from offramp.themis.pipeline import Timeline
from offramp.themis.schedule import ChunkOperation, sent_bytes
from offramp_base.errors import OfframpError

Interval = tuple[int, int]
"""``[start, end)`` in picoseconds."""

WINDOW_PS = 100_000_000
"""Window of figure 9: 100 microseconds."""


def utilisation(network: Network, stages: Sequence[Sequence[ChunkOperation]], pending_ps: int) -> float:
    """Average utilisation weighted by bandwidth: bytes sent over what all dimensions could send in ``pending_ps``.

    Args:
        network: the dimensions.
        stages: stages of all chunks.
        pending_ps: time in which communication was pending.

    Raises:
        OfframpError: bytes were sent, but ``pending_ps`` is 0.
    """
    total = sum(sent_bytes(network, stages))
    if not total:
        return 0.0
    if pending_ps <= 0:
        raise OfframpError("utilisation: bytes were sent in 0 ps: expected at least 1 ps")
    return total * 8e12 / (pending_ps * network.bandwidth_bps)


def utilisation_by_dimension(
    network: Network, stages: Sequence[Sequence[ChunkOperation]], pending_ps: int
) -> list[float]:
    """Each dimension's share of the bytes that it could send in ``pending_ps``."""
    sent = sent_bytes(network, stages)
    return [n * 8e12 / (pending_ps * d.bandwidth_bps) for n, d in zip(sent, network.dimensions, strict=True)]


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """The intervals merged into ones that neither touch nor overlap, in order."""
    merged: list[Interval] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        elif end > start:
            merged.append((start, end))
    return merged


def busy(timeline: Timeline, dim: int) -> list[Interval]:
    """Intervals in which a dimension transfers."""
    return union((op.start, op.end) for op in timeline.operations if op.dim == dim)


def present(timeline: Timeline, dim: int) -> list[Interval]:
    """Intervals in which a dimension has a chunk, waiting or in transfer (frontend activity, section 6.1)."""
    return union((op.ready, op.done) for op in timeline.operations if op.dim == dim)


def share_by_window(intervals: Sequence[Interval], end_ps: int, window_ps: int = WINDOW_PS) -> list[float]:
    """Share of every window that the intervals cover; the last window ends at ``end_ps``.

    Raises:
        OfframpError: an empty window.
    """
    if window_ps < 1:
        raise OfframpError(f"window of {window_ps} ps: expected at least 1")
    count = -(-end_ps // window_ps)
    covered = [0] * count
    for start, end in intervals:
        for window in range(start // window_ps, min(count, -(-end // window_ps))):
            low, high = window * window_ps, min(end_ps, (window + 1) * window_ps)
            covered[window] += max(0, min(end, high) - max(start, low))
    return [c / (min(end_ps, (i + 1) * window_ps) - i * window_ps) for i, c in enumerate(covered)]
