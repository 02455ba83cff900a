# SPDX-License-Identifier: Apache-2.0
"""Training iterations: computation, and the time spent waiting for communication (paper section 6.2, figure 12)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from offramp.themis.bound import ideal_ps
from offramp.themis.demand import Demand
from offramp.themis.messages import MessageParameters
from offramp.themis.network import Network
from offramp.themis.pipeline import ChunkPolicy, execute
from offramp.themis.plan import CHUNKS, CollectivePlan, Scheduler, make_plan
from offramp.themis.schedule import ChunkOperation, Order, active, sent_bytes
from offramp_base.errors import OfframpError
from offramp_sim.themis.metrics import Interval, union
from offramp_sim.themis.workload import CommunicationScope, LayerCollective, TrainingWorkload, WorkloadLayer

_POLICIES: dict[str, ChunkPolicy] = {
    Scheduler.BASELINE: ChunkPolicy.FIFO,
    Scheduler.THEMIS_FIFO: ChunkPolicy.FIFO,
    Scheduler.THEMIS_SCF_SIZE: ChunkPolicy.SCF_SIZE,
}


@dataclass(slots=True)
class Breakdown:
    """Picoseconds of training.

    Attributes:
        forward, backward: computation; a repeated forward pass counts as forward.
        exposed: time spent waiting for communication, by scope.
        pending: intervals in which communication was pending, waited for or not, and its dimensions.
        sent: bytes of an NPU on each dimension.
    """

    forward: int = 0
    backward: int = 0
    exposed: dict[CommunicationScope, int] = field(default_factory=lambda: dict.fromkeys(CommunicationScope, 0))
    pending: list[tuple[Interval, Order]] = field(default_factory=list)
    sent: list[float] = field(default_factory=list)

    @property
    def compute(self) -> int:
        """Total computation."""
        return self.forward + self.backward

    @property
    def waiting(self) -> int:
        """Total exposed communication."""
        return sum(self.exposed.values())

    @property
    def total(self) -> int:
        """Total time."""
        return self.compute + self.waiting

    def utilisation(self, network: Network) -> float:
        """Share of all dimensions' bandwidth that was used while communication was pending (section 3)."""
        time = sum(end - start for start, end in union(interval for interval, _ in self.pending))
        return sum(self.sent) * 8e12 / (time * network.bandwidth_bps) if time else 0.0

    def utilisation_of_participants(self, network: Network) -> float:
        """Utilisation that counts a dimension only while a collective that uses it was pending."""
        possible = 0.0
        for k, d in enumerate(network.dimensions):
            mine = union(interval for interval, dims in self.pending if k in dims)
            possible += sum(end - start for start, end in mine) * d.bandwidth_bps
        return sum(self.sent) * 8e12 / possible if possible else 0.0


class IdealNetwork:
    """A network whose bandwidth is fully used, without latency: collectives run one after the other (table 3)."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.sent = [0.0] * len(network.dimensions)
        self._free = 0
        self._times: dict[Demand, tuple[float, Order]] = {}

    def issue(self, demand: Demand) -> int:
        """Ask for a collective; its number, which :meth:`finish` takes."""
        timeless = Demand(demand.collective, demand.size, demand.dims)
        if timeless not in self._times:
            self._times[timeless] = ideal_ps(self.network, [timeless]), active(timeless.part(self.network))
        time, dims = self._times[timeless]
        for k in dims:
            self.sent[k] += time * self.network.dimensions[k].used_bps / 8e12
        self._free = max(self._free, demand.release_ps) + round(time)
        return self._free

    def finish(self, number: int) -> int:
        """Picosecond at which a collective ends."""
        return number


_Planned = tuple[CollectivePlan, list[list[ChunkOperation]], list[float]]
"""A plan, its stages, and the bytes that an NPU sends on each dimension."""


@lru_cache(maxsize=256)
def _planned(network: Network, demand: Demand, scheduler: str, chunks: int) -> _Planned:
    """A plan, which later iterations use again (section 4.6.2)."""
    plan = make_plan(network, [demand], scheduler, chunks)
    stages = plan.stages()
    return plan, stages, sent_bytes(network, stages)


class SimulatedNetwork:
    """A network whose collectives share the dimensions' queues; each is planned when issued first, and then reused."""

    def __init__(self, network: Network, scheduler: str, chunks: int = CHUNKS) -> None:
        self.network, self.scheduler, self.chunks = network, scheduler, chunks
        self.sent = [0.0] * len(network.dimensions)
        self._plans: dict[Demand, _Planned] = {}
        self._live: list[tuple[int, int, Demand]] = []  # number, start, what; none of it known to be over
        self._finish: dict[int, int] = {}
        self._count = 0
        self._all = range(len(network.dimensions))

    def issue(self, demand: Demand) -> int:
        """Ask for a collective; its number, which :meth:`finish` takes."""
        self._count += 1
        timeless = Demand(demand.collective, demand.size, demand.dims)
        if not demand.size or all(
            self.network.dimensions[k].size == 1 for k in (self._all if demand.dims is None else demand.dims)
        ):
            self._finish[self._count] = demand.release_ps
            return self._count
        if timeless not in self._plans:
            self._plans[timeless] = _planned(self.network, timeless, self.scheduler, self.chunks)
        for k, n in enumerate(self._plans[timeless][2]):
            self.sent[k] += n
        self._enter(timeless, demand.release_ps)
        return self._count

    def _enter(self, timeless: Demand, start: int) -> None:
        """Let the latest collective join the running ones."""
        if self._live and all(number in self._finish for number, _, _ in self._live):
            idle_at = max(self._finish[number] for number, _, _ in self._live)
            if idle_at <= start:
                self._live.clear()  # the network is idle again: what was there has no part in what comes
        for live, _, _ in self._live:  # what comes may delay what is under way
            self._finish.pop(live, None)
        self._live.append((self._count, start, timeless))

    def finish(self, number: int) -> int:
        """Picosecond at which a collective ends, if none is issued before."""
        if number not in self._finish:
            self._run()
        return self._finish[number]

    def _run(self) -> None:
        if len(self._live) == 1:
            number, start, demand = self._live[0]
            self._finish[number] = start + self._plans[demand][0].finish_ps
            return
        stages: list[list[ChunkOperation]] = []
        release, owner = [], []
        for number, start, demand in self._live:
            schedule = self._plans[demand][1]
            stages += schedule
            release += [start] * len(schedule)
            owner += [number] * len(schedule)
        policy = _POLICIES.get(self.scheduler, ChunkPolicy.SCF)
        last: dict[int, int] = defaultdict(int)
        network = self.network
        for op in execute(stages, len(network.dimensions), policy, release, at_once=network.at_once).operations:
            last[owner[op.chunk]] = max(last[owner[op.chunk]], op.done)
        self._finish |= last


class SerialNetwork(SimulatedNetwork):
    """A network that runs collectives in sequence: an ASTRA-sim NPU communicates in one node of its trace at a time."""

    _free = 0

    def _enter(self, timeless: Demand, start: int) -> None:
        self._free = max(self._free, start) + self._plans[timeless][0].finish_ps
        self._finish[self._count] = self._free


class _NpuIteration:
    """The clock of one NPU, which all NPUs share."""

    def __init__(
        self, workload: TrainingWorkload, wires: SimulatedNetwork | IdealNetwork, breakdown: Breakdown
    ) -> None:
        self.workload, self.wires, self.breakdown = workload, wires, breakdown
        self.now = breakdown.total
        self.dims = workload.dims(wires.network)
        self.open: list[tuple[int, CommunicationScope, int, Order]] = []
        self.by_layer: dict[str, list[int]] = {}

    def compute(self, ps: int, *, forward: bool) -> None:
        self.now += ps
        if forward:
            self.breakdown.forward += ps
        else:
            self.breakdown.backward += ps

    def communicate(self, exchanges: tuple[LayerCollective, ...], layer: WorkloadLayer | None = None) -> set[int]:
        """Issue exchanges and wait for those that block; returns their numbers."""
        numbers = set()
        for exchange in exchanges:
            dims = self.dims[exchange.scope]
            number = self.wires.issue(Demand(exchange.collective, exchange.size, dims, self.now))
            self.open.append((number, exchange.scope, self.now, dims))
            numbers.add(number)
            if layer is not None:
                self.by_layer.setdefault(layer.name, []).append(number)
            if exchange.blocking:
                self.wait({number})
        return numbers

    def wait(self, wanted: set[int] | None = None) -> None:
        """Wait until some collectives, by default all, have ended."""
        for number, scope, start, dims in [item for item in self.open if wanted is None or item[0] in wanted]:
            end = self.wires.finish(number)
            self.breakdown.pending.append(((start, end), dims))
            if end > self.now:
                self.breakdown.exposed[scope] += end - self.now
                self.now = end
            self.open.remove((number, scope, start, dims))

    def run(self) -> None:
        for layer in self.workload.layers:
            if layer.awaits is not None:
                self.wait(set(self.by_layer.get(layer.awaits, ())))
            self.compute(layer.forward_ps, forward=True)
            self.communicate(layer.forward, layer)
        self.wait()
        late: list[LayerCollective] = []
        for layer in reversed(self.workload.layers):
            if layer.recompute:
                self.compute(layer.forward_ps, forward=True)
                self.communicate(layer.forward)
            self.compute(layer.input_ps, forward=False)
            gradients = self.communicate(layer.input)
            self.compute(layer.weight_ps, forward=False)
            if self.workload.fuse_gradients:
                late += layer.weight
            else:
                self.communicate(layer.weight)
            if layer.await_input:
                self.wait(gradients)
        self.communicate(tuple(_fused(late)))
        self.wait()


def _fused(exchanges: list[LayerCollective]) -> Iterator[LayerCollective]:
    """Fuse exchanges into one for each kind and scope."""
    sizes: dict[tuple[object, CommunicationScope], int] = {}
    for exchange in exchanges:
        key = exchange.collective, exchange.scope
        sizes[key] = sizes.get(key, 0) + exchange.size
    for exchange in exchanges:
        key = exchange.collective, exchange.scope
        if key in sizes:
            yield LayerCollective(exchange.collective, sizes.pop(key), exchange.scope)


def train(
    workload: TrainingWorkload,
    network: Network,
    scheduler: str | None,
    iterations: int = 1,
    chunks: int = CHUNKS,
) -> Breakdown:
    """Simulate training iterations.

    Args:
        workload: what is trained.
        network: on what.
        scheduler: scheduler of the collectives; None for the ideal network.
        iterations: how many, one after the other.
        chunks: per collective.

    Raises:
        OfframpError: no iteration, or one that takes no time; a model-parallel group that does not fit the dimensions.
    """
    if iterations < 1:
        raise OfframpError(f"{iterations} iterations: expected at least 1")
    network = workload.fitted(network)
    breakdown = Breakdown()
    wires = _wires(network, scheduler, chunks)
    for _ in range(iterations):
        _NpuIteration(workload, wires, breakdown).run()
    if not breakdown.total:
        raise OfframpError(
            f"workload {workload.name}: an iteration takes no time: expected computation or communication"
        )
    breakdown.sent = wires.sent
    return breakdown


def _wires(network: Network, scheduler: str | None, chunks: int) -> SimulatedNetwork | IdealNetwork:
    if scheduler is None:
        return IdealNetwork(network)
    serial = any(isinstance(d.messages, MessageParameters) for d in network.dimensions)
    return (SerialNetwork if serial else SimulatedNetwork)(network, scheduler, chunks)
