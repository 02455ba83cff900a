# SPDX-License-Identifier: Apache-2.0
"""The owners of a graph's vertices, by a stream of its edges or by a method that needs them in memory."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from offramp.graph.csr import symmetric_csr
from offramp.graph.partition import partition
from offramp.graph.source import GraphSource
from offramp.graph.streaming import stream_partition
from offramp_base.memory import check_memory

STREAM: Final = "stream"
_EDGE_BYTES: Final = 80


def cut(source: GraphSource, parts: int, method: str, refinements: int, seed: int) -> npt.NDArray[np.int32]:
    """``(n,)`` part of each vertex.

    Raises:
        OfframpError: an unknown method, too many parts, or a graph that memory does not hold.
    """
    if method == STREAM:
        return stream_partition(source.chunks, source.vertices, source.edges, parts, refinements=refinements)
    check_memory(source.edges * _EDGE_BYTES, source.name)
    chunks = [np.stack(each) for each in source.chunks()]
    u, v = np.concatenate(chunks, axis=1) if chunks else np.zeros((2, 0), np.int64)
    indptr, indices = symmetric_csr(source.vertices, u, v)
    ones = np.ones(len(indices), np.bool_)
    graph = csr_array((ones, indices, indptr), shape=(source.vertices, source.vertices))
    return partition(graph, parts, method, seed)
