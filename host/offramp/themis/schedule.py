# SPDX-License-Identifier: Apache-2.0
"""Chunks, the order in which each visits the dimensions, and the resulting stages (paper section 2.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from typing import NamedTuple

from offramp.themis.network import Collective, DimensionTopology, Network
from offramp_base.errors import OfframpError

Order = tuple[int, ...]
"""Dimensions, counted from 0, in the order in which a chunk visits them."""


class ChunkOperation(NamedTuple):
    """One operation of a chunk on one dimension.

    Attributes:
        dim: index of the dimension.
        stage: the operation.
        size: bytes on each NPU before it.
        sent: bytes that an NPU sends.
        busy_ps: time for which it occupies the dimension at nominal speed, n·B.
        delay_ps: time from the end of the transfer until its last byte has arrived, A.
    """

    dim: int
    stage: Collective
    size: float
    sent: float
    busy_ps: int
    delay_ps: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a collective with its orders.

    Attributes:
        size: bytes: for an all-gather the gathered output, otherwise what each NPU holds before.
        reduce: order of the reduce-scatter stages, or of an all-to-all's.
        gather: order of the all-gather stages.
    """

    size: float
    reduce: Order = ()
    gather: Order = ()


@dataclass(frozen=True, slots=True)
class ChunkSchedule:
    """Chunks of a collective with their orders, the same on each NPU."""

    network: Network
    collective: Collective
    chunks: tuple[Chunk, ...]

    def stages(self) -> list[list[ChunkOperation]]:
        """The stages of every chunk in order.

        Raises:
            OfframpError: a chunk's order is not a permutation of the dimensions with more than one NPU.
        """
        return [stages(self.network, self.collective, chunk) for chunk in self.chunks]


def active(network: Network) -> Order:
    """The dimensions with more than one NPU."""
    return tuple(k for k, d in enumerate(network.dimensions) if d.size > 1)


def split(size: int, chunks: int, unit: int = 1) -> list[int]:
    """Splitter (section 4.1): split ``size`` bytes into ``chunks`` parts of whole units that differ by at most one.

    There are fewer parts if there are fewer units; a remainder below a unit goes with the last part.

    Raises:
        OfframpError: ``size`` is negative, or ``chunks`` or ``unit`` below 1.
    """
    if size < 0:
        raise OfframpError(f"collective of {size} bytes: expected at least 0")
    if chunks < 1 or unit < 1:
        raise OfframpError(f"{chunks} chunks of units of {unit} bytes: expected at least 1")
    units = size // unit
    if units == 0:
        return [size] if size else []
    parts = min(chunks, units)
    each, more = divmod(units, parts)
    sizes = [(each + (i < more)) * unit for i in range(parts)]
    sizes[-1] += size - units * unit
    return sizes


def baseline_order(network: Network, stage: Collective) -> Order:
    """Multi-rail hierarchical order: dim1 to dimD, for an all-gather dimD to dim1 (section 2.3)."""
    order = active(network)
    return order[::-1] if stage is Collective.ALL_GATHER else order


def stages(network: Network, collective: Collective, chunk: Chunk) -> list[ChunkOperation]:
    """Stages of a chunk in order.

    If an all-reduce turns on an in-network dimension, its last reduce-scatter and first all-gather are one pass, and
    likewise if the baseline's order is run with messages.

    Raises:
        OfframpError: an order is not a permutation of the dimensions with more than one NPU.
    """
    dims = active(network)
    parts: list[tuple[Collective, Order]] = []
    if collective is Collective.ALL_REDUCE:
        parts = [(Collective.REDUCE_SCATTER, chunk.reduce), (Collective.ALL_GATHER, chunk.gather)]
    elif collective is Collective.ALL_GATHER:
        parts = [(collective, chunk.gather)]
    else:
        parts = [(collective, chunk.reduce)]
    for stage, order in parts:
        if tuple(sorted(order)) != dims:
            raise OfframpError(f"{stage} order {order}: expected each of the dimensions {dims} once")
    steps = [(stage, k) for stage, order in parts for k in order]
    turn = len(dims)
    if (
        collective is Collective.ALL_REDUCE
        and turn
        and chunk.reduce[-1] == chunk.gather[0]
        and _turns_at_once(network, chunk.reduce)
    ):
        steps[turn - 1 : turn + 1] = [(Collective.ALL_REDUCE, chunk.gather[0])]
    size = float(chunk.size)
    if collective is Collective.ALL_GATHER:
        size = shard(network, chunk.size)
    out = []
    for stage, k in steps:
        d = network.dimensions[k]
        out.append(ChunkOperation(k, stage, size, d.sent(stage, size), d.transfer_ps(stage, size), d.fixed_ps(stage)))
        size = d.after(stage, size)
    return out


def _turns_at_once(network: Network, order: Order) -> bool:
    last = network.dimensions[order[-1]]
    return last.kind is DimensionTopology.IN_NETWORK or (last.messages is not None and order == active(network))


def chunk_for(collective: Collective, size: float, order: Order) -> Chunk:
    """A chunk that visits the dimensions in ``order``, and gathers in the reverse order."""
    if collective is Collective.ALL_REDUCE:
        return Chunk(size, order, order[::-1])
    return Chunk(size, gather=order) if collective is Collective.ALL_GATHER else Chunk(size, order)


def all_orders(network: Network) -> list[Order]:
    """Every order of the dimensions, baseline first: D! of them (section 4.1).

    Raises:
        OfframpError: there are more than seven dimensions, with too many orders to enumerate.
    """
    dims = active(network)
    if len(dims) > 7:
        raise OfframpError(f"{network.name}: {len(dims)} dimensions have too many orders; expected 7 at most")
    return list(permutations(dims))


def shard(network: Network, size: float) -> float:
    """Bytes of ``size`` that one NPU owns after a reduce-scatter, or holds before an all-gather."""
    return float(Fraction(size) / network.npus)


def sent_bytes(network: Network, chunks: Sequence[Sequence[ChunkOperation]]) -> list[float]:
    """Bytes that an NPU sends on each dimension, N."""
    totals = [0.0] * len(network.dimensions)
    for chunk in chunks:
        for stage in chunk:
            totals[stage.dim] += stage.sent
    return totals
