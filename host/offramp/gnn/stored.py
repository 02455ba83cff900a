# SPDX-License-Identifier: Apache-2.0
"""A rank's part of a store (:mod:`offramp.graph.store`) as a :class:`~offramp.gnn.parts.Partition`."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from offramp.gnn.comm import Alone, Comm, open_comm
from offramp.gnn.halo import Halo
from offramp.gnn.parts import EdgeSet, Partition, VertexSet, count_degrees
from offramp.graph.store import StoredPart, read_part
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    import torch.distributed as dist

_MOST = 900  # bytes of a rank's complaint


def open_store(path: str | Path, group: dist.ProcessGroup | None = None, *, verify: bool = True) -> Partition:
    """This rank's part of a store with as many parts as there are ranks; every rank calls this.

    Features and labels are mapped into memory: they are read where they are used.

    Args:
        path: of the store's folder, here.
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
    mine = f"{problem}\n{part.manifest.files['owner.npy'] if part else ''}"
    said = [each.decode().split("\n") for each in comm.introduce(mine[:_MOST].encode())]
    wrong = [f"rank {rank}: {line}" for rank, (line, _) in enumerate(said) if line]
    if not wrong and len({owner for _, owner in said}) > 1:
        wrong = [f"{path}: ranks have stores of different partitions"]
    if wrong or part is None:
        raise OfframpError(wrong[0])
    return _partition(comm, part)


def _partition(comm: Comm | Alone, part: StoredPart) -> Partition:
    ids = torch.from_numpy(np.array(part.ids))
    halo_ids = np.array(part.halo_ids)
    counts = np.bincount(part.owner[halo_ids], minlength=comm.size).tolist()
    halo = Halo.agree(comm, ids, torch.from_numpy(halo_ids), counts)
    rows = {name: _tensor(values) for name, values in part.vertex_fields.items()}
    vertices = VertexSet("", ids, _tensor(part.owner), halo, rows, part.vertex_fields)
    targets = np.repeat(np.arange(len(ids)), np.diff(part.indptr))
    index = torch.from_numpy(np.stack([np.asarray(part.sources), targets]))
    columns = {k: _tensor(v) for k, v in part.edge_fields.items()}
    key = "", "edge_index", ""
    edges = EdgeSet(key, vertices, vertices, halo, index, _tensor(part.edge_ids), columns)
    count_degrees({"": vertices}, {key: edges})
    return Partition(comm, {"": vertices}, {key: edges}, {"manifest": part.manifest})


def _tensor(values: Any) -> torch.Tensor:
    """A tensor over a file that is mapped for reading."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return torch.from_numpy(values)
