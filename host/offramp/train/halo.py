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
    from offramp.graph.halo_plan import HaloPlan


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

    @classmethod
    def of(cls, plan: HaloPlan, workers: int) -> Halo:
        """The part of a worker whose rows are in one bin (BNS-GCN with p = 1, switchgnn.md section 10).

        Both ends order a pair's rows by vertex, so no index travels.
        """
        own = plan.adjacency.shape[0]
        remote = plan.adjacency[:, own:]
        boundary = np.flatnonzero(np.diff(remote.indptr))
        sends = sorted(plan.sends, key=lambda message: message.peer)
        sent, received = np.zeros((2, workers), np.int64)
        for counts, messages in ((sent, sends), (received, plan.receives)):
            for message in messages:
                counts[message.peer] = len(message.rows)
        rows = np.concatenate([np.zeros(0, np.int64), *(message.rows for message in sends)])
        return cls(np.searchsorted(boundary, rows), sent, received, remote[boundary])
