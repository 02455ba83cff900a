# SPDX-License-Identifier: Apache-2.0
"""A worker's part of SwitchGNN's plans in the agent's format (``smartnic/lib/switchgnn/plan.hpp``).

32-bit little-endian numbers: magic, number of plans; for each plan chunks, rows, blocks, most segments of a packet; for
each block its id, then lists, each preceded by its length; the readers' three are empty where they repeat the sources'.
"""

from __future__ import annotations

import mmap
import tempfile
from typing import TYPE_CHECKING, Final

import numpy as np

from offramp.switchgnn.wire import LANES
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from offramp.graph.csr import IntArray
    from offramp.switchgnn.local_block import LocalBlock, PlanShare

MAGIC: Final = 0x33504753  # "SGP3"
_NONE: Final = np.zeros(0, np.int64)


def write(shares: Sequence[PlanShare]) -> bytes:
    """Encode what a worker has of each plan."""
    return b"".join(_parts(shares))


def mapped(shares: Sequence[PlanShare]) -> mmap.mmap:
    """What :func:`write` returns, in a file without a name: that of a large graph is as large as all of its edges.

    Raises:
        OfframpError: there is no room for it where temporary files are.
    """
    try:
        with tempfile.TemporaryFile() as file:
            file.writelines(_parts(shares))
            file.flush()
            return mmap.mmap(file.fileno(), 0)
    except OSError as error:
        raise OfframpError(f"a worker's plans, among temporary files: {error.strerror}") from None


def scratch_bytes(shares: Sequence[PlanShare]) -> int:
    """Bytes of memory for the sums of all blocks of the largest plan."""
    return max((8 * each.plan.width * each.vertices for each in shares), default=0)


def _parts(shares: Sequence[PlanShare]) -> Iterator[bytes]:
    yield _numbers([MAGIC, len(shares)])
    for each in shares:
        plan = each.plan
        yield _numbers([plan.chunks, len(each.boundary), len(plan.blocks), plan.lanes // LANES])
        for block in each.each_block():
            yield _numbers([block.block_id])
            for numbers in _lists(block):
                yield _numbers([len(numbers)])
                yield _numbers(numbers)


def _numbers(values: npt.ArrayLike) -> bytes:
    return np.asarray(values).astype("<u4").tobytes()


def _lists(block: LocalBlock) -> tuple[IntArray, ...]:
    readers = block.readers
    same = readers.remotes is block.sources
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
        *((_NONE, _NONE, _NONE) if same else (readers.remotes, readers.indptr, readers.locals)),
    )
