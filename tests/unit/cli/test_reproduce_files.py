# SPDX-License-Identifier: Apache-2.0
"""Data sets in the forms in which OGB, PyTorch Geometric and DGL hand them out, small; a wrong file is named."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from scipy.sparse import coo_array, save_npz
from typer.testing import CliRunner

from offramp.graph.csr import symmetric_csr
from offramp_base.errors import OfframpError
from offramp_cli.app import app
from offramp_sim.reproduce.datasets import sample
from offramp_sim.reproduce.files import read_graph

VERTICES = 600


@pytest.fixture(scope="module")
def edges():
    rng = np.random.default_rng(5)
    ring = np.stack([np.arange(VERTICES), (np.arange(VERTICES) + 1) % VERTICES])
    return np.concatenate([rng.integers(0, VERTICES, (2, 6000)), ring], axis=1)


def both_ways(edges):
    return np.concatenate([edges, edges[::-1]], axis=1)


def write_ogb(folder, edges):
    raw = folder / "ogbn_products" / "raw"
    raw.mkdir(parents=True)
    with gzip.open(raw / "edge.csv.gz", "wt") as file:
        file.writelines(f"{u},{v}\n" for u, v in edges.T.tolist())
    with gzip.open(raw / "num-node-list.csv.gz", "wt") as file:
        file.write(f"{VERTICES}\n")
    return raw / "edge.csv.gz"


def write_saint(folder, edges):
    indptr, indices = symmetric_csr(VERTICES, *edges)
    (folder / "Yelp" / "raw").mkdir(parents=True)
    path = folder / "Yelp" / "raw" / "adj_full.npz"
    np.savez(path, data=np.ones(len(indices)), indices=indices, indptr=indptr, shape=[VERTICES, VERTICES])
    return path


def write_dgl(folder, edges):
    u, v = both_ways(edges)
    path = folder / "reddit_graph.npz"
    save_npz(path, coo_array((np.ones(len(u)), (u, v)), shape=(VERTICES, VERTICES)))
    return path


def write_pyg(folder, edges):
    torch = pytest.importorskip("torch")
    path = folder / "Reddit" / "processed" / "data.pt"
    path.parent.mkdir(parents=True)
    torch.save(({"edge_index": torch.from_numpy(both_ways(edges)), "num_nodes": VERTICES}, None), path)
    return path


@pytest.mark.parametrize(
    ("name", "write"),
    [("products", write_ogb), ("yelp", write_saint), ("reddit", write_dgl), ("reddit", write_pyg)],
)
def test_every_form_gives_the_same_graph(tmp_path, edges, name, write):
    written = write(tmp_path, edges)
    path, indptr, indices = read_graph(tmp_path, name)
    assert path == written
    expected = symmetric_csr(VERTICES, *edges)
    assert np.array_equal(indptr, expected[0])
    assert np.array_equal(indices, expected[1])
    graph = sample(name, folder=tmp_path)
    assert graph.path == written
    assert graph.boundary(4).workers == 4
    assert np.bincount(graph.boundary(4).owner).min() > VERTICES / 8  # METIS balances


def test_a_figure_says_what_it_was_read_from(tmp_path, edges):
    write_dgl(tmp_path, edges)
    command = ["reproduce", "switchgnn/fig7", "--data", str(tmp_path), "--plots", str(tmp_path), "--json"]
    result = CliRunner().invoke(app, [*command, str(tmp_path / "found.json")])
    assert result.exit_code == 0, result.exception
    (item,) = json.loads((tmp_path / "found.json").read_text())["items"]
    assert item["settings"]["graph"].endswith("reddit_graph.npz")
    assert "cut by METIS" in item["note"]
    assert "not on this machine" not in item["note"]


def test_what_is_not_there_is_generated_and_what_is_wrong_is_named(tmp_path):
    assert read_graph(tmp_path, "reddit") is None
    assert sample("reddit", 0.1, folder=tmp_path).path is None
    with pytest.raises(OfframpError, match="nowhere: expected a folder"):
        read_graph(tmp_path / "nowhere", "reddit")
    (tmp_path / "reddit_graph.npz").write_bytes(b"no archive")
    with pytest.raises(OfframpError, match=r"reddit_graph\.npz: cannot be read"):
        read_graph(tmp_path, "reddit")
    (tmp_path / "Yelp" / "raw").mkdir(parents=True)
    np.savez(tmp_path / "Yelp" / "raw" / "adj_full.npz", indptr=np.array([0, 2]), indices=np.array([5, 6]))
    with pytest.raises(OfframpError, match=r"adj_full\.npz: edges: expected vertex ids from 0 to 0"):
        read_graph(tmp_path, "yelp")


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (str(10**19), "10000000000000000000 vertices: expected at most 2147483648"),
        ("-1", "-1 vertices"),
        ("x", "invalid"),
    ],
)
def test_a_number_of_vertices_that_cannot_be(tmp_path, edges, nodes, message):
    path = write_ogb(tmp_path, edges)
    path.with_name("num-node-list.csv.gz").write_bytes(gzip.compress(nodes.encode()))
    with pytest.raises(OfframpError, match=message):
        read_graph(tmp_path, "products")


def test_a_bomb_of_gzip_is_not_unpacked(tmp_path, edges):
    path = write_ogb(tmp_path, edges)
    path.write_bytes(gzip.compress(b"0,1\n" * (10 << 20), 9))
    with pytest.raises(OfframpError, match=r"edge\.csv\.gz: more than [0-9]+ bytes unpacked"):
        read_graph(tmp_path, "products")
