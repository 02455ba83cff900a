# SPDX-License-Identifier: Apache-2.0
"""Sets of graphs in OGB's files and of PyTorch Geometric, read back and trained on."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from offramp.torchgt.graph_files import _of_pyg, read_set
from offramp.torchgt.run import train
from offramp.torchgt.task import load_task
from offramp_base.errors import OfframpError

GRAPHS = 24


def write(path: Path, rows: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt") as file:
        np.savetxt(file, np.asarray(rows), delimiter=",", fmt="%g")


@pytest.fixture
def folder(tmp_path) -> Path:
    """Rings and paths of 4 to 9 atoms, each bond once, told apart by class; OGB's layout."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(4, 10, GRAPHS)
    rings = np.arange(GRAPHS) % 2
    bonds = [[(a, a + 1) for a in range(n - 1)] + [(n - 1, 0)] * ring for n, ring in zip(sizes, rings, strict=True)]
    raw = tmp_path / "raw"
    write(raw / "num-node-list.csv.gz", sizes)
    write(raw / "num-edge-list.csv.gz", [len(each) for each in bonds])
    write(raw / "edge.csv.gz", [pair for each in bonds for pair in each])
    elements = rng.choice([5, 6, 7], sizes.sum())
    write(raw / "node-feat.csv.gz", np.stack([elements, rng.standard_normal(sizes.sum())], 1))
    write(raw / "graph-label.csv.gz", rings)
    for name, chosen in (("train", range(16)), ("valid", range(16, 20)), ("test", range(20, 24))):
        write(tmp_path / "split/scaffold" / f"{name}.csv.gz", list(chosen))
    return tmp_path


def test_ogbs_folder_is_a_set_with_its_own_split(folder, settings) -> None:
    data = read_set(str(folder), None, 0)
    assert data.classes == 2
    assert data.targets.tolist() == (np.arange(GRAPHS) % 2).tolist()
    assert [mask.sum() for mask in data.masks] == [16, 4, 4]
    assert data.features.shape[1] == 4  # three elements, and a number
    assert data.features[:, :3].sum() == len(data.features)
    degrees = np.diff(data.indptr)
    assert [set(degrees[data.graph_of == g]) for g in (0, 1)] == [{1, 2}, {2}]
    task = load_task(settings(graph=str(folder)))
    assert (task.graphs, task.metric) == (GRAPHS, "accuracy")


@pytest.mark.full
def test_a_graph_transformer_learns_rings_from_paths(folder, settings) -> None:
    result = train(settings(graph=str(folder), attention="interleaved", epochs=25, workers=1, lr=1e-2))
    assert result.epochs[-1].loss < 0.3 < result.epochs[0].loss


def test_numbers_are_a_regression_and_a_missing_one_is_in_no_part(folder) -> None:
    targets = np.arange(GRAPHS) + 0.5
    targets[3] = np.nan
    write(folder / "raw/graph-label.csv.gz", targets)
    data = read_set(str(folder), None, 0)
    assert data.classes == 0
    assert not data.masks[:, 3].any()
    assert data.targets[data.masks[0]].mean() == pytest.approx(0)
    assert sum(read_set(str(folder), "0.5/0.25/0.25", 0).masks).sum() == GRAPHS - 1


@pytest.mark.parametrize(
    ("name", "rows", "line"),
    [
        ("raw/edge.csv.gz", [[0, 1]], "raw/edge.csv.gz: expected .* pairs"),
        ("raw/num-node-list.csv.gz", [5, 5], "raw/num-.*-list.csv.gz: expected vertices and edges of the same graphs"),
        ("raw/num-node-list.csv.gz", [-1] * GRAPHS, "expected vertices and edges of the same graphs"),
        ("raw/node-feat.csv.gz", [[1.0], [2.0]], "expected features of .* vertices, got 2"),
        ("raw/graph-label.csv.gz", np.zeros((GRAPHS, 3)), "expected one target for each of 24 graphs"),
        ("split/scaffold/test.csv.gz", [99], "expected graphs from 0 to 23"),
    ],
)
def test_files_that_do_not_fit_are_one_line(folder, name, rows, line) -> None:
    write(folder / name, rows)
    with pytest.raises(OfframpError, match=line):
        read_set(str(folder), None, 0)


def test_ends_beyond_their_graph_and_damaged_files_are_one_line(folder) -> None:
    with gzip.open(folder / "raw/edge.csv.gz", "rt") as file:
        pairs = np.loadtxt(file, delimiter=",", dtype=int)
    pairs[0, 1] = 50
    write(folder / "raw/edge.csv.gz", pairs)
    with pytest.raises(OfframpError, match="an end that is not a vertex of its graph"):
        read_set(str(folder), None, 0)
    (folder / "raw/edge.csv.gz").write_bytes(b"not gzip")
    with pytest.raises(OfframpError, match=r"raw/edge.csv.gz: "):
        read_set(str(folder), None, 0)


def test_a_set_of_pyg_is_a_set_and_a_graph_of_pyg_is_not(monkeypatch, settings) -> None:
    pyg = pytest.importorskip("torch_geometric")
    import torch
    from torch_geometric.data import Data

    def graph(n: int, target: float) -> Data:
        ends = torch.arange(n - 1)
        return Data(
            x=torch.arange(n).remainder(3)[:, None], edge_index=torch.stack([ends, ends + 1]), y=torch.tensor([target])
        )

    graphs = [graph(4 + place % 3, float(place % 3)) for place in range(30)]
    monkeypatch.setattr(
        pyg.datasets,
        "Mine",
        type(
            "Mine",
            (),
            {
                "__init__": lambda self, root: None,
                "__len__": lambda self: len(graphs),
                "__getitem__": lambda self, k: graphs[k],
            },
        ),
        raising=False,
    )
    data = read_set("pyg:Mine", None, 0)
    assert (data.classes, data.features.shape[1], len(data.targets)) == (3, 3, 30)
    del graphs[1:]
    assert read_set("pyg:Mine", None, 0) is None


def test_a_part_may_have_one_graph(folder) -> None:
    write(folder / "split/scaffold/test.csv.gz", [23])
    assert np.flatnonzero(read_set(str(folder), None, 0).masks[2]).tolist() == [23]


@pytest.mark.parametrize("graph", [-1, GRAPHS])
def test_a_graph_that_is_not_there_is_in_no_part(folder, graph: int) -> None:
    write(folder / "split/scaffold/valid.csv.gz", [3, graph])
    with pytest.raises(OfframpError, match=rf"valid.csv.gz: expected graphs from 0 to {GRAPHS - 1}"):
        read_set(str(folder), None, 0)


@pytest.mark.parametrize("lengths", [(2, 1), (1, 2), (1, None)])
def test_targets_are_as_long_for_each_graph(lengths: tuple[int | None, ...]) -> None:
    data = pytest.importorskip("torch_geometric").data
    torch = pytest.importorskip("torch")
    edge = torch.tensor([[0, 1], [1, 0]])
    targets = [None if length is None else torch.zeros(length) for length in lengths]
    graphs = [data.Data(edge_index=edge, num_nodes=2, y=y) for y in targets]
    with pytest.raises(OfframpError, match="pyg:Some: expected a target for each graph"):
        _of_pyg("pyg:Some", graphs, None, 0)
