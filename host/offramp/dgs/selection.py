# SPDX-License-Identifier: Apache-2.0
"""DGS's feature selection: chosen columns of chosen rows, as the owner of the rows answers a pull (section 7.2).

A function of the request and of what the owner holds, so that a smartNIC's agent can do it in its place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from offramp.dgs import kernels
from offramp.dgs.records import SamplingRecord
from offramp.dgs.sampling import machine_code, whole
from offramp.dgs.wire import PULL, ROWS
from offramp.graph.csr import IntArray
from offramp_base.errors import OfframpError

Floats = npt.NDArray[np.float32]


def select(features: Any, rows: IntArray, columns: IntArray | None) -> Floats:
    """``(r, k)`` features of ``rows`` in ``columns``; None for all. Order and repetitions of the rows stay.

    Args:
        features: ``(n, F)`` float32, an array or ``scipy.sparse`` CSR.
        rows: ``(r,)`` positions.
        columns: ``(k,)`` ascending.
    """
    if sp.issparse(features):
        dense: Floats = features[rows].toarray()
        return dense if columns is None else np.take(dense, columns, axis=1)
    kernel = machine_code(kernels.select)
    if columns is None or kernel is None or not features.flags.c_contiguous:
        every: Floats = features[rows]
        return every if columns is None else np.take(every, columns, axis=1)
    rows, columns = whole(rows), whole(columns)
    out = np.empty((len(rows), len(columns)), np.float32)
    kernel(features, features.shape[1], rows, len(rows), columns, len(columns), out)
    return out


def spread(values: Floats, into: Floats, rows: IntArray, columns: IntArray | None) -> None:
    """``into[rows, columns] = values``; None for all columns. The rest stays as it is."""
    kernel = machine_code(kernels.spread)
    if columns is None:
        into[rows] = values
    elif kernel is None:
        into[np.ix_(rows, columns)] = values
    else:
        values, rows, columns = np.ascontiguousarray(values), whole(rows), whole(columns)
        kernel(values, len(rows), columns, len(columns), into, into.shape[1], rows)


def answer(
    request: SamplingRecord, features: Any, vertices: IntArray, columns: IntArray | None, version: int, worker: int
) -> SamplingRecord:
    """The ROWS that answer a PULL.

    Args:
        request: names vertices, and the version of the masks that it wants to be answered by.
        features: ``(n, F)`` of the owner's vertices.
        vertices: ``(n,)`` vertex ids, ascending.
        columns: columns that the requester has chosen in ``version``; None: all.
        version: version of the requester's masks that the owner knows.
        worker: the owner.

    Raises:
        OfframpError: the owner lacks a vertex.
    """
    assert request.kind == PULL
    assert request.ids is not None
    rows = np.searchsorted(vertices, request.ids)
    known = rows < len(vertices)
    known[known] = vertices[rows[known]] == request.ids[known]
    if not known.all():
        stranger = request.ids[~known][0]
        raise OfframpError(f"worker {worker}: vertex {stranger}, asked for by worker {request.source}, is not here")
    chosen = columns if request.version == version else None
    values = select(features, rows, chosen)
    return SamplingRecord(ROWS, worker, batch=request.batch, version=request.version, values=values)
