# SPDX-License-Identifier: Apache-2.0
"""Edges of the paper's data sets from the files that OGB, PyTorch Geometric and DGL download."""

from __future__ import annotations

import gzip
import importlib
import io
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_array, load_npz

from offramp.graph.csr import IntArray, rows_of, symmetric_csr
from offramp.graph.data import MOST_VERTICES
from offramp_base.archive import open_archive
from offramp_base.errors import OfframpError, first_line
from offramp_base.memory import check_memory
from offramp_base.settings.error import SettingsError

_TEXT_RATIO = 50

Edges = tuple[int, IntArray, IntArray]
"""Number of vertices, and both ends of the edges, in one direction or both."""


def read_graph(folder: Path, name: str) -> tuple[Path, IntArray, IntArray] | None:
    """The file of data set ``name`` somewhere in ``folder``, and its graph as CSR; None where there is none.

    Self-loops and directions are dropped.

    Raises:
        OfframpError: no such folder, or a file that does not hold what it should.
    """
    if not folder.is_dir():
        raise SettingsError("data", "expected a folder", str(folder))
    for pattern, reader in _LAYOUTS[name]:
        for path in sorted(folder.glob(f"**/{pattern}")):
            try:
                n, u, v = reader(path)
            except OfframpError:
                raise
            except Exception as error:  # whatever a reader of foreign files raises
                reason = first_line(error)
                raise OfframpError(f"{path}: cannot be read: {reason}") from error
            if not 0 <= n <= MOST_VERTICES:
                raise OfframpError(f"{path}: {n} vertices: expected at most {MOST_VERTICES}")
            check_memory(64 * n + 48 * len(u), str(path))
            if len(u) and not 0 <= min(u.min(), v.min()) <= max(u.max(), v.max()) < n:
                raise OfframpError(f"{path}: edges: expected vertex ids from 0 to {n - 1}")
            return path, *symmetric_csr(n, u, v)
    return None


def _ogb_csv(path: Path) -> Edges:
    """``edge.csv.gz``: one line per edge; ``num-node-list.csv.gz`` beside it."""
    n = int(_unzipped(path.with_name("num-node-list.csv.gz")))
    ends = np.loadtxt(io.StringIO(_unzipped(path)), np.int64, delimiter=",", ndmin=2)
    return n, ends[:, 0], ends[:, 1]


def _unzipped(path: Path) -> str:
    """The text of a file that ``gzip`` has made smaller, though not by more than numbers in lines allow."""
    most = path.stat().st_size * _TEXT_RATIO + 4096
    with gzip.open(path, "rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OfframpError(f"{path}: more than {most} bytes unpacked")
    return content.decode("ascii")


def _scipy_npz(path: Path) -> Edges:
    """A matrix that ``scipy.sparse.save_npz`` has written."""
    matrix: Any = coo_array(load_npz(path))
    u, v = matrix.coords
    return int(matrix.shape[0]), u.astype(np.int64), v.astype(np.int64)


def _saint_npz(path: Path) -> Edges:
    """GraphSAINT's form: the fields of a CSR matrix by their names."""
    with open_archive(path) as archive:
        indptr, indices = archive.integers("indptr").astype(np.int64), archive.integers("indices").astype(np.int64)
    if len(indptr) == 0 or indptr[0] != 0 or (np.diff(indptr) < 0).any() or indptr[-1] != len(indices):
        raise OfframpError(f"{path}: indptr: expected a rising sequence from 0 to {len(indices)}")
    return len(indptr) - 1, rows_of(indptr), indices


def _pyg(path: Path) -> Edges:
    """What PyTorch Geometric has processed; its own classes need that package, plain tensors do not."""
    try:
        import torch
    except ImportError:
        raise OfframpError(f"{path}: needs the package torch") from None
    with suppress(ImportError):  # it lets torch load its classes
        importlib.import_module("torch_geometric")
    try:
        held = torch.load(path, weights_only=True)
    except Exception:
        raise OfframpError(f"{path}: needs the package torch_geometric, or the data set's raw files") from None
    held = held[0] if isinstance(held, tuple | list) else held
    edges = held["edge_index"] if isinstance(held, dict) else held.edge_index
    u, v = edges.numpy().astype(np.int64)
    nodes = held.get("num_nodes") if isinstance(held, dict) else held.num_nodes
    return int(nodes) if nodes is not None else int(max(u.max(), v.max())) + 1, u, v


_LAYOUTS: dict[str, list[tuple[str, Callable[[Path], Edges]]]] = {
    "products": [
        ("ogbn_products/raw/edge.csv.gz", _ogb_csv),
        ("ogbn_products/processed/geometric_data_processed.pt", _pyg),
    ],
    "yelp": [("Yelp/raw/adj_full.npz", _saint_npz), ("Yelp/processed/data.pt", _pyg)],
    "reddit": [("reddit_graph.npz", _scipy_npz), ("Reddit/processed/data.pt", _pyg)],
}
