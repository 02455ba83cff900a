# SPDX-License-Identifier: Apache-2.0
"""Sampled batches over several ranks against the whole graph. Blind to GPUs and to slow networks."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import gnn_plain  # noqa: E402
from offramp import gnn  # noqa: E402
from offramp.workers.processes import run_workers  # noqa: E402
from offramp_base.errors import OfframpError  # noqa: E402


def sums(x, edge_index):
    return torch.zeros_like(x).index_add(0, edge_index[1], x[edge_index[0]])


def work(group, _, report):
    """Two hops of all neighbours are exact; drawn ones are edges, as many as they should be, the same on any ranks."""
    data = gnn_plain.graph()
    part = gnn.partition(data, owner="hash")
    degree = torch.bincount(data.edge_index[1], minlength=gnn_plain.N)
    exact = sums(sums(data.x, data.edge_index), data.edge_index)
    seen = torch.zeros(gnn_plain.N)
    worst, travelled = 0.0, []
    for cache in (0, 1 << 20):
        loader = gnn.NeighborLoader(part, [-1, -1], 4, shuffle=True, cache_bytes=cache, prefetch=2 if cache else 0)
        batches = list(loader)
        assert len(batches) == len(loader)
        for batch in batches:
            assert torch.equal(batch.x, data.x[batch.n_id])
            assert torch.equal(batch.y, data.y[batch.n_id])
            output = sums(sums(batch.x, batch.edge_index), batch.edge_index)[: batch.batch_size]
            seeds = batch.n_id[: batch.batch_size]
            worst = max([worst, *(output - exact[seeds]).abs().flatten().tolist()])
            seen[seeds] += 1
        fetched, kept = loader.caches["x"].fetched, loader.caches["x"].kept
        travelled.append(fetched)
        assert (kept == 0) == (cache == 0 or group.size == 1)
    assert travelled[1] < travelled[0] or group.size == 1  # vertices beyond the halo are fetched all the same
    drawn = torch.zeros(gnn_plain.N, data.edge_index.shape[1])
    few = gnn.NeighborLoader(part, [2], gnn_plain.N, seed=5, fields=["x"])
    for batch in few:
        ends = torch.stack([batch.n_id[batch.edge_index[0]], batch.n_id[batch.edge_index[1]]])
        assert torch.equal(ends, data.edge_index[:, batch.e_id])
        drawn[ends[1], batch.e_id] += 1
    group.sum(drawn)
    group.sum(seen)
    assert drawn.max() == 1
    assert torch.equal(drawn.sum(1), degree.clamp(max=2).float())
    assert seen.tolist() == [2.0] * gnn_plain.N
    worst = float(group.max(torch.tensor(worst)))
    return worst, drawn.nonzero().tolist()


def test_batches_are_the_graphs():
    results = {ranks: run_workers(work, [None] * ranks, print) for ranks in (1, 3)}
    assert max(worst for worst, _ in results.values()) < 1e-12
    assert results[1][1] == results[3][1]


def train(group, _, report):
    """A rank without any vertex to train on takes part; the losses are those of one rank."""
    data = gnn_plain.graph()
    data.train_mask = torch.arange(gnn_plain.N) < 20
    part = gnn.partition(data, owner=(torch.arange(gnn_plain.N) >= 20).long() % group.size)
    model = gnn_plain.make(torch.nn.Linear, in_features=gnn_plain.WIDTH, out_features=1)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _epoch in range(2):
        for batch in gnn.NeighborLoader(part, [3, 2], 8, part.train_mask, seed=2):
            optimiser.zero_grad()
            out = model(sums(batch.x, batch.edge_index))[: batch.batch_size]
            loss = gnn.global_mean(out.square())
            loss.backward()
            gnn.sum_gradients(model)
            optimiser.step()
            losses.append(float(loss.detach()))
    return losses


def test_ranks_without_vertices_take_part():
    one, two = (run_workers(train, [None] * ranks, print) for ranks in (1, 2))
    assert len(one) == 6
    assert two == pytest.approx(one, abs=1e-12)


def test_unknown_fields_are_refused():
    part = gnn.partition(gnn_plain.graph())
    with pytest.raises(OfframpError, match="the graph has no z"):
        gnn.NeighborLoader(part, [2], fields=["z"])
