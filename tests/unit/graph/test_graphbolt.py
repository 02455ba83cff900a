# SPDX-License-Identifier: Apache-2.0
"""GraphBolt's data sets on disk, written by hand as DGL 2.1 reads them. Blind to sets that DGL has preprocessed.

``tests/unit/gnn/test_dgl.py`` lets DGL read the same folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml

from graphbolt_sets import metadata, write_set
from offramp.graph.graphbolt import open_graphbolt
from offramp.graph.open_source import open_source
from offramp.graph.source import GraphSource
from offramp_base.errors import OfframpError


@pytest.mark.parametrize("form", ["numpy", "csv"])
def test_edges_features_labels_and_splits(tmp_path: Path, form: str) -> None:
    arrays = write_set(tmp_path / "bolt", form)
    source = open_source(str(tmp_path / "bolt"))
    assert isinstance(source, GraphSource)
    ((u, v),) = source.chunks()
    assert np.array_equal(np.stack([u, v]), arrays["edges"])
    assert np.array_equal(source.vertex_fields["x"], arrays["feat"])
    assert np.array_equal(source.edge_fields["edge_w"], arrays["w"])
    assert source.vertex_fields["train_mask"].sum() == len(arrays["train"])
    labelled = np.concatenate([arrays[name] for name in ("train", "validation", "test")])
    assert np.array_equal(np.flatnonzero(source.vertex_fields["y"] >= 0), np.sort(labelled))
    assert np.array_equal(source.vertex_fields["y"][labelled], arrays["labels"][labelled])
    assert not (source.vertex_fields["val_mask"] & source.vertex_fields["test_mask"]).any()


def _change(tmp_path: Path, change: Any) -> Path:
    folder = tmp_path / "bolt"
    write_set(folder, "numpy")
    np.save(folder / "words.npy", np.array(["one", "two"]))
    facts = metadata("numpy")
    change(facts)
    (folder / "metadata.yaml").write_text(yaml.safe_dump(facts))
    return folder


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f["graph"]["nodes"].append({"num": 3}), "expected one type of vertices and of edges"),
        (lambda f: f["graph"]["nodes"][0].update(num="many"), r"num: expected a number below 2\*\*32, got 'many'"),
        (lambda f: f["graph"]["nodes"][0].update(num=10**15), "num: expected a number below"),
        (lambda f: f["tasks"][0]["train_set"][0]["data"][0].update(path="words.npy"), "words.npy: expected whole"),
        (lambda f: f["graph"]["edges"][0].update(path="../edges.npy"), "expected a file in the folder"),
        (lambda f: f["graph"]["edges"][0].update(path="feat.npy"), r"expected integers of shape \(2, edges\)"),
        (lambda f: f["feature_data"][0].update(path="none.npy"), "none.npy: expected an array"),
        (lambda f: f["feature_data"][0].update(format="parquet"), "format 'parquet': expected numpy or torch"),
        (lambda f: f["graph"]["nodes"][0].update(num=5), "expected vertices from 0 to 4|expected 5 rows"),
        (lambda f: f.pop("graph"), "nodes: expected a list of at least 1 mappings"),
    ],
)
def test_a_malformed_set_is_one_line(tmp_path: Path, change: Any, message: str) -> None:
    with pytest.raises(OfframpError, match=message) as caught:
        open_graphbolt(_change(tmp_path, change))
    assert "\n" not in str(caught.value)


def test_tensors_by_torch_save(tmp_path: Path) -> None:
    folder = _change(tmp_path, lambda f: f["feature_data"][0].update(path="feat.pt", format="torch"))
    torch.save(torch.from_numpy(np.load(folder / "feat.npy")), folder / "feat.pt")
    assert np.array_equal(open_graphbolt(folder).vertex_fields["x"], np.load(folder / "feat.npy"))
    torch.save({"a": 1}, folder / "feat.pt")
    with pytest.raises(OfframpError, match=r"feat\.pt: expected a tensor"):
        open_graphbolt(folder)
