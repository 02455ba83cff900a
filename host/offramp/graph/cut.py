# SPDX-License-Identifier: Apache-2.0
"""The owners of a graph's vertices, by a stream of its edges or by a method that needs them in memory."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.graph.partition import partition_ends
from offramp.graph.source import GraphSource
from offramp.graph.streaming import stream_partition
from offramp.graph.typed import TypedSource
from offramp_base.memory import check_memory
from offramp_base.settings.error import SettingsError

STREAM: Final = "stream"
GIVEN: Final = "given"
"""Method that keeps an existing cut, by DistDGL or PyG."""

_VERTEX_BYTES: Final = 20
_EDGE_BYTES: Final = 80


def cut(
    graph: GraphSource | TypedSource, parts: int, method: str, refinements: int, seed: int
) -> npt.NDArray[np.int32]:
    """``(n,)`` part of each vertex; vertices of several types are cut together, one type after another.

    Raises:
        OfframpError: an unknown method, too many parts, or a graph that memory does not hold.
    """
    source = graph.flat() if isinstance(graph, TypedSource) else graph
    if method == GIVEN:
        if source.owner is None:
            raise SettingsError("method", f"{source.name} is not cut", method)
        if (count := int(source.owner.max(initial=-1)) + 1) > parts:
            raise SettingsError("parts", f"{source.name} is cut into {count}", parts)
        return source.owner
    check_memory(source.vertices * (_VERTEX_BYTES + 4 * parts), source.name)  # a file may say any number
    if method == STREAM:
        return stream_partition(source.chunks, source.vertices, source.edges, parts, refinements=refinements)
    check_memory(source.edges * _EDGE_BYTES, source.name)
    chunks = [np.stack(each) for each in source.chunks()]
    u, v = np.concatenate(chunks, axis=1) if chunks else np.zeros((2, 0), np.int64)
    return partition_ends(source.vertices, u, v, parts, method, seed)
