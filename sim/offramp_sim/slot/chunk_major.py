# SPDX-License-Identifier: Apache-2.0
"""Exchange one slice of all vertices after the other, so that wide features need no more blocks (specification 3.2)."""

from __future__ import annotations

from offramp.graph.boundary import Boundary
from offramp.switchgnn.plan import AGGREGATOR_BYTES, make_plan
from offramp_base.errors import OfframpError
from offramp_sim.slot.in_network import planned
from offramp_sim.slot.ports import StarFabric
from offramp_sim.slot.result import ExchangeResult


def slice_widths(boundary: Boundary, chunks: int, memory_bytes: int, widest: int | None = None) -> list[int]:
    """Packets of a vertex in each slice: as few slices as let all vertices fit at once, as equal as possible.

    If not even one packet of each vertex fits, slices are one packet wide and are cut into blocks. ``widest``
    limits the width.

    Raises:
        OfframpError: ``widest`` below 1.
    """
    if widest is not None and widest < 1:
        raise OfframpError(f"widest {widest}: expected at least 1 packet of a vertex in a slice")
    fits = memory_bytes // AGGREGATOR_BYTES // max(boundary.B, 1)
    width = max(1, min(fits, chunks, chunks if widest is None else widest))
    slices = -(-chunks // width)
    return [chunks // slices + (i < chunks % slices) for i in range(slices)]


def chunk_major(
    boundary: Boundary, chunks: int, memory_bytes: int, fabric: StarFabric, seed: int = 0, widest: int | None = None
) -> ExchangeResult:
    """Exchange slice after slice, a barrier after each block; ``widest`` 1 is the specification's, None the widest."""
    widths = slice_widths(boundary, chunks, memory_bytes, widest)
    plans = {width: make_plan(boundary, width, memory_bytes, "gamr", seed) for width in set(widths)}
    return planned([plans[width] for width in widths], fabric, "chunk-major" if widest == 1 else "wide-slices")
