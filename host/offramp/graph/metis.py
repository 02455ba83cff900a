"""METIS k-way partitioning through pymetis."""

from __future__ import annotations

from typing import Literal

import numpy as np

from offramp.errors import OfframpError
from offramp.graph.csr import IntArray


def metis_parts(
    indptr: IntArray,
    indices: IntArray,
    parts: int,
    seed: int = 0,
    objective: Literal["cut", "volume"] = "cut",
) -> IntArray:
    """``(n,)`` part of each vertex of a symmetric CSR graph, minimising edge cut or communication volume.

    Raises:
        OfframpError: pymetis is not installed.
    """
    try:
        import pymetis
    except ImportError:
        raise OfframpError("METIS needs the package pymetis: pip install 'offramp[gnn]'") from None
    if parts == 1 or len(indices) == 0:
        return np.arange(len(indptr) - 1) % parts
    kind = pymetis.ObjType.CUT if objective == "cut" else pymetis.ObjType.VOL
    result = pymetis.part_graph(
        parts,
        pymetis.CSRAdjacency(indptr, indices),
        options=pymetis.Options(seed=seed & 0x7FFFFFFF, objtype=kind),
        recursive=False,
    )
    return np.asarray(result.vertex_part, np.int64)
