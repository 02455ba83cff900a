# SPDX-License-Identifier: Apache-2.0
"""Who sends what to whom in one stage of a schedule: the algorithms of a dimension, step by step.

Peers of a dimension have the coordinates 0 to P-1 on it. In a reduce-scatter the block for coordinate ``v`` travels to
``v`` and grows on its way, in an all-gather it travels from ``v`` to all others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from offramp.themis.kinds import Collective, DimensionTopology
from offramp.themis.messages import CollectiveAlgorithm, MessageParameters
from offramp.themis.network import Dimension
from offramp.themis.rounds import rounds
from offramp_base.errors import OfframpError


class PeerTransfer(NamedTuple):
    """A message between two peers of a dimension.

    Attributes:
        source, sink: their coordinates.
        blocks: coordinates whose blocks are sent.
        adds: whether the receiver adds them to its own.
    """

    source: int
    sink: int
    blocks: tuple[int, ...]
    adds: bool


def peer_transfers(dimension: Dimension, stage: Collective, *, backwards: bool = False) -> Iterator[PeerTransfer]:
    """The messages of a stage in an order in which each can follow those before it.

    Args:
        dimension: the dimension; its messages' algorithm counts, otherwise that of table 1.
        stage: reduce-scatter, all-gather, or all-reduce, which is one after the other.
        backwards: whether a ring's messages go to the previous peer.

    Raises:
        OfframpError: the stage has no messages between NPUs.
    """
    if dimension.kind is DimensionTopology.IN_NETWORK or stage is Collective.ALL_TO_ALL:
        raise OfframpError(f"{stage} on a {dimension.kind} dimension: expected sums and all-gathers between NPUs")
    if stage is Collective.ALL_REDUCE:
        yield from peer_transfers(dimension, Collective.REDUCE_SCATTER, backwards=backwards)
        yield from peer_transfers(dimension, Collective.ALL_GATHER, backwards=backwards)
        return
    algorithm, adds = algorithm_of(dimension, stage), stage is Collective.REDUCE_SCATTER
    if algorithm is CollectiveAlgorithm.RING:
        yield from _ring(dimension.size, adds, -1 if backwards else 1)
    elif algorithm is CollectiveAlgorithm.DIRECT:
        yield from _direct(dimension.size, adds)
    else:
        yield from _bruck(dimension.size, adds)


def algorithm_of(dimension: Dimension, stage: Collective) -> CollectiveAlgorithm:
    """The algorithm of a stage.

    Raises:
        OfframpError: the name of the dimension's algorithm is unknown.
    """
    if isinstance(dimension.messages, MessageParameters):
        name = dimension.messages.algorithm(stage)
        if name not in set(CollectiveAlgorithm):
            raise OfframpError(f"algorithm '{name}': expected one of {', '.join(CollectiveAlgorithm)}")
        return CollectiveAlgorithm(name)
    return {
        DimensionTopology.RING: CollectiveAlgorithm.RING,
        DimensionTopology.FULLY_CONNECTED: CollectiveAlgorithm.DIRECT,
    }.get(dimension.kind, CollectiveAlgorithm.HALVING_DOUBLING)


def _ring(peers: int, adds: bool, way: int) -> Iterator[PeerTransfer]:
    for step in range(adds, peers - 1 + adds):  # a sum sets out from the peer after its owner, and ends there
        for peer in range(peers):
            yield PeerTransfer(peer, (peer + way) % peers, ((peer - way * step) % peers,), adds)


def _direct(peers: int, adds: bool) -> Iterator[PeerTransfer]:
    for distance in range(1, peers):
        for peer in range(peers):
            sink = (peer + distance) % peers
            yield PeerTransfer(peer, sink, (sink if adds else peer,), adds)


def _bruck(peers: int, adds: bool) -> Iterator[PeerTransfer]:
    for distance, count in reversed(rounds(peers)) if adds else rounds(peers):
        for peer in range(peers):
            sink = (peer + distance if adds else peer - distance) % peers
            first = sink if adds else peer
            yield PeerTransfer(peer, sink, tuple((first + k) % peers for k in range(count)), adds)
