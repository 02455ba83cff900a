# SPDX-License-Identifier: Apache-2.0
"""A sampler for mini-batches: no randomness."""

from __future__ import annotations

import numpy as np

from offramp.dgs.rules import DrawRequest, Rule
from offramp.dgs.sampling import SampledNeighbours
from offramp.graph.csr import entries_of


class First(Rule):
    """The first ``fanout`` neighbours of each vertex."""

    def pick(self, request: DrawRequest) -> SampledNeighbours:
        entries, counts = entries_of(request.graph.indptr, request.rows)
        fanout = self.settings.fanout[request.layer - 1]
        place = np.arange(len(entries)) - np.repeat(np.cumsum(counts) - counts, counts)
        kept = place < fanout
        return SampledNeighbours(np.minimum(counts, fanout), request.graph.indices[entries[kept]])
