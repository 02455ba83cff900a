# SPDX-License-Identifier: Apache-2.0
"""Bits per boundary row: importance by in-degree, and the joint rule (specification 1.4 and 1.5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.sylvie.kernel import BITS
from offramp.sylvie.wire import PLAIN
from offramp_base.errors import OfframpError
from offramp_base.registry import Registry

Doubles = npt.NDArray[np.float64]
Widths = npt.NDArray[np.uint8]

BASES: Final = (*BITS, PLAIN)


def importance(degrees: npt.ArrayLike, ranking: str = "ecdf") -> Doubles:
    """``(n,)`` importances p_v in [0, 1] of the boundary vertices of one pool, by in-degree in the whole graph.

    The largest degree has p = 1, equal degrees have equal p, and p does not decrease with the degree.

    Args:
        degrees: in-degrees of the pool: the rows of one pair of workers, or of all.
        ranking: name in :data:`RANKINGS`.

    Raises:
        OfframpError: the ranking is unknown, or one from outside gives something else than importances.
    """
    _, place, counts = np.unique(np.asarray(degrees, np.int64), return_inverse=True, return_counts=True)
    return ranked(counts, ranking)[place]


def ranked(counts: npt.NDArray[np.intp], ranking: str) -> Doubles:
    """``(d,)`` importances of the different degrees of a pool, of which ``counts`` says how many rows have each.

    Raises:
        OfframpError: as :func:`importance`.
    """
    rank = RANKINGS.get(ranking)
    if len(counts) == 0:
        return np.zeros(0)
    p = np.array(rank(counts), np.float64)
    if p.shape != counts.shape or not (p >= 0).all() or not (np.diff(p) >= 0).all() or not (p <= 1).all():
        raise OfframpError(f"ranking {ranking}: expected an ascending number from 0 to 1 for each degree")
    p[-1] = 1.0
    return p


RANKINGS: Final[Registry[Callable[[npt.NDArray[np.intp]], npt.ArrayLike]]] = Registry("ranking", "offramp.rankings")
"""Rankings by name: from the ``(d,)`` numbers of vertices of each different degree, ascending by degree, to the
``(d,)`` importances of these, ascending; an external package adds one as an entry point of this group."""


@RANKINGS.register("ecdf")
def ecdf(counts: npt.NDArray[np.intp]) -> Doubles:
    """The share of the pool with no larger degree, so that levels are about equally full."""
    return np.cumsum(counts) / np.float64(counts.sum())


@RANKINGS.register("dense")
def dense(counts: npt.NDArray[np.intp]) -> Doubles:
    """The rank among different degrees, so that few rows of a power law get many bits."""
    return np.arange(len(counts)) / max(1, len(counts) - 1)


@RANKINGS.register("middle")
def middle(counts: npt.NDArray[np.intp]) -> Doubles:
    """As :func:`ecdf`, where equal degrees share their middle rank."""
    ranks: Doubles = np.cumsum(counts) - (counts + 1) / 2
    return ranks / np.float64(max(1, counts.sum() - 1))


def candidates(base: int) -> tuple[int, ...]:
    """S_t: the widths that rows can have in an epoch of ``base`` bits; 32 leaves float32 unchanged.

    Raises:
        OfframpError: the base is unknown.
    """
    if base not in BASES:
        raise OfframpError(f"base width {base}: expected one of {', '.join(map(str, BASES))}")
    return (PLAIN,) if base == PLAIN else tuple(bits for bits in BITS if bits >= base)


def joint_widths(p: npt.ArrayLike, base: int) -> Widths:
    """``(n,)`` uint8 widths of rows of importance p; each candidate covers an equal interval of [0, 1]."""
    chosen = candidates(base)
    level = np.floor(np.asarray(p, np.float64) * len(chosen)).astype(np.int64)
    return np.array(chosen, np.uint8)[np.minimum(level, len(chosen) - 1)]


def fixed_widths(count: int, base: int) -> Widths:
    """``(count,)`` uint8 widths, all equal: the baseline without importance."""
    return np.full(count, candidates(base)[0], np.uint8)
