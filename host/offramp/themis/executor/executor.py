# SPDX-License-Identifier: Apache-2.0
"""Collectives over torch.distributed in the order of a plan, on all dimensions at once."""

from __future__ import annotations

import queue
import statistics
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Self

import torch

from offramp.themis.demand import Demand
from offramp.themis.executor.agreement import agree
from offramp.themis.executor.exact import FLOATS, INTEGERS, NOT_FINITE, decode, encode, exponent, scale
from offramp.themis.executor.mesh import Mesh
from offramp.themis.executor.run import CollectiveRun, DimensionRecord
from offramp.themis.network import Collective, Network
from offramp.themis.plan import EXECUTED, EXECUTED_CHUNKS, CollectivePlan, make_plan
from offramp.workers.rate import TokenBucket
from offramp_base.errors import OfframpError

DRIFT = 1.2
"""Ratio of paces at which an adaptive executor makes a new plan."""


class Executor:
    """Hierarchical collectives of this process and its peers.

    Every rank creates one with the same arguments and starts the same collectives in the same order. Threads, one per
    dimension, execute them; consecutive collectives overlap.
    """

    def __init__(
        self,
        mesh: Mesh,
        network: Network,
        scheduler: str = EXECUTED,
        chunks: int = EXECUTED_CHUNKS,
        *,
        exact: bool = True,
        adapt: bool = False,
        buckets: Sequence[TokenBucket | None] | None = None,
    ) -> None:
        """Start the threads.

        Args:
            mesh: this rank's groups.
            network: network for which plans are made; only the ratio of its bandwidths matters.
            scheduler: name of the scheduler.
            chunks: number of chunks per collective.
            exact: compute floating-point sums as 64-bit integers, with the same bits in any order; otherwise in the
                type itself.
            adapt: make a new plan when dimensions are measured to run at another speed.
            buckets: token buckets that limit the rates of dimensions.

        Raises:
            OfframpError: the network is not the mesh's.
        """
        if tuple(d.size for d in network.dimensions) != mesh.sizes:
            raise OfframpError(f"executor: {network.name} is not the network of the mesh {mesh.sizes}")
        self.mesh, self.network = mesh, network
        self.scheduler, self.chunks, self.exact, self.adapt = scheduler, chunks, exact, adapt
        self.buckets = list(buckets) if buckets is not None else [None] * len(mesh.sizes)
        if len(self.buckets) != len(mesh.sizes):
            raise OfframpError(f"executor: {len(self.buckets)} token buckets for {len(mesh.sizes)} dimensions")
        self.plan: CollectivePlan | None = None
        self.records: list[DimensionRecord] = []
        self._plans: dict[tuple[Collective, int, int, Network], CollectivePlan] = {}
        self._started = 0
        self._lock = threading.Lock()
        self._queues: list[queue.SimpleQueue[CollectiveRun | None]] = [queue.SimpleQueue() for _ in mesh.sizes]
        self._threads = [
            threading.Thread(target=self._serve, args=(k,), name=f"dim{k + 1}", daemon=True)
            for k in range(len(mesh.sizes))
        ]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the threads once their work is done."""
        for waiting in self._queues:
            waiting.put(None)
        for thread in self._threads:
            thread.join()

    def all_reduce(self, values: torch.Tensor) -> Future[torch.Tensor]:
        """Sum over the ranks, in the shape of ``values``.

        Raises:
            OfframpError: the type has no sum, or ranks disagree (raised here or by the future).
        """
        world = self.mesh.world
        flat = values.reshape(-1)
        width = -(-flat.numel() // world)
        padded = torch.nn.functional.pad(flat, (0, width * world - flat.numel()))
        return self._sum(
            Collective.ALL_REDUCE,
            padded.reshape(world, width),
            lambda rows: rows.reshape(-1)[: flat.numel()].reshape(values.shape),
        )

    def prepare(self, values: torch.Tensor) -> CollectivePlan:
        """Plan the all-reduce of such values, so that the first one does not wait for it."""
        world = self.mesh.world
        item = 8 if self.exact and values.dtype in FLOATS else values.element_size()
        return self._plan(Collective.ALL_REDUCE, -(-values.numel() // world) * world * item, world * item)

    def reduce_scatter(self, values: torch.Tensor) -> Future[torch.Tensor]:
        """This rank's part of the sum over ranks, with the values split along the first axis.

        Raises:
            OfframpError: the first axis does not divide among the ranks, or as :meth:`all_reduce`.
        """
        rows = self._split(values, "reduce-scatter")
        shape = (values.shape[0] // self.mesh.world, *values.shape[1:])
        return self._sum(Collective.REDUCE_SCATTER, rows, lambda row: row.reshape(shape))

    def all_gather(self, values: torch.Tensor) -> Future[torch.Tensor]:
        """The values of all ranks, concatenated along the first axis."""
        shape = (self.mesh.world * values.shape[0], *values.shape[1:])
        return self._start(
            Collective.ALL_GATHER, values.reshape(1, -1), -NOT_FINITE, lambda rows, _: rows.reshape(shape)
        )

    def all_to_all(self, values: torch.Tensor) -> Future[torch.Tensor]:
        """Send part ``r`` along the first axis to rank ``r``; returns the parts from all ranks, in rank order.

        Raises:
            OfframpError: the first axis does not divide among the ranks.
        """
        rows = self._split(values, "all-to-all")
        return self._start(Collective.ALL_TO_ALL, rows, -NOT_FINITE, lambda out, _: out.reshape(values.shape))

    def _split(self, values: torch.Tensor, what: str) -> torch.Tensor:
        if values.ndim == 0 or values.shape[0] % self.mesh.world:
            shape = tuple(values.shape)
            raise OfframpError(f"{what} of shape {shape}: the first axis does not divide among {self.mesh.world} ranks")
        return values.reshape(self.mesh.world, -1)

    def _sum(
        self, collective: Collective, rows: torch.Tensor, shape: Callable[[torch.Tensor], torch.Tensor]
    ) -> Future[torch.Tensor]:
        dtype = rows.dtype
        if dtype not in (*FLOATS, *INTEGERS):
            raise OfframpError(f"{collective} of {dtype}: expected integers or floating point")
        if not self.exact or dtype in INTEGERS:
            return self._start(collective, rows, -NOT_FINITE, lambda out, _: shape(out))

        def finish(out: torch.Tensor, top: int) -> torch.Tensor:
            return shape(out.to(dtype) if top == NOT_FINITE else decode(out, scale(top, self.mesh.world), dtype))

        return self._start(collective, rows, exponent(rows), finish, fixed=True)

    def _start(
        self,
        collective: Collective,
        rows: torch.Tensor,
        top: int,
        finish: Callable[[torch.Tensor, int], torch.Tensor],
        *,
        fixed: bool = False,
    ) -> Future[torch.Tensor]:
        """Plan, agree, and hand the chunks to the threads."""
        world, width = self.mesh.world, rows.shape[1]
        result: Future[torch.Tensor] = Future()
        if width == 0 or world == 1:
            result.set_result(finish(rows.clone(), NOT_FINITE))
            return result
        with self._lock:
            item = 8 if fixed else rows.element_size()
            plan = self._plan(collective, world * width * item, world * item)
            self._started += 1
            agreed = agree(plan.digest(), self._started, top, self._paces(), self.mesh.control)
            if fixed:
                finite = agreed.top != NOT_FINITE
                rows = encode(rows, scale(agreed.top, world)) if finite else rows.to(torch.float64)
            if self.adapt:
                self._follow(agreed.pace)
            run = CollectiveRun(plan, _cut(plan, rows, self.mesh.sizes, item, world))
            self.plan, self.records = plan, run.records
            for waiting in self._queues:
                waiting.put(run)

        def deliver(done: Future[list[torch.Tensor]]) -> None:
            error = done.exception()
            if error is not None:
                result.set_exception(error)
                return
            try:
                joined = torch.cat([chunk.reshape(-1, chunk.shape[-1]) for chunk in done.result()], dim=1)
                result.set_result(finish(joined, agreed.top))
            except Exception as fault:
                result.set_exception(fault)

        run.done.add_done_callback(deliver)
        return result

    def _plan(self, collective: Collective, size: int, unit: int) -> CollectivePlan:
        key = (collective, size, unit, self.network)
        if key not in self._plans:
            demand = Demand(collective, size)
            self._plans[key] = make_plan(self.network, [demand], self.scheduler, self.chunks, unit=unit)
        return self._plans[key]

    def _paces(self) -> list[float]:
        """Seconds per byte on each dimension in the last finished collective, 0 where unknown."""
        if not self.adapt:
            return [0.0] * len(self.mesh.sizes)
        return [statistics.median(r.seconds_per_byte) if r.seconds_per_byte else 0.0 for r in self._measured()]

    def _measured(self) -> list[DimensionRecord]:
        return self.records or [DimensionRecord() for _ in self.mesh.sizes]

    def _follow(self, paces: Sequence[float]) -> None:
        """Adopt measured speeds, to two digits, if their ratios have drifted; the same on every rank."""
        if not all(pace > 0 or size == 1 for pace, size in zip(paces, self.mesh.sizes, strict=True)):
            return
        factors = [
            1.0 if size == 1 else 8 / pace / d.used_bps
            for pace, size, d in zip(paces, self.mesh.sizes, self.network.dimensions, strict=True)
        ]
        moving = [f for f, size in zip(factors, self.mesh.sizes, strict=True) if size > 1]
        if max(moving) > DRIFT * min(moving):
            self.network = self.network.at_speed([float(f"{f:.1e}") for f in factors])

    def _serve(self, dim: int) -> None:
        while (run := self._queues[dim].get()) is not None:
            run.work(dim, self.mesh.groups[dim], self.buckets[dim])


def _cut(plan: CollectivePlan, rows: torch.Tensor, sizes: Sequence[int], item: int, world: int) -> list[torch.Tensor]:
    """Cut columns of the rows into chunks with an axis for each dimension, the outermost first."""
    ranks = [1] * len(sizes) if rows.shape[0] == 1 else list(reversed(sizes))
    chunks, at = [], 0
    for chunk in plan.schedules[0].chunks:
        width = int(chunk.size) // (world * item)
        chunks.append(rows[:, at : at + width].reshape(*ranks, width))
        at += width
    return chunks
