# SPDX-License-Identifier: Apache-2.0
"""Senders and receivers of boundary features, when each goes once to every worker that needs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from offramp_base.wire.objects import sendable

if TYPE_CHECKING:
    from offramp.graph.boundary import Boundary


@sendable
@dataclass(frozen=True)
class Halo:
    """One worker's part of the exchange, with ``b`` local boundary vertices and ``h`` received features.

    Attributes:
        send_rows: ``(s,)`` int64 positions among the local boundary vertices, by receiver.
        send_counts: ``(workers,)`` int64 rows for each receiver.
        receive_counts: ``(workers,)`` int64 rows from each sender.
        remote: ``(b, h)`` float32 CSR of ones: the received rows that each boundary vertex sums.
    """

    send_rows: npt.NDArray[np.int64]
    send_counts: npt.NDArray[np.int64]
    receive_counts: npt.NDArray[np.int64]
    remote: sp.csr_matrix


def plan_halo(boundary: Boundary) -> list[Halo]:
    """Every worker's :class:`Halo` (BNS-GCN with p = 1, switchgnn.md section 10)."""
    workers, owner = boundary.workers, boundary.owner
    source, destination = np.concatenate([boundary.cut_edges, boundary.cut_edges[:, ::-1]]).T
    from_worker, to_worker = owner[source], owner[destination]
    halos = []
    for worker in range(workers):
        # Both ends order a pair's rows by vertex id, so no index travels.
        sends = np.unique(np.stack([to_worker, source])[:, from_worker == worker], axis=1)
        into = to_worker == worker
        pairs, row = np.unique(np.stack([from_worker, source])[:, into], axis=1, return_inverse=True)
        mine, position = np.unique(destination[into], return_inverse=True)
        halos.append(
            Halo(
                send_rows=np.searchsorted(mine, sends[1]).astype(np.int64),
                send_counts=np.bincount(sends[0], minlength=workers).astype(np.int64),
                receive_counts=np.bincount(pairs[0], minlength=workers).astype(np.int64),
                remote=sp.csr_matrix(
                    (np.ones(len(row), np.float32), (position.ravel(), row.ravel())),
                    shape=(len(mine), pairs.shape[1]),
                ),
            )
        )
    return halos
