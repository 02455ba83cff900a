# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from offramp.graph.load import load
from offramp_base.errors import OfframpError

MATRIX = "%%MatrixMarket matrix coordinate pattern general\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("g.txt", "# a comment\n0 1\n\n1\t2  0.5\n% another\n2 0\n"),
        ("g.csv", "source,target,weight\n0,1,1\n1, 2,1\n2,0,1\n"),
        ("g.tsv", "0\t1\n1\t2\n2\t0\n"),
        ("g.el", "10 30\n30 200\n200 10\n"),
        ("g.mtx", "%%MatrixMarket matrix coordinate real symmetric\n% a comment\n3 3 3\n1 2 0.5\n2 3 1\n3 1 2\n"),
    ],
)
def test_formats(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    graph = load(path)
    assert graph.indptr.tolist() == [0, 2, 4, 6]
    assert graph.indices.tolist() == [1, 2, 0, 2, 0, 1]
    assert graph.name == "g"


@pytest.mark.parametrize("suffix", [".npy", ".txt"])
def test_features_and_labels_are_rows_of_vertices(tmp_path, suffix):
    edges, features, labels = tmp_path / "e.txt", tmp_path / f"f{suffix}", tmp_path / f"l{suffix}"
    edges.write_text("0 3\n")
    if suffix == ".npy":
        np.save(features, np.eye(4))
        np.save(labels, np.array([0, 1, 2, 1]))
    else:
        np.savetxt(features, np.eye(4))
        labels.write_text("0\n1\n2\n1\n")
    graph = load(edges, features=features, labels=str(labels))
    assert (graph.vertices, graph.edges, graph.classes) == (4, 1, 3)
    assert np.array_equal(graph.features, np.eye(4))
    assert graph.labels.tolist() == [0, 1, 2, 1]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("g.txt", "0 1\n# fine\n1 two\n", "g.txt:3: expected 2 integers, got '1 two'"),
        ("g.txt", "0 1\n7\n", "g.txt:2: expected 2 integers, got '7'"),
        ("g.txt", "0 1.5\n", "g.txt:1: expected 2 integers, got '0 1.5'"),
        ("g.txt", f"0 {2**63}\n", f"g.txt:1: expected 2 integers, got '0 {2**63}'"),
        ("g.csv", "a,b\n0,1\n0;2\n", "g.csv:3: expected 2 integers, got '0;2'"),
        ("g.txt", "# nothing\n", "g.txt: expected at least one line"),
        ("g.txt", "0 -1\n", "g.txt: expected vertex ids of at least 0"),
        ("g.mtx", "%%MatrixMarket matrix array real general\n", "g.mtx:1: expected %%MatrixMarket matrix coordinate"),
        ("g.mtx", f"{MATRIX}3 4 1\n1 1\n", "g.mtx: expected as many rows as columns, got 3 and 4"),
        ("g.mtx", f"{MATRIX}3 3 0\n", "g.mtx: expected at least one entry"),
        ("g.mtx", f"{MATRIX}3 3 1\n1 4\n", "g.mtx: expected indices of 1 to 3"),
        ("g.mtx", f"{MATRIX}3 3 1\n0 1\n", "g.mtx: expected indices of 1 to 3"),
        ("g.txt", b"\xff\xfe\x00", "g.txt: cannot be read: it is not UTF-8 text"),
    ],
)
def test_golden_errors(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(OfframpError) as error:
        load(path)
    assert str(error.value) == f"{tmp_path}/{message}"


def test_errors_in_companion_files(tmp_path):
    edges, rows = tmp_path / "e.txt", tmp_path / "f.txt"
    edges.write_text("0 1\n")
    rows.write_text("1 2\n3 x\n")
    with pytest.raises(OfframpError, match=r"f\.txt: could not convert"):
        load(edges, features=rows)
    rows.write_text("0\nx\n")
    with pytest.raises(OfframpError, match=r"f\.txt:2: expected one integer, got 'x'"):
        load(edges, labels=rows)
    (tmp_path / "f.npy").write_text("no")
    with pytest.raises(OfframpError, match=r"f\.npy: expected a NumPy \.npy file"):
        load(edges, features=tmp_path / "f.npy")
    with pytest.raises(OfframpError, match=r"gone\.npy: no such file"):
        load(edges, features=tmp_path / "gone.npy")
    rows.write_text("0\n")
    with pytest.raises(OfframpError, match="edges: expected vertex ids from 0 to 0"):
        load(edges, labels=rows)
    rows.write_text("0\n1\n")
    with pytest.raises(OfframpError, match="features and labels files go with an edge list only"):
        load("digits", labels=rows)


@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
def test_a_matrix_has_the_edges_that_scipy_reads(tmp_path, symmetry):
    rng = np.random.default_rng(1)
    matrix = scipy.sparse.random(40, 40, 0.1, rng=rng)
    if symmetry == "symmetric":
        matrix = matrix + matrix.T
    scipy.io.mmwrite(tmp_path / "g.mtx", matrix, symmetry=symmetry)
    read = scipy.io.mmread(tmp_path / "g.mtx").tocsr()
    symmetric = ((read + read.T) != 0).toarray()
    np.fill_diagonal(symmetric, val=False)
    graph = load(tmp_path / "g.mtx", labels=_rows_of(tmp_path, 40))
    mine = scipy.sparse.csr_matrix((np.ones(len(graph.indices)), graph.indices, graph.indptr), (40, 40)).toarray() != 0
    assert np.array_equal(mine, symmetric)


def _rows_of(folder, vertices):
    path = folder / "labels.npy"
    np.save(path, np.arange(vertices) % 2)
    return path
