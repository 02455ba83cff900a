# SPDX-License-Identifier: Apache-2.0
"""ResGEN's messages, one for each edge, against those that it computes once for each source.

Blind to edges with features, which the thesis's graphs do not have.
"""

from __future__ import annotations

import numpy as np
import torch

from offramp.g3.block import BipartiteBlock
from offramp.graph.halo_plan import plan_halo_features
from offramp.models.base import Inputs
from offramp.models.deep import EPSILON, ResGen


def test_a_message_per_edge_is_its_sources(graph) -> None:
    (plan,) = plan_halo_features(graph, np.zeros(graph.vertices, np.int32), 1)
    block = BipartiteBlock(plan.adjacency, plan.bins[0], plan.ids, plan.degree, torch.float64)
    model = ResGen([5, 6, 6, 3], seed=1).double()
    torch.manual_seed(2)
    state = torch.randn(graph.vertices, 6, dtype=torch.float64)
    for scale, shift in zip(model.scales, model.shifts, strict=True):
        torch.nn.init.normal_(scale)
        torch.nn.init.normal_(shift)
    prepared = model.prepare(2, state)
    combined = model.combine(2, block, Inputs(prepared.message, prepared.own))
    for vertex in range(graph.vertices):
        sources = [*graph.indices[graph.indptr[vertex] : graph.indptr[vertex + 1]], vertex]
        messages = torch.stack(
            [
                torch.relu(torch.nn.functional.layer_norm(state[u], (6,), model.scales[1], model.shifts[1])) + EPSILON
                for u in sources
            ]
        )
        mixed = (torch.softmax(messages, 0) * messages).sum(0)
        torch.testing.assert_close(combined[vertex], state[vertex] + mixed @ model.weights[1])
