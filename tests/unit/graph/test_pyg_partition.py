# SPDX-License-Identifier: Apache-2.0
"""Folders that PyG's own Partitioner writes; METIS, which it takes from pyg-lib, is replaced by a fixed cut."""

from __future__ import annotations

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from offramp.graph.cut import cut  # noqa: E402
from offramp.graph.open_source import open_source  # noqa: E402
from offramp_base.errors import OfframpError  # noqa: E402


@pytest.fixture
def data():
    from torch_geometric.data import Data

    torch.manual_seed(0)
    index = torch.randint(20, (2, 70))
    return Data(x=torch.randn(20, 3), edge_index=index, edge_attr=torch.rand(70, 2))


@pytest.fixture
def folder(data, tmp_path, monkeypatch):
    from torch_geometric.distributed import Partitioner
    from torch_geometric.loader.cluster import ClusterData

    monkeypatch.setattr(ClusterData, "_metis", lambda *_: torch.arange(20) % 3)
    Partitioner(data, 3, str(tmp_path / "parts")).generate_partition()
    return tmp_path / "parts"


def test_the_graph_is_whole_again_and_keeps_its_parts(folder, data):
    source = open_source(str(folder))
    ((u, v),) = source.chunks()
    assert np.array_equal(np.stack([u, v]), data.edge_index.numpy())
    assert np.array_equal(source.vertex_fields["x"], data.x.numpy())
    assert np.array_equal(source.edge_fields["edge_attr"], data.edge_attr.numpy())
    assert np.array_equal(cut(source, 3, "given", 0, 0), np.arange(20) % 3)


def test_files_that_do_not_fit_are_one_line(folder):
    graph = folder / "part_1" / "graph.pt"
    content = torch.load(graph)
    for change, message in [
        ({"row": content["row"] + 20}, "row: expected numbers from 0 to 19"),
        ({"edge_id": content["edge_id"][:-1]}, "row: expected"),
        ({"col": 3}, "col: expected a tensor"),
        ({"edge_id": content["edge_id"] * 0}, "edges are in no part"),
    ]:
        torch.save(content | change, graph)
        with pytest.raises(OfframpError, match=message) as caught:
            open_source(str(folder))
        assert "\n" not in str(caught.value)
    graph.write_bytes(b"nothing")
    with pytest.raises(OfframpError, match=r"graph\.pt: expected tensors of PyG"):
        open_source(str(folder))
    meta = folder / "META.json"
    meta.write_text(json.dumps(json.loads(meta.read_text()) | {"is_hetero": True}))
    with pytest.raises(OfframpError, match="several types of vertices"):
        open_source(str(folder))
