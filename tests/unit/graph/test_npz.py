# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from offramp.graph.data import build_graph
from offramp.graph.load import load
from offramp.graph.npz import save_npz
from offramp_base.errors import OfframpError

DATA = Path(os.environ.get("OFFRAMP_DATA", Path(__file__).parents[4] / "shared" / "data"))


def fields():
    """A directed path 0-1-2 with an explicit zero that is not an edge."""
    return {
        "adj_data": np.array([1.0, 1.0, 0.0]),
        "adj_indices": np.array([1, 2, 0]),
        "adj_indptr": np.array([0, 1, 2, 3]),
        "adj_shape": np.array([3, 3]),
        "attr_data": np.array([0.5, 2.0]),
        "attr_indices": np.array([0, 1]),
        "attr_indptr": np.array([0, 1, 1, 2]),
        "attr_shape": np.array([3, 2]),
        "labels": np.array([0, 1, 1]),
    }


def write(path, **changes):
    contents = {k: v for k, v in {**fields(), **changes}.items() if v is not None}
    np.savez(path, **contents)
    return path


def test_reads_adjacency_features_and_labels(tmp_path):
    graph = load(write(tmp_path / "path.npz"))
    assert graph.name == "path"
    assert graph.indptr.tolist() == [0, 1, 3, 4]
    assert graph.indices.tolist() == [1, 0, 2, 1]
    assert graph.features.tolist() == [[0.5, 0.0], [0.0, 0.0], [0.0, 2.0]]
    assert graph.labels.tolist() == [0, 1, 1]
    assert graph.metadata["symmetrised"] is True


def test_features_and_labels_are_optional(tmp_path):
    graph = load(write(tmp_path / "g.npz", attr_indptr=None, labels=None))
    assert graph.classes == graph.width == 1


def test_save_gives_back_the_same_graph_and_split(tmp_path):
    rng = np.random.default_rng(5)
    graph = build_graph(
        "g",
        40,
        rng.integers(0, 40, (2, 90)),
        features=rng.normal(size=(40, 3)),
        labels=rng.integers(0, 3, 40),
        split="0.5/0.25/0.25",
        seed=9,
    )
    save_npz(graph, tmp_path / "g.npz")
    again = load(tmp_path / "g.npz", seed=1)
    for name in ("indptr", "indices", "features", "labels", "train", "val", "test"):
        assert np.array_equal(getattr(graph, name), getattr(again, name)), name
    assert not np.array_equal(load(tmp_path / "g.npz", split="0.5/0.25/0.25").train, graph.train)


def test_same_graph_same_bytes(tmp_path):
    graph = build_graph("g", 3, ([0, 1], [1, 2]))
    for name in ("a.npz", "b.npz"):
        save_npz(graph, tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"adj_indptr": None}, "adj_indptr: missing"),
        ({"adj_indptr": np.array([0, 1, 2])}, "adj_indptr: expected 4 entries, one more than rows, got 3"),
        (
            {"adj_indptr": np.array([0, 2, 1, 3])},
            "adj_indptr: expected a rising sequence from 0 to the 3 entries of adj_indices",
        ),
        (
            {"adj_indptr": np.array([0, 1, 2, 9])},
            "adj_indptr: expected a rising sequence from 0 to the 3 entries of adj_indices",
        ),
        ({"adj_indices": np.array([1, 2, 3])}, "adj_indices: expected columns from 0 to 2"),
        ({"adj_indices": np.array([1.0, 2, 0])}, "adj_indices: expected 1 dimensions of kind i/u, got 1 of float64"),
        ({"adj_indices": np.array([[1, 2, 0]])}, "adj_indices: expected 1 dimensions of kind i/u, got 2 of int64"),
        ({"adj_data": np.ones(2)}, "adj_data: expected 3 entries, as in adj_indices, got 2"),
        ({"adj_shape": np.array([3, 4])}, "adj_shape: expected a square matrix, got (3, 4)"),
        ({"adj_shape": np.array([3])}, "adj_shape: expected two sizes"),
        ({"attr_indices": np.array([0, 2])}, "attr_indices: expected columns from 0 to 1"),
        ({"labels": np.array([0.0, 1, 1])}, "labels: expected 1 dimensions of kind i/u, got 1 of float64"),
        ({"labels": np.array([None, 1, 1])}, "labels: cannot be read: Object arrays cannot be loaded"),
        ({"train": np.zeros(3, bool)}, "val: missing"),
    ],
)
def test_golden_errors(tmp_path, changes, message):
    path = write(tmp_path / "g.npz", **changes)
    with pytest.raises(OfframpError) as error:
        load(path)
    assert str(error.value).startswith(f"{path}: {message}")
    assert "\n" not in str(error.value)


def test_error_of_a_wrong_number_of_labels_names_the_graph(tmp_path):
    path = write(tmp_path / "g.npz", labels=np.array([0, 1]))
    with pytest.raises(OfframpError, match="labels: expected 3 integers") as error:
        load(path)
    assert str(path) in str(error.value)


def test_files_that_are_no_archive(tmp_path):
    text, array, cut = tmp_path / "text.npz", tmp_path / "array.npz", tmp_path / "cut.npz"
    text.write_text("0 1\n")
    with array.open("wb") as file:
        np.save(file, np.arange(3))
    cut.write_bytes(write(tmp_path / "whole.npz").read_bytes()[:-40])
    for path in (text, array, cut):
        with pytest.raises(OfframpError, match=r"expected a NumPy \.npz file"):
            load(path)
    with pytest.raises(OfframpError, match=r"gone\.npz: no such file"):
        load(tmp_path / "gone.npz")


def test_damaged_member_is_named(tmp_path):
    path = write(tmp_path / "g.npz")
    raw = bytearray(path.read_bytes())
    at = raw.find(np.array([1, 2, 0]).tobytes())
    raw[at] ^= 0xFF
    path.write_bytes(raw)
    with pytest.raises(OfframpError, match="adj_indices: cannot be read"):
        load(path)


@pytest.mark.parametrize(
    ("name", "vertices", "edges", "classes"),
    [("cora", 2708, 5278, 7), ("citeseer", 3312, 4536, 6), ("facebook", 22470, 170823, 4)],
)
def test_real_graphs(name, vertices, edges, classes):
    path = DATA / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"{path.name} is missing: set OFFRAMP_DATA to the folder that holds it")
    graph = load(path)
    assert (graph.vertices, graph.edges, graph.classes) == (vertices, edges, classes)
    assert graph.metadata["symmetrised"] is (name != "facebook")
    assert (graph.train.sum(), graph.val.sum(), graph.test.sum()) == (20 * classes, 500, 1000)


@pytest.mark.parametrize("dtype", [">f4", "f2", ">i8", "u1", "b"])
def test_numbers_of_any_type_and_byte_order_are_read(tmp_path, dtype):
    """SciPy takes neither half precision nor the other byte order."""
    matrix = {"data": np.ones(2, dtype), "indices": np.array([1, 0]), "indptr": np.array([0, 1, 2]), "shape": (2, 2)}
    fields = {f"{name}_{part}": array for name in ("adj", "attr") for part, array in matrix.items()}
    np.savez(tmp_path / "g.npz", **fields)
    graph = load(tmp_path / "g.npz")
    assert (graph.vertices, graph.edges) == (2, 1)
    assert graph.features.tolist() == [[0, 1], [1, 0]]
