# SPDX-License-Identifier: Apache-2.0
"""A whole graph as tensors of vertices and edges by type, read from PyG's objects or similar ones."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch

from offramp.gnn.dgl_fields import graph_fields, is_graph
from offramp.graph.typed import EdgeType
from offramp_base.errors import OfframpError

__all__ = ["EdgeType", "WholeGraph", "read_whole"]


@dataclass(frozen=True)
class WholeGraph:
    """Tensors of a graph.

    Attributes:
        counts: vertices of each type.
        vertices: tensors with one row for each vertex, by type and name.
        edges: ``edge_index`` and tensors with one row for each edge, by type and name.
        shared: everything else.
    """

    counts: dict[str, int]
    vertices: dict[str, dict[str, Any]]
    edges: dict[EdgeType, dict[str, Any]]
    shared: dict[str, Any]


def read_whole(data: Any) -> WholeGraph:
    """A graph of one type, or of several where ``data`` has ``node_types``; also a DGLGraph of one type.

    Edges to be predicted (``edge_label_index``) are edges of a type of their own, with ``edge_label`` for data.

    Raises:
        OfframpError: no ``edge_index``, an ``adj_t`` instead of it, or numbers beyond the vertices.
    """
    whole = _several_types(data) if hasattr(data, "node_types") else _one_type(data)
    for (source, relation, target), columns in whole.edges.items():
        index = columns["edge_index"]
        where = f"{source} {relation} {target}".strip()
        if not isinstance(index, torch.Tensor) or index.dim() != 2 or index.shape[0] != 2 or index.is_sparse:
            raise OfframpError(f"{where}: expected integers of shape (2, edges)")
        for row, name in enumerate((source, target)):
            if index.shape[1] and not 0 <= int(index[row].min()) <= int(index[row].max()) < whole.counts[name]:
                raise OfframpError(f"{where}: expected vertices from 0 to {whole.counts[name] - 1}")
    return whole


def _one_type(data: Any) -> WholeGraph:
    if is_graph(data):
        data = SimpleNamespace(**graph_fields(data))
    fields = dict(data.to_dict()) if hasattr(data, "to_dict") else dict(vars(data))
    if fields.get("adj_t") is not None:
        raise OfframpError("adj_t: expected edge_index; ToSparseTensor makes a graph that cannot be cut by rows")
    if "edge_index" not in fields:
        raise OfframpError("edge_index: expected one")
    count = _count(data, fields)
    vertices, edges, shared = _sorted_fields(fields, count, fields["edge_index"].shape[1])
    parts = {("", "edge_index", ""): {"edge_index": fields["edge_index"], **edges}}
    if "edge_label_index" in fields:
        labels = {k: shared.pop(k) for k in ("edge_label",) if k in shared}
        labels |= {k: edges.pop(k) for k in ("edge_label",) if k in edges}
        parts["", "edge_index", ""].pop("edge_label", None)
        parts["", "edge_label_index", ""] = {"edge_index": fields["edge_label_index"], **labels}
    return WholeGraph({"": count}, {"": vertices}, parts, shared)


def _sorted_fields(
    fields: dict[str, Any], vertices: int, edges: int
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Fields of vertices, of edges, and others: ``edge_*`` are of edges, other tensors of as many rows of vertices."""
    of_vertices, of_edges, shared = {}, {}, {}
    for name, value in fields.items():
        if name in ("edge_index", "edge_label_index", "num_nodes"):
            continue
        rows = value.shape[0] if isinstance(value, torch.Tensor) and value.dim() else -1
        if name.startswith("edge_") and name != "edge_label" and rows == edges:
            of_edges[name] = value
        elif rows == vertices and name != "edge_label":
            of_vertices[name] = value
        elif rows == edges and name != "edge_label":
            of_edges[name] = value
        else:
            shared[name] = value
    return of_vertices, of_edges, shared


def _count(data: Any, fields: dict[str, Any]) -> int:
    if getattr(data, "num_nodes", None) is not None:
        return int(data.num_nodes)
    if isinstance(fields.get("x"), torch.Tensor):
        return int(fields["x"].shape[0])
    raise OfframpError("num_nodes: expected it, or features x")


def _several_types(data: Any) -> WholeGraph:
    counts = {name: int(data[name].num_nodes) for name in data.node_types}
    vertices = {name: {k: v for k, v in data[name].items() if k != "num_nodes"} for name in data.node_types}
    edges: dict[EdgeType, dict[str, Any]] = {}
    for key in data.edge_types:
        columns = dict(data[key].items())
        if "edge_index" not in columns:
            raise OfframpError(f"{' '.join(key)}: expected edge_index")
        label = columns.pop("edge_label_index", None)
        about = columns.pop("edge_label", None)
        edges[key] = columns
        if label is not None:
            named = {} if about is None else {"edge_label": about}
            edges[key[0], f"{key[1]} edge_label_index", key[2]] = {"edge_index": label, **named}
    return WholeGraph(counts, vertices, edges, {})
