# SPDX-License-Identifier: Apache-2.0
"""Sampling, numbering and selection in the part of Python that :mod:`offramp_base.native` compiles.

:mod:`offramp.dgs.reference` has the same functions over NumPy arrays, equal to the bit.
"""

from __future__ import annotations

from typing import Final

from offramp.splitmix import GOLDEN as _GOLDEN
from offramp.splitmix import STEPS
from offramp_base.native.subset import Doubles, Ints, Words, high_product, highest_bit, inlined, native

GOLDEN: Final = _GOLDEN
(SHIFT_1, FACTOR_1), (SHIFT_2, FACTOR_2), (SHIFT_3, _) = STEPS
LN_2: Final = 0.6931471805599453
DIGITS: Final = 53
LIMIT: Final = 1 << 53
SCALE: Final = 2.0**-53
MARGIN: Final = 1e-7
THIRD: Final = 1 / 3
FIFTH: Final = 1 / 5
SEVENTH: Final = 1 / 7
NINTH: Final = 1 / 9
ELEVENTH: Final = 1 / 11
THIRTEENTH: Final = 1 / 13
FIFTEENTH: Final = 1 / 15


@inlined
def mixed(word: int) -> int:
    """The finaliser of SplitMix64 (:mod:`offramp.splitmix`)."""
    first = (word ^ (word >> SHIFT_1)) * FACTOR_1
    second = (first ^ (first >> SHIFT_2)) * FACTOR_2
    return second ^ (second >> SHIFT_3)


@inlined
def exponential(word: int) -> float:
    """An exponential variate of mean 1: minus the logarithm of a number of (0, 1], to about nine digits."""
    number = (word >> 11) + 1
    exponent = highest_bit(number)
    mantissa = float(number) / float(1 << exponent)
    s = (mantissa - 1.0) / (mantissa + 1.0)
    q = s * s
    series = 1.0 + q * (
        THIRD + q * (FIFTH + q * (SEVENTH + q * (NINTH + q * (ELEVENTH + q * (THIRTEENTH + q * FIFTEENTH)))))
    )
    return float(DIGITS - exponent) * LN_2 - 2.0 * s * series


@inlined
def draw_places(start: int, degree: int, fanout: int, word: int, out: Words, at: int) -> int:
    """``fanout`` of the places from ``start`` on, or all, without replacement (Floyd's algorithm); how many."""
    if degree <= fanout:
        for e in range(degree):
            out[at + e] = start + e
        return degree
    state = word
    first = degree - fanout
    for j in range(first, degree):
        state = state + GOLDEN
        drawn = start + high_product(mixed(state), j + 1)
        known = 0
        for p in range(at, at + j - first):
            known = known | int(out[p] == drawn)
        out[at + j - first] = start + j if known else drawn
    return fanout


@native
def places(
    indptr: Words, rows: Words, ids: Words, count: int, fanout: int, stream: int, counts: Words, out: Words
) -> int:
    """Places of ``fanout`` neighbours of each row in ``indices``, all alike, without replacement; returns how many."""
    total = 0
    for i in range(count):
        start = indptr[rows[i]]
        degree = indptr[rows[i] + 1] - start
        counts[i] = draw_places(start, degree, fanout, mixed(stream ^ mixed(ids[i])), out, total)
        total += counts[i]
    return total


@native
def uniform(
    indptr: Words,
    indices: Words,
    rows: Words,
    ids: Words,
    count: int,
    fanout: int,
    stream: int,
    counts: Words,
    out: Words,
) -> int:
    """``fanout`` neighbours of each row, all alike, without replacement; returns how many."""
    total = 0
    for i in range(count):
        start = indptr[rows[i]]
        degree = indptr[rows[i] + 1] - start
        drawn = draw_places(start, degree, fanout, mixed(stream ^ mixed(ids[i])), out, total)
        for p in range(total, total + drawn):
            out[p] = indices[out[p]]
        counts[i] = drawn
        total += drawn
    return total


@inlined
def insert(keys: Doubles, places: Words, length: int, limit: int, key: float, place: int) -> int:
    """Insert into the sorted list of the ``limit`` least keys; returns its length."""
    if length == limit and keys[length - 1] <= key:
        return length
    at = min(length, limit - 1)
    while at > 0 and keys[at - 1] > key:
        keys[at] = keys[at - 1]
        places[at] = places[at - 1]
        at -= 1
    keys[at] = key
    places[at] = place
    return min(length + 1, limit)


@native
def weighted(
    indptr: Words,
    indices: Words,
    rows: Words,
    ids: Words,
    count: int,
    fanout: int,
    shift: int,
    owner: Ints,
    worker: int,
    weights: Doubles,
    stream: int,
    keys: Doubles,
    places: Words,
    counts: Words,
    out: Words,
) -> int:
    """``fanout`` neighbours of each row by weight, without replacement; returns how many in all.

    Each neighbour's key is exponential over its weight; the least keys win. ``shift`` more of them are remote than
    that, as far as there are (specification section 7.1). ``keys`` and ``places`` hold 2 x fanout. In one piece:
    compiled functions return one number, and the lists of near and far neighbours have two lengths.
    """
    total = 0
    far_keys = keys + fanout
    far_places = places + fanout
    for i in range(count):
        start = indptr[rows[i]]
        degree = indptr[rows[i] + 1] - start
        if degree <= fanout:
            for e in range(degree):
                out[total + e] = indices[start + e]
            counts[i] = degree
            total += degree
        else:
            state = mixed(stream ^ mixed(ids[i]))
            near = 0
            far = 0
            for e in range(degree):
                state = state + GOLDEN
                u = indices[start + e]
                word = mixed(state)
                # A variate is at least 1 less the number that it comes from: most neighbours of many need no logarithm.
                least = float(LIMIT - 1 - (word >> 11)) * SCALE - MARGIN
                if owner[u] == worker:
                    if near < fanout or least < keys[fanout - 1] * weights[u]:
                        near = insert(keys, places, near, fanout, exponential(word) / weights[u], u)
                elif far < fanout or least < far_keys[fanout - 1] * weights[u]:
                    far = insert(far_keys, far_places, far, fanout, exponential(word) / weights[u], u)
            a = 0
            b = 0
            while a + b < fanout:
                if b < far and (a >= near or far_keys[b] < keys[a]):
                    b += 1
                else:
                    a += 1
            b = min(max(b + shift, fanout - near), far)
            for p in range(fanout - b):
                out[total + p] = places[p]
            for p in range(b):
                out[total + fanout - b + p] = far_places[p]
            counts[i] = fanout
            total += fanout
    return total


@native
def number(
    targets: Words, count: int, neighbours: Words, total: int, slot: Ints, sources: Words, columns: Words
) -> int:
    """``columns``: each neighbour's place among ``sources``, targets first; returns how many sources there are.

    ``slot`` holds -1 for each vertex of the graph, before and after.
    """
    for i in range(count):
        slot[targets[i]] = i
        sources[i] = targets[i]
    n = count
    for e in range(total):
        u = neighbours[e]
        place = slot[u]
        if place < 0:
            place = n
            slot[u] = n
            sources[n] = u
            n += 1
        columns[e] = place
    for i in range(n):
        slot[sources[i]] = -1
    return n


@native
def select(x: Ints, width: int, rows: Words, count: int, columns: Words, chosen: int, out: Ints) -> int:
    """``out[i, j] = x[rows[i], columns[j]]`` of words of 32 bits."""
    for i in range(count):
        base = rows[i] * width
        into = i * chosen
        for j in range(chosen):
            out[into + j] = x[base + columns[j]]
    return 0


@native
def spread(values: Ints, count: int, columns: Words, chosen: int, out: Ints, width: int, rows: Words) -> int:
    """``out[rows[i], columns[j]] = values[i, j]`` of words of 32 bits."""
    for i in range(count):
        base = rows[i] * width
        source = i * chosen
        for j in range(chosen):
            out[base + columns[j]] = values[source + j]
    return 0
