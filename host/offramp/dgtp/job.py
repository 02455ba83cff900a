# SPDX-License-Identifier: Apache-2.0
"""A distributed GNN training job: graph stores, samplers, workers, parameter servers or a ring (section III-A)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from offramp.dgtp.taskgraph import Edge, Task, TaskGraph
from offramp.dgtp.volume import FlowVolume
from offramp_base.errors import OfframpError

SYNCS: Final = ("ps", "ring")
MOST_TASKS: Final = 1 << 14
MOST_EDGES: Final = 1 << 19
KINDS: Final = ("store", "sampler", "worker", "ps", "ring")


@dataclass(frozen=True, slots=True)
class TaskType:
    """Tasks of a kind: seconds for an iteration on a machine of speed 1, and the resources that each takes."""

    seconds: float = 0
    demand: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DgtpJob:
    """A job.

    Attributes:
        workers: number of workers.
        samplers: number of samplers of each worker; one number for all, or one for each.
        sync: ``ps`` or ``ring``.
        servers: parameter servers, each with an equal share of the model.
        iterations: N, until training has converged.
        store, sampler, worker, ps, ring: time and demand of each kind; ring tasks take nothing.
        gathered: bytes that a sampler gathers per iteration from all stores together.
        subgraph: bytes of its part of a mini-batch, for the worker.
        model_bytes: gradients, and parameters, of the whole model.
        shares: shares of the gathered bytes, by store; equal by default.
        ring_order: workers along the ring; by index by default.
        pipelined: whether stores and samplers work ahead of the workers; DistDGL does not (section II-B).
    """

    workers: int
    samplers: int | tuple[int, ...]
    sync: str
    gathered: FlowVolume
    subgraph: FlowVolume
    model_bytes: float
    servers: int = 1
    iterations: int = 100
    store: TaskType = field(default_factory=TaskType)
    sampler: TaskType = field(default_factory=TaskType)
    worker: TaskType = field(default_factory=TaskType)
    ps: TaskType = field(default_factory=TaskType)
    ring: TaskType = field(default_factory=TaskType)
    shares: tuple[float, ...] | None = None
    ring_order: tuple[int, ...] | None = None
    pipelined: bool = True

    def __post_init__(self) -> None:
        """Check the job.

        Raises:
            OfframpError: names the field.
        """
        if self.sync not in SYNCS:
            raise OfframpError(f"job: sync {self.sync}: expected one of {', '.join(SYNCS)}")
        if self.workers < 1:
            raise OfframpError(f"job: workers {self.workers}: expected at least 1")
        if self.iterations < 1:
            raise OfframpError(f"job: iterations {self.iterations}: expected at least 1")
        if self.sync == "ps" and self.servers < 1:
            raise OfframpError(f"job: servers {self.servers}: sync ps expects at least 1")
        each = max(self.samplers) if isinstance(self.samplers, tuple) and self.samplers else self.samplers
        if max(self.workers, self.servers, each if isinstance(each, int) else 0) > MOST_TASKS:
            raise OfframpError(f"job: expected at most {MOST_TASKS} workers, servers, and samplers of each worker")
        counts = self.samplers_of_workers
        if len(counts) != self.workers or min(counts) < 1:
            raise OfframpError(f"job: samplers {self.samplers}: expected at least 1 for each of {self.workers} workers")
        if not 0 <= self.model_bytes < float("inf"):
            raise OfframpError(f"job: model {self.model_bytes} bytes: expected at least 0")
        if self.ring.demand:
            raise OfframpError("job: ring tasks run within their workers and have no demand of their own")
        if self.ring_order is not None and sorted(self.ring_order) != list(range(self.workers)):
            raise OfframpError(f"job: ring order {self.ring_order}: expected each of {self.workers} workers once")

    @property
    def samplers_of_workers(self) -> tuple[int, ...]:
        """Number of samplers of each worker."""
        return (self.samplers,) * self.workers if isinstance(self.samplers, int) else tuple(self.samplers)

    def graph(self, machines: int) -> TaskGraph:
        """The tasks and edges of an iteration on that many machines.

        Raises:
            OfframpError: the stores' shares are not one for each machine, or there are too many tasks or edges.
        """
        samplers, servers = sum(self.samplers_of_workers), self.servers if self.sync == "ps" else 1
        tasks = machines + samplers + 2 * self.workers + servers
        edges = (machines + 1) * samplers + 2 * self.workers * servers
        if tasks > MOST_TASKS or edges > MOST_EDGES:
            raise OfframpError(f"job: {tasks} tasks and {edges} edges: expected at most {MOST_TASKS} and {MOST_EDGES}")
        build = _TaskGraphBuilder(self, machines)
        (build.servers if self.sync == "ps" else build.around_the_ring)()
        if not self.pipelined:
            build.one_iteration_at_a_time()
        return TaskGraph(tuple(build.tasks), tuple(build.edges))


class _TaskGraphBuilder:
    """Collects tasks and edges; stores first, then samplers, workers, servers or ring tasks."""

    def __init__(self, job: DgtpJob, machines: int) -> None:
        self.job = job
        self.tasks: list[Task] = []
        self.edges: list[Edge] = []
        shares = job.shares if job.shares is not None else (1,) * machines
        if len(shares) != machines or min(shares) < 0 or sum(shares) <= 0:
            raise OfframpError(
                f"job: shares of stores {shares}: expected one of at least 0 for each of {machines} machines"
            )
        parts = [_part(job.gathered, share, sum(shares)) for share in shares]
        stores = [self._add("store", m, home=m) for m in range(machines)]
        owners = [w for w, count in enumerate(job.samplers_of_workers) for _ in range(count)]
        samplers = [self._add("sampler", s) for s in range(len(owners))]
        self.workers = [self._add("worker", w) for w in range(job.workers)]
        for sampler in samplers:
            self.edges += [Edge(store, sampler, part) for store, part in zip(stores, parts, strict=True)]
        self.edges += [Edge(s, self.workers[w], job.subgraph) for s, w in zip(samplers, owners, strict=True)]

    def _add(self, kind: str, number: int | str, *, home: int | None = None, follows: int | None = None) -> int:
        of = getattr(self.job, kind)
        self.tasks.append(Task(f"{kind} {number}", kind, of.seconds, of.demand, home, follows))
        return len(self.tasks) - 1

    def servers(self) -> None:
        """Gradients to every server, parameters back to every worker for the next iteration."""
        servers = [self._add("ps", p) for p in range(self.job.servers)]
        shard = FlowVolume(self.job.model_bytes / len(servers))
        self.edges += [Edge(w, p, shard) for w in self.workers for p in servers]
        self.edges += [Edge(p, w, shard, lag=1) for p in servers for w in self.workers]

    def around_the_ring(self) -> None:
        """W - 1 steps of reduce-scatter and W - 1 of all-gather; the first waits for every worker (section III-B)."""
        count = self.job.workers
        if count == 1:
            return
        ring = [self.workers[w] for w in self.job.ring_order or range(count)]
        steps = 2 * count - 2
        tasks = [
            [self._add("ring", f"{self.workers.index(w)}.{s}", follows=w) for s in range(1, steps + 1)] for w in ring
        ]
        chunk = FlowVolume(self.job.model_bytes / count)
        for i, mine in enumerate(tasks):
            upstream = (i - 1) % count
            self.edges.append(Edge(ring[upstream], mine[0], chunk))
            self.edges += [Edge(w, mine[0], None) for w in ring if w != ring[upstream]]
            for step in range(1, steps):
                self.edges.append(Edge(tasks[upstream][step - 1], mine[step], chunk))
                self.edges.append(Edge(mine[step - 1], mine[step], None))
            self.edges.append(Edge(mine[-1], ring[i], None, lag=1))

    def one_iteration_at_a_time(self) -> None:
        """Stores wait for every worker before they serve the next iteration."""
        stores = [i for i, task in enumerate(self.tasks) if task.kind == "store"]
        self.edges += [Edge(worker, store, None, lag=1) for worker in self.workers for store in stores]


def _part(whole: FlowVolume, share: float, total: float) -> FlowVolume:
    """The volume that one store sends: ``share / total`` of ``whole``."""
    samples = tuple(s * share / total for s in whole.samples)
    return FlowVolume(whole.mean * share / total, whole.spread, samples)
