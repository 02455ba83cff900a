# SPDX-License-Identifier: Apache-2.0
"""Partitions of PyG (``torch_geometric.distributed.Partitioner``) as one graph whose vertices have owners already."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from offramp.graph.source import GraphSource, in_memory, place_rows
from offramp.graph.torch_file import load_torch_file
from offramp_base.errors import OfframpError

META = "META.json"


def open_pyg_partition(folder: Path) -> GraphSource:
    """The graph behind a folder with ``META.json``; nothing in it is executed.

    Raises:
        OfframpError: several types of vertices, or files that do not fit together.
    """
    parts = _parts(folder / META)
    owner = _tensor(folder / "node_map.pt").astype(np.int32)
    edges = len(_tensor(folder / "edge_map.pt"))
    if len(owner) and not 0 <= owner.min() <= owner.max() < parts:
        raise OfframpError(f"{folder}/node_map.pt: expected parts from 0 to {parts - 1}")
    ends = np.full((2, edges), -1, np.int64)
    fields: dict[str, Any] = {}
    of_edges: dict[str, Any] = {}
    for part in range(parts):
        inside = folder / f"part_{part}"
        graph = _dictionary(inside / "graph.pt")
        numbers = _numbers(graph, "edge_id", edges, inside / "graph.pt")
        for row, name in enumerate(("row", "col")):
            end = _numbers(graph, name, len(owner), inside / "graph.pt")
            if end.shape != numbers.shape:
                raise OfframpError(f"{inside}/graph.pt: {name}: expected {len(numbers)} vertices, got {len(end)}")
            ends[row, numbers] = end
        for name, into, rows in (("node_feats", fields, len(owner)), ("edge_feats", of_edges, edges)):
            loaded = _dictionary(inside / f"{name}.pt")
            if loaded.get("feats"):
                at = _numbers(loaded, "global_id", rows, inside / f"{name}.pt")
                feats = {
                    key: _array(v, inside / f"{name}.pt", key) for key, v in loaded["feats"].items() if v is not None
                }
                place_rows(inside / f"{name}.pt", into, feats, at, rows)
    if (ends < 0).any():
        raise OfframpError(f"{folder}: {(ends < 0).any(0).sum()} edges are in no part")
    return replace(in_memory(folder.name, len(owner), ends[0], ends[1], fields, of_edges), owner=owner)


def _parts(path: Path) -> int:
    try:
        meta = json.loads(path.read_bytes())
        parts = meta["num_parts"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise OfframpError(f"{path}: expected a partition of PyG: {error}") from None
    if meta.get("is_hetero"):
        raise OfframpError(f"{path}: several types of vertices, expected one")
    if not isinstance(parts, int) or not 1 <= parts < 1 << 20:
        raise OfframpError(f"{path}: num_parts: expected a number, got {parts!r}")
    return parts


def _load(path: Path) -> Any:
    return load_torch_file(path, "tensors of PyG")


def _array(value: Any, path: Path, name: str) -> Any:
    import torch

    if not isinstance(value, torch.Tensor) or not value.dim():
        raise OfframpError(f"{path}: {name}: expected a tensor")
    return value.numpy()


def _tensor(path: Path) -> Any:
    return _array(_load(path), path, "the file")


def _dictionary(path: Path) -> dict[str, Any]:
    return _expected_dictionary(_load(path), path)


def _expected_dictionary(value: Any, path: Path) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise OfframpError(f"{path}: expected a dictionary of tensors")
    return value


def _numbers(arrays: dict[str, Any], name: str, limit: int, path: Path) -> Any:
    values = _array(arrays.get(name), path, name)
    if (
        values.ndim != 1
        or values.dtype.kind not in "iu"
        or (len(values) and not 0 <= values.min() <= values.max() < limit)
    ):
        raise OfframpError(f"{path}: {name}: expected numbers from 0 to {limit - 1}")
    return values
