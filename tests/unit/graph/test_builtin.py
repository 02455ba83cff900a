# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys

import numpy as np
import pytest

from offramp.graph.load import load
from offramp_base.errors import OfframpError


def test_digits_is_a_symmetric_ten_neighbour_graph():
    pytest.importorskip("sklearn", reason="scikit-learn is missing")
    graph = load("digits")
    assert (graph.vertices, graph.width, graph.classes) == (1797, 64, 10)
    assert (graph.features.min(), graph.features.max()) == (0, 1)
    assert graph.degrees.min() == 10
    assert graph.metadata["symmetrised"] is True
    assert (graph.train.sum(), graph.val.sum(), graph.test.sum()) == (200, 500, 1000)
    rows = np.repeat(np.arange(1797), graph.degrees)
    assert (graph.labels[rows] == graph.labels[graph.indices]).mean() > 0.9


@pytest.mark.parametrize(("name", "vertices"), [("wine", 178), ("iris", 150), ("breast_cancer", 569)])
def test_columns_are_scaled(name, vertices):
    pytest.importorskip("sklearn", reason="scikit-learn is missing")
    graph = load(name, split="0.6/0.2/0.2")
    assert graph.vertices == vertices
    assert graph.features.min(axis=0).tolist() == [0] * graph.width
    assert graph.features.max(axis=0).tolist() == pytest.approx([1] * graph.width)


def test_karate():
    pytest.importorskip("networkx", reason="networkx is missing")
    graph = load("karate")
    assert (graph.vertices, graph.edges, graph.classes) == (34, 78, 2)
    assert graph.metadata["symmetrised"] is False


@pytest.mark.parametrize(("name", "package"), [("digits", "sklearn"), ("karate", "networkx")])
def test_missing_package_is_named(monkeypatch, name, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(OfframpError, match=rf"{name}: needs the package .*: .*pip install"):
        load(name)
