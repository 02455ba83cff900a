# SPDX-License-Identifier: Apache-2.0
"""Streamed partitions and partitioned stores against the graph in memory. Blind to graphs larger than memory."""

from __future__ import annotations

import json

import numpy as np
import pytest

from offramp.graph import kernels, streaming
from offramp.graph.cut import cut
from offramp.graph.generate import generate
from offramp.graph.open_source import open_source
from offramp.graph.source import CHUNK, in_memory
from offramp.graph.store import read_manifest, read_part, write_store
from offramp.graph.typed import ITS_EDGES, ONE_TYPE
from offramp_base.errors import OfframpError


def source(n=200, edges=900, seed=0):
    rng = np.random.default_rng(seed)
    u, v = rng.integers(n, size=(2, edges))
    x = rng.normal(size=(n, 3)).astype(np.float32)
    return in_memory("g", n, u, v, {"x": x, "y": rng.integers(4, size=n)}, {"edge_weight": rng.random(edges)})


def test_parts_hold_the_graph(tmp_path):
    graph = source()
    owner = cut(graph, 3, "stream", 2, 0)
    write_store(graph, owner, 3, tmp_path / "s", "stream")
    ((u, v),) = graph.chunks()
    seen = []
    for part in range(3):
        there = read_part(tmp_path / "s", part, 3)
        own, edges = there.vertices[ONE_TYPE], there.edges[ITS_EDGES]
        assert np.array_equal(own.ids, np.flatnonzero(owner == part))
        assert np.array_equal(own.fields["x"], graph.vertex_fields["x"][own.ids])
        every = np.concatenate([own.ids, own.halo_ids])
        targets = own.ids[np.repeat(np.arange(len(own.ids)), np.diff(edges.indptr))]
        assert np.array_equal(every[edges.sources], u[edges.edge_ids])
        assert np.array_equal(targets, v[edges.edge_ids])
        assert np.array_equal(edges.fields["edge_weight"], graph.edge_fields["edge_weight"][edges.edge_ids])
        assert (owner[own.halo_ids] != part).all()
        assert (np.diff(owner[own.halo_ids]) >= 0).all()
        seen.append(edges.edge_ids)
    assert np.array_equal(np.sort(np.concatenate(seen)), np.arange(len(u)))
    manifest = read_manifest(tmp_path / "s")
    assert manifest.cut_edges == int((owner[u] != owner[v]).sum())


def test_machine_code_is_the_python(monkeypatch):
    graph = source(60, 300)
    fast = cut(graph, 4, "stream", 3, 0)
    monkeypatch.setattr(kernels, "fast", lambda kernel: kernel)
    assert np.array_equal(cut(graph, 4, "stream", 3, 0), fast)


@pytest.mark.parametrize("parts", [2, 4, 7])
def test_streamed_parts_are_balanced_and_cut_less_than_chance(parts):
    graph = generate("sbm:n=2000,k=14", None, 1)
    rows = np.repeat(np.arange(graph.vertices), graph.degrees)
    chunks = [(rows[k : k + 997], graph.indices[k : k + 997]) for k in range(0, len(rows), 997)]
    owner = streaming.stream_partition(lambda: chunks, graph.vertices, len(rows), parts)
    assert np.bincount(owner, minlength=parts).max() <= np.ceil(graph.vertices / parts * streaming.BALANCE)
    assert (owner[rows] != owner[graph.indices]).mean() < 0.9 * (1 - 1 / parts)


def test_what_is_damaged_or_foreign_is_refused(tmp_path):
    graph, folder = source(), tmp_path / "s"
    write_store(graph, cut(graph, 2, "hash", 0, 0), 2, folder, "hash")
    with pytest.raises(OfframpError, match="has 2 parts, expected one for each of 3 ranks"):
        read_part(folder, 0, 3)
    with pytest.raises(OfframpError, match="expected an empty folder"):
        write_store(graph, cut(graph, 2, "hash", 0, 0), 2, folder, "hash")
    with pytest.raises(OfframpError, match=r"no manifest\.json"):
        read_part(tmp_path, 0, 2)
    x = folder / "part-1" / "vertex.x.npy"
    raw = bytearray(x.read_bytes())
    raw[-1] ^= 1
    x.write_bytes(raw)
    read_part(folder, 0, 2)
    with pytest.raises(OfframpError, match=r"part-1/vertex\.x\.npy: damaged"):
        read_part(folder, 1, 2)
    x.unlink()
    with pytest.raises(OfframpError, match=r"part-1/vertex\.x\.npy: missing"):
        read_part(folder, 1, 2)
    manifest = folder / "manifest.json"
    content = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**content, "format": "offramp.graph.store/9"}))
    with pytest.raises(OfframpError, match=r"expected format offramp\.graph\.store/1"):
        read_part(folder, 0, 2)


def pairs(graph):
    return np.concatenate([np.stack(each) for each in graph.chunks()], axis=1)


def test_a_folder_of_arrays(tmp_path):
    graph = source()
    np.save(tmp_path / "edge_index.npy", pairs(graph))
    np.save(tmp_path / "edge_weight.npy", graph.edge_fields["edge_weight"])
    np.save(tmp_path / "x.npy", graph.vertex_fields["x"])
    again = open_source(str(tmp_path))
    assert (again.vertices, again.edges, sorted(again.edge_fields)) == (200, 900, ["edge_weight"])
    assert np.array_equal(pairs(again), pairs(graph))
    np.save(tmp_path / "y.npy", np.zeros(7))
    with pytest.raises(OfframpError, match="expected 200 rows, one for each vertex, got 7"):
        open_source(str(tmp_path))


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = {"source": [0, 1, 2], "target": [1, 2, 0], "edge_weight": [0.5, 1.5, 2.5]}
    parquet.write_table(pyarrow.table(table), tmp_path / "g.parquet")
    parquet.write_table(pyarrow.table({"x": [[1.0, 2.0]] * 3, "y": [0, 1, -1]}), tmp_path / "g.vertices.parquet")
    graph = open_source(str(tmp_path / "g.parquet"))
    assert pairs(graph).tolist() == [[0, 1, 2], [1, 2, 0]]
    assert graph.vertex_fields["x"].shape == (3, 2)
    assert graph.edge_fields["edge_weight"].tolist() == [0.5, 1.5, 2.5]
    parquet.write_table(pyarrow.table({"a": [1]}), tmp_path / "h.parquet")
    with pytest.raises(OfframpError, match="expected columns source and target, got a"):
        open_source(str(tmp_path / "h.parquet"))


def test_pygs_file(tmp_path):
    torch = pytest.importorskip("torch")
    data = {"edge_index": torch.tensor([[0, 1], [1, 0]]), "x": torch.ones(2, 3), "edge_attr": torch.ones(2, 1)}
    torch.save(data, tmp_path / "d.pt")
    graph = open_source(str(tmp_path / "d.pt"))
    assert (graph.vertices, list(graph.vertex_fields), list(graph.edge_fields)) == (2, ["x"], ["edge_attr"])
    geometric = pytest.importorskip("torch_geometric.data")
    torch.save(geometric.Data(**data), tmp_path / "e.pt")
    assert open_source(str(tmp_path / "e.pt")).edges == 2
    (tmp_path / "f.pt").write_bytes(b"nonsense")
    with pytest.raises(OfframpError, match="expected PyG's Data"):
        open_source(str(tmp_path / "f.pt"))


def test_chunks_are_read_in_order():
    graph = source(10, CHUNK + 5)
    assert [len(u) for u, _ in graph.chunks()] == [CHUNK, 5]
