# SPDX-License-Identifier: Apache-2.0
"""All workers' programs of one iteration, step by step as :mod:`offramp.hermod.build` goes through them."""

from __future__ import annotations

from offramp.hermod.replicas.layout import (
    ACTIVATION,
    ALL_GATHER,
    ATTENTION,
    ATTENTION_BACKWARD,
    BARRIER,
    CHUNK,
    CHUNK_BACKWARD,
    COMBINE,
    COMBINE_GRADIENT,
    DISPATCH,
    DISPATCH_GRADIENT,
    EXPERTS,
    EXPERTS_BACKWARD,
    GRADIENT,
    LAYER,
    LAYER_BACKWARD,
    NOBODY,
    REDUCE_SCATTER,
    Builder,
)
from offramp_base.native.subset import native


@native
def emit(ctx: Builder) -> int:
    """The tasks of an iteration; returns how many there are by now."""
    if ctx.barrier == 1 and ctx.open_count > 0:
        task = _add(ctx, -1 - BARRIER)
        for i in range(ctx.open_count):
            _edge(ctx, ctx.open_gathers[i], task)
        for worker in range(ctx.ranks * ctx.replicas):
            _wait(ctx, worker, task)
    ctx.open_count = 0
    for rank in range(ctx.ranks):
        for worker in range(rank * ctx.replicas, (rank + 1) * ctx.replicas):
            for step in range(ctx.program_row[rank], ctx.program_row[rank + 1]):
                if ctx.backward[step] == 1:
                    _backward(ctx, worker, rank, step)
                else:
                    _forward(ctx, worker, rank, step)
    return ctx.tasks


@native
def _forward(ctx: Builder, worker: int, rank: int, step: int) -> None:
    virtual = ctx.chunk[step] * ctx.ranks + rank
    mid = ctx.micro_batch[step]
    first = virtual * ctx.per_chunk
    if virtual > 0:
        _wait(ctx, worker, _boundary(ctx, virtual - 1, mid, worker, 0))
    begin = ctx.ring_row[worker]
    end = ctx.ring_row[worker + 1]
    gathered = ctx.iteration > 0 and mid == 0 and end > begin
    if ctx.group == 0 and not gathered:
        _compute(ctx, worker, CHUNK)
    else:
        for lid in range(first, first + ctx.per_chunk):
            if gathered:
                for i in range(begin, end):
                    _wait(ctx, worker, ctx.gathers_before[lid * ctx.rings + ctx.ring[i]])
            if ctx.group == 0:
                _compute(ctx, worker, LAYER)
            else:
                _compute(ctx, worker, ATTENTION)
                _exchange(ctx, worker, rank, mid, lid, DISPATCH)
                _compute(ctx, worker, EXPERTS)
                _exchange(ctx, worker, rank, mid, lid, COMBINE)
    if virtual < ctx.ranks * ctx.chunks - 1:
        _feed(ctx, _boundary(ctx, virtual, mid, worker, 0), worker)


@native
def _backward(ctx: Builder, worker: int, rank: int, step: int) -> None:
    virtual = ctx.chunk[step] * ctx.ranks + rank
    mid = ctx.micro_batch[step]
    first = virtual * ctx.per_chunk
    if virtual < ctx.ranks * ctx.chunks - 1:
        _wait(ctx, worker, _boundary(ctx, virtual + 1, mid, worker, 1))
    synchronised = mid == ctx.micro_batches - 1 and ctx.ring_row[worker + 1] > ctx.ring_row[worker]
    if ctx.group == 0 and not synchronised:
        _compute(ctx, worker, CHUNK_BACKWARD)
    else:
        for k in range(ctx.per_chunk):
            lid = first + ctx.per_chunk - 1 - k
            if ctx.group == 0:
                _compute(ctx, worker, LAYER_BACKWARD)
            else:
                _exchange(ctx, worker, rank, mid, lid, COMBINE_GRADIENT)
                _compute(ctx, worker, EXPERTS_BACKWARD)
                _exchange(ctx, worker, rank, mid, lid, DISPATCH_GRADIENT)
                _compute(ctx, worker, ATTENTION_BACKWARD)
            if synchronised:
                _synchronise(ctx, worker, lid)
    if virtual > 0:
        _feed(ctx, _boundary(ctx, virtual, mid, worker, 1), worker)


@native
def _add(ctx: Builder, code: int) -> int:
    task = ctx.tasks
    ctx.tasks = task + 1
    ctx.steps += 1
    ctx.submitted[task] = ctx.steps
    ctx.code[task] = code
    ctx.of_iteration[task] = ctx.iteration
    return task


@native
def _coflow(ctx: Builder, role: int, mid: int, lid: int, load: int) -> int:
    task = _add(ctx, (role * ctx.micro_batches + mid) * ctx.layers + lid)
    ctx.load[task] = load
    return task


@native
def _edge(ctx: Builder, before: int, after: int) -> None:
    ctx.before[ctx.edges] = before
    ctx.after[ctx.edges] = after
    ctx.edges += 1


@native
def _wait(ctx: Builder, worker: int, before: int) -> None:
    """The next task of a worker waits for ``before`` too."""
    count = ctx.tail_count[worker]
    ctx.tail[worker * ctx.most_tail + count] = before
    ctx.tail_count[worker] = count + 1


@native
def _follow(ctx: Builder, worker: int, task: int) -> None:
    """A task waits for all that the next one of a worker does."""
    for i in range(ctx.tail_count[worker]):
        _edge(ctx, ctx.tail[worker * ctx.most_tail + i], task)


@native
def _goes_on_after(ctx: Builder, worker: int, task: int) -> None:
    """The next task of a worker waits for this one alone."""
    ctx.tail[worker * ctx.most_tail] = task
    ctx.tail_count[worker] = 1


@native
def _feed(ctx: Builder, coflow: int, worker: int) -> None:
    _follow(ctx, worker, coflow)
    ctx.steps += 1
    ctx.submitted[coflow] = ctx.steps


@native
def _compute(ctx: Builder, worker: int, duration: int) -> None:
    task = _add(ctx, -1 - duration)
    _follow(ctx, worker, task)
    _goes_on_after(ctx, worker, task)


@native
def _exchange(ctx: Builder, worker: int, rank: int, mid: int, lid: int, role: int) -> None:
    """An AllToAll that the worker joins and then waits for."""
    groups = ctx.replicas // ctx.group
    group = rank * groups + (worker - rank * ctx.replicas) // ctx.group
    virtual = lid // ctx.per_chunk
    mine = ctx.per_chunk * ctx.chunks
    variant = mid * mine + virtual // ctx.ranks * ctx.per_chunk + lid - virtual * ctx.per_chunk
    name = (role * ctx.ranks * groups + group) * ctx.micro_batches * mine + variant
    coflow = ctx.exchanges[name]
    if coflow == NOBODY:
        load = group * ctx.variants
        if ctx.variants > 1:
            load += variant
        load = 2 * load
        if role in (COMBINE, DISPATCH_GRADIENT):
            load += 1
        coflow = _coflow(ctx, role, mid, lid, load)
        ctx.exchanges[name] = coflow
    _feed(ctx, coflow, worker)
    _goes_on_after(ctx, worker, coflow)


@native
def _boundary(ctx: Builder, virtual: int, mid: int, worker: int, back: int) -> int:
    """The transfer that leaves a virtual stage for the replica of ``worker``, to the next stage or the one before."""
    replica = worker % ctx.replicas
    stages = ctx.ranks * ctx.chunks
    name = ((back * stages + virtual) * ctx.micro_batches + mid) * ctx.replicas + replica
    task = ctx.boundaries[name]
    if task == NOBODY:
        role = ACTIVATION
        lid = (virtual + 1) * ctx.per_chunk - 1
        if back == 1:
            role = GRADIENT
            lid = virtual * ctx.per_chunk
        load = ctx.pp_loads + (back * ctx.ranks + virtual % ctx.ranks) * ctx.replicas + replica
        task = _coflow(ctx, role, mid, lid, load)
        ctx.boundaries[name] = task
    return task


@native
def _synchronise(ctx: Builder, worker: int, lid: int) -> None:
    """ReduceScatter when the last member has the gradients, then AllGather."""
    last = ctx.micro_batches - 1
    for i in range(ctx.ring_row[worker], ctx.ring_row[worker + 1]):
        ring = ctx.ring[i]
        name = lid * ctx.rings + ring
        if ctx.scatters[name] == NOBODY:
            scatter = _coflow(ctx, REDUCE_SCATTER, last, lid, ctx.dp_loads + 2 * ring)
            gather = _coflow(ctx, ALL_GATHER, last, lid, ctx.dp_loads + 2 * ring + 1)
            _edge(ctx, scatter, gather)
            ctx.scatters[name] = scatter
            ctx.gathers[name] = gather
            ctx.open_gathers[ctx.open_count] = gather
            ctx.open_count += 1
        _feed(ctx, ctx.scatters[name], worker)
