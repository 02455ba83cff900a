# SPDX-License-Identifier: Apache-2.0
"""From this rank's rows to whole tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp.gnn.mode import active
from offramp.gnn.parts import HOMOGENEOUS
from offramp.gnn.row_layout import whole_rows
from offramp.gnn.tags import tag_of
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    import torch

    from offramp.gnn.parts import Partition, VertexSet


def gather(x: torch.Tensor, graph: Partition | None = None, vertices: str = HOMOGENEOUS) -> torch.Tensor:
    """``(n, …)`` rows of the own vertices to the ``(N, …)`` rows of the whole graph, on every rank.

    Gradients of all ranks' copies are summed at the owners. Every rank calls it together.

    Args:
        x: the rows; inside a distributed module any tensor of vertices or edges, and one that all ranks have whole.
        graph: the graph, outside of a distributed module.
        vertices: the type.

    Raises:
        OfframpError: no graph is given and no distributed module runs, or there is not one row for each own vertex.
    """
    mode = active()
    if mode is not None and (tag_of(x) is not None or graph is None):
        return mode.whole_of(x, "gather").clone()
    of = _vertices(graph, vertices)
    if len(x) != of.owned:
        raise OfframpError(f"gather: {len(x)} rows, expected those of the {of.owned} own vertices")
    return whole_rows(x, of.layout)


def _vertices(graph: Partition | None, name: str) -> VertexSet:
    mode = active()
    if graph is None and mode is not None:
        graph = mode.part
    if graph is None:
        raise OfframpError("expected a graph outside of a distributed module")
    return graph.vertices[name]
