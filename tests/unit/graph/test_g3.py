# SPDX-License-Identifier: Apache-2.0
"""G3's first stage: METIS with two constraints, its fallbacks, and Mt-KaHyPar's volume beside METIS's."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from offramp.graph import g3, metis
from offramp.graph.boundary import Boundary
from offramp.graph.generate import generate
from offramp.graph.load import load
from offramp.graph.partition import partition
from offramp_base.errors import OfframpError

FACEBOOK = Path(os.environ.get("OFFRAMP_DATA", Path(__file__).parents[4] / "shared" / "data")) / "facebook.npz"


@pytest.fixture(scope="module")
def hubs():
    return generate("ba:n=3000,m=6", "1/0/0", 1)


def shares(graph, part, workers):
    degree = np.diff(graph.indptr)
    return (
        np.bincount(part, minlength=workers).max() * workers / len(part),
        np.bincount(part, degree, workers).max() * workers / degree.sum(),
    )


@pytest.mark.full
def test_metis_balances_vertices_and_edges(hubs):
    pytest.importorskip("pymetis", reason="pymetis is missing")
    part = g3.first_stage(hubs, 6, 2)
    assert max(shares(hubs, part, 6)) <= 1.031
    assert np.array_equal(part, g3.first_stage(hubs, 6, 2))
    assert not np.array_equal(part, g3.first_stage(hubs, 6, 3))
    assert shares(hubs, partition(hubs, 6, "metis", 2), 6)[1] > 1.08  # what one constraint leaves


def test_one_weight_where_the_library_is_hidden(hubs, monkeypatch):
    pytest.importorskip("pymetis", reason="pymetis is missing")

    def hidden():
        raise OfframpError("hidden")

    monkeypatch.setattr(metis, "_kway", hidden)
    part = g3.first_stage(hubs, 6, 2)
    degree = np.diff(hubs.indptr)
    load = np.bincount(part, 1 / 3000 + degree / degree.sum(), 6)
    assert load.max() * 3 <= 1.04
    assert Boundary(hubs, part, 6).R < Boundary(hubs, partition(hubs, 6, "random"), 6).R


@pytest.mark.parametrize("workers", [2, 5, 16])
def test_pieces_of_a_walk_without_metis(hubs, monkeypatch, workers):
    monkeypatch.setitem(sys.modules, "pymetis", None)
    monkeypatch.setattr(g3, "available", lambda: False)
    part = g3.first_stage(hubs, workers)
    degree = np.diff(hubs.indptr)
    load = np.bincount(part, 1 / 3000 + degree / degree.sum(), workers)
    assert load.max() * workers / 2 <= 1 + workers * (1 / 3000 + degree.max() / degree.sum())
    owner = partition(hubs, workers, "g3")
    assert np.bincount(owner, minlength=workers).min() > 0


@pytest.mark.parametrize("spec", ["ba:n=40,m=1", "sbm:n=30,degree=0.1"])
@pytest.mark.parametrize("workers", [1, 3, 30])
@pytest.mark.parametrize("method", ["g3", "g3-best", "g3-literal"])
def test_thin_graphs_and_many_workers(spec, workers, method):
    pytest.importorskip("pymetis", reason="pymetis is missing")
    graph = generate(spec, "1/0/0", 0)
    owner = partition(graph, workers, method, 1)
    assert np.bincount(owner, minlength=workers).min() >= 1
    assert np.array_equal(owner, partition(graph, workers, method, 1))


def test_weights_must_fit(hubs):
    pytest.importorskip("pymetis", reason="pymetis is missing")
    with pytest.raises(
        OfframpError, match=r"weights: expected \(3000, 2\) integers of at least 0, got shape \(2999, 2\)"
    ):
        metis.balanced_parts(hubs.indptr, hubs.indices, 2, np.ones((2999, 2), np.int64))
    with pytest.raises(OfframpError, match=r"weights: expected \(3000,\) integers"):
        metis.weighted_parts(hubs.indptr, hubs.indices, 2, np.ones((3000, 2), np.int64))


@pytest.mark.full
@pytest.mark.parametrize(
    "spec",
    [
        "sbm:n=1500,k=8,degree=30,gamma=2.5,homophily=0.8",  # hubs and communities, as Reddit's
        pytest.param(FACEBOOK, marks=pytest.mark.slow),
    ],
    ids=["reddit-like", "facebook"],
)
def test_kahypar_sends_no_more_than_metis(spec):
    pytest.importorskip("pymetis", reason="pymetis is missing")
    pytest.importorskip("mtkahypar", reason="mtkahypar is missing")
    if isinstance(spec, Path) and not spec.is_file():
        pytest.skip(f"{spec} is missing")
    graph = load(spec, 0, "1/0/0")
    volumes = {
        method: Boundary(graph, partition(graph, 8, method, 1), 8).R for method in ("kahypar", "metis", "metis-volume")
    }
    assert volumes["kahypar"] <= min(volumes["metis"], volumes["metis-volume"])


@pytest.mark.full
def test_facebook_is_even_and_no_worse_than_its_start():
    pytest.importorskip("pymetis", reason="pymetis is missing")
    if not FACEBOOK.is_file():
        pytest.skip(f"{FACEBOOK} is missing")
    graph = load(FACEBOOK, 0, "1/0/0")
    recv = [
        np.bincount(Boundary(graph, owner, 8).copies[:, 1])
        for owner in (g3.first_stage(graph, 8, 1), partition(graph, 8, "g3", 1))
    ]
    assert recv[1].max() <= recv[0].max()
    assert recv[1].min() / recv[1].max() >= 0.97
