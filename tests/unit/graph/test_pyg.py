# SPDX-License-Identifier: Apache-2.0
"""PyTorch Geometric is optional: a stand-in module shows what is asked of it, the real one is used if present."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from offramp.graph.load import load
from offramp_base.errors import OfframpError


class Tensor:
    """The part of torch.Tensor that is used."""

    def __init__(self, values):
        self._values = np.asarray(values)
        self.ndim = self._values.ndim

    def numpy(self):
        return self._values


class Named:
    """A data set with root and name, like Planetoid."""

    seen = None

    def __init__(self, root, name):
        type(self).seen = (root, name)
        if name == "Broken":
            raise ValueError("no such name\nmore")
        self._labels = [[0, 1]] * 3 if name == "Multi" else [0, 1, 1]

    def __getitem__(self, index):
        mask = Tensor([True, False, False])
        return SimpleNamespace(
            num_nodes=3,
            edge_index=Tensor([[0, 1], [1, 2]]),
            x=Tensor(np.eye(3)),
            y=Tensor(self._labels),
            train_mask=mask,
            val_mask=mask,
            test_mask=mask,
        )


@pytest.fixture
def stand_in(monkeypatch, tmp_path):
    package, datasets = ModuleType("torch_geometric"), ModuleType("torch_geometric.datasets")
    datasets.Named = Named
    package.datasets = datasets
    monkeypatch.setitem(sys.modules, "torch_geometric", package)
    monkeypatch.setitem(sys.modules, "torch_geometric.datasets", datasets)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_first_graph_with_its_own_masks(stand_in, tmp_path):
    graph = load("pyg:Named/Cora")
    assert Named.seen == (str(tmp_path / "offramp" / "pyg" / "Named"), "Cora")
    assert (graph.name, graph.vertices, graph.edges, graph.classes) == ("Named-Cora", 3, 2, 2)
    assert graph.train.tolist() == [True, False, False]
    assert load("pyg:Named/Cora", split="1/0/0").train.all()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("pyg:Other", "pyg:Other: torch_geometric.datasets has no 'Other'; expected pyg:CLASS[/NAME]"),
        ("pyg:Named", "pyg:Named: expected the data set's name, as in pyg:Named/NAME"),
        ("pyg:Named/Broken", "pyg:Named/Broken: torch_geometric cannot load it: no such name"),
        ("pyg:Named/Multi", "pyg:Named/Multi: labels: expected one class per vertex, got shape (3, 2)"),
    ],
)
def test_golden_errors(stand_in, spec, message):
    with pytest.raises(OfframpError) as error:
        load(spec)
    assert str(error.value) == message


def test_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    with pytest.raises(OfframpError, match=r"pyg:KarateClub: needs the package torch_geometric: .*pip install"):
        load("pyg:KarateClub")


def test_real_package_without_download():
    pytest.importorskip("torch_geometric", reason="torch_geometric is missing")
    graph = load("pyg:KarateClub")
    assert (graph.vertices, graph.edges, graph.classes) == (34, 78, 4)
