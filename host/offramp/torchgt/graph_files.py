# SPDX-License-Identifier: Apache-2.0
"""Sets of graphs from files: OGB's graph property data sets as downloaded, and sets of PyTorch Geometric.

Edge features are left out, since TorchGT's models use none.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from offramp.graph.csr import symmetric_csr
from offramp.graph.pyg import open_pyg
from offramp.graph.split import split_vertices
from offramp.torchgt.graph_sets import SPLIT, GraphSet, scaled
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp.graph.csr import IntArray

MOST_VALUES: Final = 128
"""Most distinct integers of a feature that count as categories, such as an atom's element, with a column each."""
_LABELS: Final = "raw/graph-label.csv.gz"
_SPLITS: Final = ("train", "valid", "test")


def read_set(spec: str, split: str | None, seed: int) -> GraphSet | None:
    """The set in the folder ``spec``, or in ``pyg:CLASS[/NAME]``; None if that is a single graph, or something else.

    Raises:
        OfframpError: a file is malformed, a graph has several targets, or sizes are inconsistent.
    """
    if spec.startswith("pyg:"):
        dataset = open_pyg(spec)
        return _of_pyg(spec, dataset, split, seed) if len(dataset) > 1 else None
    folder = Path(spec)
    return _of_ogb(folder, split, seed) if (folder / _LABELS).exists() else None


def _of_ogb(folder: Path, split: str | None, seed: int) -> GraphSet:
    vertices, edges = (_table(folder / f"raw/num-{of}-list.csv.gz", "int64").ravel() for of in ("node", "edge"))
    if len(vertices) != len(edges) or not len(vertices) or vertices.min() < 1 or edges.min() < 0:
        raise OfframpError(f"{folder}: raw/num-*-list.csv.gz: expected vertices and edges of the same graphs")
    ends = _table(folder / "raw/edge.csv.gz", "int64")
    if len(ends) != edges.sum() or ends.shape[1] != 2:
        raise OfframpError(f"{folder}: raw/edge.csv.gz: expected {edges.sum()} pairs, got {ends.shape}")
    first = np.repeat(np.cumsum(vertices) - vertices, edges)
    if len(ends) and not (ends.min() >= 0 and (ends.max(axis=1) < np.repeat(vertices, edges)).all()):
        raise OfframpError(f"{folder}: raw/edge.csv.gz: an end that is not a vertex of its graph")
    path = folder / "raw/node-feat.csv.gz"
    features = _table(path, "float64") if path.exists() else np.zeros((int(vertices.sum()), 1))
    masks = None
    if split is None and (folder / "split").is_dir():
        masks = np.zeros((3, len(vertices)), np.bool_)
        kinds = sorted(each for each in (folder / "split").iterdir() if (each / "train.csv.gz").exists())
        if not kinds:
            raise OfframpError(f"{folder}/split: expected a folder with {', '.join(f'{s}.csv.gz' for s in _SPLITS)}")
        for mask, name in zip(masks, _SPLITS, strict=True):
            chosen = _table(kinds[0] / f"{name}.csv.gz", "int64").ravel()
            if len(chosen) and not 0 <= chosen.min() <= chosen.max() < len(vertices):
                raise OfframpError(f"{kinds[0]}/{name}.csv.gz: expected graphs from 0 to {len(vertices) - 1}")
            mask[chosen] = True
    u, v = ends.T + first
    targets = _table(folder / _LABELS, "float64")
    rule = (split or SPLIT) if masks is None else masks
    return _assembled(folder.name, vertices, (u, v), features, targets, rule, seed)


def _table(path: Path, dtype: str) -> npt.NDArray[Any]:
    try:
        with gzip.open(path, "rt") as file:
            return np.loadtxt(file, dtype=dtype, delimiter=",", ndmin=2)
    except (OSError, EOFError, ValueError) as error:
        raise OfframpError(f"{path}: {' '.join(str(error).split())[:200]}") from None


def _of_pyg(spec: str, dataset: Any, split: str | None, seed: int) -> GraphSet:
    graphs = [dataset[place] for place in range(len(dataset))]
    vertices = np.array([int(graph.num_nodes) for graph in graphs])
    first = np.cumsum(vertices) - vertices
    pairs = [graph.edge_index.numpy() + start for graph, start in zip(graphs, first, strict=True)]
    u, v = np.concatenate(pairs, axis=1)
    rows = [np.zeros((n, 1)) if g.x is None else g.x.numpy() for g, n in zip(graphs, vertices, strict=True)]
    features = np.concatenate([r.reshape(len(r), -1).astype(np.float64) for r in rows])
    if any(graph.y is None or graph.y.numel() != graphs[0].y.numel() for graph in graphs):
        raise OfframpError(f"{spec}: expected a target for each graph")
    targets = np.stack([graph.y.numpy().reshape(-1).astype(np.float64) for graph in graphs])
    name = spec.removeprefix("pyg:").replace("/", "-")
    return _assembled(name, vertices, (u, v), features, targets, split or SPLIT, seed)


def _assembled(
    name: str,
    vertices: IntArray,
    ends: tuple[IntArray, IntArray],
    features: npt.NDArray[np.float64],
    targets: npt.NDArray[np.float64],
    split: str | npt.NDArray[np.bool_],
    seed: int,
) -> GraphSet:
    """Build a set; ``split`` is a rule or the masks. Integers are classes, others a regression; NaN is no target."""
    count, total = len(vertices), int(vertices.sum())
    if len(features) != total:
        raise OfframpError(f"{name}: expected features of {total} vertices, got {len(features)}")
    if targets.shape != (count, 1):
        raise OfframpError(f"{name}: expected one target for each of {count} graphs, got shape {targets.shape}")
    values = targets[:, 0]
    known = np.isfinite(values)
    whole = known.any() and (values[known] == np.floor(values[known])).all() and values[known].min() >= 0
    distinct = np.unique(values[known])
    classes = len(distinct) if whole and len(distinct) <= MOST_VALUES else 0
    labels = np.searchsorted(distinct, np.where(known, values, distinct[0])) if classes else np.zeros(count, np.int64)
    masks = np.stack(split_vertices(labels, max(1, classes), split, seed)) if isinstance(split, str) else split
    masks = masks & known
    numbers = labels.astype(np.float64) if classes else scaled(np.where(known, values, 0.0), masks[0])
    indptr, indices = symmetric_csr(total, *ends)
    graph_of = np.repeat(np.arange(count), vertices)
    return GraphSet(indptr, indices, _encoded(features), graph_of, numbers, masks, classes)


def _encoded(features: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """Columns of few integers become one column per value; others are scaled to mean 0 and deviation 1."""
    parts = []
    for column in features.T:
        values = np.unique(column)
        if len(values) <= MOST_VALUES and (values == np.floor(values)).all():
            parts.append(np.eye(len(values), dtype=np.float32)[np.searchsorted(values, column)])
        else:
            deviation = max(float(column.std()), 1e-9)
            parts.append(((column - column.mean()) / deviation).astype(np.float32)[:, np.newaxis])
    return np.concatenate(parts, axis=1)
