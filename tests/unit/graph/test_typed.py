# SPDX-License-Identifier: Apache-2.0
"""Stores of graphs of several types against the graph in memory. Blind to graphs larger than memory."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from offramp.graph.cut import cut
from offramp.graph.open_source import open_source
from offramp.graph.store import read_manifest, read_part, write_store
from offramp.graph.typed import typed_in_memory
from offramp_base.errors import OfframpError

WRITES, CITES, HAS = ("author", "writes", "paper"), ("paper", "cites/in", "paper"), ("paper", "has", "topic")


def arrays(seed: int = 0):
    """Types without fields, a name with a slash, a relation without edges."""
    rng = np.random.default_rng(seed)
    counts = {"author": 40, "paper": 60, "topic": 7}
    vertices = {"author": {}, "paper": {"x": rng.normal(size=(60, 3)), "y": rng.integers(4, size=60)}, "topic": {}}
    edges = {
        WRITES: {"edge_index": np.stack([rng.integers(40, size=150), rng.integers(60, size=150)])},
        CITES: {"edge_index": rng.integers(60, size=(2, 200)), "edge_weight": rng.random(200)},
        HAS: {"edge_index": np.zeros((2, 0), np.int64)},
    }
    return counts, vertices, edges


def graph():
    return typed_in_memory("g", *arrays())


def test_parts_hold_the_graph(tmp_path) -> None:
    source, (counts, vertices, edges) = graph(), arrays()
    owner = cut(source, 3, "stream", 2, 0)
    write_store(source, owner, 3, tmp_path / "s", "stream")
    of = {"author": owner[:40], "paper": owner[40:100], "topic": owner[100:]}
    seen, cut_edges, halo = {key: [] for key in edges}, 0, 0
    for part in range(3):
        there = read_part(tmp_path / "s", part, 3)
        for name in counts:
            mine = there.vertices[name]
            assert np.array_equal(mine.owner, of[name])
            assert np.array_equal(mine.ids, np.flatnonzero(of[name] == part))
            assert sorted(mine.fields) == sorted(vertices[name])
            for field, values in mine.fields.items():
                assert np.array_equal(values, vertices[name][field][mine.ids])
            assert (of[name][mine.halo_ids] != part).all()
            assert (np.diff(of[name][mine.halo_ids]) >= 0).all()
            halo += len(mine.halo_ids)
        for key, columns in edges.items():
            stored, source_of, target = there.edges[key], there.vertices[key[0]], there.vertices[key[2]]
            every = np.concatenate([source_of.ids, source_of.halo_ids])
            u, v = columns["edge_index"]
            targets = target.ids[np.repeat(np.arange(len(target.ids)), np.diff(stored.indptr))]
            assert np.array_equal(every[stored.sources], u[stored.edge_ids])
            assert np.array_equal(targets, v[stored.edge_ids])
            seen[key].append(stored.edge_ids)
            cut_edges += int((of[key[0]][u] != of[key[2]][v])[stored.edge_ids].sum())
        weights = there.edges[CITES]
        assert np.array_equal(weights.fields["edge_weight"], edges[CITES]["edge_weight"][weights.edge_ids])
    for key, ids in seen.items():
        assert np.array_equal(np.sort(np.concatenate(ids)), np.arange(edges[key]["edge_index"].shape[1]))
    manifest = read_manifest(tmp_path / "s")
    assert (manifest.cut_edges, manifest.halo) == (cut_edges, halo)
    assert (manifest.vertices, manifest.edges, manifest.vertex_types) == (107, 350, counts)
    assert manifest.relations == list(edges)
    assert not list((tmp_path / "s").glob("spool*"))


def test_types_are_cut_together() -> None:
    """A paper and its only author, which have no other edges, come to the same part."""
    pairs = np.arange(200)
    edges = {WRITES: {"edge_index": np.stack([pairs, pairs])}}
    owner = cut(typed_in_memory("g", {"author": 200, "paper": 200}, {}, edges), 2, "metis", 0, 0)
    assert (owner[:200] == owner[200:]).all()
    assert abs(np.bincount(owner) - 200).max() < 40


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c, v, e: v["paper"].update(x=np.zeros((3, 2))), r"g: paper: x: expected 60 rows, one for each vertex"),
        (lambda c, v, e: e[CITES].update(edge_weight=np.zeros(3)), "edge_weight: expected 200 rows, one for each edge"),
        (lambda c, v, e: e[WRITES].update(edge_index=np.full((2, 3), 45)), "expected vertices author from 0 to 39"),
        (lambda c, v, e: e[WRITES].update(edge_index=np.zeros((2, 3))), r"expected integers of shape \(2, edges\)"),
        (lambda c, v, e: e.update({("a", "b", "c"): e[HAS]}), "g: a b c: there are no vertices a"),
    ],
)
def test_what_does_not_fit_is_refused(change, message: str) -> None:
    whole = arrays()
    change(*whole)
    with pytest.raises(OfframpError, match=message):
        typed_in_memory("g", *whole)


@pytest.fixture
def store(tmp_path):
    write_store(graph(), cut(graph(), 2, "hash", 0, 0), 2, tmp_path / "s", "hash")
    return tmp_path / "s"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.update(vertex_types={"author": 40}), "manifest.json: damaged"),
        (lambda m: m.update(vertex_types={}), "manifest.json: damaged"),
        (lambda m: m["edge_types"].append(["a", "b", "c", 1]), "manifest.json: damaged"),
        (lambda m: m.update(edge_types=[["author", "writes"]]), "manifest.json: damaged"),
        (lambda m: m.update(edge_types=5), "manifest.json: damaged"),
        (lambda m: m["files"].pop("part-1/edges-1/sources.npy"), "names no part-1/edges-1/sources.npy"),
        (lambda m: m["files"].pop("owner-1.npy"), r"owner-1\.npy: missing or damaged"),
    ],
)
def test_a_changed_manifest_is_one_line(store, change, message: str) -> None:
    path = store / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))
    with pytest.raises(OfframpError, match=message):
        read_part(store, 1, 2)


def test_damage_is_found(store) -> None:
    path = store / "part-1" / "edges-0" / "sources.npy"
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw)
    read_part(store, 0, 2)
    with pytest.raises(OfframpError, match=r"part-1/edges-0/sources\.npy: damaged"):
        read_part(store, 1, 2)
    with pytest.raises(OfframpError, match="part-1: its files do not fit together"):
        read_part(store, 1, 2, verify=False)


def pairs(source, key):
    return np.concatenate([np.stack(each) for each in source.relations[key].chunks()], axis=1)


def test_folders_by_type(tmp_path) -> None:
    _, vertices, edges = arrays()
    edges = {WRITES: edges[WRITES], ("paper", "cites__in", "paper"): edges[CITES]}
    for name in ("author", "paper"):
        (tmp_path / name).mkdir()
        for field, values in vertices[name].items():
            np.save(tmp_path / name / f"{field}.npy", values)
    np.save(tmp_path / "author" / "num_nodes.npy", np.int64(40))
    for key, columns in edges.items():
        folder = tmp_path / "__".join(key)
        folder.mkdir()
        for field, values in columns.items():
            np.save(folder / f"{field}.npy", values)
    again = open_source(str(tmp_path))
    assert again.counts == {"author": 40, "paper": 60}
    assert set(again.relations) == set(edges)
    for key, columns in edges.items():
        assert np.array_equal(pairs(again, key), columns["edge_index"])
    assert np.array_equal(again.vertex_fields["paper"]["x"], vertices["paper"]["x"])
    np.save(tmp_path / "author" / "year.npy", np.int64(3))
    with pytest.raises(OfframpError, match="year: expected 40 rows, one for each vertex, got a number"):
        open_source(str(tmp_path))
    np.save(tmp_path / "author" / "num_nodes.npy", np.zeros(2))
    with pytest.raises(OfframpError, match=r"author: num_nodes: expected a number, got shape \(2,\)"):
        open_source(str(tmp_path))
    (tmp_path / "author" / "num_nodes.npy").unlink()
    with pytest.raises(OfframpError, match="author: expected x or num_nodes, for the number of vertices"):
        open_source(str(tmp_path))
    (tmp_path / "author" / "year.npy").unlink()
    np.save(tmp_path / "author" / "x.npy", np.zeros((2, 1)))
    with pytest.raises(OfframpError, match="expected vertices author from 0 to 1"):
        open_source(str(tmp_path))
    (tmp_path / "author__writes").mkdir()
    np.save(tmp_path / "author__writes" / "edge_index.npy", np.zeros((2, 1), np.int64))
    with pytest.raises(OfframpError, match="author__writes: expected a name such as author__writes__paper"):
        open_source(str(tmp_path))


def test_ogbs_raw_files_of_several_types(tmp_path) -> None:
    files = {
        "raw/num-node-dict.csv.gz": "author,paper\n3,2\n",
        "raw/triplet-list.csv.gz": "author,writes,paper\npaper,cites,paper\n",
        "raw/relations/author___writes___paper/edge.csv.gz": "0,0\n2,1\n",
        "raw/relations/paper___cites___paper/edge.csv.gz": "1,0\n",
        "raw/node-feat/paper/node-feat.csv.gz": "1,2\n3,4\n",
        "raw/node-label/paper/node-label.csv.gz": "4\nnan\n",
        "raw/node_year/paper/node_year.csv.gz": "2010\n2012\n",
        "split/time/paper/valid.csv.gz": "1\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(tmp_path / name, "wt") as file:
            file.write(text)
    source = open_source(str(tmp_path))
    assert source.counts == {"author": 3, "paper": 2}
    assert pairs(source, WRITES).tolist() == [[0, 2], [0, 1]]
    assert pairs(source, ("paper", "cites", "paper")).tolist() == [[1], [0]]
    paper = source.vertex_fields["paper"]
    assert paper["y"].tolist() == [4, -1]
    assert paper["year"].tolist() == [[2010], [2012]]
    assert paper["val_mask"].tolist() == [False, True]
    (tmp_path / "raw/relations/paper___cites___paper/edge.csv.gz").write_bytes(b"no gzip")
    with pytest.raises(OfframpError, match=r"edge\.csv\.gz: expected a table of numbers"):
        open_source(str(tmp_path))


def test_pygs_hetero_data(tmp_path) -> None:
    torch = pytest.importorskip("torch")
    pyg = pytest.importorskip("torch_geometric.data")
    counts, vertices, edges = arrays()
    data = pyg.HeteroData()
    for name, count in counts.items():
        data[name].num_nodes = count
        for field, values in vertices[name].items():
            data[name][field] = torch.from_numpy(values)
    for key, columns in edges.items():
        for field, values in columns.items():
            data[key][field] = torch.from_numpy(values)
    torch.save(data, tmp_path / "object.pt")
    torch.save(data.to_dict(), tmp_path / "dict.pt")
    for file in ("object.pt", "dict.pt"):
        again = open_source(str(tmp_path / file))
        assert again.counts == counts
        assert np.array_equal(again.vertex_fields["paper"]["x"], vertices["paper"]["x"])
        for key in (WRITES, CITES):
            assert np.array_equal(pairs(again, key), edges[key]["edge_index"])
        assert np.array_equal(again.relations[CITES].fields["edge_weight"], edges[CITES]["edge_weight"])
    del data["topic"].num_nodes
    torch.save(data, tmp_path / "less.pt")
    with pytest.raises(OfframpError, match="topic: expected x or num_nodes, for the number of vertices"):
        open_source(str(tmp_path / "less.pt"))


@pytest.mark.parametrize(
    ("row", "vertex", "message"),
    [(0, 2, "expected vertices a from 0 to 1"), (0, -1, "a from 0 to 1"), (1, 3, "expected vertices b from 0 to 2")],
)
def test_an_edge_at_a_vertex_that_is_not_there(row: int, vertex: int, message: str) -> None:
    index = np.array([[0, 1], [0, 2]])
    typed_in_memory("g", {"a": 2, "b": 3}, {}, {("a", "to", "b"): {"edge_index": index.copy()}})
    index[row, 1] = vertex
    with pytest.raises(OfframpError, match=message):
        typed_in_memory("g", {"a": 2, "b": 3}, {}, {("a", "to", "b"): {"edge_index": index}})
