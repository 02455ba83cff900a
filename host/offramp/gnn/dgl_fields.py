# SPDX-License-Identifier: Apache-2.0
"""A DGLGraph's structure and fields as tensors."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.dlpack import from_dlpack

from offramp.graph.dgl import NAMES
from offramp_base.errors import OfframpError


def is_graph(data: Any) -> bool:
    """Whether ``data`` is a DGLGraph, or has the same interface."""
    return all(hasattr(data, name) for name in ("ndata", "edata", "ntypes", "edges"))


def graph_fields(graph: Any) -> dict[str, Any]:
    """A DGLGraph's tensors by PyG's names; arrays of another framework come by DLPack, without a copy.

    ``feat`` and ``label`` become ``x`` and ``y``, fields of edges get the prefix ``edge_``.

    Raises:
        OfframpError: several types of vertices or edges.
    """
    if len(graph.ntypes) != 1 or len(graph.etypes) != 1:
        raise OfframpError("DGLGraph: expected one type of vertices and of edges; graphs of several types go by files")
    sources, targets = (_tensor(end).long() for end in graph.edges())
    of_vertices: dict[str, Any] = dict(graph.ndata)
    fields = {NAMES.get(name, name): _tensor(value) for name, value in of_vertices.items()}
    fields |= {f"edge_{name}": _tensor(value) for name, value in dict(graph.edata).items()}
    return {"edge_index": torch.stack([sources, targets]), **fields, "num_nodes": int(graph.num_nodes())}


def _tensor(value: Any) -> torch.Tensor:
    return value if isinstance(value, torch.Tensor) else from_dlpack(value)
