# SPDX-License-Identifier: Apache-2.0
"""Files that DGL 1.1.3 wrote of a random graph (``dgl/``; ``truth.npz`` has its arrays). Blind to other versions."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from offramp.graph.cut import cut
from offramp.graph.dgl import read_graph, read_tensors, read_types
from offramp.graph.open_source import open_source
from offramp.graph.source import in_memory
from offramp_base.errors import OfframpError

FILES = Path(__file__).parent / "dgl"
VALUES = [0, 1, 127, 255, 1 << 31, 1 << 62, (1 << 64) - 1]


@pytest.fixture
def truth():
    with np.load(FILES / "truth.npz") as file:
        return dict(file)


def ends(source):
    (chunk,) = source.chunks()
    return chunk


@pytest.mark.parametrize("form", ["coo", "csr", "csc"])
def test_a_graph_in_each_form(form, truth):
    source = open_source(str(FILES / f"{form}.bin"))
    u, v = ends(source)
    assert np.array_equal(u, truth["u"])
    assert np.array_equal(v, truth["v"])
    assert source.vertices == len(truth["x"])
    for name in ("x", "y", "train_mask"):
        assert np.array_equal(source.vertex_fields[name], truth[name])
    assert source.vertex_fields["train_mask"].dtype == np.bool_
    assert np.array_equal(source.edge_fields["edge_w"], truth["w"])


def test_a_graph_of_several_types():
    source = open_source(str(FILES / "types.bin"))
    with np.load(FILES / "types.npz") as file:
        types = dict(file)
    assert source.counts == {"author": 8, "paper": 9, "topic": 4}
    expected = {
        ("author", "cites", "author"): types["coauthors"],
        ("author", "writes", "paper"): types["writes"],
        ("paper", "cites", "paper"): types["cites"],
        ("paper", "has", "topic"): types["has"],
    }
    assert set(source.relations) == set(expected)
    for key, pairs in expected.items():
        assert np.array_equal(np.stack(next(iter(source.relations[key].chunks()))), pairs)
    for name in ("x", "y", "train_mask"):
        assert np.array_equal(source.vertex_fields["paper"][name], types[name])
    assert source.vertex_fields["topic"] == {}
    assert np.array_equal(source.relations["paper", "cites", "paper"].fields["edge_weight"], types["weight"])
    with pytest.raises(OfframpError, match=r"types\.bin: 3 types of vertices and 4 of edges, expected one of each"):
        read_graph(FILES / "types.bin")


def test_a_partition_of_distdgl(truth):
    source = open_source(str(FILES / "toy" / "toy.json"))
    vertices, edges = truth["vertex_ids"], truth["edge_ids"]  # what each had been before
    u, v = ends(source)
    assert np.array_equal(vertices[u], truth["u"][edges])
    assert np.array_equal(vertices[v], truth["v"][edges])
    assert np.array_equal(source.vertex_fields["x"], truth["x"][vertices])
    assert np.array_equal(source.edge_fields["edge_w"], truth["w"][edges])
    starts = json.loads((FILES / "toy" / "toy.json").read_text())["node_map"]["_N"]
    assert np.array_equal(cut(source, 3, "given", 0, 0), np.repeat(np.arange(3), [b - a for a, b in starts]))
    with pytest.raises(OfframpError, match="parts 2: toy is cut into 3"):
        cut(source, 2, "given", 0, 0)


def test_what_was_not_cut_is_not_given():
    with pytest.raises(OfframpError, match="method given: coo is not cut"):
        cut(open_source(str(FILES / "coo.bin")), 2, "given", 0, 0)


def test_vertices_that_no_memory_holds_are_one_line():
    none = np.zeros(0, np.int64)
    for method in ("stream", "hash"):
        with pytest.raises(OfframpError, match=r"x: needs .* GB of memory"):
            cut(in_memory("x", 1 << 40, none, none, {}, {}), 2, method, 0, 0)


@pytest.mark.parametrize("file", ["coo.bin", "csr.bin", "types.bin", "toy/part0/node_feat.dgl"])
def test_damaged_bytes_are_one_line_or_another_graph(file, tmp_path):
    whole, generator = (FILES / file).read_bytes(), np.random.default_rng(0)
    read = read_tensors if file.endswith("feat.dgl") else read_types
    path, said = tmp_path / "x.bin", []
    for turn in range(600):
        data = bytearray(whole)
        if turn % 3 == 0:
            del data[int(generator.integers(len(data))) :]
        for at in generator.integers(0, max(len(data), 1), 3).tolist() if data else ():
            if at < 4096 < len(data):
                at %= 64  # the header is mostly empty
            value = VALUES[int(generator.integers(len(VALUES)))]
            if turn % 2:
                data[at : at + 8] = value.to_bytes(8, "little")[: len(data) - at]
            else:
                data[at] = value & 255
        path.write_bytes(data)
        try:
            read(path)
        except OfframpError as error:
            said.append(str(error))
    assert len(said) > 200
    assert [line for line in said if "\n" in line] == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_nodes": -1}, "num_nodes: expected a number, got -1"),
        ({"num_nodes": 1 << 39}, "memory"),
        ({"num_nodes": 13}, "1 vertices and 0 edges are in no part"),
        ({"num_nodes": 5}, "expected numbers from 0 to 4 in _ID"),
        ({"ntypes": {"a": 0, "b": 1}}, "ntypes: expected one type of vertices"),
        ({"part-1": {"part_graph": "../coo.bin"}}, "part_graph: expected a file beside it, got '../coo.bin'"),
        ({"part-1": {"part_graph": "nothing.dgl"}}, "nothing.dgl"),
        ({"etypes": 1}, "etypes: expected one type of edges"),
        ({"part-1": 3}, "expected part-1, with the names of its files"),
    ],
)
def test_a_partition_that_does_not_fit_is_one_line(change, message, tmp_path):
    shutil.copytree(FILES / "toy", tmp_path / "toy")
    path = tmp_path / "toy" / "toy.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(OfframpError, match=message) as caught:
        open_source(str(path))
    assert "\n" not in str(caught.value)
