# SPDX-License-Identifier: Apache-2.0
"""One exchange under a scheme: the part through the switch, the part between hosts, and the bytes of both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

import numpy as np
import numpy.typing as npt

from offramp.graph.boundary import Boundary
from offramp.graph.csr import IntArray
from offramp.switchgnn import hybrid
from offramp.switchgnn.chunks import chunks_for, vector_wire_bytes
from offramp.switchgnn.pairwise import pairwise_plan
from offramp.switchgnn.plan import Plan, make_plan
from offramp.switchgnn.scheme import LANE_BITS, Scheme
from offramp.switchgnn.volume import Streams, streams
from offramp.switchgnn.wire import LANES

RANGE_BYTES, SCALE_BYTES = 4, 2
"""Bytes sent with a quantised partial sum: its least and largest value to the owner, and the scale back."""


_WORSE = 0.05
"""Rise of the cost at which no division with even more copies of the hosts' is expected to be better."""


@dataclass(frozen=True, eq=False)
class SchemePlan:
    """The exchange of vectors of ``features`` values under a scheme.

    Attributes:
        scheme: the improvements that are on.
        boundary: boundary of the partition.
        features: number of values of a vector.
        plan: blocks of the switch.
        hosted: ``(R,)`` which of ``boundary.copies`` (or, pairwise, partial sums) hosts send themselves.
    """

    scheme: Scheme
    boundary: Boundary
    features: int
    plan: Plan
    hosted: npt.NDArray[np.bool_]

    @property
    def through_switch(self) -> bool:
        """Whether anything goes through the switch; otherwise the exchange is the same as p2p's."""
        return bool(self.plan.blocks)

    @property
    def lanes(self) -> int:
        """Number of 32-bit lanes of a vector."""
        return self.scheme.lanes(self.features)

    @property
    def slices(self) -> int:
        """Number of times that the blocks run."""
        return self.scheme.slices(self.features, self.plan.lanes)

    @property
    def rounds(self) -> int:
        """Number of blocks that run one after another, with a barrier after each."""
        return self.slices * len(self.plan.blocks)

    @property
    def packets_up(self) -> int:
        """Number of DATA packets to the switch."""
        return self.slices * self.plan.packets

    @property
    def packets_down(self) -> int:
        """Number of RESULT packets from the switch."""
        return self.slices * self.plan.results * self.plan.chunks

    @property
    def passes(self) -> int:
        """Passes through the switch's pipeline in one exchange."""
        return self.slices * self.plan.passes

    @property
    def recirculations(self) -> int:
        """Number of passes beyond each upload's first."""
        return self.passes - self.packets_up

    @property
    def imbalance(self) -> float:
        """Uploads of each block's busiest worker over the mean, 1 at best (section 8.4)."""
        uploads = [np.bincount(block.owner[block.order]) for block in self.plan.blocks]
        total = self.plan.uploads
        return sum(int(load.max()) for load in uploads) * self.boundary.workers / total if total else 1.0

    @cached_property
    def by_hosts(self) -> Streams:
        """Messages between hosts: vectors, and the ranges and scales of quantised partial sums."""
        sender, receiver = ends_of(self.boundary, pairwise=self.scheme.pairwise)
        messages = streams(sender[self.hosted], receiver[self.hosted], 4 * self.lanes, self.boundary.workers)
        if self.scheme.bits < LANE_BITS and self.scheme.pairwise:
            messages += streams(sender, receiver, RANGE_BYTES, self.boundary.workers)
            messages += streams(receiver, sender, SCALE_BYTES, self.boundary.workers)
        return messages

    @cached_property
    def vector_bytes(self) -> int:
        """Link time in bytes of a vector's packets between a worker and the switch."""
        return vector_wire_bytes(self.lanes, self.plan.lanes)

    @property
    def packet_bytes(self) -> float:
        """Average link time in bytes of a packet between a worker and the switch."""
        return self.vector_bytes / (self.slices * self.plan.chunks)

    @property
    def payload_bytes(self) -> int:
        """Bytes of lanes that hold values, both directions, without padding zeros."""
        vectors = self.plan.uploads + self.plan.results
        return 4 * self.lanes * vectors + 2 * int(self.by_hosts.payload_bytes.sum())

    @property
    def wire_up(self) -> int:
        """Link time in bytes from the workers; DONE and ACK are not counted."""
        return self.plan.uploads * self.vector_bytes + self.by_hosts.wire_bytes

    @property
    def wire_down(self) -> int:
        """Link time in bytes to the workers; GO and ACK are not counted."""
        return self.plan.results * self.vector_bytes + self.by_hosts.wire_bytes

    @property
    def wire_bytes(self) -> int:
        """Link time in bytes on all links in both directions."""
        return self.wire_up + self.wire_down


def ends_of(boundary: Boundary, *, pairwise: bool) -> tuple[IntArray, IntArray]:
    """``(R,)`` sender and receiver of each copy, or of each partial sum, which travels the other way."""
    owner = boundary.owner[boundary.copies[:, 0]].astype(np.int64)
    other = boundary.copies[:, 1]
    return (other, owner) if pairwise else (owner, other)


def plan_scheme(
    boundary: Boundary,
    scheme: Scheme,
    features: int,
    memory_bytes: int,
    order: str = "gamr",
    seed: int = 0,
    first_block_id: int = 0,
    *,
    base: Plan | None = None,
    cost: Callable[[SchemePlan], float] | None = None,
    prices: Sequence[float] = (0.0,),
    lanes: int = LANES,
) -> SchemePlan:
    """Plan one exchange of vectors of ``features`` values.

    Args:
        boundary: boundary of the partition.
        scheme: the improvements that are on.
        features: number of values of a vector.
        memory_bytes: memory of the switch's aggregators.
        order: upload order of vertices, as for :func:`~offramp.switchgnn.plan.make_plan`.
        seed: seed of random choices.
        first_block_id: Block_id of the first block.
        base: the plan of the same scheme without ``hybrid``, if it is known already.
        cost: cost of a plan. Of the divisions of the copies between switch and hosts that have no more wire bytes
            than p2p, the one of least cost is taken; None: the one of fewest bytes.
        prices: prices of a pass to try, as for :func:`~offramp.switchgnn.hybrid.selections`.
        lanes: lanes of an aggregator.

    Raises:
        OfframpError: as :func:`~offramp.switchgnn.plan.make_plan` and
            :func:`~offramp.switchgnn.pairwise.pairwise_plan`.
    """
    chunks_for(scheme.lanes(features), lanes)
    if base is None:
        chunks = scheme.chunks_a_round(features, lanes)
        base = base_plan(boundary, scheme, chunks, memory_bytes, order, seed, first_block_id, lanes=lanes)
    nothing = np.zeros(boundary.R, np.bool_)
    pure = SchemePlan(scheme, boundary, features, base, nothing)
    if not scheme.hybrid or not boundary.R:
        return pure

    def divided(hosted: npt.NDArray[np.bool_]) -> SchemePlan:
        if scheme.pairwise:
            left = pairwise_plan(boundary, base.chunks, memory_bytes, ~hosted, first_block_id, lanes)
        else:
            left = hybrid.without(boundary, base, hosted)
        return SchemePlan(scheme, boundary, features, left, hosted)

    if scheme.pairwise:
        masks = hybrid.selections_of_partials(boundary, base, pure.lanes)
    else:
        masks = hybrid.selections(boundary, base, pure.lanes, prices)
    p2p = divided(~nothing)
    if cost is None:
        return min([pure, p2p, *map(divided, masks)], key=lambda one: one.wire_bytes)
    return _cheapest(pure, p2p, map(divided, masks), cost)


def _cheapest(
    pure: SchemePlan, p2p: SchemePlan, mixed: Iterable[SchemePlan], cost: Callable[[SchemePlan], float]
) -> SchemePlan:
    """The plan of least cost among those with no more wire bytes than ``p2p``.

    No mixture is looked at after one in which hosts send more than in its predecessor and which costs clearly more.
    """
    best, least = p2p, cost(p2p)
    if pure.wire_bytes <= p2p.wire_bytes and (alone := cost(pure)) <= least:
        best, least = pure, alone
    before, hosted = inf, 0
    for mixture in mixed:
        now, more = cost(mixture), int(mixture.hosted.sum())
        if now > before * (1 + _WORSE) and more > hosted:
            break
        before, hosted = now, more
        if now < least and mixture.wire_bytes <= p2p.wire_bytes:
            best, least = mixture, now
    return best


def p2p_of(scheme_plan: SchemePlan) -> SchemePlan:
    """The exchange of the same vectors in which hosts send each other everything."""
    scheme, plan = replace(scheme_plan.scheme, hybrid=True), replace(scheme_plan.plan, blocks=[])
    return replace(scheme_plan, scheme=scheme, plan=plan, hosted=np.ones_like(scheme_plan.hosted))


def base_plan(
    boundary: Boundary,
    scheme: Scheme,
    chunks: int,
    memory_bytes: int,
    order: str,
    seed: int,
    first_block_id: int = 0,
    *,
    lanes: int = LANES,
) -> Plan:
    """The blocks of a scheme through the switch alone, for vectors of ``chunks`` packets of ``lanes`` lanes."""
    if scheme.pairwise:
        return pairwise_plan(boundary, chunks, memory_bytes, None, first_block_id, lanes)
    cut = {"balanced": scheme.balanced, "binned": scheme.binned}
    return make_plan(boundary, chunks, memory_bytes, order, seed, first_block_id, **cut, lanes=lanes)
