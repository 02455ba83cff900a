# SPDX-License-Identifier: Apache-2.0
"""From a job's shape and traffic to its DAG, iteration after iteration."""

from __future__ import annotations

from offramp.hermod import dag as kinds
from offramp.hermod.dag import Coflow, Compute, Dag, Flows, Task
from offramp.hermod.factors import CType, Factors
from offramp.hermod.job import HermodJob
from offramp.hermod.pipeline import PipelineStep, order
from offramp.hermod.placement import Placement
from offramp.hermod.traffic import JobTraffic, TrafficModel, reversed_flows
from offramp_base.errors import OfframpError


def job_dag(
    job: HermodJob,
    iterations: int = 3,
    *,
    tensor_parallel: bool = False,
    seed: int = 0,
    whole: HermodJob | None = None,
    bidirectional: bool = False,
) -> Dag:
    """The DAG of a job; with ``whole``, of the replicas of it that ``job`` has; its rings go one way or both."""
    traffic = JobTraffic(job, Placement.of(job), tensor_parallel, seed, whole, bidirectional)
    return build(traffic, iterations, job.jitter, seed)


def build(traffic: TrafficModel, iterations: int, jitter: float = 0.0, seed: int = 0) -> Dag:
    """The DAG of any traffic; computation varies by ``jitter``, relative to its length."""
    builder = _DagBuilder(traffic)
    for it in range(iterations):
        builder.iteration(it)
    tasks = sort_tasks(builder.tasks, builder.submitted)
    if jitter > 0:
        _vary(tasks, jitter, seed)
    shape = traffic.shape
    workers = shape.ranks * shape.replicas
    return Dag(tasks, workers, shape.ranks, iterations, shape.layers, shape.micro_batches, shape.chunks > 1)


def _vary(tasks: list[Task], jitter: float, seed: int) -> None:
    import numpy as np

    random = np.random.default_rng(seed)
    for task, factor in zip(tasks, np.exp(random.normal(0, jitter, len(tasks))), strict=True):
        if isinstance(task, Compute):
            task.seconds *= float(factor)


def sort_tasks(tasks: list[Task], submitted: list[int]) -> list[Task]:
    """The tasks in an order in which nothing comes before what it waits for; otherwise by submission."""
    from heapq import heapify, heappop, heappush

    left = [len(task.waits) for task in tasks]
    after: list[list[int]] = [[] for _ in tasks]
    for k, task in enumerate(tasks):
        for before in task.waits:
            after[before].append(k)
    ready = [(submitted[k], k) for k, count in enumerate(left) if not count]
    heapify(ready)
    place = [0] * len(tasks)
    ordered: list[Task] = []
    while ready:
        k = heappop(ready)[1]
        place[k] = len(ordered)
        ordered.append(tasks[k])
        for follower in after[k]:
            left[follower] -= 1
            if not left[follower]:
                heappush(ready, (submitted[follower], follower))
    if len(ordered) != len(tasks):
        raise OfframpError("a cycle of dependencies")
    for task in ordered:
        task.waits = sorted({place[before] for before in task.waits})
    return ordered


class _DagBuilder:
    """Tasks in the order of the workers' programs; coflows appear when the first worker names them."""

    def __init__(self, traffic: TrafficModel) -> None:
        self.traffic, self.shape = traffic, traffic.shape
        shape = self.shape
        self.tasks: list[Task] = []
        self.submitted: list[int] = []
        self.steps = 0
        self.named: dict[tuple[object, ...], int] = {}
        self.per_chunk = shape.layers // (shape.ranks * shape.chunks)
        self.tail: list[list[int]] = [[] for _ in range(shape.ranks * shape.replicas)]
        self.attention_s, self.experts_s = traffic.seconds()
        self.groups = [traffic.expert_groups(rank) for rank in range(shape.ranks)]
        self.group_of = {int(worker): g for groups in self.groups for g, group in enumerate(groups) for worker in group}
        self.rings = [traffic.synchronise(rank) for rank in range(shape.ranks)]
        self.rings_of: dict[int, list[int]] = {}
        for rings in self.rings:
            for r, (_, _, members) in enumerate(rings):
                for worker in members:
                    self.rings_of.setdefault(int(worker), []).append(r)
        self.gathers: list[int] = []
        self.turned: dict[int, tuple[Flows, Flows]] = {}
        """Reversed flows, by the identity of the flows; the same object is routed only once."""

    def iteration(self, it: int) -> None:
        """Add all workers' programs of one iteration."""
        shape = self.shape
        if shape.barrier and self.gathers:
            barrier = self._add(Compute(-1, 0.0, it, 0, (0, 0), False, self.gathers))
            self.tail = [[*tail, barrier] for tail in self.tail]
        self.gathers = []
        for rank in range(shape.ranks):
            program = order(rank, shape.ranks, shape.micro_batches, shape.chunks)
            for worker in range(rank * shape.replicas, (rank + 1) * shape.replicas):
                for step in program:
                    (self._backward if step.backward else self._forward)(it, worker, rank, step)

    # --- the two passes of a microbatch through a chunk

    def _forward(self, it: int, worker: int, rank: int, step: PipelineStep) -> None:
        virtual = step.chunk * self.shape.ranks + rank
        i, first = step.micro_batch, virtual * self.per_chunk
        if virtual > 0:
            self._wait(worker, self._boundary(it, virtual - 1, i, worker, forward=True))
        gathered = it > 0 and i == 0 and bool(self.rings_of.get(worker))
        experts = bool(self.groups[rank])
        if not (experts or gathered) and self.traffic.tensor(worker) is None:
            whole = self.per_chunk * (self.attention_s + self.experts_s)
            self._compute(worker, whole, it, i, (first, first + self.per_chunk), backward=False)
        else:
            for lid in range(first, first + self.per_chunk):
                if gathered:
                    for r in self.rings_of[worker]:
                        self._wait(worker, self.named["gather", it - 1, lid, r])
                self._layer(it, worker, rank, i, lid, backward=False)
        if virtual < self.shape.ranks * self.shape.chunks - 1:
            self._feed(self._boundary(it, virtual, i, worker, forward=True), self.tail[worker])

    def _backward(self, it: int, worker: int, rank: int, step: PipelineStep) -> None:
        virtual = step.chunk * self.shape.ranks + rank
        i, first = step.micro_batch, virtual * self.per_chunk
        if virtual < self.shape.ranks * self.shape.chunks - 1:
            self._wait(worker, self._boundary(it, virtual + 1, i, worker, forward=False))
        synchronised = i == self.shape.micro_batches - 1 and bool(self.rings_of.get(worker))
        experts = bool(self.groups[rank])
        if not (experts or synchronised) and self.traffic.tensor(worker) is None:
            whole = 2 * self.per_chunk * (self.attention_s + self.experts_s)
            self._compute(worker, whole, it, i, (first, first + self.per_chunk), backward=True)
        else:
            for lid in range(first + self.per_chunk - 1, first - 1, -1):
                self._layer(it, worker, rank, i, lid, backward=True)
                if synchronised:
                    self._synchronise(it, worker, rank, lid)
        if virtual > 0:
            self._feed(self._boundary(it, virtual, i, worker, forward=False), self.tail[worker])

    def _layer(self, it: int, worker: int, rank: int, mid: int, lid: int, *, backward: bool) -> None:
        halves = (self.attention_s, self.experts_s)
        if not self.groups[rank]:
            if self.traffic.tensor(worker) is None:
                seconds = sum(halves) * (2 if backward else 1)
                self._compute(worker, seconds, it, mid, (lid, lid + 1), backward=backward)
                return
            for half in reversed(halves) if backward else halves:
                self._compute(worker, half * (2 if backward else 1), it, mid, (lid, lid + 1), backward=backward)
            return
        if backward:
            self._exchange(it, worker, rank, mid, lid, kinds.COMBINE_GRADIENT)
            self._compute(worker, 2 * self.experts_s, it, mid, (lid, lid + 1), backward=True)
            self._exchange(it, worker, rank, mid, lid, kinds.DISPATCH_GRADIENT)
            self._compute(worker, 2 * self.attention_s, it, mid, (lid, lid + 1), backward=True)
        else:
            self._compute(worker, self.attention_s, it, mid, (lid, lid + 1), backward=False)
            self._exchange(it, worker, rank, mid, lid, kinds.DISPATCH)
            self._compute(worker, self.experts_s, it, mid, (lid, lid + 1), backward=False)
            self._exchange(it, worker, rank, mid, lid, kinds.COMBINE)

    # --- tasks

    def _wait(self, worker: int, before: int) -> None:
        """The next task of a worker waits for ``before`` too."""
        self.tail[worker] = [*self.tail[worker], before]

    def _feed(self, coflow: int, before: list[int]) -> None:
        """A coflow is submitted once the last of those that feed it has."""
        self.tasks[coflow].waits.extend(before)
        self.steps += 1
        self.submitted[coflow] = self.steps

    def _add(self, task: Task) -> int:
        self.tasks.append(task)
        self.steps += 1
        self.submitted.append(self.steps)
        return len(self.tasks) - 1

    def _compute(
        self, worker: int, seconds: float, it: int, mid: int, layers: tuple[int, int], *, backward: bool
    ) -> None:
        self.tail[worker] = [self._add(Compute(worker, seconds, it, mid, layers, backward, self.tail[worker]))]
        flows = self.traffic.tensor(worker)
        if flows is not None:
            factors = Factors(mid, CType.TP, layers[0])
            coflow = Coflow(kinds.TENSOR, factors, it, self._virtual(layers[0]), flows, self.tail[worker])
            self.tail[worker] = [self._add(coflow)]

    def _virtual(self, lid: int) -> int:
        return lid // self.per_chunk

    def _coflow(self, name: tuple[object, ...], role: str, factors: Factors, it: int, flows: Flows) -> int:
        self.named[name] = self._add(Coflow(role, factors, it, self._virtual(factors.lid), flows))
        return self.named[name]

    def _exchange(self, it: int, worker: int, rank: int, mid: int, lid: int, role: str) -> None:
        """An AllToAll that the worker joins and then waits for."""
        place = self.group_of[worker]
        name = (role, it, rank, place, mid, lid)
        coflow = self.named.get(name)
        if coflow is None:
            flows = self.traffic.dispatch(self.groups[rank][place], mid, lid)
            if role in (kinds.COMBINE, kinds.DISPATCH_GRADIENT):  # the gradient of a combine goes to the experts
                if id(flows) not in self.turned:
                    self.turned[id(flows)] = flows, reversed_flows(flows)
                flows = self.turned[id(flows)][1]
            coflow = self._coflow(name, role, Factors(mid, CType.EP, lid), it, flows)
        self._feed(coflow, self.tail[worker])
        self.tail[worker] = [coflow]

    def _boundary(self, it: int, virtual: int, mid: int, worker: int, *, forward: bool) -> int:
        """The transfer that leaves a virtual stage for the replica of ``worker``."""
        shape = self.shape
        replica = worker % shape.replicas
        name = ("boundary", it, virtual, mid, replica, forward)
        known = self.named.get(name)
        if known is not None:
            return known
        other = virtual + (1 if forward else -1)
        sender, receiver = (v % shape.ranks * shape.replicas + replica for v in (virtual, other))
        flows = self.traffic.boundary(sender, receiver)
        lid = (virtual + 1) * self.per_chunk - 1 if forward else virtual * self.per_chunk
        role = kinds.ACTIVATION if forward else kinds.GRADIENT
        return self._coflow(name, role, Factors(mid, CType.PP, lid), it, flows)

    def _synchronise(self, it: int, worker: int, rank: int, lid: int) -> None:
        """ReduceScatter when the last member has the gradients, then AllGather."""
        last = self.shape.micro_batches - 1
        for r in self.rings_of[worker]:
            name = ("scatter", it, lid, r)
            if name not in self.named:
                scatter, gather, _ = self.rings[rank][r]
                factors = Factors(last, CType.DP, lid)
                first = self._coflow(name, kinds.REDUCE_SCATTER, factors, it, scatter)
                second = self._coflow(("gather", it, lid, r), kinds.ALL_GATHER, factors, it, gather)
                self.tasks[second].waits.append(first)
                self.gathers.append(second)
            self._feed(self.named[name], self.tail[worker])
