# SPDX-License-Identifier: Apache-2.0
"""Rows of the graph's own tensors travel once, and again when somebody has written into them."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from offramp import gnn  # noqa: E402
from offramp.gnn.halo import RankHalo  # noqa: E402
from offramp.workers.processes import run_workers  # noqa: E402


class Data:
    def __init__(self):
        torch.manual_seed(0)
        self.num_nodes, self.x = 30, torch.randn(30, 8)
        self.edge_index = torch.randint(30, (2, 90))

    def to_dict(self):
        return {name: getattr(self, name) for name in ("x", "edge_index")}


class Net(torch.nn.Module):
    """Two sums over neighbours: of the features, and of what a layer makes of them."""

    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(8, 8)

    def forward(self, x, edge_index):
        row, col = edge_index
        x = self.inner(torch.zeros_like(x).index_add(0, col, x[row]))
        return torch.zeros_like(x).index_add(0, col, x[row])


def sent(group, choices, report):
    """Exchanges of each pass, and how far its scores are from those of one process."""
    calls, start = [], RankHalo.start
    RankHalo.start = lambda halo, x: calls.append(x.shape) or start(halo, x)
    torch.manual_seed(1)
    net, whole = Net(), Data()
    part = gnn.partition(whole, owner="random")
    model, counts = gnn.distribute(net, part, **choices), []
    for turn in range(4):
        if turn == 2:
            part.x.mul_(2)
            whole.x.mul_(2)
        del calls[:]
        scores = model(part.x, part.edge_index)
        far = (scores - net(whole.x, whole.edge_index)[part.n_id]).abs().max()
        counts.append((len(calls), float(group.max(far.detach().double()))))
    return counts


def test_features_travel_once_and_again_when_they_change():
    counts = run_workers(sent, [{}] * 2, print)
    assert [count for count, _ in counts] == [2, 1, 2, 1]
    assert max(far for _, far in counts) < 1e-5


def test_rows_of_the_step_before_are_not_kept():
    assert [count for count, _ in run_workers(sent, [{"schedule": "stale"}] * 2, print)] == [2, 2, 2, 2]
