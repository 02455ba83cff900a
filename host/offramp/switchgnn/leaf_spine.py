# SPDX-License-Identifier: Apache-2.0
"""Location of workers and switches in a leaf-spine network (specification section 9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from offramp.graph.csr import IntArray, distinct, rows_of
from offramp_base.errors import OfframpError
from offramp_base.settings.error import SettingsError

if TYPE_CHECKING:
    from offramp.graph.boundary import Boundary
    from offramp.switchgnn.plan import Plan

MAX_LEAVES = 16
"""Most leaves: the register of received partial sums has one bit per leaf."""

ROOT = 0
"""The leaf that counts the leaves at the end of a round."""

_FIBONACCI = 0x9E3779B1  # multiplicative hashing: 2^32 over the golden ratio


@dataclass(frozen=True)
class LeafSpine:
    """Racks of workers with a leaf switch each; every leaf is connected to every spine.

    On a leaf ports 1, 2, … lead to its workers, in the order of their numbers; the next ones to the spines. On a spine
    port 1 + i leads to leaf i.

    Attributes:
        racks: leaf of each worker; leaves count from 0, and each has workers.
        spines: number of spines.
    """

    racks: tuple[int, ...]
    spines: int = 1

    def __post_init__(self) -> None:
        if self.spines < 1:
            raise SettingsError("spines", "expected at least 1", self.spines)
        if sorted(set(self.racks)) != list(range(self.leaves)):
            raise OfframpError(f"racks {list(self.racks)}: expected leaves 0, 1, … with a worker each")
        if not 2 <= self.leaves <= MAX_LEAVES:
            raise SettingsError("racks", f"expected 2 to {MAX_LEAVES}", self.leaves)

    @property
    def leaves(self) -> int:
        """Number of leaves."""
        return max(self.racks, default=-1) + 1

    @property
    def workers(self) -> int:
        """Number of workers."""
        return len(self.racks)

    def members(self, leaf: int) -> list[int]:
        """Workers under a leaf."""
        return [worker for worker, rack in enumerate(self.racks) if rack == leaf]

    def host_port(self, worker: int) -> int:
        """Port of a worker on its leaf."""
        return 1 + self.members(self.racks[worker]).index(worker)

    def uplink(self, leaf: int, spine: int) -> int:
        """Port of a leaf that leads to a spine."""
        return 1 + len(self.members(leaf)) + spine

    def downlink(self, leaf: int) -> int:
        """Port of every spine that leads to a leaf."""
        return 1 + leaf

    def leaf_ports(self, leaf: int) -> list[int]:
        """All ports of a leaf."""
        return list(range(1, 1 + len(self.members(leaf)) + self.spines))

    def spine_ports(self) -> list[int]:
        """All ports of a spine."""
        return [self.downlink(leaf) for leaf in range(self.leaves)]

    def leaf_id(self, leaf: int) -> int:
        """Id in a leaf's DONE; workers have the ids below."""
        return self.workers + leaf

    def spine_of(self, vertices: npt.ArrayLike) -> IntArray:
        """The spine that carries traffic for each vertex: ECMP by a hash of Dst_id."""
        hashed: IntArray = (np.asarray(vertices, np.int64) * _FIBONACCI & 0xFFFF_FFFF) >> 16
        return hashed % self.spines


def even_racks(workers: int, racks: int, spines: int = 1) -> LeafSpine:
    """Racks of nearly equal numbers of workers, with consecutive numbers in each.

    Raises:
        OfframpError: more racks than workers, or numbers that a job cannot have.
    """
    if racks > workers:
        raise SettingsError("racks", f"expected at most one for each of {workers} workers", racks)
    return LeafSpine(tuple(worker * racks // workers for worker in range(workers)), spines)


@dataclass(frozen=True, slots=True)
class CrossRack:
    """Number of feature vectors that one exchange sends from leaf to leaf, one way.

    Attributes:
        partial: partial sums of SwitchGNN on two levels.
        multicast: each upload once to each leaf that needs it. As many, because every edge has two directions: two
            levels save additions at the vertex's own leaf, not bytes (section 9).
        host: each vertex once to each worker of another rack that needs it, without the switch.
    """

    partial: int
    multicast: int
    host: int


def cross_rack(plan: Plan, boundary: Boundary, racks: Sequence[int]) -> CrossRack:
    """Vectors that the blocks of a plan send between racks; ``racks`` is the leaf of each worker."""
    rack_of = np.asarray(racks, np.int64)
    partial = multicast = 0
    for block in plan.blocks:
        source, target, home = rows_of(block.indptr), block.neighbours, rack_of[block.owner]
        across = home[source] != home[target]
        source, target = source[across], target[across]
        partial += _pairs(target, home[source])
        multicast += _pairs(source, home[target])
    vertex, worker = boundary.copies.T
    return CrossRack(partial, multicast, int((rack_of[boundary.owner[vertex]] != rack_of[worker]).sum()))


def _pairs(vertices: IntArray, racks: IntArray) -> int:
    return len(distinct(vertices * MAX_LEAVES + racks))
