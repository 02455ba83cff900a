# SPDX-License-Identifier: Apache-2.0
"""The functions of :mod:`offramp.dgs.kernels` over NumPy arrays: the oracle, and the fallback without LLVM."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from offramp.dgs import kernels
from offramp.graph.csr import IntArray, entries_of
from offramp.splitmix import GOLDEN, mix

Words = npt.NDArray[np.uint64]
Doubles = npt.NDArray[np.float64]
_SERIES = [1 / n for n in (3, 5, 7, 9, 11, 13, 15)]


def exponential(words: Words) -> Doubles:
    """Exponential variates of mean 1 from random words."""
    number = (words >> np.uint64(11)).astype(np.int64) + 1
    exponent = np.frexp(number.astype(np.float64))[1].astype(np.int64) - 1
    mantissa = number / np.left_shift(np.int64(1), exponent).astype(np.float64)
    s = (mantissa - 1.0) / (mantissa + 1.0)
    q = s * s
    series = np.full_like(q, _SERIES[-1])
    for term in _SERIES[-2::-1]:
        series = term + q * series
    series = 1.0 + q * series
    exponentials: Doubles = (kernels.DIGITS - exponent) * kernels.LN_2 - 2.0 * s * series
    return exponentials


def _states(stream: int, ids: IntArray) -> Words:
    return mix(np.uint64(stream) ^ mix(ids.astype(np.uint64)))


def _below(words: Words, bounds: Words) -> IntArray:
    """The upper 64 bits of each product."""
    low, high = words & np.uint64(0xFFFFFFFF), words >> np.uint64(32)
    carry = (low * bounds) >> np.uint64(32)  # bounds are below 2^31
    return ((high * bounds + carry) >> np.uint64(32)).astype(np.int64)


def uniform(
    indptr: IntArray, indices: IntArray, rows: IntArray, ids: IntArray, fanout: int, stream: int
) -> tuple[IntArray, IntArray]:
    """Number of neighbours that each row draws, and the neighbours, row by row."""
    degree = np.diff(indptr)[rows]
    many = np.flatnonzero(degree > fanout)
    counts = np.minimum(degree, fanout)
    entries, _ = entries_of(indptr, rows)
    if not len(many):
        return counts, indices[entries]
    state = _states(stream, ids[many])
    chosen = np.empty((len(many), fanout), np.int64)
    for step in range(fanout):
        state = state + np.uint64(GOLDEN)
        last = degree[many] - fanout + step
        place = _below(mix(state), (last + 1).astype(np.uint64))
        known = (chosen[:, :step] == place[:, np.newaxis]).any(axis=1)
        chosen[:, step] = np.where(known, last, place)
    return counts, _assembled(indptr, indices, rows, counts, entries, many, indptr[rows[many]][:, np.newaxis] + chosen)


def _assembled(
    indptr: IntArray,
    indices: IntArray,
    rows: IntArray,
    counts: IntArray,
    entries: IntArray,
    many: IntArray,
    chosen: IntArray,
) -> IntArray:
    """Neighbours of all rows: whole rows where ``many`` has them not, else the entries ``chosen``."""
    degree = np.diff(indptr)[rows]
    whole = np.ones(len(rows), bool)
    whole[many] = False
    out = np.empty(int(counts.sum()), np.int64)
    starts = np.cumsum(counts) - counts
    out[np.repeat(whole, counts)] = indices[entries[np.repeat(whole, degree)]]
    out[(starts[many][:, np.newaxis] + np.arange(chosen.shape[1])).ravel()] = indices[chosen.ravel()]
    return out


def weighted(
    indptr: IntArray,
    indices: IntArray,
    rows: IntArray,
    ids: IntArray,
    fanout: int,
    shift: int,
    remote: npt.NDArray[np.bool_],
    weights: Doubles,
    stream: int,
) -> tuple[IntArray, IntArray]:
    """Like :func:`uniform`, by weight; ``remote`` marks vertices of other workers."""
    degree = np.diff(indptr)[rows]
    counts = np.minimum(degree, fanout)
    entries, _ = entries_of(indptr, rows)
    many = np.flatnonzero(degree > fanout)
    if not len(many):
        return counts, indices[entries]
    mine, sizes = entries_of(indptr, rows[many])
    row = np.repeat(np.arange(len(many)), sizes)
    within = np.arange(len(mine)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    words = mix(_states(stream, ids[many])[row] + (within + 1).astype(np.uint64) * np.uint64(GOLDEN))
    u = indices[mine]
    key, far = exponential(words) / weights[u], remote[u]
    order = np.lexsort((within, far, key, row))
    drawn = np.zeros(len(mine), bool)
    drawn[order[within < fanout]] = True  # sorted rows are as long as rows in their own order
    far_counts = np.bincount(row[far], minlength=len(many))
    near_counts = sizes - far_counts
    wanted = np.bincount(row[drawn & far], minlength=len(many)) + shift
    wanted = np.minimum(np.maximum(wanted, fanout - np.minimum(near_counts, fanout)), np.minimum(fanout, far_counts))
    by_side = np.lexsort((within, key, far, row))
    place = np.where(far[by_side], within - near_counts[row], within)
    first = place < np.where(far[by_side], wanted[row], (fanout - wanted)[row])
    chosen = mine[by_side[first]].reshape(len(many), fanout)
    return counts, _assembled(indptr, indices, rows, counts, entries, many, chosen)


def number(targets: IntArray, neighbours: IntArray) -> tuple[IntArray, IntArray]:
    """Sources, targets first, then neighbours as they come; and each neighbour's place among them."""
    ids, first, place = np.unique(np.concatenate([targets, neighbours]), return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(ids), np.int64)
    rank[order] = np.arange(len(ids))
    return ids[order], rank[place.ravel()[len(targets) :]]
