# SPDX-License-Identifier: Apache-2.0
"""Graphs in the ``.npz`` form of the gnn-benchmark collection (Shchur et al. 2018)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from offramp.graph.csr import rows_of
from offramp.graph.data import Graph, build_graph
from offramp.graph.split import Mask
from offramp_base.archive import Archive, open_archive
from offramp_base.ending.files import written
from offramp_base.errors import OfframpError

_MASKS = ("train", "val", "test")


def read_npz(path: Path, split: str | None, seed: int) -> Graph:
    """A graph from CSR fields ``adj_*`` and, where present, ``attr_*``, ``labels`` and the three masks.

    Raises:
        OfframpError: a missing or malformed field.
    """
    with open_archive(path) as archive:
        adjacency = _csr(archive, "adj")
        n = adjacency.shape[0]
        if adjacency.shape != (n, n):
            raise OfframpError(f"{path}: adj_shape: expected a square matrix, got {adjacency.shape}")
        features = None
        if "attr_indptr" in archive:
            features = _csr(archive, "attr")
        elif "attr" in archive:
            features = archive.read("attr", "fiub", 2)
        graph = build_graph(
            str(path),  # so that an error names the file
            n,
            (rows_of(adjacency.indptr.astype(np.int64)), adjacency.indices),
            features=features,
            labels=archive.integers("labels") if "labels" in archive else None,
            split=split or _masks(archive) or "planetoid",
            seed=seed,
        )
    graph.name = path.stem
    return graph


def save_npz(graph: Graph, path: Path) -> None:
    """Write ``graph`` with its split; :func:`read_npz` gives it back.

    Raises:
        OfframpError: ``path`` cannot be written.
    """
    features = csr_array(graph.features)
    fields: dict[str, Any] = {
        "adj_data": np.ones(len(graph.indices), np.float32),
        "adj_indices": graph.indices,
        "adj_indptr": graph.indptr,
        "adj_shape": np.array([graph.vertices, graph.vertices]),
        "attr_data": features.data,
        "attr_indices": features.indices,
        "attr_indptr": features.indptr,
        "attr_shape": np.array(features.shape),
        "labels": graph.labels,
        **{name: getattr(graph, name) for name in _MASKS},
    }
    try:
        with written(path) as file:
            np.savez_compressed(file, **fields)
    except OSError as error:
        raise OfframpError(f"{path}: cannot be written: {error.strerror}") from None


def _masks(archive: Archive) -> tuple[Mask, Mask, Mask] | None:
    if not any(name in archive for name in _MASKS):
        return None
    train, val, test = (archive.read(name, "b", 1) for name in _MASKS)
    return train, val, test


def _csr(archive: Archive, prefix: str) -> Any:
    """The sparse matrix in fields ``prefix_{data,indices,indptr,shape}``; stored zeros are dropped."""

    def wrong(what: str, expected: str) -> OfframpError:
        return OfframpError(f"{archive.path}: {prefix}_{what}: expected {expected}")

    data = archive.read(f"{prefix}_data", "fiub", 1)
    if data.dtype == np.float16:  # which SciPy's matrices do not hold
        data = data.astype(np.float32)
    indices, indptr, shape = (archive.integers(f"{prefix}_{part}") for part in ("indices", "indptr", "shape"))
    if len(shape) != 2 or shape.min() < 0:
        raise wrong("shape", "two sizes")
    rows, columns = shape.tolist()
    if len(indptr) != rows + 1:
        raise wrong("indptr", f"{rows + 1} entries, one more than rows, got {len(indptr)}")
    if indptr[0] != 0 or (np.diff(indptr) < 0).any() or indptr[-1] != len(indices):
        raise wrong("indptr", f"a rising sequence from 0 to the {len(indices)} entries of {prefix}_indices")
    if len(data) != len(indices):
        raise wrong("data", f"{len(indices)} entries, as in {prefix}_indices, got {len(data)}")
    if len(indices) and not 0 <= indices.min() <= indices.max() < columns:
        raise wrong("indices", f"columns from 0 to {columns - 1}")
    matrix = csr_array((data, indices, indptr), shape=(rows, columns))
    matrix.eliminate_zeros()
    return matrix
