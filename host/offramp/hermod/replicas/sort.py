# SPDX-License-Identifier: Apache-2.0
"""The order of :func:`offramp.hermod.build.sort_tasks`: nothing before what it waits for, otherwise by submission."""

from __future__ import annotations

from typing import Final

from offramp.hermod.replicas.layout import Sorting
from offramp_base.native.heap import drop_first_key, sift_key_up
from offramp_base.native.subset import native

_HALF: Final = 32
_LOW: Final = (1 << _HALF) - 1


@native
def sort(ctx: Sorting) -> int:
    """Number the tasks anew; returns how many have a place, fewer than all if there is a cycle."""
    _index(ctx)
    for task in range(ctx.tasks):
        if ctx.left[task] == 0:
            _push(ctx, (ctx.submitted[task] << _HALF) | task)
    placed = 0
    while ctx.heap_count > 0:
        task = _pop(ctx)
        ctx.place[task] = placed
        ctx.order[placed] = task
        placed += 1
        for i in range(ctx.row[task], ctx.row[task + 1]):
            follower = ctx.followers[i]
            ctx.left[follower] -= 1
            if ctx.left[follower] == 0:
                _push(ctx, (ctx.submitted[follower] << _HALF) | follower)
    if placed == ctx.tasks:
        _renumber(ctx)
    return placed


@native
def _index(ctx: Sorting) -> None:
    """The followers of each task, in the order of the edges, and how many tasks each waits for."""
    row = ctx.row
    for i in range(ctx.edges):
        row[ctx.before[i] + 1] += 1
        ctx.left[ctx.after[i]] += 1
    for task in range(ctx.tasks):
        row[task + 1] += row[task]
    for i in range(ctx.edges):
        before = ctx.before[i]
        ctx.followers[row[before]] = ctx.after[i]
        row[before] += 1
    for k in range(ctx.tasks):
        row[ctx.tasks - k] = row[ctx.tasks - k - 1]
    row[0] = 0


@native
def _renumber(ctx: Sorting) -> None:
    """Rows by the new numbers, in which nothing waits twice for the same."""
    at = 0
    for k in range(ctx.tasks):
        task = ctx.order[k]
        ctx.sorted_row[k] = at
        for i in range(ctx.row[task], ctx.row[task + 1]):
            follower = ctx.followers[i]
            if ctx.submitted[follower] != -1 - k:
                ctx.submitted[follower] = -1 - k  # not needed any more
                ctx.sorted_followers[at] = ctx.place[follower]
                ctx.left[ctx.place[follower]] += 1
                at += 1
    ctx.sorted_row[ctx.tasks] = at


@native
def _push(ctx: Sorting, key: int) -> None:
    sift_key_up(ctx.heap, ctx.heap_count, key)
    ctx.heap_count = ctx.heap_count + 1


@native
def _pop(ctx: Sorting) -> int:
    """The task that was submitted first of those that wait for nothing."""
    heap = ctx.heap
    first = heap[0] & _LOW
    ctx.heap_count = ctx.heap_count - 1
    drop_first_key(heap, ctx.heap_count)
    return first
