# SPDX-License-Identifier: Apache-2.0
"""Folders as SNAP distributes MUSAE's graphs."""

from __future__ import annotations

import json
import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from typer.testing import CliRunner

from offramp.graph.load import load
from offramp.graph.open_source import open_source
from offramp_base.errors import OfframpError
from offramp_cli.app import app

DATA = Path(os.environ.get("OFFRAMP_DATA", Path(__file__).parents[4] / "shared" / "data"))
TARGET = 'id,facebook_id,page_name,page_type\n1,7,"A ""name"", with a comma",politician\n0,9,Z,tvshow\n2,8,Q,company\n'


def write(folder: Path, **changes: str) -> Path:
    """A path 0-1-2 and a loop at 2."""
    files = {
        "edges": "id_1,id_2\n0,1\n2,1\n2,2\n",
        "target": TARGET,
        "features": '{"0": [3, 1, 3], "2": [0], "1": []}',
        **changes,
    }
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        if text:
            (folder / f"musae_pages_{name}.{'json' if name == 'features' else 'csv'}").write_text(text)
    return folder


def test_edges_features_and_classes(tmp_path: Path) -> None:
    graph = load(write(tmp_path / "g"))
    assert graph.name == "musae_pages"
    assert graph.indptr.tolist() == [0, 1, 3, 4]
    assert graph.indices.tolist() == [1, 0, 2, 1]
    assert np.asarray(graph.features).tolist() == [[0, 1, 0, 1], [0, 0, 0, 0], [1, 0, 0, 0]]
    assert graph.labels.tolist() == [2, 1, 0]  # company, politician, tvshow
    assert open_source(str(tmp_path / "g")).vertices == 3


def test_without_features_a_vertex_has_its_degree(tmp_path: Path) -> None:
    assert load(write(tmp_path / "g", features="")).features.shape == (3, 1)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"edges": "id_1,id_2\n0,1\n0,x\n"}, "musae_pages_edges.csv:3: expected the number of a vertex, got 'x'"),
        ({"edges": "id_1,id_2\n0,9\n"}, "edges: expected vertex ids from 0 to 2"),
        ({"edges": "id_1,id_2\n0\n"}, "musae_pages_edges.csv:2: 1 columns, expected 2"),
        ({"edges": "\n"}, "musae_pages_edges.csv:1: 0 columns"),
        ({"target": TARGET.replace("id,", "ID,", 1)}, "musae_pages_target.csv:1: expected a column id"),
        ({"target": TARGET + "1,1,B,tvshow\n"}, "musae_pages_target.csv:5: vertex 1 is given twice"),
        ({"target": TARGET.replace("\n2,", "\n5,")}, "musae_pages_target.csv: vertex 2 of 3 is missing"),
        ({"features": "[]"}, "musae_pages_features.json: expected an object"),
        ({"features": '{"0": [1], "1": [2]}'}, "musae_pages_features.json: vertex 2: expected a list of columns"),
        ({"features": '{"0": [1], "1": [2], "2": [-1]}'}, "musae_pages_features.json: vertex 2"),
        ({"features": "{"}, "musae_pages_features.json: "),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, changes: dict[str, str], said: str) -> None:
    with pytest.raises(OfframpError) as caught:
        load(write(tmp_path / "g", **changes))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_two_graphs_in_one_folder_are_refused(tmp_path: Path) -> None:
    folder = write(tmp_path / "g")
    (folder / "other_edges.csv").write_text("id_1,id_2\n")
    with pytest.raises(OfframpError, match=r"expected the edges of one graph, got musae_pages_edges.csv, other_edges"):
        load(folder)


def test_convert_writes_what_it_read(tmp_path: Path) -> None:
    folder, file = write(tmp_path / "g"), tmp_path / "g.npz"
    done = CliRunner().invoke(app, ["graph", "convert", str(folder), str(file), "--json", "-"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["edges"] == 2
    first, second = load(folder), load(file)
    for name in ("indptr", "indices", "features", "labels", "train", "val", "test"):
        assert np.array_equal(getattr(first, name), getattr(second, name)), name


@pytest.mark.full
@pytest.mark.skipif(not (DATA / "facebook.npz").exists(), reason="facebook.npz is missing: set OFFRAMP_DATA")
def test_the_page_graph_from_files_as_snaps(tmp_path: Path) -> None:
    """Its npz written as SNAP's three files, and read back."""
    graph = load(DATA / "facebook.npz")
    rows = np.repeat(np.arange(graph.vertices), np.diff(graph.indptr))
    once = rows < graph.indices
    pairs = zip(rows[once].tolist(), graph.indices[once].tolist(), strict=True)
    names = ["company", "government", "politician", "tvshow"]
    matrix = csr_array(graph.features)
    features = {v: matrix.indices[a:b].tolist() for v, (a, b) in enumerate(pairwise(matrix.indptr))}
    folder = write(
        tmp_path / "facebook_large",
        edges="id_1,id_2\n" + "".join(f"{u},{v}\n" for u, v in pairs),
        target="id,page_type\n" + "".join(f"{v},{names[c]}\n" for v, c in enumerate(graph.labels)),
        features=json.dumps(features),
    )
    again = load(folder)
    assert (matrix != csr_array(again.features)).nnz == 0
    for name in ("indptr", "indices", "labels", "train"):
        assert np.array_equal(getattr(graph, name), getattr(again, name)), name
