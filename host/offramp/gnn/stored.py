# SPDX-License-Identifier: Apache-2.0
"""A rank's part of a store (:mod:`offramp.graph.store`) as a :class:`~offramp.gnn.parts.Partition`."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
import torch

from offramp.gnn.comm import Alone, Comm, open_comm
from offramp.gnn.halo import RankHalo
from offramp.gnn.parts import EdgeSet, Partition, VertexSet, count_degrees
from offramp.graph.store import Manifest, StoredPart, StoredVertices, read_part
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    import torch.distributed as dist

_MOST = 900  # bytes of a rank's complaint


def open_store(path: str | Path, group: dist.ProcessGroup | None = None, *, verify: bool = True) -> Partition:
    """This rank's part of a store with as many parts as there are ranks; every rank calls this.

    Features and labels are mapped into memory: they are read where they are used.

    Args:
        path: path of the store's folder on this machine.
        group: the ranks.
        verify: compare checksums.

    Raises:
        OfframpError: the part of any rank cannot be opened; all ranks say the same.
    """
    comm = open_comm(group)
    part, problem = None, ""
    try:
        part = read_part(Path(path), comm.rank, comm.size, verify=verify)
    except OfframpError as error:
        problem = str(error)
    mine = f"{problem}\n{_cut_of(part.manifest) if part else ''}"
    said = [each.decode().split("\n") for each in comm.introduce(mine[:_MOST].encode())]
    wrong = [f"rank {rank}: {line}" for rank, (line, _) in enumerate(said) if line]
    if not wrong and len({owner for _, owner in said}) > 1:
        wrong = [f"{path}: ranks have stores of different partitions"]
    if wrong or part is None:
        raise OfframpError(wrong[0])
    return _partition(comm, part)


def _cut_of(manifest: Manifest) -> int:
    """A number that is equal on ranks whose stores are of one partition."""
    return crc32(repr([manifest.files[manifest.owner_file(name)] for name in manifest.counts]).encode())


def _partition(comm: Comm | Alone, part: StoredPart) -> Partition:
    vertices = {name: _vertices(comm, name, of) for name, of in part.vertices.items()}
    edges = {}
    for key, of in part.edges.items():
        source, target = vertices[key[0]], vertices[key[2]]
        targets = np.repeat(np.arange(target.owned), np.diff(of.indptr))
        index = torch.from_numpy(np.stack([np.asarray(of.sources), targets]))
        columns = {k: _tensor(v) for k, v in of.fields.items()}
        edges[key] = EdgeSet(key, source, target, source.halo, index, _tensor(of.edge_ids), columns)
    count_degrees(vertices, edges)
    return Partition(comm, vertices, edges, {"manifest": part.manifest})


def _vertices(comm: Comm | Alone, name: str, of: StoredVertices) -> VertexSet:
    ids, halo_ids = torch.from_numpy(np.array(of.ids)), np.array(of.halo_ids)
    counts = np.bincount(of.owner[halo_ids], minlength=comm.size).tolist()
    halo = RankHalo.agree(comm, ids, torch.from_numpy(halo_ids), counts)
    return VertexSet(name, ids, _tensor(of.owner), halo, {k: _tensor(v) for k, v in of.fields.items()}, of.fields)


def _tensor(values: Any) -> torch.Tensor:
    """A tensor over a file that is mapped for reading."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return torch.from_numpy(values)
