# SPDX-License-Identifier: Apache-2.0
"""The sizes of a job's coflows, worker by worker (specification section 9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from offramp.hermod.dag import Amounts, Flows, Indices
from offramp.hermod.job import HermodJob
from offramp.hermod.placement import Placement, expert_groups, replica_rings


@dataclass(frozen=True, slots=True)
class DagShape:
    """The numbers that determine the form of the DAG.

    Attributes:
        ranks, chunks: virtual stage ``chunk * ranks + rank``.
        replicas: number of replicas of each stage.
        layers: number of layers of the model.
        barrier: whether an iteration waits for every AllGather of the one before.
    """

    ranks: int
    micro_batches: int
    layers: int
    replicas: int = 1
    chunks: int = 1
    barrier: bool = False


class TrafficModel(Protocol):
    """Sizes and durations of a DAG."""

    @property
    def shape(self) -> DagShape:
        """The DAG's form."""
        ...

    def seconds(self) -> tuple[float, float]:
        """Forward time of a layer's attention and of its experts or MLP."""
        ...

    def expert_groups(self, rank: int) -> list[Indices]:
        """EP groups of a rank's workers; none in a dense model."""
        ...

    def dispatch(self, group: Indices, mid: int, lid: int) -> Flows:
        """The AllToAll to the experts."""
        ...

    def boundary(self, sender: int, receiver: int) -> Flows:
        """Activations or their gradients from stage to stage."""
        ...

    def synchronise(self, rank: int) -> list[tuple[Flows, Flows, Indices]]:
        """ReduceScatter, AllGather and members of each ring that shares a layer of a rank."""
        ...

    def tensor(self, worker: int) -> Flows | None:
        """ReduceScatter and AllGather of half a layer inside a server."""
        ...


def ring(members: Indices, size: float, *, bidirectional: bool = False) -> Flows:
    """Every member sends ``size`` bytes to the next, or half of them there and half to the one before."""
    ways = [np.roll(members, -1), np.roll(members, 1)] if bidirectional and len(members) > 2 else [np.roll(members, -1)]
    sent = np.full(len(members) * len(ways), size / len(ways))
    return Flows(np.tile(members, len(ways)), np.concatenate(ways), sent)


def reversed_flows(flows: Flows) -> Flows:
    """The flows in the reverse direction: combine is dispatch reversed."""
    return Flows(flows.sink, flows.source, flows.size)


@dataclass
class JobTraffic:
    """The traffic of a job.

    Attributes:
        tensor_parallel: whether TP's coflows, which stay in the server, are in the DAG.
        seed: moves the popularity of the experts.
        whole: the job of more replicas, of which those of ``job`` are a sample; its rings are as long as the whole's.
        bidirectional: whether rings go both ways round, half of what is sent each.
    """

    job: HermodJob
    placement: Placement
    tensor_parallel: bool = False
    seed: int = 0
    whole: HermodJob | None = None
    bidirectional: bool = False
    _flows: dict[tuple[int, ...], Flows] = field(default_factory=dict)

    @property
    def shape(self) -> DagShape:
        """Degrees of parallelism of the job."""
        job = self.job
        return DagShape(job.pp, job.micro_batches, job.model.layers, job.dp, job.chunks, job.iteration_barrier)

    def seconds(self) -> tuple[float, float]:
        """Forward time of a layer's two halves."""
        return self.job.layer_seconds()

    def expert_groups(self, rank: int) -> list[Indices]:
        """EP groups of a rank's workers."""
        return expert_groups(self.job, rank) if self.job.expert_workers > 1 else []

    def dispatch(self, group: Indices, mid: int, lid: int) -> Flows:
        """Tokens to the experts; with ``imbalance`` each sender has favourites of its own, the same each iteration."""
        first = int(group[0])
        even = self.job.imbalance == 0
        name = (first,) if even else (first, mid, lid)
        if name not in self._flows:
            row, column = all_pairs(len(group))
            matrix = self.expert_bytes(group, [(mid, lid)])[0]
            self._flows[name] = Flows(group[row], group[column], matrix[row, column])
        return self._flows[name]

    def expert_bytes(self, group: Indices, variants: Sequence[tuple[int, int]]) -> Amounts:
        """``(v, n, n)`` bytes of each sender to each member, at each of some microbatches and layers."""
        first, size, spread = int(group[0]), len(group), self.job.imbalance
        weight = np.ones((len(variants), size, size))
        if spread > 0:
            for k, (mid, lid) in enumerate(variants):
                weight[k] = np.random.default_rng((self.seed, first, mid, lid)).normal(0, spread, (size, size))
            weight = np.exp(weight)
        amounts: Amounts = weight / weight.sum(axis=2, keepdims=True) * self.job.ep_bytes()
        return amounts

    def boundary(self, sender: int, receiver: int) -> Flows:
        """Activations of a microbatch."""
        if (sender, receiver) not in self._flows:
            size = np.array([self.job.pp_bytes()])
            self._flows[sender, receiver] = Flows(np.array([sender]), np.array([receiver]), size)
        return self._flows[sender, receiver]

    def synchronise(self, rank: int) -> list[tuple[Flows, Flows, Indices]]:
        """Rings of the dense parameters, and of the experts' where they have copies on other servers.

        Copies of an expert inside a server reduce there first, so that each GPU sends its share only.
        """
        job, rings = self.whole or self.job, []
        parts = [(job.dense_parameters(), job.dp, False)]
        if job.model.experts:
            parts.append((job.expert_parameters() * job.expert_servers / job.expert_copies, job.expert_servers, True))
        for parameters, count, experts in parts:
            for members in replica_rings(self.job, rank, self.placement, experts=experts):
                if count > 1:
                    share = parameters * (count - 1) / count
                    gradients, values = (
                        ring(members, share * size, bidirectional=self.bidirectional)
                        for size in (job.gradient_bytes, 2)
                    )
                    rings.append((gradients, values, members))
        return rings

    def tensor(self, worker: int) -> Flows | None:
        """Sequence-parallel activations, RS and AG."""
        job = self.job
        if not self.tensor_parallel or job.tp == 1:
            return None
        size = 2 * job.tokens * job.model.hidden * 2 * (job.tp - 1) / job.tp / job.tp
        return Flows(np.array([worker]), np.array([worker]), np.array([size]))


def all_pairs(size: int) -> tuple[Indices, Indices]:
    """Sender and receiver of each flow of an all-to-all, as places in the group."""
    row, column = np.nonzero(~np.eye(size, dtype=bool))
    return row, column
