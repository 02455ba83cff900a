# SPDX-License-Identifier: Apache-2.0
"""Stores of graphs of several types: ranks train on them as PyG does on the whole graph, in full and in mini-batches.

Blind to several machines, and to features larger than memory.
"""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from torch.nn.functional import cross_entropy  # noqa: E402

import gnn_models  # noqa: E402
from offramp import gnn  # noqa: E402
from offramp.gnn import samplers  # noqa: E402
from offramp.graph.cut import cut  # noqa: E402
from offramp.graph.open_source import open_source  # noqa: E402
from offramp.graph.store import write_store  # noqa: E402
from offramp.workers.processes import run_workers  # noqa: E402
from offramp_base.errors import OfframpError  # noqa: E402

MODELS = ("hgt", "hetero")
SIZE = 40  # papers


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Stores of one, two and three parts, from a file of PyG."""
    path = tmp_path_factory.mktemp("typed")
    torch.save(gnn_models.hetero(torch.float64), path / "data.pt")
    for parts in (1, 2, 3):
        source = open_source(str(path / "data.pt"))
        write_store(source, cut(source, parts, "hash", 0, 0), parts, path / f"store-{parts}", "hash")
    return str(path)


def full(group, folder, report):
    """Losses and gradients of whole steps against PyG's in one process."""
    part, errors = gnn.open_store(f"{folder}/store-{group.size}"), {}
    for name in MODELS:
        expected = gnn_models.steps(name, gnn_models.make(name, torch.float64), gnn_models.hetero(torch.float64))
        got = gnn_models.steps(name, gnn.distribute(gnn_models.make(name, torch.float64), part), part)
        errors[name] = float(group.max(torch.tensor(gnn_models.worst(got, expected))))
    return errors


@pytest.mark.parametrize("ranks", [1, 3])
def test_losses_and_gradients_are_pygs(folder, ranks: int) -> None:
    results = run_workers(full, [folder] * ranks, print)
    assert list(results) == list(MODELS)
    assert max(results.values()) < 1e-10


def batches(group, folder, report):
    """Batches are the graph's; with all neighbours their scores are those of the whole graph; few are drawn right."""
    data, part = gnn_models.hetero(torch.float64), gnn.open_store(f"{folder}/store-{group.size}")
    worst, seen = {}, torch.zeros(SIZE)
    for name in MODELS:
        model = gnn_models.make(name, torch.float64).eval()
        with torch.no_grad():
            whole = model(data.x_dict, data.edge_index_dict)
            far = torch.zeros(())
            for cache in (0, 1 << 20):
                loader = gnn.NeighborLoader(part, [-1, -1], 6, "paper", shuffle=True, cache_bytes=cache)
                for batch in loader:
                    for of in data.node_types:
                        assert torch.equal(batch[of].x, data[of].x[batch[of].n_id])
                        assert batch[of].num_nodes == len(batch[of].n_id)
                    for key in data.edge_types:
                        ends = [batch[key[k]].n_id[batch[key].edge_index[i]] for i, k in ((0, 0), (1, 2))]
                        assert torch.equal(torch.stack(ends), data[key].edge_index[:, batch[key].e_id])
                    size = batch["paper"].batch_size
                    seeds = batch["paper"].n_id[:size]
                    assert torch.equal(batch["paper"].y, data["paper"].y[batch["paper"].n_id])
                    if size:
                        output = model(batch.x_dict, batch.edge_index_dict)[:size]
                        far = torch.maximum(far, (output - whole[seeds]).abs().max())
                    seen[seeds] += 1
                assert {of for of, _ in loader.caches} == set(data.node_types)
            worst[name] = float(group.max(far))
    assert group.sum(seen).tolist() == [2.0 * len(MODELS)] * SIZE
    fanout = {key: [2, 0] if key[0] == "author" else [0, 0] for key in data.edge_types}
    drawn = torch.zeros(SIZE, data["author", "writes", "paper"].edge_index.shape[1])
    for batch in gnn.NeighborLoader(part, fanout, SIZE, ("paper", None), seed=5, fields=["x"]):
        assert "y" not in batch["paper"]
        writes = batch["author", "writes", "paper"]
        drawn[batch["paper"].n_id[writes.edge_index[1]], writes.e_id] += 1
        assert all(not batch[key].edge_index.numel() for key in data.edge_types if key[0] != "author")
    group.sum(drawn)
    degree = torch.bincount(data["author", "writes", "paper"].edge_index[1], minlength=SIZE)
    assert drawn.max() == 1
    assert torch.equal(drawn.sum(1), degree.clamp(max=2).float())
    return worst, drawn.nonzero().tolist()


def test_batches_are_the_graphs(folder) -> None:
    results = {ranks: run_workers(batches, [folder] * ranks, print) for ranks in (1, 3)}
    for worst, _ in results.values():
        assert list(worst) == list(MODELS)
        assert max(worst.values()) < 1e-12
    assert results[1][1] == results[3][1]  # what is drawn does not depend on the number of ranks


def train(group, folder, report):
    """The distance of the losses and weights of steps over batches from PyG's on the whole graph."""
    part, data = gnn.open_store(f"{folder}/store-{group.size}"), gnn_models.hetero(torch.float64)
    chosen, worst = torch.arange(SIZE) % 2 == 0, {}
    for name in MODELS:
        ours, whole = (gnn_models.make(name, torch.float64) for _ in range(2))
        steps = [torch.optim.SGD(model.parameters(), lr=0.1) for model in (ours, whole)]
        losses = []
        for _ in range(3):
            for batch in gnn.NeighborLoader(part, [-1, -1], SIZE, ("paper", chosen[part["paper"].ids])):
                for optimiser in steps:
                    optimiser.zero_grad()
                size = batch["paper"].batch_size
                scores = ours(batch.x_dict, batch.edge_index_dict)[:size]
                loss = gnn.global_mean(cross_entropy(scores, batch["paper"].y[:size], reduction="none"))
                loss.backward()
                gnn.sum_gradients(ours)
                expected = cross_entropy(whole(data.x_dict, data.edge_index_dict)[chosen], data["paper"].y[chosen])
                expected.backward()
                for optimiser in steps:
                    optimiser.step()
                losses.append((float(loss.detach()), float(expected.detach())))
        assert losses[-1][1] < losses[0][1]
        far = [abs(a - b) for a, b in losses]
        far += [float((a - b).detach().abs().max()) for a, b in zip(ours.parameters(), whole.parameters(), strict=True)]
        worst[name] = float(group.max(torch.tensor(max(far))))
    return worst


@pytest.mark.parametrize("ranks", [1, 2])
def test_training_by_batches_is_pygs_on_the_whole_graph(folder, ranks: int) -> None:
    results = run_workers(train, [folder] * ranks, print)
    assert list(results) == list(MODELS)
    assert max(results.values()) < 1e-12


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([2], 4), "input_nodes: expected one of the types paper, author, venue, got None"),
        (([2], 4, "editor"), "input_nodes: expected one of the types paper, author, venue, got editor"),
        (({("author", "writes", "paper"): [2]}, 4, "paper"), "num_neighbors: expected numbers for "),
    ],
)
def test_what_loaders_cannot_do_is_one_line(folder, arguments, message: str) -> None:
    part = gnn.open_store(f"{folder}/store-1")
    with pytest.raises(OfframpError, match=message):
        gnn.NeighborLoader(part, *arguments)


def links(group, folder, report):
    """Pairs of two types with all neighbours of their ends: scores are those of the whole graph."""
    data, part = gnn_models.hetero(torch.float64), gnn.open_store(f"{folder}/store-{group.size}")
    key = "author", "writes", "paper"
    torch.manual_seed(3)
    metadata = data.metadata()
    model = gnn_models.HeteroSage(metadata).double().eval()
    model.out = torch.nn.Identity()  # embeddings of papers
    seen, worst = torch.zeros(data[key].edge_index.shape[1]), 0.0
    with torch.no_grad():
        whole = model(data.x_dict, data.edge_index_dict)
        for batch in gnn.LinkNeighborLoader(part, [-1, -1], key, neg_sampling_ratio=0.5, batch_size=8, shuffle=True):
            pairs, labels = batch[key].edge_label_index, batch[key].edge_label
            positive = int(labels.sum())
            assert len(labels) == pairs.shape[1] == positive + (positive + 1) // 2
            ends = torch.stack([batch["author"].n_id[pairs[0]], batch["paper"].n_id[pairs[1]]])
            edges = part[key].ids[batch[key].input_id]
            assert torch.equal(ends[:, :positive], data[key].edge_index[:, edges])
            seen[edges] += 1
            if positive:
                output = model(batch.x_dict, batch.edge_index_dict)[pairs[1]]
                worst = max(worst, float((output - whole[ends[1]]).abs().max()))
    assert group.sum(seen).tolist() == [1.0] * len(seen)
    return float(group.max(torch.tensor(worst)))


@pytest.mark.parametrize("ranks", [1, 2])
def test_pairs_of_two_types(folder, ranks: int) -> None:
    assert run_workers(links, [folder] * ranks, print) < 1e-12


def test_pairs_of_no_type_are_refused(folder) -> None:
    part = gnn.open_store(f"{folder}/store-1")
    for wrong in (None, torch.zeros(2, 1, dtype=torch.int64), ("editor", "reads", "paper")):
        with pytest.raises(OfframpError, match=r"edge_label_index: expected one of the types .*author writes paper"):
            gnn.LinkNeighborLoader(part, [2], wrong)
    key = "author", "writes", "paper"
    with pytest.raises(OfframpError, match="edge_label_index: expected vertices from 0 to 24"):
        gnn.LinkNeighborLoader(part, [2], (key, torch.tensor([[25], [30]])))


def test_other_loaders_take_one_type(folder) -> None:
    with pytest.raises(OfframpError, match="mini-batches: expected a graph of one type of vertices"):
        samplers.LadiesLoader(gnn.open_store(f"{folder}/store-1"), [4])
