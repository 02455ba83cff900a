# SPDX-License-Identifier: Apache-2.0
"""A worker's part of SwitchGNN's plans in the agent's format (``smartnic/lib/switchgnn/plan.hpp``).

32-bit little-endian numbers: magic, number of plans; for each plan chunks, rows, blocks, most segments of a packet; for
each block its id, then lists, each preceded by its length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from offramp.switchgnn.wire import LANES

if TYPE_CHECKING:
    from offramp.graph.csr import IntArray
    from offramp.switchgnn.local_block import LocalBlock, Shares

MAGIC: Final = 0x32504753  # "SGP2"


def write(shares: Shares) -> bytes:
    """Encode the result of :func:`offramp.switchgnn.local_block.share`."""
    parts: list[IntArray] = [np.array([MAGIC, len(shares)])]
    for plan, boundary, blocks in shares:
        parts.append(np.array([plan.chunks, len(boundary), len(blocks), plan.lanes // LANES]))
        for block in blocks:
            parts.append(np.array([block.block_id]))
            parts += [part for each in _lists(block) for part in (np.array([len(each)]), each)]
    return np.concatenate(parts).astype("<u4").tobytes()


def scratch_bytes(shares: Shares) -> int:
    """Bytes of memory for the sums of all blocks of the largest plan."""
    return max((8 * plan.width * sum(len(b.vertices) for b in blocks) for plan, _, blocks in shares), default=0)


def _lists(block: LocalBlock) -> tuple[IntArray, ...]:
    return (
        block.vertices,
        block.rows,
        block.need,
        block.fan_out,
        block.order,
        block.sources,
        block.indptr,
        block.targets,
        block.ways.of,
        block.ways.vertex,
        block.readers.remotes,
        block.readers.indptr,
        block.readers.locals,
    )
