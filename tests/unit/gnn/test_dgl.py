# SPDX-License-Identifier: Apache-2.0
"""DGL's layers, graphs and files. What needs DGL runs in an interpreter of its own, which a variable names:

    OFFRAMP_DGL_PYTHON=DIR/bin/python pytest -m slow tests/unit/gnn/test_dgl.py

``python -m venv DIR && DIR/bin/pip install torch==2.2.1 dgl==2.1.0 'numpy<2' 'scipy<1.14' torchdata==0.7.1 pydantic
pyyaml pandas``. Blind to GPUs, graphs of several types and layers of several hops, which are refused.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from graphbolt_sets import write_set  # noqa: E402
from offramp import gnn  # noqa: E402
from offramp.gnn.dgl import LAYERS, layers_of, rank_graph, refuse_dropout  # noqa: E402
from offramp.gnn.tags import CannotDistributeError  # noqa: E402
from offramp.graph.open_source import open_source  # noqa: E402
from offramp_base.errors import OfframpError  # noqa: E402

VARIABLE = "OFFRAMP_DGL_PYTHON"
ROOT = Path(__file__).parents[3]


class OtherFramework:
    """A graph with DGL's interface, whose arrays come by DLPack."""

    ntypes, etypes = ("_N",), ("_E",)

    def __init__(self) -> None:
        self.ends = np.array([[0, 1, 2, 3], [1, 2, 3, 0]])
        self.ndata = {"feat": np.arange(8.0).reshape(4, 2), "label": np.arange(4), "train_mask": np.ones(4, np.bool_)}
        self.edata = {"w": np.arange(4.0)}

    def edges(self):
        return self.ends[0], self.ends[1]

    def num_nodes(self):
        return 4


def test_a_graph_of_another_framework_comes_without_a_copy() -> None:
    graph = OtherFramework()
    graph.ndata.pop("train_mask")  # NumPy's DLPack has no booleans before 2.0
    part = gnn.partition(graph)
    assert part.edge_index.tolist() == [[3, 0, 1, 2], [0, 1, 2, 3]]  # by target
    assert part.x.tolist() == graph.ndata["feat"].tolist()
    assert part.y.tolist() == [0, 1, 2, 3]
    assert part.edge_w.tolist() == [3, 0, 1, 2]
    graph.etypes = ("a", "b")
    with pytest.raises(OfframpError, match="expected one type of vertices and of edges"):
        gnn.partition(graph)


def layer(name: str, *parts: torch.nn.Module) -> torch.nn.Module:
    kind = type(name, (torch.nn.Sequential,), {"__module__": f"dgl.nn.pytorch.conv.{name.lower()}"})
    return kind(*parts)


def test_layers_by_name_and_not_their_parts() -> None:
    inner = layer("ShiftedSoftplus")
    outer = layer("CFConv", inner)
    assert layers_of(torch.nn.Sequential(outer, torch.nn.Linear(2, 2))) == [outer]
    with pytest.raises(OfframpError, match=r"1 \(SGConv\): takes rows of more than neighbours"):
        layers_of(torch.nn.Sequential(outer, layer("SGConv")))
    dropping = layer("GATConv", torch.nn.Dropout(0.5))
    with pytest.raises(CannotDistributeError, match="its dropout differs from rank to rank"):
        refuse_dropout(dropping)
    refuse_dropout(dropping.eval())


def test_a_block_needs_dgl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "dgl", None)
    data = SimpleNamespace(x=torch.zeros(3, 1), edge_index=torch.tensor([[0, 1], [1, 2]]))
    with pytest.raises(OfframpError, match="rank_graph: needs the package dgl"):
        rank_graph(gnn.partition(data))


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the program's results and files, of two ranks."""
    python = os.environ.get(VARIABLE)
    if not python:
        pytest.skip(f"{VARIABLE} does not name an interpreter with DGL")
    folder = tmp_path_factory.mktemp("dgl")
    write_set(folder / "bolt", "numpy")
    command = [python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = os.environ | {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(str(ROOT / name) for name in ("base", "host"))
    done = subprocess.run(
        [*command, str(ROOT / "tests" / "support" / "dgl_program.py"), str(folder / "out.json")],
        check=False, capture_output=True, text=True, timeout=600, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_layers_on_two_ranks_are_dgls_own_on_the_whole_graph(ran: Path) -> None:
    """Losses and gradients of two steps in float64."""
    seen = json.loads((ran / "out.json").read_text())
    assert {name.split()[0] for name in seen["differences"]} == set(LAYERS)
    assert max(seen["differences"].values()) < 1e-12
    assert seen["refusals"].keys() == {"SGConv", "TAGConv", "dropout"}
    assert "its dropout differs" in seen["refusals"]["dropout"]


@pytest.mark.slow
def test_files_that_dgl_wrote_are_read(ran: Path) -> None:
    whole, parts = open_source(str(ran / "whole.dgl")), open_source(str(ran / "parts" / "parts.json"))
    assert (whole.vertices, whole.edges) == (parts.vertices, parts.edges)
    assert parts.owner is not None
    assert set(parts.owner.tolist()) == {0, 1}
    edges = [np.concatenate(list(source.chunks()), 1) for source in (whole, parts)]
    rows = [source.vertex_fields["x"] for source in (whole, parts)]  # DistDGL renumbers vertices
    ends = [np.sort(np.concatenate([x[u], x[v]], 1).view([("", x.dtype)] * 12).ravel())
            for x, (u, v) in zip(rows, edges, strict=True)]  # fmt: skip
    assert np.array_equal(*ends)


@pytest.mark.slow
def test_graphbolt_reads_the_same_set(ran: Path) -> None:
    theirs = torch.load(ran / "graphbolt.pt", weights_only=True)
    source = open_source(str(ran / "bolt"))
    ((u, v),) = source.chunks()
    order = np.argsort(v, kind="stable")
    assert np.array_equal(np.diff(theirs["indptr"]), np.bincount(v, minlength=source.vertices))
    for vertex in range(source.vertices):
        start, end = theirs["indptr"][vertex : vertex + 2].tolist()
        assert sorted(theirs["indices"][start:end].tolist()) == sorted(u[order][v[order] == vertex].tolist())
    assert np.array_equal(theirs["x"], source.vertex_fields["x"])
    for theirs_name, ours in (("train_set", "train"), ("validation_set", "val"), ("test_set", "test")):
        ids = theirs[f"{theirs_name} ids"].numpy()
        assert np.array_equal(np.sort(ids), np.flatnonzero(source.vertex_fields[f"{ours}_mask"]))
        assert np.array_equal(theirs[f"{theirs_name} labels"], source.vertex_fields["y"][ids])
