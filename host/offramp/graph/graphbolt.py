# SPDX-License-Identifier: Apache-2.0
"""GraphBolt's data sets on disk (``metadata.yaml``, DGL 2), as they are before DGL preprocesses them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offramp.graph.dgl import by_pygs_names
from offramp.graph.source import GraphSource, in_memory
from offramp.graph.torch_file import load_torch_file
from offramp_base.documents import parse_yaml, read_text
from offramp_base.errors import OfframpError

METADATA: Final = "metadata.yaml"
_SPLITS: Final = {"train_set": "train", "validation_set": "val", "test_set": "test"}
_VERTICES: Final = ("seed_nodes", "seeds")
"""Names of a split's vertices, of DGL 2.1 and later."""
_MOST_VERTICES: Final = 1 << 32


def open_graphbolt(path: Path) -> GraphSource:
    """The graph of a data set's folder: features map from files, tasks become labels and masks.

    Labels of the first task of vertices are ``y``, with -1 where a vertex has none.

    Raises:
        OfframpError: several types of vertices or edges, or files that do not fit together.
    """
    try:
        facts = parse_yaml(read_text(path / METADATA))
    except OfframpError as error:
        raise OfframpError(f"{path / METADATA}: {error}") from None
    graph = facts.get("graph") if isinstance(facts, dict) else None
    nodes, edges = (_entries(path, graph, name) for name in ("nodes", "edges"))
    count = nodes[0].get("num")
    if len(nodes) != 1 or len(edges) != 1 or nodes[0].get("type") or edges[0].get("type"):
        raise OfframpError(f"{path / METADATA}: expected one type of vertices and of edges")
    if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count < _MOST_VERTICES:
        raise OfframpError(f"{path / METADATA}: graph.nodes: num: expected a number below 2**32, got {count!r}")
    sources, targets = _ends(path, edges[0])
    of_vertices: dict[str, Any] = {}
    of_edges: dict[str, Any] = {}
    for each in [*_entries(path, graph, "feature_data", least=0), *_entries(path, facts, "feature_data", least=0)]:
        fields = of_edges if each.get("domain") == "edge" else of_vertices
        fields[str(each.get("name"))] = _array(path, each)
    of_vertices |= _task(path, facts, count)
    return in_memory(path.name, count, sources, targets, *by_pygs_names(of_vertices, of_edges))


def _task(path: Path, facts: dict[str, Any], count: int) -> dict[str, Any]:
    """Labels and masks of the first task that has vertices."""
    for task in _entries(path, facts, "tasks", least=0):
        fields: dict[str, Any] = {}
        for key, name in _SPLITS.items():
            for part in _entries(path, task, key, least=0):
                data = {str(each.get("name")): each for each in _entries(path, part, "data", least=0)}
                chosen = next((data[one] for one in _VERTICES if one in data), None)
                if chosen is None:
                    continue
                ids = _numbers(path, chosen, "iu")
                if ids.ndim != 1 or (len(ids) and not 0 <= ids.min() <= ids.max() < count):
                    raise OfframpError(f"{path}: {key}: expected vertices from 0 to {count - 1}")
                mask = fields.setdefault(f"{name}_mask", np.zeros(count, np.bool_))
                mask[ids] = True
                if "labels" in data:
                    labels = _numbers(path, data["labels"], "iubf")
                    if labels.shape != ids.shape:
                        raise OfframpError(f"{path}: {key}: expected {len(ids)} labels, got shape {labels.shape}")
                    fields.setdefault("label", np.full(count, -1, np.int64))[ids] = labels
        if fields:
            return fields
    return {}


def _ends(path: Path, entry: dict[str, Any]) -> tuple[Any, Any]:
    """Sources and targets: a NumPy file of shape (2, edges), or CSV with a line per edge."""
    if entry.get("format") == "csv":
        try:
            table = np.loadtxt(_beside(path, entry), dtype=np.int64, delimiter=",", ndmin=2)
        except (OSError, ValueError) as error:
            raise OfframpError(f"{_beside(path, entry)}: expected two numbers per line: {error}") from None
        if table.shape[1] != 2:
            raise OfframpError(f"{_beside(path, entry)}: expected two numbers per line")
        return table[:, 0], table[:, 1]
    ends = _array(path, entry)
    if ends.ndim != 2 or ends.shape[0] != 2 or ends.dtype.kind not in "iu":
        raise OfframpError(f"{_beside(path, entry)}: expected integers of shape (2, edges), got shape {ends.shape}")
    return ends[0], ends[1]


def _numbers(path: Path, entry: dict[str, Any], kinds: str) -> npt.NDArray[np.int64]:
    """An array of one of NumPy's kinds of numbers, as integers; -1 where there is none."""
    array = np.asarray(_array(path, entry))
    if array.dtype.kind not in kinds:
        raise OfframpError(f"{_beside(path, entry)}: expected whole numbers, got {array.dtype}")
    return (np.nan_to_num(array, nan=-1) if array.dtype.kind == "f" else array).astype(np.int64)


def _array(path: Path, entry: dict[str, Any]) -> Any:
    """A mapped NumPy file, or a tensor by ``torch.save``."""
    file = _beside(path, entry)
    if entry.get("format") == "torch":
        tensor = load_torch_file(file, "a tensor")
        if not hasattr(tensor, "numpy"):
            raise OfframpError(f"{file}: expected a tensor")
        return tensor.numpy()
    if entry.get("format") != "numpy":
        raise OfframpError(f"{path / METADATA}: format {entry.get('format')!r}: expected numpy or torch, csv for edges")
    try:
        return np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise OfframpError(f"{file}: expected an array: {error}") from None


def _beside(path: Path, entry: dict[str, Any]) -> Path:
    file = entry.get("path")
    if not isinstance(file, str) or Path(file).is_absolute() or ".." in Path(file).parts:
        raise OfframpError(f"{path / METADATA}: path: expected a file in the folder, got {file!r}")
    return path / file


def _entries(path: Path, facts: Any, name: str, least: int = 1) -> list[dict[str, Any]]:
    """The mappings in a list of the metadata."""
    entries = facts.get(name) if isinstance(facts, dict) else None
    entries = [] if entries is None else entries
    if not isinstance(entries, list) or len(entries) < least or not all(isinstance(each, dict) for each in entries):
        raise OfframpError(f"{path / METADATA}: {name}: expected a list of at least {least} mappings")
    return entries
