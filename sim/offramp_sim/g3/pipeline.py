# SPDX-License-Identifier: Apache-2.0
"""G3's pipelines: bins that are loaded, computed, unloaded and sent (g3.md section 11)."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from offramp.graph.bins import BinLimit, pack_bins, priority_order
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    import numpy.typing as npt

    from offramp.graph.csr import Adjacency

    Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Costs:
    """Costs of a bin.

    Attributes:
        load_bps, unload_bps: bytes per second between host and device.
        send_bps: bytes per second of a worker's network card, one message after the other.
        latency_s: latency of a message.
        start_s: start of each bin's computation.
        target_s: time for each target.
        edge_s: time for each edge into a target.
        value_bytes: bytes of a number.

    Raises:
        OfframpError: a rate that is not positive, or a negative time.
    """

    load_bps: float = 12e9
    unload_bps: float = 12e9
    send_bps: float = 1.25e9
    latency_s: float = 10e-6
    start_s: float = 50e-6
    target_s: float = 20e-9
    edge_s: float = 5e-9
    value_bytes: int = 4

    def __post_init__(self) -> None:
        for name in ("load_bps", "unload_bps", "send_bps", "value_bytes"):
            if not getattr(self, name) > 0:
                raise OfframpError(f"{name} {getattr(self, name)}: expected a positive number")
        for name in ("latency_s", "start_s", "target_s", "edge_s"):
            if not getattr(self, name) >= 0:
                raise OfframpError(f"{name} {getattr(self, name)}: expected at least 0")


@dataclass(frozen=True)
class Mode:
    """One of the thesis's pipelines.

    Attributes:
        overlapped: a bin loads while another computes and a third unloads, two bins in the device at most.
        asynchronous: a bin's rows are sent while others are computed.
        eager: a bin starts once its own rows are there, rather than all rows of its layer.
        boundary_first: order bins by the priority list; otherwise by ids.
    """

    overlapped: bool = False
    asynchronous: bool = False
    eager: bool = False
    boundary_first: bool = False


MODES: Final = {
    "sequential": Mode(),
    "inter": Mode(asynchronous=True, eager=True),
    "intra": Mode(overlapped=True, asynchronous=True, boundary_first=True),
    "g3": Mode(overlapped=True, asynchronous=True, eager=True, boundary_first=True),
}


ENGINES: Final = ("load", "compute", "unload", "send")
"""Engines of a worker; each does one thing at a time."""


class EngineSpan(NamedTuple):
    """Work of one engine of a worker for a bin: layer from 1, position in :data:`ENGINES`, start and end."""

    worker: int
    layer: int
    engine: int
    start_s: float
    length_s: float


@dataclass(frozen=True)
class Pipelined:
    """A forward pass.

    Attributes:
        seconds: until the last worker is done.
        bound_s: lower bound of any schedule: the busiest engine of any worker.
        bytes_sent: over the network.
        spans: everything that took time.
    """

    seconds: float
    bound_s: float
    bytes_sent: int
    spans: list[EngineSpan] = field(repr=False)

    def busy(self, engine: str) -> float:
        """Share of the time that this engine works, over all workers."""
        number = ENGINES.index(engine)
        workers = len({span.worker for span in self.spans})
        return sum(s.length_s for s in self.spans if s.engine == number) / (workers * self.seconds) if workers else 0.0


@dataclass
class _Bin:
    rows: int
    targets: int
    edges: int
    needs: Ints
    to: list[tuple[int, Ints]]


@dataclass
class _Worker:
    """One worker's engines and progress."""

    bins: list[_Bin]
    layer: int = 0
    todo: list[int] = field(default_factory=list)
    load_free: float = 0.0
    compute_free: float = 0.0
    unload_free: float = 0.0
    nic_free: float = 0.0
    left: list[float] = field(default_factory=list)  # when each bin has left the device
    busy: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(4))


def simulate(
    graph: Adjacency,
    owner: npt.ArrayLike,
    widths: Sequence[int],
    mode: str,
    costs: Costs | None = None,
    *,
    targets: int | None = None,
) -> Pipelined:
    """Simulate a forward pass over layers of ``widths`` (d_0 to d_L); inputs are local, the last layer's are not sent.

    Args:
        graph: symmetric.
        owner: ``(n,)`` worker of each vertex.
        widths: widths of every layer's input and of the last one's output.
        mode: one of :data:`MODES`.
        costs: costs of bins.
        targets: most of a bin; None: all of a worker in one.

    Raises:
        OfframpError: no such mode, fewer than two widths, or a bin of no targets.
    """
    if mode not in MODES:
        raise OfframpError(f"mode {mode}: expected one of {', '.join(MODES)}")
    if len(widths) < 2 or min(widths) < 1:
        raise OfframpError(f"widths {list(widths)}: expected at least two positive ones")
    owners = np.asarray(owner, np.int64)
    return _PipelineRun(graph, owners, list(widths), MODES[mode], costs or Costs(), targets or len(owners)).run()


class _PipelineRun:
    def __init__(
        self, graph: Adjacency, owner: Ints, widths: list[int], mode: Mode, costs: Costs, targets: int
    ) -> None:
        self._mode, self._costs, self._widths = mode, costs, widths
        self._graph, self._owner = graph, owner
        self._workers = [_Worker(self._bins_of(w, targets)) for w in range(int(owner.max(initial=0)) + 1)]
        self._needed = [
            np.unique(np.concatenate([one.needs for one in worker.bins])) if worker.bins else np.zeros(0, np.int64)
            for worker in self._workers
        ]
        self._arrival = np.full((len(self._workers), len(widths), len(owner)), np.inf)
        self._arrival[:, 0] = 0.0
        self._events: list[tuple[float, int]] = []
        self._sent = 0
        self._spans: list[EngineSpan] = []

    def run(self) -> Pipelined:
        for number, worker in enumerate(self._workers):
            worker.todo = list(range(len(worker.bins)))
            self._events.append((0.0, number))
        heapq.heapify(self._events)
        last = len(self._widths) - 1
        while self._events:
            now, number = heapq.heappop(self._events)
            worker = self._workers[number]
            if worker.layer < last and worker.bins:
                self._advance(now, number, worker)
        assert all(worker.layer == last for worker in self._workers if worker.bins), "every layer is computed"
        seconds = max((max(worker.left, default=0.0) for worker in self._workers), default=0.0)
        bound = max((float(worker.busy.max()) for worker in self._workers), default=0.0)
        return Pipelined(float(seconds), bound, self._sent, self._spans)

    def _bins_of(self, worker: int, targets: int) -> list[_Bin]:
        mine = self._owner == worker
        order = priority_order(self._graph, mine) if self._mode.boundary_first else np.flatnonzero(mine)
        indptr, indices = self._graph.indptr, np.asarray(self._graph.indices, np.int64)
        bins = []
        for part in pack_bins(self._graph, order, BinLimit(targets)):
            neighbours = np.concatenate([indices[indptr[v] : indptr[v + 1]] for v in part.tolist()])
            rows = np.union1d(part, neighbours)
            remote = [np.unique(self._owner[indices[indptr[v] : indptr[v + 1]]]) for v in part.tolist()]
            to: dict[int, list[int]] = {}
            for vertex, others in zip(part.tolist(), remote, strict=True):
                for other in others[others != worker].tolist():
                    to.setdefault(other, []).append(vertex)
            sends = [(other, np.array(vertices)) for other, vertices in sorted(to.items())]
            bins.append(_Bin(len(rows), len(part), len(neighbours), rows[self._owner[rows] != worker], sends))
        return bins

    def _advance(self, now: float, number: int, worker: _Worker) -> None:
        """Start the next bin of ``worker``, or wait until it may start."""
        start = self._may_load(worker)
        if start > now:
            heapq.heappush(self._events, (start, number))
            return
        arrived = self._arrival[number, worker.layer]
        if not self._mode.eager and arrived[self._needed[number]].max(initial=0.0) > now:
            return  # the last arrival wakes it
        ready = (n for n in worker.todo if arrived[worker.bins[n].needs].max(initial=0.0) <= now)
        index = next(ready, None)
        if index is None:
            return
        worker.todo.remove(index)
        self._compute(now, number, worker, worker.bins[index])
        if not worker.todo:
            worker.layer += 1
            worker.todo = list(range(len(worker.bins)))
            worker.load_free = max(worker.load_free, worker.left[-1])  # eager work begins when the layer is complete
        heapq.heappush(self._events, (max(now, self._may_load(worker)), number))

    def _may_load(self, worker: _Worker) -> float:
        if self._mode.overlapped:
            return max(worker.load_free, worker.left[-2] if len(worker.left) > 1 else 0.0)
        return max(worker.load_free, worker.left[-1] if worker.left else 0.0)

    def _compute(self, now: float, number: int, worker: _Worker, one: _Bin) -> None:
        costs, layer = self._costs, worker.layer
        width_in, width_out = self._widths[layer] * costs.value_bytes, self._widths[layer + 1] * costs.value_bytes
        took = np.array(
            [
                one.rows * width_in / costs.load_bps,
                costs.start_s + one.targets * costs.target_s + one.edges * costs.edge_s,
                one.targets * width_out / costs.unload_bps,
                0.0,
            ]
        )
        worker.load_free = now + took[0]
        worker.compute_free = max(worker.load_free, worker.compute_free) + took[1]
        worker.unload_free = max(worker.compute_free, worker.unload_free) + took[2]
        left = worker.unload_free
        ends = worker.load_free, worker.compute_free, worker.unload_free
        self._spans += [
            EngineSpan(number, layer + 1, engine, float(end - length), float(length))
            for engine, (end, length) in enumerate(zip(ends, took[:3], strict=True))
        ]
        if layer + 2 < len(self._widths):
            for other, vertices in one.to:
                sending = len(vertices) * width_out / costs.send_bps
                took[3] += sending
                self._sent += len(vertices) * width_out
                worker.nic_free = max(worker.nic_free, worker.unload_free) + sending
                self._spans.append(EngineSpan(number, layer + 1, 3, float(worker.nic_free - sending), float(sending)))
                arrives = worker.nic_free + costs.latency_s
                self._arrival[other, layer + 1, vertices] = arrives
                heapq.heappush(self._events, (arrives, other))
            if not self._mode.asynchronous:
                left = max(left, worker.nic_free)
        worker.left.append(left)
        worker.busy += took
