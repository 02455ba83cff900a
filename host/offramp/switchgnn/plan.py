# SPDX-License-Identifier: Apache-2.0
"""The plan of a SwitchGNN exchange on a switch with a given memory: blocks, slots, orders, needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from offramp.graph.balance import balanced_blocks
from offramp.graph.bin_blocks import bin_blocks
from offramp.graph.blocks import plan_blocks
from offramp.graph.boundary import Boundary
from offramp.graph.csr import IntArray, transposed
from offramp.graph.order import order_ranks
from offramp.switchgnn.chunks import MAX_CHUNKS, aggregator_bytes
from offramp.switchgnn.wire import LANES, NO_ID
from offramp_base.errors import OfframpError
from offramp_base.progress import report
from offramp_base.settings.error import SettingsError
from offramp_base.wire.objects import sendable

AGGREGATOR_BYTES = aggregator_bytes(LANES)
"""Bytes of an aggregator in the paper."""

MAX_NEED = 0x7FFF
"""Contributions that an aggregator's ``left`` register can count: bit 15 marks DEAD (section 5.2)."""

MAX_BLOCKS = 1 << 16


@sendable
@dataclass(frozen=True, eq=False)
class BlockPlan:
    """One block for hosts and switch: a graph along whose edges uploads are added to sums.

    Attributes:
        block_id: the header's Block_id.
        vertices: ``(k,)`` int64, ascending.
        owner: ``(k,)`` int32 worker that uploads and receives each vertex.
        indptr: ``(k+1,)`` int64 rows of the block graph.
        neighbours: int64 ranks of the vertices to whose sums each vertex's upload is added, ascending.
        order: int64 ranks in upload order of those that are uploaded; a worker sends those that it owns.
        level: depth of the recursion at which the block was made.
        directed: whether some edge has no counterpart; in the paper's blocks every vertex is uploaded and gets a sum.
    """

    block_id: int
    vertices: IntArray
    owner: npt.NDArray[np.int32]
    indptr: IntArray
    neighbours: IntArray
    order: IntArray
    level: int = 0
    directed: bool = False

    @cached_property
    def fan_out(self) -> IntArray:
        """``(k,)`` sums to which each vertex's upload is added; 0: it is not uploaded."""
        return np.diff(self.indptr)

    @cached_property
    def need(self) -> IntArray:
        """``(k,)`` contributions to each vertex's sum; 0 where it has no sum."""
        return np.diff(self.sources[0])

    @cached_property
    def sources(self) -> tuple[IntArray, IntArray]:
        """``(indptr, ranks)`` of the vertices whose uploads are added to each vertex's sum, ascending."""
        return transposed(self.indptr, self.neighbours) if self.directed else (self.indptr, self.neighbours)

    @cached_property
    def slots(self) -> IntArray:
        """``(k,)`` index of each vertex's aggregator and of its entry in the duplicate guard.

        Sums come first; vertices without one take entries of the guard that no vertex with both has.
        """
        if not self.directed:
            return np.arange(len(self.vertices))
        sums = self.need > 0
        slots = np.cumsum(sums) - 1
        taken = slots[sums & (self.fan_out > 0)]
        slots[~sums] = np.setdiff1d(np.arange(len(slots)), taken)[: int((~sums).sum())]
        return slots

    @property
    def uploads(self) -> int:
        """Number of vertices that are uploaded."""
        return len(self.order)

    @cached_property
    def results(self) -> int:
        """Number of vertices that get a sum."""
        return int(np.count_nonzero(self.need))

    def row(self, rank: int) -> IntArray:
        """Ranks of the vertices to whose sums the vertex at ``rank`` is added."""
        return self.neighbours[self.indptr[rank] : self.indptr[rank + 1]]

    def uploads_of(self, worker: int) -> IntArray:
        """Ranks of the vertices that ``worker`` uploads, in upload order."""
        mine: IntArray = self.order[self.owner[self.order] == worker]
        return mine


@sendable
@dataclass(frozen=True, eq=False)
class Plan:
    """All blocks of one exchange.

    Attributes:
        workers: number of workers.
        chunks: packets for each vertex feature.
        aggregators: aggregators of the switch.
        blocks: in the order in which they run; Block_ids are consecutive.
        R: host-based multicast volume in feature vectors, for comparison.
        B: boundary vertices.
        C: undirected cut edges.
        first_block_id: Block_id of the first block.
        lanes: lanes of an aggregator, the most that a packet carries.
    """

    workers: int
    chunks: int
    aggregators: int
    blocks: Sequence[BlockPlan] = field(repr=False)
    R: int
    B: int
    C: int
    first_block_id: int = 0
    lanes: int = LANES

    @cached_property
    def uploads(self) -> int:
        """S: vertices uploaded in one exchange; in the paper's plans, the sum of the blocks' sizes."""
        return sum(block.uploads for block in self.blocks)

    @cached_property
    def results(self) -> int:
        """Sums sent in one exchange; in the paper's plans S, since both ends of an edge are in its block."""
        return sum(block.results for block in self.blocks)

    @property
    def packets(self) -> int:
        """DATA packets sent up in one exchange."""
        return self.uploads * self.chunks

    @cached_property
    def passes(self) -> int:
        """Pipeline passes of one exchange: one per contribution and chunk (section 5.3)."""
        return sum(len(block.neighbours) for block in self.blocks) * self.chunks

    @property
    def recirculations(self) -> int:
        """Passes beyond each upload's first."""
        return self.passes - self.packets

    @cached_property
    def width(self) -> int:
        """Features of the widest vector that the plan can carry."""
        return self.chunks * self.lanes

    @property
    def levels(self) -> int:
        """Levels of the block recursion."""
        return max((block.level for block in self.blocks), default=-1) + 1

    @property
    def aggregators_peak(self) -> int:
        """Aggregators that the largest block uses."""
        return max((block.results for block in self.blocks), default=0) * self.chunks

    def reordered(self, order: str, seed: int = 0) -> Plan:
        """The plan with uploads in another order (:data:`offramp.graph.order.METHODS`)."""
        blocks = [replace(b, order=order_ranks(b.indptr, b.neighbours, order, seed + b.block_id)) for b in self.blocks]
        return replace(self, blocks=blocks)


def require_ids(limit: int) -> None:
    """Refuse ids below ``limit`` if the header cannot hold them.

    Raises:
        OfframpError: the largest is the header's reserved value, or beyond.
    """
    if limit > NO_ID:
        raise OfframpError("vertices: expected ids below 2**32 - 1, the header's reserved value")


def require_blocks(count: int, first_block_id: int) -> None:
    """Refuse more blocks than Block_id can distinguish.

    Raises:
        OfframpError: ``count`` from ``first_block_id`` on exceed 16 bits.
    """
    if not 0 <= first_block_id <= MAX_BLOCKS - count:
        raise OfframpError(f"blocks: {count} from id {first_block_id} exceed 16-bit Block_ids; more memory makes fewer")


def make_plan(
    boundary: Boundary,
    chunks: int,
    memory_bytes: int,
    order: str = "gamr",
    seed: int = 0,
    first_block_id: int = 0,
    *,
    balanced: bool = False,
    binned: bool = False,
    lanes: int = LANES,
) -> Plan:
    """Cut ``boundary`` into blocks that fit in ``memory_bytes`` and order the uploads of each.

    ``balanced`` also shares each block's uploads out among the workers (:mod:`offramp.graph.balance`); ``binned`` cuts
    them along G3's bins (:mod:`offramp.graph.bin_blocks`). Aggregators have ``lanes`` lanes each.

    Raises:
        OfframpError: memory for fewer than two vertices of ``chunks`` aggregators, more blocks than there are
            Block_ids, vertex ids beyond 32 bits, an unknown order.
    """
    if not 1 <= chunks <= MAX_CHUNKS:
        raise OfframpError(f"chunks {chunks}: expected 1 to {MAX_CHUNKS}")
    aggregators = memory_bytes // aggregator_bytes(lanes)
    limit = aggregators // chunks
    if limit < 2:
        least = 2 * chunks * aggregator_bytes(lanes)
        raise SettingsError(
            "memory",
            f"holds {max(aggregators, 0)} aggregators; an edge needs {chunks} at each end, expected at least {least} B",
            f"{memory_bytes} B",
        )
    require_ids(int(boundary.vertices[-1]) + 1 if boundary.B else 0)
    if boundary.need.max(initial=0) > MAX_NEED:
        limit = min(limit, MAX_NEED + 1)  # a block of that many vertices cannot overflow the counter
    if binned:
        cut = bin_blocks(boundary, limit)
    else:
        cut = balanced_blocks(boundary, limit, seed) if balanced else plan_blocks(boundary.cut_edges, limit, seed)
    require_blocks(len(cut), first_block_id)
    plans: list[BlockPlan] = []
    for block_id, block in enumerate(cut, first_block_id):
        report("ordering the uploads", len(plans), len(cut))
        indptr, neighbours = block.csr()
        ranks = order_ranks(indptr, neighbours, order, seed + block_id)
        owner = boundary.owner[block.vertices]
        plans.append(BlockPlan(block_id, block.vertices, owner, indptr, neighbours, ranks, block.level))
    counts = boundary.R, boundary.B, boundary.C
    return Plan(boundary.workers, chunks, aggregators, plans, *counts, first_block_id, lanes)
