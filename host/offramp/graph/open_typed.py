# SPDX-License-Identifier: Apache-2.0
"""Graphs of several types from files: PyG's ``HeteroData`` and folders of arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from offramp.graph.typed import EdgeType, TypedSource, typed_in_memory
from offramp_base.errors import OfframpError

BETWEEN: Final = "__"
"""Separator in the name of a folder of edges, between the types of its ends and its own."""


def open_hetero_data(path: Path, data: Any) -> TypedSource:
    """PyG's ``HeteroData``, or a dictionary of its types and their tensors.

    Raises:
        OfframpError: vertices whose number is not told, or what does not fit together.
    """
    import torch

    named = data if isinstance(data, dict) else data.to_dict()
    counts: dict[str, int] = {}
    vertices: dict[str, dict[str, Any]] = {}
    edges: dict[EdgeType, dict[str, Any]] = {}
    for key, fields in named.items():
        arrays = {k: v.numpy() for k, v in fields.items() if isinstance(v, torch.Tensor) and v.dim()}
        if isinstance(key, tuple):
            if "edge_index" not in arrays:
                raise OfframpError(f"{path}: {' '.join(key)}: expected edge_index")
            count = arrays["edge_index"].shape[-1]
            edges[key] = {k: v for k, v in arrays.items() if k == "edge_index" or len(v) == count}
        elif key != "_global_store":
            counts[key] = _count(f"{path}: {key}", fields.get("num_nodes"), arrays)
            vertices[key] = {k: v for k, v in arrays.items() if len(v) == counts[key]}
    return typed_in_memory(path.stem, counts, vertices, edges)


def is_typed_folder(path: Path) -> bool:
    """Whether a folder has a folder for each type."""
    return any(each.is_dir() and BETWEEN in each.name and (each / "edge_index.npy").exists() for each in path.iterdir())


def open_typed_folder(path: Path) -> TypedSource:
    """Folders ``SOURCE__NAME__TARGET`` of edges and ``TYPE`` of vertices, with the arrays that PyG has; mapped.

    Raises:
        OfframpError: a folder of another name, or arrays that do not fit together.
    """
    counts: dict[str, int] = {}
    vertices: dict[str, dict[str, Any]] = {}
    edges: dict[EdgeType, dict[str, Any]] = {}
    for folder in sorted(each for each in path.iterdir() if each.is_dir()):
        arrays = {each.stem: _mapped(each) for each in sorted(folder.glob("*.npy"))}
        if "edge_index" in arrays:
            source, _, rest = folder.name.partition(BETWEEN)
            name, _, target = rest.rpartition(BETWEEN)
            if not (source and name and target):
                raise OfframpError(f"{folder}: expected a name such as author{BETWEEN}writes{BETWEEN}paper")
            edges[source, name, target] = arrays
        elif arrays:
            counts[folder.name] = _count(str(folder), arrays.pop("num_nodes", None), arrays)
            vertices[folder.name] = arrays
    return typed_in_memory(path.name, counts, vertices, edges)


def _count(where: str, declared: Any, arrays: dict[str, Any]) -> int:
    """Vertices: as told, or the rows of features, or of anything.

    Raises:
        OfframpError: nothing says it.
    """
    if declared is not None:
        if np.ndim(declared):
            raise OfframpError(f"{where}: num_nodes: expected a number, got shape {np.shape(declared)}")
        return int(declared)
    rows = arrays.get("x", next(iter(arrays.values()), None))
    if rows is None or not rows.ndim:
        raise OfframpError(f"{where}: expected x or num_nodes, for the number of vertices")
    return len(rows)


def _mapped(path: Path) -> Any:
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise OfframpError(f"{path}: expected an array: {error}") from None
