# SPDX-License-Identifier: Apache-2.0
"""The traffic of collectives, rank by rank: rings, chains, stars and equal shares.

``comm_size`` is what a rank brings to the collective, as ASTRA-sim and Chakra's PyTorch converter have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from offramp.hermod import dag as kinds
from offramp.hermod.chakra import schema
from offramp.hermod.factors import CType

NAMES: Final = {
    schema.ALL_REDUCE: "all-reduce",
    schema.REDUCE: "reduce",
    schema.ALL_GATHER: "all-gather",
    schema.GATHER: "gather",
    schema.SCATTER: "scatter",
    schema.BROADCAST: "broadcast",
    schema.ALL_TO_ALL: "all-to-all",
    schema.REDUCE_SCATTER: "reduce-scatter",
    schema.REDUCE_SCATTER_BLOCK: "reduce-scatter",
    schema.BARRIER: "barrier",
}
_REDUCING: Final = {schema.ALL_REDUCE, schema.REDUCE, schema.REDUCE_SCATTER, schema.REDUCE_SCATTER_BLOCK}


def role_of(kind: int) -> tuple[str, CType]:
    """Role and type that a collective of a trace counts as, where the trace does not say."""
    if kind == schema.ALL_TO_ALL:
        return kinds.DISPATCH, CType.EP
    return (kinds.REDUCE_SCATTER if kind in _REDUCING else kinds.ALL_GATHER), CType.DP


def sends(
    rank: int, ranks: Sequence[int], size: int, kind: int, root: int, *, bidirectional: bool = False
) -> list[tuple[int, int]]:
    """Peers and bytes of what ``rank`` sends.

    Args:
        rank: one of ``ranks``.
        ranks: all of the collective, in the order of its ring.
        size: bytes that the rank brings.
        kind: a kind of collective (:mod:`offramp.hermod.chakra.schema`).
        root: root of a reduce, gather, scatter or broadcast; one of ``ranks``.
        bidirectional: whether a ring goes both ways round, half of the bytes each.
    """
    count, place = len(ranks), list(ranks).index(rank)
    before, after = ranks[place - 1], ranks[(place + 1) % count]

    def ring(sent: int) -> list[tuple[int, int]]:
        return [(after, sent - sent // 2), (before, sent // 2)] if bidirectional and count > 2 else [(after, sent)]

    if count == 1 or kind == schema.BARRIER:
        return []
    match kind:
        case schema.ALL_TO_ALL:
            return [(peer, size // count) for peer in ranks if peer != rank]
        case schema.ALL_GATHER:
            return ring(size * (count - 1))
        case schema.ALL_REDUCE:
            return ring(2 * size * (count - 1) // count)
        case schema.GATHER:
            return [] if rank == root else [(root, size)]
        case schema.SCATTER:
            return [(peer, size // count) for peer in ranks if peer != root] if rank == root else []
        case schema.BROADCAST:  # a chain from the root on; who is before it has nobody left
            return [] if after == root else [(after, size)]
        case schema.REDUCE:  # a chain that ends at the root
            return [] if rank == root else [(after, size)]
    return ring(size * (count - 1) // count)
