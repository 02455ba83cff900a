# SPDX-License-Identifier: Apache-2.0
"""Graphs from files, as :class:`~offramp.graph.source.GraphSource`: the kind of file follows from its name.

A folder of ``.npy`` files, Parquet files, PyG's ``Data`` in a file, DGL's files, partitions of either, GraphBolt's
data sets, OGB's raw files, or what :func:`offramp.graph.load.load` reads, whose edges have both directions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from offramp.graph.csr import IntArray, rows_of
from offramp.graph.dgl import open_dgl
from offramp.graph.distdgl import open_distdgl
from offramp.graph.graphbolt import METADATA, open_graphbolt
from offramp.graph.load import load
from offramp.graph.musae import is_musae
from offramp.graph.ogb import is_ogb, is_typed_ogb, open_ogb, open_typed_ogb
from offramp.graph.open_typed import is_typed_folder, open_hetero_data, open_typed_folder
from offramp.graph.pyg_partition import META, open_pyg_partition
from offramp.graph.source import CHUNK, GraphSource, in_memory
from offramp.graph.torch_file import load_torch_file
from offramp.graph.typed import TypedSource
from offramp_base.errors import OfframpError, first_line
from offramp_base.extras import needs


def open_source(spec: str, seed: int = 0) -> GraphSource | TypedSource:
    """The graph that ``spec`` names: a folder, a file by its suffix, or any other spec of a graph.

    What holds several types of vertices or edges is a :class:`~offramp.graph.typed.TypedSource`.

    Raises:
        OfframpError: nothing of that name, or a malformed file.
    """
    path = Path(spec)
    if path.suffix == ".parquet":
        return _parquet(path)
    if path.suffix == ".pt":
        return _pyg_file(path)
    if path.suffix in (".bin", ".dgl"):
        return open_dgl(path)
    if path.suffix == ".json":
        return open_distdgl(path)
    if (path / METADATA).exists():
        return open_graphbolt(path)
    if (path / META).exists():
        return open_pyg_partition(path)
    if path.is_dir() and is_typed_ogb(path):
        return open_typed_ogb(path)
    if path.is_dir() and is_typed_folder(path):
        return open_typed_folder(path)
    if path.is_dir() and not is_musae(path):
        return open_ogb(path) if is_ogb(path) else _arrays(path)
    graph = load(spec, seed)
    fields = {"x": graph.features, "y": graph.labels}
    fields |= {f"{name}_mask": getattr(graph, name) for name in ("train", "val", "test")}
    return in_memory(graph.name, graph.vertices, graph.indices, rows_of(graph.indptr), fields, {}, graph.metadata)


def _mapped(path: Path) -> Any:
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise OfframpError(f"{path}: expected an array: {error}") from None


def _arrays(path: Path) -> GraphSource:
    """``edge_index.npy`` of shape (2, edges), ``edge_*.npy`` and ``*.npy`` with one row for each vertex."""
    if not (path / "edge_index.npy").exists():
        raise OfframpError(f"{path}: expected edge_index.npy, or raw/edge.csv.gz or raw/data.npz of OGB")
    index = _mapped(path / "edge_index.npy")
    if index.ndim != 2 or index.shape[0] != 2 or index.dtype.kind not in "iu":
        raise OfframpError(f"{path}/edge_index.npy: expected integers of shape (2, edges), got shape {index.shape}")
    others = {each.stem: _mapped(each) for each in sorted(path.glob("*.npy")) if each.stem != "edge_index"}
    of_edges = {name: values for name, values in others.items() if name.startswith("edge_")}
    of_vertices = {name: values for name, values in others.items() if name not in of_edges}
    vertices = next((len(values) for values in of_vertices.values()), None)
    if vertices is None:
        vertices = int(index.max()) + 1 if index.shape[1] else 0
    return in_memory(path.name, vertices, index[0], index[1], of_vertices, of_edges)


def _parquet(path: Path) -> GraphSource:
    """Columns ``source`` and ``target``, others of edges; vertices in ``NAME.vertices.parquet`` beside it, by row."""
    try:
        from pyarrow import parquet
    except ImportError:
        raise OfframpError(f"{path}: {needs('pyarrow')}") from None
    try:
        file = parquet.ParquetFile(path)
    except (OSError, ValueError) as error:
        raise OfframpError(f"{path}: cannot be read: {first_line(error)}") from None
    names = file.schema_arrow.names
    if not {"source", "target"} <= set(names):
        raise OfframpError(f"{path}: expected columns source and target, got {', '.join(names)}")
    beside = path.with_suffix(".vertices.parquet")
    of_vertices = _columns(parquet.read_table(beside)) if beside.exists() else {}
    of_edges = _columns(parquet.read_table(path, columns=[n for n in names if n not in ("source", "target")]))

    def chunks() -> Iterator[tuple[IntArray, IntArray]]:
        with parquet.ParquetFile(path) as again:
            for batch in again.iter_batches(CHUNK, columns=["source", "target"]):
                ends = (batch.column(name).to_numpy(zero_copy_only=False) for name in ("source", "target"))
                u, v = (each.astype(np.int64) for each in ends)
                yield u, v

    count = next((len(values) for values in of_vertices.values()), None)
    if count is None:
        count = 1 + max((int(max(u.max(initial=-1), v.max(initial=-1))) for u, v in chunks()), default=-1)
    return GraphSource(path.stem, count, file.metadata.num_rows, chunks, of_vertices, of_edges)


def _columns(table: Any) -> dict[str, Any]:
    """Columns as arrays; lists of one length are rows of a matrix."""
    columns = {}
    for name in table.column_names:
        column = table.column(name).combine_chunks()
        if hasattr(column, "values") and len(column):
            values = column.values.to_numpy(zero_copy_only=False)
            if len(values) % len(column):
                raise OfframpError(f"column {name}: expected lists of one length")
            columns[name] = values.reshape(len(column), -1)
        else:
            columns[name] = column.to_numpy(zero_copy_only=False)
    return columns


def _pyg_file(path: Path) -> GraphSource | TypedSource:
    """PyG's ``Data`` or ``HeteroData``, or a dictionary of its tensors, by ``torch.save``; nothing is executed."""
    import torch

    safe: list[Any] = []
    with suppress(ImportError):
        from torch_geometric.data import Data, HeteroData
        from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
        from torch_geometric.data.storage import BaseStorage, EdgeStorage, GlobalStorage, NodeStorage

        safe = [Data, DataEdgeAttr, DataTensorAttr, GlobalStorage, HeteroData, BaseStorage, EdgeStorage, NodeStorage]
    data = load_torch_file(path, "PyG's Data", safe)
    data = data[0] if isinstance(data, tuple) else data
    if hasattr(data, "node_types") or (isinstance(data, dict) and any(isinstance(key, tuple) for key in data)):
        return open_hetero_data(path, data)
    fields = dict(data if isinstance(data, dict) else data.to_dict())
    arrays = {key: value.numpy() for key, value in fields.items() if isinstance(value, torch.Tensor) and value.dim()}
    if "edge_index" not in arrays:
        raise OfframpError(f"{path}: expected edge_index")
    u, v = arrays.pop("edge_index")
    count = int(fields.get("num_nodes") or len(arrays.get("x", ())) or max(u.max(initial=-1), v.max(initial=-1)) + 1)
    of_edges = {name: values for name, values in arrays.items() if name.startswith("edge_") and len(values) == len(u)}
    of_vertices = {name: each for name, each in arrays.items() if name not in of_edges and len(each) == count}
    return in_memory(path.stem, count, u, v, of_vertices, of_edges)
