# SPDX-License-Identifier: Apache-2.0
"""Collectives as dependent messages: the times of ASTRA-sim's system layer over its analytical back end.

The paper's cost model lets a stage's fixed delay overlap with other chunks (section 4.4). Here a chunk has a dimension
to itself until its last message has arrived. A message takes number of links x latency + bytes ÷ bandwidth of one link,
truncated to whole nanoseconds; each send is preceded by the delay of an endpoint, and adding received data takes two
reads and a write of it in memory. Messages do not slow each other down.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from offramp.themis.kinds import Collective, DimensionTopology
from offramp.themis.rounds import rounds
from offramp_base.errors import OfframpError


class CollectiveAlgorithm(StrEnum):
    """Algorithm of a dimension, by ASTRA-sim's names."""

    RING = "ring"
    """Ring: to the next NPU, step by step in one direction; or to both neighbours, half of a chunk each."""
    DIRECT = "direct"
    """Directly to all others at once."""
    HALVING_DOUBLING = "halvingDoubling"
    """Exchanges with partners at distances 1, 2, 4, …; Bruck's rounds if the number of NPUs is no power of two."""


Algorithms = tuple[str, str, str, str]
"""Algorithms of an all-reduce, a reduce-scatter, an all-gather and an all-to-all, in this order."""

_ORDER = (Collective.ALL_REDUCE, Collective.REDUCE_SCATTER, Collective.ALL_GATHER, Collective.ALL_TO_ALL)
_USUAL: dict[DimensionTopology, Algorithms] = {
    DimensionTopology.RING: ("ring",) * 4,
    DimensionTopology.FULLY_CONNECTED: ("direct",) * 4,
    DimensionTopology.SWITCH: ("halvingDoubling", "halvingDoubling", "halvingDoubling", "direct"),
}


def usual_algorithms(kind: DimensionTopology) -> Algorithms:
    """The algorithms of table 1; an all-to-all through a switch is direct.

    Raises:
        OfframpError: the dimension is in-network, without messages between NPUs.
    """
    if kind not in _USUAL:
        raise OfframpError(f"{kind} dimension: expected one whose NPUs send each other messages")
    return _USUAL[kind]


@dataclass(frozen=True, slots=True)
class MessageParameters:
    """Parameters of a dimension's messages.

    Attributes:
        kind: how the NPUs are connected, which determines how many links a message passes.
        link_bps: bits per second of one link.
        hop_ns: latency of one link.
        algorithms: algorithms of the collectives.
        endpoint_ns: delay before each send, and after the last arrival.
        memory_bps: memory bandwidth in bits per second; infinity means no limit.
        at_once: chunks that use the dimension concurrently.
        bidirectional: whether a ring's halves of a chunk go in opposite directions at the same time.
    """

    kind: DimensionTopology
    link_bps: float
    hop_ns: float
    algorithms: Algorithms
    endpoint_ns: int = 0
    memory_bps: float = math.inf
    at_once: int = 1
    bidirectional: bool = False

    def hops(self, distance: int, peers: int) -> int:
        """Number of links between two NPUs whose numbers differ by ``distance``."""
        if self.kind is DimensionTopology.RING:
            return min(distance, peers - distance)
        return 1 if self.kind is DimensionTopology.FULLY_CONNECTED else 2

    def faster(self, factor: float) -> MessageParameters:
        """The same messages over links that are ``factor`` times as fast."""
        return replace(self, link_bps=self.link_bps * factor)

    def algorithm(self, stage: Collective) -> str:
        """Name of the algorithm of a stage."""
        return self.algorithms[_ORDER.index(stage)]

    def message_ns(self, distance: int, peers: int, size: int) -> int:
        """Nanoseconds until a message to a receiver ``distance`` NPUs away has arrived."""
        return math.floor(self.hops(distance, peers) * self.hop_ns + size * 8e9 / self.link_bps)

    def added_ns(self, size: int) -> int:
        """Nanoseconds to add ``size`` received bytes: two reads and a write."""
        return 3 * math.floor(size * 8e9 / self.memory_bps)

    def time_ps(self, stage: Collective, size: float, peers: int) -> int:
        """Picoseconds for which a stage occupies the dimension.

        Args:
            stage: the stage.
            size: bytes on each NPU before it.
            peers: number of NPUs of the dimension.

        Raises:
            OfframpError: the algorithm is unknown, or this many NPUs cannot run it.
        """
        if peers == 1:
            return 0
        total = self.endpoint_ns
        for distance, sent, added in self.steps(stage, size, peers):
            total += self.message_ns(distance, peers, sent) + self.endpoint_ns + self.added_ns(added)
        return total * 1000

    def wire_ps(self, stage: Collective, size: float, peers: int) -> float:
        """Picoseconds that the bytes of a stage take on a link, with the messages of a chunk one after the other."""
        if peers == 1:
            return 0.0
        sent = sum(sent for _, sent, _ in self.steps(stage, size, peers))
        return sent * 8e12 / self.link_bps / self.at_once

    def steps(self, stage: Collective, size: float, peers: int) -> Iterator[tuple[int, int, int]]:
        """For each step: distance to the farthest partner, bytes sent to each partner, bytes added on arrival."""
        name = self.algorithm(stage)
        gathers = stage is Collective.ALL_GATHER
        reduces = stage in (Collective.ALL_REDUCE, Collective.REDUCE_SCATTER)
        if self.bidirectional and name == CollectiveAlgorithm.RING:  # the other half takes as long beside it
            size = (int(size) + 1) // 2
        block = int(size) if gathers else int(size) // peers
        if name == CollectiveAlgorithm.RING:
            added = block if reduces else 0
            steps = peers * (peers - 1) // 2 if stage is Collective.ALL_TO_ALL else peers - 1
            yield from ((1, block, added) for _ in range(steps))
            if stage is Collective.ALL_REDUCE:
                yield from ((1, block, 0) for _ in range(steps))
        elif name == CollectiveAlgorithm.DIRECT:
            yield peers // 2, block, block if reduces else 0
            if stage is Collective.ALL_REDUCE:
                yield peers // 2, block, 0
        elif name == CollectiveAlgorithm.HALVING_DOUBLING:
            yield from self._halving_doubling(stage, size, peers)
        else:
            known = ", ".join(CollectiveAlgorithm)
            raise OfframpError(f"{stage} on a {self.kind} dimension: algorithm '{name}': expected one of {known}")

    def _halving_doubling(self, stage: Collective, size: float, peers: int) -> Iterator[tuple[int, int, int]]:
        if stage is Collective.ALL_TO_ALL:
            raise OfframpError(f"{stage} among {peers} NPUs: halving and doubling needs a reduction or an all-gather")
        if peers & (peers - 1):
            yield from self._bruck(stage, size, peers)
            return
        distances = [1 << k for k in range(peers.bit_length() - 1)]
        if stage is Collective.ALL_GATHER:
            yield from ((d, int(size) * (peers // (2 * d)), 0) for d in reversed(distances))
            return
        halves = [int(size) // (2 * d) for d in distances]
        for d, half in zip(distances, halves, strict=True):
            yield d, half, half // 2 if d != distances[-1] else 0  # what is added then is as long as what is sent next
        if stage is Collective.ALL_REDUCE:
            yield from ((d, half, 0) for d, half in zip(reversed(distances), reversed(halves), strict=True))

    def _bruck(self, stage: Collective, size: float, peers: int) -> Iterator[tuple[int, int, int]]:
        block = int(size) if stage is Collective.ALL_GATHER else int(size) // peers
        gathers = [(distance, count * block) for distance, count in rounds(peers)]
        if stage is not Collective.ALL_GATHER:
            yield from ((distance, sent, sent) for distance, sent in reversed(gathers))
        if stage is not Collective.REDUCE_SCATTER:
            yield from ((distance, sent, 0) for distance, sent in gathers)
