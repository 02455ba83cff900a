# SPDX-License-Identifier: Apache-2.0
"""The deterministic simulation that gives every NPU the order of work on each dimension (paper section 4.6.2).

One representative NPU with a server for each dimension: regular topologies with their own algorithm on each dimension
have no congestion (section 5.1). Time is an integer number of picoseconds, so that all NPUs break ties alike.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from offramp.themis.schedule import ChunkOperation
from offramp_base.errors import OfframpError


class ChunkPolicy(StrEnum):
    """Priority among the chunks that are available on a dimension (section 4.3); ties by arrival, then number."""

    FIFO = "fifo"
    SCF = "scf"
    """Smallest chunk first, by the bytes that it sends, that is, by service time."""
    SCF_SIZE = "scf-size"
    """Smallest chunk first, by its size before the stage: the text taken literally."""


class Operation(NamedTuple):
    """One stage of one chunk as it ran, in picoseconds; ``[start, end)`` occupies the dimension.

    ``place``: index of the chunk's stage; ``ready``: time at which the chunk was available; ``done``: time at which its
    next stage may start.
    """

    dim: int
    chunk: int
    place: int
    ready: int
    start: int
    end: int
    done: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """Operations of a simulation and their times.

    Attributes:
        operations: operations by start, then dimension.
        dims: number of dimensions.
        finish_ps: time at which the last operation was done.
    """

    operations: tuple[Operation, ...]
    dims: int
    finish_ps: int

    def orders(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """For every dimension, its operations (chunk, stage) in the order that the executor enforces."""
        orders: list[list[tuple[int, int]]] = [[] for _ in range(self.dims)]
        for op in self.operations:
            orders[op.dim].append((op.chunk, op.place))
        return tuple(map(tuple, orders))


Key = Callable[[int, int, ChunkOperation], Any]
"""Rank of (chunk, stage number, stage) among the available ones of its dimension; the lowest goes first."""

Finish = Callable[[int, int, int], int]
"""End of (dimension, start, nominal duration), all in picoseconds, on dimensions whose speed changes."""

_KEYS: dict[ChunkPolicy, Key] = {
    ChunkPolicy.FIFO: lambda _chunk, _index, _stage: 0.0,
    ChunkPolicy.SCF: lambda _chunk, _index, stage: stage.sent,
    ChunkPolicy.SCF_SIZE: lambda _chunk, _index, stage: stage.size,
}


def execute(
    chunks: Sequence[Sequence[ChunkOperation]],
    dims: int,
    policy: ChunkPolicy | Key = ChunkPolicy.SCF,
    release: Sequence[int] | None = None,
    finish: Finish | None = None,
    *,
    in_turn: bool = False,
    at_once: int = 1,
) -> Timeline:
    """Run chunks through the dimensions, ``at_once`` operations at a time on each, without preemption.

    Args:
        chunks: the stages of every chunk, in order.
        dims: number of dimensions.
        policy: priority of chunks.
        release: earliest start of each chunk, in picoseconds; 0 by default.
        finish: computes ends of transfers if speeds change.
        in_turn: ``policy`` numbers the operations of each dimension from 0, and none runs before its turn.
        at_once: concurrent operations of a dimension, each as fast as if it were alone.

    Raises:
        OfframpError: some operations can never run.
    """
    # One function: the parts of the loop over events would share all of its state.
    key = _KEYS[policy] if isinstance(policy, ChunkPolicy) else policy
    queues: list[list[tuple[Any, int, int, int]]] = [[] for _ in range(dims)]
    busy = [0] * dims
    turn = [0] * dims
    events: list[tuple[int, int, int]] = []  # time, dimension that falls free or -1, chunk that arrives
    at = [0] * len(chunks)
    ran: list[Operation] = []
    last = 0
    for i, stages in enumerate(chunks):
        if stages:
            events.append((release[i] if release else 0, -1, i))
    heapq.heapify(events)
    while events:
        now = events[0][0]
        touched = set()
        while events and events[0][0] == now:  # all that happens at one instant, before anything starts
            _, dim, chunk = heapq.heappop(events)
            if dim >= 0:
                busy[dim] -= 1
            else:
                index = at[chunk]
                stage = chunks[chunk][index]
                dim = stage.dim
                heapq.heappush(queues[dim], (key(chunk, index, stage), now, chunk, index))
            touched.add(dim)
        for dim in sorted(touched):
            while busy[dim] < at_once and queues[dim] and not (in_turn and queues[dim][0][0] != turn[dim]):
                turn[dim] += 1
                _, ready, chunk, index = heapq.heappop(queues[dim])
                stage = chunks[chunk][index]
                end = now + stage.busy_ps if finish is None else finish(dim, now, stage.busy_ps)
                done = end + stage.delay_ps
                busy[dim] += 1
                heapq.heappush(events, (end, dim, 0))
                at[chunk] = index + 1
                if index + 1 < len(chunks[chunk]):
                    heapq.heappush(events, (done, -1, chunk))
                last = max(last, done)
                ran.append(Operation(dim, chunk, index, ready, now, end, done))
    if len(ran) != sum(map(len, chunks)):
        raise OfframpError(f"the simulation ended with {sum(map(len, chunks)) - len(ran)} operations unfinished")
    return Timeline(tuple(ran), dims, last)
