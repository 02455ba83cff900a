# SPDX-License-Identifier: Apache-2.0
"""DistDGL's partitions (``dgl.distributed.partition_graph``) as one graph whose vertices have owners already."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from offramp.graph.dgl import DglGraph, Tensors, by_pygs_names, read_graph, read_tensors
from offramp.graph.source import GraphSource, in_memory, place_rows
from offramp_base.errors import OfframpError
from offramp_base.memory import check_memory


def open_distdgl(path: Path) -> GraphSource:
    """The graph behind a partition's JSON file; vertices and edges have the numbers that DistDGL gave them.

    Raises:
        OfframpError: several types of vertices or edges, or files that do not fit together.
    """
    facts = _facts(path)
    vertices, edges, parts = (_count(path, facts, f"num_{name}") for name in ("nodes", "edges", "parts"))
    check_memory(20 * (vertices + edges), path.stem)
    owner = np.full(vertices, -1, np.int32)
    ends = np.full((2, edges), -1, np.int64)
    of_vertices: Tensors = {}
    of_edges: Tensors = {}
    for part in range(parts):
        files = facts.get(f"part-{part}")
        if not isinstance(files, dict):
            raise OfframpError(f"{path}: expected part-{part}, with the names of its files")
        graph = read_graph(_beside(path, files, "part_graph"))
        ids, inner = _ids(path, graph.vertex_data, "inner_node", part, vertices)
        numbers, own = _ids(path, graph.edge_data, "inner_edge", part, edges)
        owner[ids[inner]] = part
        ends[:, numbers[own]] = _ends(graph, ids)[:, own]
        for name, fields, at in (("node_feats", of_vertices, ids[inner]), ("edge_feats", of_edges, numbers[own])):
            if files.get(name):
                file = _beside(path, files, name)
                rows = vertices if name == "node_feats" else edges
                arrays = {key.rpartition("/")[2]: values for key, values in read_tensors(file).items()}  # TYPE/NAME
                place_rows(file, fields, arrays, at, rows)
    if (owner < 0).any() or (ends < 0).any():
        raise OfframpError(f"{path}: {(owner < 0).sum()} vertices and {(ends < 0).any(0).sum()} edges are in no part")
    source = in_memory(path.stem, vertices, ends[0], ends[1], *by_pygs_names(of_vertices, of_edges))
    return replace(source, owner=owner)


def _facts(path: Path) -> dict[str, Any]:
    try:
        facts = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise OfframpError(f"{path}: expected JSON of DistDGL: {error}") from None
    if not isinstance(facts, dict) or "part-0" not in facts:
        raise OfframpError(f"{path}: expected JSON of DistDGL, with part-0 in it")
    for kind, what in (("ntypes", "vertices"), ("etypes", "edges")):
        types = facts.get(kind) or [""]  # older versions name none
        if not isinstance(types, dict | list) or len(types) != 1:
            raise OfframpError(f"{path}: {kind}: expected one type of {what}")
    return facts


def _count(path: Path, facts: dict[str, Any], name: str) -> int:
    value = facts.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 40:
        raise OfframpError(f"{path}: {name}: expected a number, got {value!r}")
    return value


def _beside(path: Path, files: dict[str, Any], name: str) -> Path:
    file = files.get(name)
    if not isinstance(file, str) or Path(file).is_absolute() or ".." in Path(file).parts:
        raise OfframpError(f"{path}: {name}: expected a file beside it, got {file!r}")
    return path.parent / file


def _ids(path: Path, data: Tensors, mask: str, part: int, limit: int) -> tuple[Any, Any]:
    """Numbers in the whole graph, and which are of this part."""
    if "_ID" not in data or mask not in data:
        raise OfframpError(f"{path}: part {part}: expected _ID and {mask}")
    ids, inner = data["_ID"].astype(np.int64), data[mask].astype(np.bool_)
    if ids.ndim != 1 or inner.shape != ids.shape or (len(ids) and not 0 <= ids.min() <= ids.max() < limit):
        raise OfframpError(f"{path}: part {part}: expected numbers from 0 to {limit - 1} in _ID")
    return ids, inner


def _ends(graph: DglGraph, ids: Any) -> Any:
    return np.stack([ids[graph.sources.astype(np.int64)], ids[graph.targets.astype(np.int64)]])
