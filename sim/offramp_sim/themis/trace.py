# SPDX-License-Identifier: Apache-2.0
"""An iteration from Chakra traces, node by node: computation and collectives in messages, as in ASTRA-sim.

An NPU computes one node at a time and communicates in one node at a time, and its CPU works on one; a receive only
waits. Of the nodes that are ready, the one with the lowest id goes first. Computation takes the time in the trace, or
the time that a roofline gives for its operations.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import count
from pathlib import Path

from offramp.hermod.chakra import schema
from offramp.hermod.chakra.groups import Groups, groups_of
from offramp.hermod.chakra.load import read_ranks
from offramp.hermod.chakra.match import Key, Matcher, whole
from offramp.hermod.chakra.node import ChakraNode, ChakraTrace
from offramp.themis.kinds import Collective
from offramp.themis.network import Network
from offramp.themis.system_file import SystemFile
from offramp_base.errors import OfframpError
from offramp_sim.themis.trace_wires import TraceWires

_COLLECTIVES = {
    schema.ALL_REDUCE: Collective.ALL_REDUCE,
    schema.ALL_GATHER: Collective.ALL_GATHER,
    schema.REDUCE_SCATTER: Collective.REDUCE_SCATTER,
    schema.REDUCE_SCATTER_BLOCK: Collective.REDUCE_SCATTER,
    schema.ALL_TO_ALL: Collective.ALL_TO_ALL,
}


class _Engine(Enum):
    CPU = auto()
    COMPUTATION = auto()
    COMMUNICATION = auto()


@dataclass(frozen=True, slots=True)
class TracedIteration:
    """Picoseconds by NPU.

    Attributes:
        ended: end of its last node.
        computed: time of computation.
    """

    ended: tuple[int, ...]
    computed: tuple[int, ...]

    @property
    def total(self) -> int:
        """Total time."""
        return max(self.ended)

    @property
    def compute(self) -> int:
        """Computation of the NPU that ends last; it spends the rest of the time waiting for communication."""
        return self.computed[self.ended.index(self.total)]


@dataclass(slots=True)
class _Npu:
    nodes: dict[int, ChakraNode]
    awaited: dict[int, int] = field(default_factory=dict)
    followers: dict[int, list[int]] = field(default_factory=dict)
    ready: list[int] = field(default_factory=list)
    busy: set[_Engine] = field(default_factory=set)
    left: set[int] = field(default_factory=set)
    ended: int = 0
    computed: int = 0


@dataclass(slots=True)
class _Meeting:
    """A collective that ranks are joining."""

    members: tuple[int, ...]
    dims: tuple[int, ...] | None
    together: bool
    joined: dict[int, tuple[int, ChakraNode]] = field(default_factory=dict)


@dataclass(slots=True)
class _Transfer:
    arrived: int | None = None
    receiver: tuple[int, int] | None = None


def run_traces(place: Path, network: Network, system: SystemFile, scheduler: str, chunks: int) -> TracedIteration:
    """Run one iteration of the traces in a folder, or of ``FOLDER/PREFIX``, with a rank for each NPU.

    Args:
        place: place of the traces.
        network: network with the system's messages on it.
        system: gives the times of computation.
        scheduler: scheduler of the collectives of all NPUs, or of all along some dimensions (``involved_dim``).
        chunks: chunks of a collective.

    Raises:
        OfframpError: traces that cannot be read or do not fit the network, or nodes that can never begin.
    """
    traces, groups = read_ranks(place)
    if len(traces) != network.npus:
        raise OfframpError(f"{place}: {len(traces)} ranks, {network.name} has {network.npus} NPUs")
    return _TraceRun(traces, groups, TraceWires(network, scheduler, chunks), system).run()


class _TraceRun:
    def __init__(self, traces: Sequence[ChakraTrace], groups: Groups, wires: TraceWires, system: SystemFile) -> None:
        self.wires, self.system = wires, system
        self.events: list[tuple[int, int, int, int]] = []  # time, turn, rank, node that is over
        self.turn = count()
        self.npus = [_npu(rank, trace) for rank, trace in enumerate(traces)]
        self.keys: list[dict[int, Key]] = [{} for _ in traces]
        self.meetings: dict[Key, _Meeting] = {}
        self.transfers: dict[Key, _Transfer] = {}
        if not system.replay_only:
            self._match(traces, groups)

    def _match(self, traces: Sequence[ChakraTrace], groups: Groups) -> None:
        """Match nodes that belong together on several ranks."""
        named = [{**groups_of(trace, len(traces)), **groups} for trace in traces]
        matcher = Matcher(named, cpu=False, ours="workers" in traces[0].attributes)
        used: dict[Key, list[int]] = {}
        for rank, trace in enumerate(traces):
            for node in trace.nodes:
                key, transfer = matcher.key(rank, node)
                if node.kind == schema.COLLECTIVE and matcher.counts(node):
                    known = bool(key[2]) and key[3] is not None  # such a group says who takes part
                    dims = None if known else _dims(node, len(self.wires.network.dimensions))
                    key = (*key, dims, self.wires.along(rank, dims))
                    used.setdefault(key, []).append(rank)
                self.keys[rank][node.id] = key if transfer is None else transfer
        matcher.check()
        for key, ranks in used.items():
            named_dims, members = key[-2], key[3]
            along = named_dims if isinstance(named_dims, tuple) else None
            mine = tuple(ranks if along is not None or not isinstance(members, tuple) else members)
            together = along is not None or len(mine) == len(traces)
            self.meetings[key] = _Meeting(mine, along, together)

    def run(self) -> TracedIteration:
        for rank in range(len(self.npus)):
            self._begin_ready(rank, 0)
        while self.events:
            now, _, rank, number = heapq.heappop(self.events)
            npu = self.npus[rank]
            engine = _engine(npu.nodes[number])
            if engine is not None:
                npu.busy.discard(engine)
            self._over(rank, number, now)
            self._begin_ready(rank, now)
        for rank, npu in enumerate(self.npus):
            if npu.left:
                node = npu.nodes[min(npu.left)]
                raise OfframpError(f"rank {rank}: node {node.id}, {node.name:.60}: never begins or never ends")
        return TracedIteration(tuple(npu.ended for npu in self.npus), tuple(npu.computed for npu in self.npus))

    def _begin_ready(self, rank: int, now: int) -> None:
        npu, held = self.npus[rank], []
        while npu.ready:
            number = heapq.heappop(npu.ready)
            node = npu.nodes[number]
            engine = _engine(node)
            if engine in npu.busy:
                held.append(number)
                continue
            if engine is not None:
                npu.busy.add(engine)
            if not self._begin(rank, node, now):
                if engine is not None:
                    npu.busy.discard(engine)
                self._over(rank, number, now)
        npu.ready = held  # ascending: a heap

    def _over(self, rank: int, number: int, now: int) -> None:
        npu = self.npus[rank]
        npu.left.discard(number)
        npu.ended = max(npu.ended, now)
        for follower in npu.followers.get(number, ()):
            npu.awaited[follower] -= 1
            if not npu.awaited[follower]:
                heapq.heappush(npu.ready, follower)

    def _end(self, at: int, rank: int, number: int) -> None:
        heapq.heappush(self.events, (at, next(self.turn), rank, number))

    def _begin(self, rank: int, node: ChakraNode, now: int) -> bool:
        """Begin a node; returns whether it takes time, else it has ended already."""
        engine, kind = _engine(node), node.kind
        recorded_ns = node.duration_us * 1000
        if engine is None and kind != schema.RECEIVE:
            return False
        if self.system.replay_only:
            self._end(now + max(1, recorded_ns) * 1000, rank, node.id)
        elif kind == schema.COLLECTIVE and engine is _Engine.COMMUNICATION:
            self._join(rank, node, now)
        elif kind == schema.SEND and engine is _Engine.COMMUNICATION:
            self._send(rank, node, now)
        elif kind == schema.RECEIVE:
            self._receive(rank, node, now)
        else:
            a = node.attributes
            took = self.system.computation_ns(recorded_ns, whole(a, "num_ops", 0), whole(a, "tensor_size", 0)) * 1000
            if not took:
                return False
            if engine is _Engine.COMPUTATION:
                self.npus[rank].computed += took
            self._end(now + took, rank, node.id)
        return True

    def _join(self, rank: int, node: ChakraNode, now: int) -> None:
        meeting = self.meetings[self.keys[rank][node.id]]
        meeting.joined[rank] = now, node
        if len(meeting.joined) < len(meeting.members):
            return
        numbers = [meeting.joined[member][1].id for member in meeting.members]
        for member, number, at in zip(meeting.members, numbers, self._ends(meeting, node), strict=True):
            self._end(at, member, number)

    def _ends(self, meeting: _Meeting, node: ChakraNode) -> list[int]:
        """Time at which a collective ends on each of its ranks."""
        a, members = node.attributes, meeting.members
        starts = [meeting.joined[member][0] for member in members]
        number = whole(a, "comm_type", -1)
        if number == schema.BROADCAST:  # ASTRA-sim has no algorithm for it either
            return [start + max(1, node.duration_us * 1000) * 1000 for start in starts]
        if number == schema.BARRIER:
            return [max(starts)] * len(members)
        kind, size = _COLLECTIVES.get(number), whole(a, "comm_size", 0)
        if kind is None:
            raise OfframpError(f"node {node.id}: collective of type {number} is not simulated by messages")
        alone = len(self.wires.network.dimensions) == 1 and len(set(starts)) > 1
        if alone or not meeting.together:
            return self.wires.group_ps(kind, size, members, starts)
        return [max(starts) + self.wires.together_ps(kind, size, meeting.dims)] * len(members)

    def _send(self, rank: int, node: ChakraNode, now: int) -> None:
        a, transfer = node.attributes, self._transfer(rank, node)
        arrives = now + self.wires.message_ps(rank, whole(a, "comm_dst", rank), whole(a, "comm_size", 0))
        transfer.arrived = arrives
        self._end(arrives, rank, node.id)
        if transfer.receiver is not None:
            self._end(arrives, *transfer.receiver)

    def _receive(self, rank: int, node: ChakraNode, now: int) -> None:
        transfer = self._transfer(rank, node)
        transfer.receiver = rank, node.id
        if transfer.arrived is not None:
            self._end(max(now, transfer.arrived), rank, node.id)

    def _transfer(self, rank: int, node: ChakraNode) -> _Transfer:
        return self.transfers.setdefault(self.keys[rank][node.id], _Transfer())


def _npu(rank: int, trace: ChakraTrace) -> _Npu:
    npu = _Npu({node.id: node for node in trace.nodes})
    if len(npu.nodes) < len(trace.nodes):
        raise OfframpError(f"rank {rank}: a node is there twice")
    for node in trace.nodes:
        npu.left.add(node.id)
        npu.awaited[node.id] = len(node.waits)
        if not node.waits:
            npu.ready.append(node.id)
        for before in node.waits:
            if before not in npu.nodes:
                raise OfframpError(f"rank {rank}: node {node.id} waits for {before}, which is absent")
            npu.followers.setdefault(before, []).append(node.id)
    heapq.heapify(npu.ready)
    return npu


def _engine(node: ChakraNode) -> _Engine | None:
    """Engine that a node occupies; None if it only waits, or takes no time."""
    if node.kind in (schema.INVALID, schema.METADATA, schema.MEMORY_LOAD, schema.MEMORY_STORE):
        return None
    if node.attributes.get("is_cpu_op", False):
        return _Engine.CPU
    if node.kind == schema.COMPUTE:
        return _Engine.COMPUTATION
    return None if node.kind == schema.RECEIVE else _Engine.COMMUNICATION


def _dims(node: ChakraNode, count: int) -> tuple[int, ...] | None:
    """The dimensions that a collective names; None if it uses all."""
    flags = node.attributes.get("involved_dim")
    if not isinstance(flags, list) or all(flags[:count]):
        return None
    return tuple(k for k, used in enumerate(flags[:count]) if used)
