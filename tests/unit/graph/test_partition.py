# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.graph import partition as module
from offramp.graph.boundary import Boundary
from offramp.graph.generate import generate
from offramp.graph.kahypar import kahypar_parts
from offramp.graph.partition import methods, partition, partition_ends
from offramp_base.errors import OfframpError

PACKAGE = {"metis": "pymetis", "metis-volume": "pymetis", "kahypar": "mtkahypar"}  # G3 does without


@pytest.fixture(scope="module")
def graph():
    return generate("sbm:n=600,k=6,homophily=0.9", None, 3)


def need(method):
    if method in PACKAGE:
        pytest.importorskip(PACKAGE[method], reason=f"{PACKAGE[method]} is missing")


def test_a_graph_of_ends_is_cut_as_the_graph_itself(graph):
    source = np.repeat(np.arange(600), np.diff(graph.indptr))
    once = source < graph.indices
    owner = partition_ends(600, source[once], graph.indices[once], 3, "g3", 5)
    assert np.array_equal(owner, partition(graph, 3, "g3", 5))
    assert partition_ends(6, [0], [1], 2, "chunk", 0).tolist() == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("method", methods())
@pytest.mark.parametrize("workers", [1, 2, 7])
def test_every_worker_owns_its_share_and_the_seed_decides(graph, method, workers):
    need(method)
    owner = partition(graph, workers, method, seed=5)
    assert owner.dtype == np.int32
    sizes = np.bincount(owner, minlength=workers)
    assert len(sizes) == workers
    assert sizes.min() > 0.5 * 600 / workers
    assert np.array_equal(owner, partition(graph, workers, method, seed=5))


@pytest.mark.parametrize("method", ["hash", "random", "kahypar"])
def test_other_seed_other_owners(graph, method):
    need(method)
    assert not np.array_equal(partition(graph, 4, method, 1), partition(graph, 4, method, 2))


def test_chunk_takes_consecutive_ids(graph):
    assert np.array_equal(partition(graph, 4, "chunk"), np.repeat([0, 1, 2, 3], 150))


@pytest.mark.full
@pytest.mark.parametrize("method", methods())
def test_as_many_workers_as_vertices(g6, method):
    need(method)
    assert sorted(partition(g6, 6, method)) == [0, 1, 2, 3, 4, 5]


@pytest.mark.full
def test_kahypar_objective_is_the_multicast_volume_and_the_least(graph):
    need("kahypar")
    owner, objective = kahypar_parts(graph.indptr, graph.indices, 6, seed=1)
    boundary = Boundary(graph, owner, 6)
    assert objective == boundary.R == boundary.r.sum()
    assert boundary.R <= Boundary(graph, partition(graph, 6, "metis", 1)).R
    assert boundary.R < Boundary(graph, partition(graph, 6, "random", 1)).R


@pytest.mark.full
@settings(derandomize=True, deadline=None, max_examples=25)
@given(n=st.integers(5, 40), workers=st.integers(2, 5), seed=st.integers(0, 99))
def test_kahypar_objective_equals_r_on_random_graphs(n, workers, seed):
    need("kahypar")
    graph = generate(f"sbm:n={n},degree=3", "1/0/0", seed)
    owner, objective = kahypar_parts(graph.indptr, graph.indices, workers, seed)
    assert objective == Boundary(graph, owner, workers).R


def test_auto_falls_back_to_metis_volume(graph, monkeypatch):
    need("metis")
    expected = partition(graph, 4, "metis-volume", 2)
    monkeypatch.setattr(module, "KAHYPAR_PINS", 10)
    assert np.array_equal(partition(graph, 4, "auto", 2), expected)
    monkeypatch.undo()
    monkeypatch.setattr(module, "kahypar_available", lambda: False)
    assert np.array_equal(partition(graph, 4, "auto", 2), expected)


@pytest.mark.parametrize(
    ("workers", "method", "message"),
    [
        (7, "auto", "workers 7: expected 1 to 6, the number of vertices"),
        (0, "hash", "workers 0: expected 1 to 6, the number of vertices"),
        (
            2,
            "best",
            f"partition 'best': expected one of {', '.join(methods())}",
        ),
    ],
)
def test_golden_errors(g6, workers, method, message):
    with pytest.raises(OfframpError) as error:
        partition(g6, workers, method)
    assert str(error.value) == message


def test_missing_packages_are_named(g6, monkeypatch):
    monkeypatch.setitem(sys.modules, "pymetis", None)
    with pytest.raises(OfframpError, match=r"METIS needs the package pymetis: .*install -e .*\[gnn\]'"):
        partition(g6, 2, "metis")
    monkeypatch.setattr("offramp.graph.kahypar.available", lambda: False)
    with pytest.raises(OfframpError, match=r"kahypar needs the package mtkahypar: .*install -e .*\[kahypar\]'"):
        partition(g6, 2, "kahypar")
