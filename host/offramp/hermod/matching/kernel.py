# SPDX-License-Identifier: Apache-2.0
"""The stuffed bottleneck decomposition (specification section 7, V5): integers only, one meaning on every machine.

Written in the part of Python that :mod:`offramp_base.native` compiles; Python runs it too, with the same result.
"""

from __future__ import annotations

from typing import Final

from offramp_base.native.subset import Words, native

NONE: Final = -1
TAU: Final = 0  # state: the bottleneck so far, which never rises
LEFT: Final = 1  # state: what every line of the stuffed matrix still sums to
STATE: Final = 2


@native
def stuff(matrix: Words, full: Words, rows: Words, columns: Words, size: int) -> int:
    """``full``: the matrix with filler, by the north-west corner, so that every line sums to the returned bound."""
    most = 0
    for i in range(size):
        rows[i] = 0
        columns[i] = 0
    for i in range(size):
        for j in range(size):
            rows[i] = rows[i] + matrix[i * size + j]
            columns[j] = columns[j] + matrix[i * size + j]
            full[i * size + j] = matrix[i * size + j]
    for i in range(size):
        most = max(most, rows[i])
        most = max(most, columns[i])
    row = 0
    column = 0
    while row < size and column < size:
        filler = min(most - rows[row], most - columns[column])
        full[row * size + column] = full[row * size + column] + filler
        rows[row] = rows[row] + filler
        columns[column] = columns[column] + filler
        if rows[row] == most:
            row += 1
        else:
            column += 1
    return most


@native
def augment(full: Words, to: Words, by: Words, best: Words, parent: Words, free: int, tau: int, size: int) -> int:
    """Match row ``free`` along the path whose smallest entry is largest; returns the bottleneck with it.

    ``to`` and ``by`` are the matching by row and by column. ``best`` is the largest entry from the rows reached to a
    column, below 0 once the column is reached. The threshold falls only where no path keeps it: then no perfect
    matching does.
    """
    for j in range(size):
        best[j] = full[free * size + j]
        parent[j] = free
    end = NONE
    while end == NONE:
        pick = NONE
        most = 0
        for j in range(size):
            value = best[j]
            if value >= tau and value > 0 and by[j] == NONE:
                pick = j
                break
            if value > most:
                most = value
                pick = j
        tau = min(tau, best[pick])
        if by[pick] == NONE:
            end = pick
        else:
            best[pick] = NONE
            row = by[pick]
            for j in range(size):
                value = full[row * size + j]
                if best[j] >= 0 and value > best[j]:
                    best[j] = value
                    parent[j] = row
    while end != NONE:
        row = parent[end]
        before = to[row]
        to[row] = end
        by[end] = row
        end = before
    return tau


@native
def phases(
    full: Words,
    real: Words,
    to: Words,
    by: Words,
    best: Words,
    parent: Words,
    state: Words,
    peers: Words,
    weights: Words,
    sends: Words,
    room: int,
    size: int,
) -> int:
    """Sub-phases until all is sent or ``room`` of them are written; returns how many."""
    count = 0
    while count < room and state[LEFT] > 0:
        tau = state[TAU]
        for i in range(size):
            j = to[i]
            if j != NONE and full[i * size + j] < tau:
                to[i] = NONE
                by[j] = NONE
        for i in range(size):
            if to[i] == NONE:
                tau = augment(full, to, by, best, parent, i, tau, size)
        weight = state[LEFT]
        for i in range(size):
            weight = min(weight, full[i * size + to[i]])
        for i in range(size):
            at = i * size + to[i]
            send = min(real[at], weight)
            full[at] = full[at] - weight
            real[at] = real[at] - send
            peers[count * size + i] = to[i]
            sends[count * size + i] = send
        weights[count] = weight
        state[TAU] = weight
        state[LEFT] = state[LEFT] - weight
        count += 1
    return count
