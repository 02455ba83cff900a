# SPDX-License-Identifier: Apache-2.0
"""From a job to its tasks as arrays, in the order and with the times of :func:`offramp.hermod.build.job_dag`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offramp.hermod import dag as kinds
from offramp.hermod.dag import Coflow, Coflows, Dag
from offramp.hermod.factors import CType, Factors
from offramp.hermod.pipeline import order
from offramp.hermod.replicas import layout as at
from offramp.hermod.replicas.layout import NOBODY, Builder, Sorting
from offramp.hermod.traffic import JobTraffic
from offramp_base.errors import OfframpError
from offramp_base.native.arrays import RecordArrays

Array = npt.NDArray[Any]
_SHORT: Final = np.int32
_ROLES: Final = (
    (kinds.DISPATCH, CType.EP),
    (kinds.COMBINE, CType.EP),
    (kinds.COMBINE_GRADIENT, CType.EP),
    (kinds.DISPATCH_GRADIENT, CType.EP),
    (kinds.ACTIVATION, CType.PP),
    (kinds.GRADIENT, CType.PP),
    (kinds.REDUCE_SCATTER, CType.DP),
    (kinds.ALL_GATHER, CType.DP),
)
"""Role and type of coflows by the numbers of :mod:`offramp.hermod.replicas.layout`."""


@dataclass(slots=True)
class ReplicaDag(Dag):
    """A DAG whose tasks are numbers: ``tasks`` is empty.

    Attributes:
        code: code of each task (:mod:`offramp.hermod.replicas.layout`): its coflow, or below 0 its duration.
        load: number of the load (:class:`Loads`) that each coflow sends.
        of_iteration: iteration of each task.
        seconds: duration of each task.
        waits, row, followers: how many tasks each waits for; ``followers[row[k] : row[k + 1]]`` wait for task k.
        loads: what the numbers of loads stand for.
    """

    code: Array = field(kw_only=True)
    load: Array = field(kw_only=True)
    of_iteration: Array = field(kw_only=True)
    seconds: Array = field(kw_only=True)
    waits: Array = field(kw_only=True)
    row: Array = field(kw_only=True)
    followers: Array = field(kw_only=True)
    loads: Loads = field(kw_only=True)

    def coflows(self) -> Iterator[tuple[int, Coflow]]:
        """Refused, as the objects are not there.

        Raises:
            OfframpError: always.
        """
        raise OfframpError(f"{self.workers} workers: its tasks are not kept one by one, expected fewer or a sample")

    def kinds_of_coflows(self) -> Coflows:
        """Role and factors of each coflow."""
        codes = self.code[self.code >= 0]
        every = np.flatnonzero(np.bincount(codes))
        of = np.empty(every[-1] + 1 if len(every) else 0, _SHORT)
        of[every] = np.arange(len(every))
        roles = []
        for code in every.tolist():
            rest, lid = divmod(code, self.layers)
            role, mid = divmod(rest, self.micro_batches)
            name, ctype = _ROLES[role]
            roles.append((name, Factors(mid, ctype, lid)))
        return roles, of[codes]

    def iteration_of_ends(self) -> Array:
        """For each task, the iteration that may end with it, -1 if none does."""
        return np.where((self.code < 0) & (self.code != -1 - at.BARRIER), self.of_iteration.astype(np.int8), -1)


@dataclass(frozen=True, slots=True)
class Loads:
    """The loads that coflows carry, by number.

    A group's ``variants`` of dispatch, each followed by its reverse, group by group; then activations of each rank and
    replica, then gradients; then ReduceScatter and AllGather of each ring.

    Attributes:
        traffic: sizes.
        groups: EP groups of all ranks.
        variants: microbatch and layer of each all-to-all of a group that is not like the others.
        pp, dp: numbers of the first loads of stage boundaries and rings.
        rings: ReduceScatter, AllGather and members of each.
    """

    traffic: JobTraffic
    groups: list[Array]
    variants: list[list[tuple[int, int]]]
    pp: int
    dp: int
    rings: list[tuple[kinds.Flows, kinds.Flows, Array]]


@cache
def _functions() -> tuple[Any, Any]:
    from offramp.hermod.replicas.emit import emit
    from offramp.hermod.replicas.sort import sort
    from offramp_base.native.library import compiled

    return compiled(emit), compiled(sort)


def replica_dag(traffic: JobTraffic, iterations: int, jitter: float = 0.0, seed: int = 0) -> ReplicaDag:
    """The DAG of a job's traffic without tensor parallelism's coflows; see :func:`offramp.hermod.build.build`."""
    shape = traffic.shape
    loads = _loads(traffic)
    builder = _builder(traffic, loads, iterations)
    context = builder.fields
    for iteration in range(iterations):
        context.iteration = iteration
        for name in (Builder.exchanges, Builder.boundaries, Builder.scatters):
            builder[name].fill(NOBODY)
        _functions()[0](builder.address)
        builder[Builder.gathers_before][:] = builder[Builder.gathers]
    sorting = _sorted(builder)
    by = sorting[Sorting.order]
    code, load, of_iteration = (builder[n][by] for n in (Builder.code, Builder.load, Builder.of_iteration))
    return ReplicaDag(
        [],
        shape.ranks * shape.replicas,
        shape.ranks,
        iterations,
        shape.layers,
        shape.micro_batches,
        shape.chunks > 1,
        code=code,
        load=load,
        of_iteration=of_iteration,
        seconds=_seconds(traffic, code, jitter, seed),
        waits=sorting[Sorting.left],
        row=sorting[Sorting.sorted_row],
        followers=sorting[Sorting.sorted_followers][: sorting[Sorting.sorted_row][-1]],
        loads=loads,
    )


def _loads(traffic: JobTraffic) -> Loads:
    shape = traffic.shape
    groups = [group for rank in range(shape.ranks) for group in traffic.expert_groups(rank)]
    rings = [ring for rank in range(shape.ranks) for ring in traffic.synchronise(rank)]
    variants = [[(0, 0)]] * shape.ranks
    if traffic.job.imbalance > 0:
        per_chunk = shape.layers // (shape.ranks * shape.chunks)
        variants = [
            [
                (mid, (chunk * shape.ranks + rank) * per_chunk + k)
                for mid in range(shape.micro_batches)
                for chunk in range(shape.chunks)
                for k in range(per_chunk)
            ]
            for rank in range(shape.ranks)
        ]
    pp = 2 * len(groups) * len(variants[0])
    return Loads(traffic, groups, variants, pp, pp + 2 * shape.ranks * shape.replicas, rings)


def _builder(traffic: JobTraffic, loads: Loads, iterations: int) -> RecordArrays[Builder]:
    """The builder's record, with room for all that it makes; pages that are never written take no memory."""
    shape = traffic.shape
    workers, stages = shape.ranks * shape.replicas, shape.ranks * shape.chunks
    per_chunk = shape.layers // stages
    group = traffic.job.expert_workers if loads.groups else 0
    programs = [order(rank, shape.ranks, shape.micro_batches, shape.chunks) for rank in range(shape.ranks)]
    steps = [step for program in programs for step in program]
    exchanges = 4 * len(loads.groups) * shape.micro_batches * per_chunk * shape.chunks
    boundaries = 2 * stages * shape.micro_batches * shape.replicas
    rings = len(loads.rings) * shape.layers
    members = np.concatenate([ring[2] for ring in loads.rings] or [np.empty(0, np.int64)])
    number = np.repeat(np.arange(len(loads.rings)), [len(ring[2]) for ring in loads.rings])
    ring_row = np.concatenate([[0], np.cumsum(np.bincount(members, minlength=workers))])
    passes = 2 * shape.micro_batches * shape.chunks * per_chunk * (2 if group else 1)
    tasks = iterations * (1 + workers * passes + exchanges + boundaries + 2 * rings)
    joined = workers * passes * (2 if group else 1) + len(members) * shape.layers + rings
    edges = iterations * (2 * joined + 2 * boundaries + workers)
    most_tail = 3 + int(np.bincount(members, minlength=1).max())
    arrays: dict[object, Any] = {
        Builder.program_row: np.cumsum([0, *map(len, programs)]),
        Builder.backward: [step.backward for step in steps],
        Builder.micro_batch: [step.micro_batch for step in steps],
        Builder.chunk: [step.chunk for step in steps],
        Builder.ring_row: ring_row,
        Builder.ring: number[np.argsort(members, kind="stable")],
    }
    builder = RecordArrays(Builder)
    for given, array in arrays.items():
        builder.give(given, np.asarray(array, _SHORT))
    for given, size in (
        (Builder.exchanges, exchanges),
        (Builder.boundaries, boundaries),
        (Builder.scatters, rings),
        (Builder.gathers, rings),
        (Builder.gathers_before, rings),
        (Builder.open_gathers, rings),
        (Builder.tail, workers * most_tail),
        (Builder.tail_count, workers),
        (Builder.code, tasks),
        (Builder.load, tasks),
        (Builder.submitted, tasks),
        (Builder.before, edges),
        (Builder.after, edges),
    ):
        builder.give(given, np.zeros(max(1, size), _SHORT))
    builder.give(Builder.of_iteration, np.zeros(tasks, np.uint8))
    context = builder.fields
    context.ranks, context.replicas, context.chunks, context.per_chunk = (
        shape.ranks,
        shape.replicas,
        shape.chunks,
        per_chunk,
    )
    context.micro_batches, context.layers, context.barrier = shape.micro_batches, shape.layers, int(shape.barrier)
    context.group, context.rings, context.most_tail = group, len(loads.rings), most_tail
    context.variants, context.pp_loads, context.dp_loads = len(loads.variants[0]), loads.pp, loads.dp
    return builder


def _sorted(builder: RecordArrays[Builder]) -> RecordArrays[Sorting]:
    tasks, edges = builder.fields.tasks, builder.fields.edges
    sorting = RecordArrays(Sorting)
    sorting.fields.tasks, sorting.fields.edges = tasks, edges
    for given, theirs in (
        (Sorting.submitted, Builder.submitted),
        (Sorting.before, Builder.before),
        (Sorting.after, Builder.after),
    ):
        sorting.give(given, builder[theirs])
    for given, size in (
        (Sorting.row, tasks + 1),
        (Sorting.followers, edges),
        (Sorting.left, tasks),
        (Sorting.place, tasks),
        (Sorting.order, tasks),
        (Sorting.sorted_row, tasks + 1),
        (Sorting.sorted_followers, edges),
    ):
        sorting.give(given, np.zeros(size, _SHORT))
    sorting.give(Sorting.heap, np.zeros(tasks, np.int64))
    if _functions()[1](sorting.address) != tasks:
        raise OfframpError("a cycle of dependencies")
    return sorting


def _seconds(traffic: JobTraffic, code: Array, jitter: float, seed: int) -> Array:
    """The time of each computation, 0 of coflows."""
    attention, experts = traffic.seconds()
    shape = traffic.shape
    per_chunk = shape.layers // (shape.ranks * shape.chunks)
    layer = attention + experts
    each = [attention, experts, 2 * attention, 2 * experts, layer, layer * 2]
    each += [per_chunk * layer, 2 * per_chunk * layer, 0.0]
    seconds: Array = np.array([*each, 0.0])[np.where(code < 0, -1 - code, len(each))]
    if jitter > 0:
        factor = np.random.default_rng(seed).normal(0, jitter, len(code))
        seconds *= np.exp(factor, out=factor)
    return seconds
