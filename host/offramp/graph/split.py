# SPDX-License-Identifier: Apache-2.0
"""The vertices that train, validate and test."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from offramp.graph.csr import IntArray
from offramp_base.errors import OfframpError

Mask = npt.NDArray[np.bool_]

PLANETOID = (20, 500, 1000)
"""Training vertices a class, validation vertices, test vertices (Yang et al. 2016)."""


def split_vertices(labels: IntArray, classes: int, rule: str, seed: int) -> tuple[Mask, Mask, Mask]:
    """Disjoint ``(train, val, test)`` masks, stratified by class.

    ``rule`` is ``planetoid`` (20 a class, 500, 1000; all scaled down together where the graph is too small)
    or fractions such as ``0.6/0.2/0.2``.

    Raises:
        OfframpError: ``rule`` is neither.
    """
    shuffled = np.random.default_rng(seed).permutation(len(labels))
    if rule == "planetoid":
        return _planetoid(labels, classes, shuffled)
    return _fractions(labels, _parse(rule), shuffled)


def _planetoid(labels: IntArray, classes: int, shuffled: IntArray) -> tuple[Mask, Mask, Mask]:
    n = len(labels)
    per_class, validate, test = PLANETOID
    scale = min(1.0, n / (per_class * classes + validate + test))
    rank = _rank_in_class(labels, shuffled)
    chosen = rank < max(1, int(per_class * scale))
    rest = shuffled[~chosen[shuffled]]
    ends = int(validate * scale), int(validate * scale) + int(test * scale)
    return chosen, _mask(n, rest[: ends[0]]), _mask(n, rest[ends[0] : ends[1]])


def _fractions(labels: IntArray, fractions: tuple[float, float, float], shuffled: IntArray) -> tuple[Mask, Mask, Mask]:
    sizes = np.bincount(labels, minlength=1)[labels]
    # The middle of a vertex's share of its class decides, so that each part is within one of its fraction.
    place = (_rank_in_class(labels, shuffled) + 0.5) / sizes
    first, second, third = np.cumsum(fractions)
    return place < first, (place >= first) & (place < second), (place >= second) & (place < third)


def _parse(rule: str) -> tuple[float, float, float]:
    try:
        train, val, test = (float(part) for part in rule.split("/"))
    except ValueError:
        raise OfframpError(f"split {rule!r}: expected 'planetoid' or three fractions such as 0.6/0.2/0.2") from None
    inside = all(math.isfinite(part) and part >= 0 for part in (train, val, test))
    if not inside or train == 0 or train + val + test > 1 + 1e-9:
        raise OfframpError(f"split {rule!r}: expected fractions of at least 0, train above 0, sum at most 1")
    return train, val, test


def _rank_in_class(labels: IntArray, shuffled: IntArray) -> IntArray:
    """``(n,)`` how many vertices of its class stand before each vertex in the shuffled order."""
    by_class = shuffled[np.argsort(labels[shuffled], kind="stable")]
    starts = np.concatenate([[0], np.cumsum(np.bincount(labels, minlength=1))])
    rank = np.empty(len(labels), np.int64)
    rank[by_class] = np.arange(len(labels)) - starts[labels[by_class]]
    return rank


def _mask(n: int, members: IntArray) -> Mask:
    mask = np.zeros(n, np.bool_)
    mask[members] = True
    return mask
