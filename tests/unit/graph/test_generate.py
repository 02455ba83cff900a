# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

from offramp.graph.csr import rows_of
from offramp.graph.load import load
from offramp_base.errors import OfframpError

SPECS = ["sbm:n=400,k=3", "sbm:n=400,gamma=2.2,degree=20", "rmat:scale=8", "ba:n=300,m=3"]


def same_class_share(graph):
    return (graph.labels[rows_of(graph.indptr)] == graph.labels[graph.indices]).mean()


@pytest.mark.parametrize("spec", SPECS)
def test_seed_decides(spec):
    first, again, other = (load(spec, seed) for seed in (1, 1, 2))
    for name in ("indptr", "indices", "features", "labels", "train"):
        assert np.array_equal(getattr(first, name), getattr(again, name)), name
    assert not np.array_equal(first.features, other.features)
    assert not np.array_equal(first.indices, other.indices)


@pytest.mark.parametrize("spec", SPECS)
def test_classes_are_planted(spec):
    graph = load(spec)
    share = np.bincount(graph.labels, minlength=graph.classes) / graph.vertices
    assert graph.classes in {3, 4}
    assert same_class_share(graph) > (share**2).sum() + 0.1
    centres = np.stack([graph.features[graph.labels == c].mean(axis=0) for c in range(graph.classes)])
    assert np.linalg.norm(centres[0] - centres[1]) > 0.5


def test_sbm_has_the_degree_and_homophily_asked_for():
    graph = load("sbm:n=4000,k=4,degree=12,homophily=0.7")
    assert graph.degrees.mean() == pytest.approx(12, rel=0.02)
    assert same_class_share(graph) == pytest.approx(0.7 + 0.3 / 4, abs=0.02)


def test_power_law_is_skewed():
    flat, skewed = load("sbm:n=2000"), load("sbm:n=2000,gamma=2.2")
    assert skewed.degrees.max() > 5 * flat.degrees.max()


def test_ba_attaches_m_edges_to_each_new_vertex():
    graph = load("ba:n=2000,m=4")
    assert 0.97 * 8000 <= graph.edges <= 8000
    assert graph.degrees.max() > 60


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("sbm:n=x", "sbm:n=x: n: expected a number, got 'x'"),
        ("sbm:q=1", "sbm:q=1: q: expected one of features, n, k, degree, homophily, gamma"),
        ("sbm:n=3,k=4", "sbm:n=3,k=4: n: expected 4 to 1.07374e+09, got 3"),
        ("sbm:homophily=1.5", "sbm:homophily=1.5: homophily: expected 0 to 1, got 1.5"),
        ("sbm:gamma=1.5", "sbm:gamma=1.5: gamma: expected 2.0001 to 100, got 1.5"),
        ("sbm:degree=nan", "sbm:degree=nan: degree: expected 0 to 1000, got nan"),
        ("ba:n=4,m=4", "ba:n=4,m=4: n: expected 5 to 1.07374e+09, got 4"),
        ("rmat:a=0.9", "rmat:a=0.9: a+b+c: expected 0 to 1, got 1.28"),
        ("ba:features=0", "ba:features=0: features: expected 1 to 8160, got 0"),
        ("ba:k=0", "ba:k=0: k: expected 1 to 65536, got 0"),
    ],
)
def test_golden_errors(spec, message):
    with pytest.raises(OfframpError) as error:
        load(spec)
    assert str(error.value) == message
