# SPDX-License-Identifier: Apache-2.0
"""Walks over CSR arrays, in the part of Python that :mod:`offramp_base.native` compiles; Python runs them too."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from offramp_base.errors import OfframpError
from offramp_base.native.heap import drop_first_key, sift_key_up
from offramp_base.native.subset import Words, native

USED = 0  # state: what the last bin takes
FILLED = 1  # state: its targets


@native
def walk(indptr: Words, indices: Words, seen: Words, visited: Words, vertices: int) -> int:
    """``visited``: vertices not ``seen``, breadth first from the lowest of each component; returns how many."""
    end = 0
    at = 0
    for start in range(vertices):
        if seen[start] == 0:
            seen[start] = 1
            visited[end] = start
            end += 1
            while at < end:
                v = visited[at]
                at += 1
                for i in range(indptr[v], indptr[v + 1]):
                    u = indices[i]
                    if seen[u] == 0:
                        seen[u] = 1
                        visited[end] = u
                        end += 1
    return end


@native
def fill(
    indptr: Words,
    indices: Words,
    targets: Words,
    bins: Words,
    loaded: Words,
    state: Words,
    count: int,
    row: int,
    target: int,
    entry: int,
    limit: int,
) -> int:
    """``bins[i]`` of each of ``targets``, in order; returns how many bins there are.

    A bin takes ``row`` for each vertex that it loads, ``target`` for each that it computes and ``entry`` for each in
    the closed neighbourhoods of these. ``loaded`` holds the last bin that loaded each vertex, -1 at first.
    """
    last = 0
    used = 0
    filled = 0
    for i in range(count):
        v = targets[i]
        closed = 1 + indptr[v + 1] - indptr[v]
        fresh = int(loaded[v] != last)
        for e in range(indptr[v], indptr[v + 1]):
            fresh = fresh + int(loaded[indices[e]] != last)
        if filled > 0 and used + fresh * row + target + closed * entry > limit:
            last += 1
            used = 0
            filled = 0
            fresh = closed
        loaded[v] = last
        for e in range(indptr[v], indptr[v + 1]):
            loaded[indices[e]] = last
        used += fresh * row + target + closed * entry
        filled += 1
        bins[i] = last
    state[USED] = used
    state[FILLED] = filled
    return last + int(filled > 0)


@native
def upload_order(
    indptr: Words,
    neighbours: Words,
    priority: Words,
    roots: Words,
    waiting: Words,
    enqueued: Words,
    heap: Words,
    visited: Words,
    starts: int,
    vertices: int,
) -> int:
    """``visited``: all vertices, always that of least ``priority`` among those in the queue, the earliest at a tie.

    A vertex that is visited puts those of its neighbours that are still ``waiting`` into the queue; an empty queue
    takes the next of the ``starts`` ``roots``. A key is the priority and, below it, the vertex's place in ``enqueued``.
    """
    tickets = 0
    size = 0
    done = 0
    for i in range(starts):
        if waiting[roots[i]] != 0:
            waiting[roots[i]] = 0
            enqueued[tickets] = roots[i]
            heap[0] = priority[roots[i]] * vertices + tickets
            size = 1
            tickets += 1
        while size > 0:
            v = enqueued[heap[0] % vertices]
            visited[done] = v
            done += 1
            size -= 1
            drop_first_key(heap, size)
            if tickets < vertices:
                for e in range(indptr[v], indptr[v + 1]):
                    u = neighbours[e]
                    if waiting[u] != 0:
                        waiting[u] = 0
                        enqueued[tickets] = u
                        sift_key_up(heap, size, priority[u] * vertices + tickets)
                        size += 1
                        tickets += 1
    return done


@cache
def fast(kernel: Callable[..., int]) -> Callable[..., int]:
    """The machine code of a kernel, or the kernel itself, run by Python, where there is no LLVM."""
    from offramp_base.native.library import compiled

    try:
        return compiled(kernel)
    except OfframpError:
        return kernel
