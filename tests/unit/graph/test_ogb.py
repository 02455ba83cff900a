# SPDX-License-Identifier: Apache-2.0
"""OGB's node property data sets, in text and binary."""

from __future__ import annotations

import gzip
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from offramp.graph.open_source import open_source
from offramp.graph.source import GraphSource
from offramp_base.errors import OfframpError

TEXT = {
    "raw/edge.csv.gz": "0,1\n2,1\n",
    "raw/num-node-list.csv.gz": "3\n",
    "raw/node-feat.csv.gz": "1,2\n3,4\n5,6\n",
    "raw/node-label.csv.gz": "0\nnan\n1\n",
    "raw/node_year.csv.gz": "1999\n2000\n2001\n",
    "split/time/valid.csv.gz": "2\n",
}
EDGES = np.array([[0, 2], [1, 1]])
FEATURES = np.array([[1, 2], [3, 4], [5, 6]], np.float32)


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(folder / name, "wt") as file:
            file.write(text)


def write_binary(folder: Path, save: Any = np.savez, **others: npt.NDArray[Any]) -> None:
    write(folder, {"split/time/valid.csv.gz": "2\n"})
    (folder / "raw").mkdir(exist_ok=True)
    fields = {"edge_index": EDGES, "num_nodes_list": np.array([3]), "num_edges_list": np.array([2])}
    fields |= {"node_feat": FEATURES, "node_year": np.array([[1999], [2000], [2001]])}
    save(folder / "raw/data.npz", **(fields | others))
    save(folder / "raw/node-label.npz", node_label=np.array([[0], [np.nan], [1]], np.float32))


def opened(folder: Path) -> GraphSource:
    graph = open_source(str(folder))
    assert isinstance(graph, GraphSource)
    return graph


def check(graph: GraphSource) -> None:
    (ends,) = graph.chunks()
    assert np.array_equal(np.stack(ends), EDGES)
    assert np.array_equal(graph.vertex_fields["x"], FEATURES)
    assert graph.vertex_fields["y"].tolist() == [0, -1, 1]
    assert graph.vertex_fields["year"].tolist() == [[1999], [2000], [2001]]
    assert graph.vertex_fields["val_mask"].tolist() == [False, False, True]


def test_text(tmp_path: Path) -> None:
    write(tmp_path, TEXT)
    check(opened(tmp_path))


@pytest.mark.each
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("order", ["C", "F"])
def test_binary_files_are_mapped(tmp_path: Path, save: Any, order: Any) -> None:
    write_binary(tmp_path, save, edge_index=np.array(EDGES, order=order), node_feat=np.array(FEATURES, order=order))
    graph = opened(tmp_path)
    check(graph)
    assert isinstance(graph.vertex_fields["x"], np.memmap)
    assert not graph.vertex_fields["x"].flags.writeable


def test_the_other_byte_order_is_read(tmp_path: Path) -> None:
    write_binary(tmp_path, node_feat=FEATURES.astype(">f4"))
    check(opened(tmp_path))


def test_fields_of_edges(tmp_path: Path) -> None:
    write_binary(tmp_path, edge_feat=np.ones((2, 4), np.float16), edge_reltype=np.zeros((2, 1), np.int64))
    fields = opened(tmp_path).edge_fields
    assert {name: values.shape for name, values in fields.items()} == {"edge_attr": (2, 4), "edge_reltype": (2, 1)}


@pytest.mark.each
@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("raw/edge.csv.gz", "0,1,2\n", "edge.csv.gz: expected 2 columns, got 3"),
        ("raw/edge.csv.gz", "0,x\n", "edge.csv.gz: expected a table of numbers: "),
        ("raw/node-feat.csv.gz", "1\n", "x: expected 3 rows, one for each vertex, got 1"),
        ("split/time/valid.csv.gz", "3\n", "valid.csv.gz: expected vertices from 0 to 2, got 3 to 3"),
        ("split/time/valid.csv.gz", "-1\n", "valid.csv.gz: expected vertices from 0 to 2, got -1 to -1"),
    ],
)
def test_text_that_does_not_fit_is_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    write(tmp_path, TEXT | {name: text})
    with pytest.raises(OfframpError) as caught:
        opened(tmp_path)
    assert message in str(caught.value)


@pytest.mark.each
@pytest.mark.parametrize(
    ("others", "message"),
    [
        ({"edge_index": EDGES.T.repeat(2, 0)}, "data.npz: edge_index: expected shape (2, edges), got (4, 2)"),
        ({"edge_index": EDGES.astype(float)}, "data.npz: edge_index: expected 2 dimensions of kind i/u"),
        ({"node_feat": FEATURES[:2]}, "x: expected 3 rows, one for each vertex, got 2"),
        ({"node_feat": np.array([None])}, "data.npz: node_feat: cannot be read: Object arrays cannot be loaded"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(tmp_path: Path, others: dict[str, Any], message: str) -> None:
    write_binary(tmp_path, **others)
    with pytest.raises(OfframpError) as caught:
        opened(tmp_path)
    assert message in str(caught.value)


def test_a_full_disk_is_told_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_binary(tmp_path, np.savez_compressed)
    monkeypatch.setattr("os.fstatvfs", lambda _: SimpleNamespace(f_bavail=7, f_frsize=1))
    with pytest.raises(OfframpError, match=r"edge_index: needs 0\.0 GB among temporary files, 0\.0 GB are free"):
        opened(tmp_path)


@pytest.mark.each
@pytest.mark.parametrize(
    ("sizes", "triplets", "message"),
    [
        ("a,b\n3\n", "a,cites,a\n", "expected a row of types, and one of their vertices"),
        ("a\n-3\n", "a,cites,a\n", "expected a row of types, and one of their vertices"),
        ("a\n3\n", "a,cites\n", "expected rows of 3 words, got 'a,cites'"),
        ("a\n3\n", "a,../x,a\n", "expected words without /, got '../x'"),
    ],
)
def test_words_that_name_no_types_are_refused(tmp_path: Path, sizes: str, triplets: str, message: str) -> None:
    write(tmp_path, {"raw/num-node-dict.csv.gz": sizes, "raw/triplet-list.csv.gz": triplets})
    with pytest.raises(OfframpError) as caught:
        open_source(str(tmp_path))
    assert message in str(caught.value)
