# SPDX-License-Identifier: Apache-2.0
"""Sum-type aggregators, factored into what each end of an edge contributes (switchgnn.md section 2).

A switch can only add, so an edge weight must split into ``w_uv = source_u * destination_v``. All
aggregators here run over the closed neighbourhood (the vertex itself and its neighbours).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

AGGREGATORS = ("gcn", "mean", "sum")


def edge_factors(
    aggregator: str, degree: npt.NDArray[np.integer]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Source and destination factor of every vertex.

    ``gcn`` is the symmetric normalisation of Kipf and Welling (2017), ``mean`` the mean over the closed
    neighbourhood (GraphSAGE, Hamilton et al. 2017, eq. 2), ``sum`` that of GIN with epsilon = 0.

    Args:
        aggregator: one of :data:`AGGREGATORS`.
        degree: ``(n,)`` neighbours in the whole graph, without the self loop.

    Returns:
        Two ``(n,)`` float64 arrays.
    """
    closed = degree.astype(np.float64) + 1.0
    one = np.ones_like(closed)
    return {
        "gcn": (closed**-0.5, closed**-0.5),
        "mean": (one, 1.0 / closed),
        "sum": (one, one),
    }[aggregator]
