# SPDX-License-Identifier: Apache-2.0
"""Graphs that ship with a dependency, so that nothing is downloaded."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from offramp.graph.data import Graph, build_graph
from offramp_base.errors import OfframpError
from offramp_base.extras import needs

NEIGHBOURS = 10
_SKLEARN = ("digits", "wine", "iris", "breast_cancer")
NAMES = (*_SKLEARN, "karate")


def builtin(name: str, split: str | None, seed: int) -> Graph:
    """Graph ``name`` of :data:`NAMES`.

    scikit-learn's data sets become symmetric 10-nearest-neighbour graphs over features scaled to [0, 1]
    (``digits`` by its common maximum of 16, the others column by column); ``karate`` is Zachary's club.

    Raises:
        OfframpError: the package that holds it is not installed.
    """
    rule = split or "planetoid"
    return _karate(rule, seed) if name == "karate" else _nearest_neighbours(name, rule, seed)


def _nearest_neighbours(name: str, split: str, seed: int) -> Graph:
    try:
        from sklearn import datasets
        from sklearn.neighbors import kneighbors_graph
    except ImportError:
        raise OfframpError(f"{name}: {needs('sklearn')}") from None
    features, labels = getattr(datasets, f"load_{name}")(return_X_y=True)
    if name == "digits":
        features = features / features.max()
    else:
        features = (features - features.min(axis=0)) / np.ptp(features, axis=0)
    u, v = kneighbors_graph(features, NEIGHBOURS, include_self=False).nonzero()
    return build_graph(name, len(labels), (u, v), features=features, labels=labels, split=split, seed=seed)


def _karate(split: str, seed: int) -> Graph:
    try:
        nx: Any = importlib.import_module("networkx")
    except ImportError:
        raise OfframpError(f"karate: {needs('networkx')}") from None
    club = nx.karate_club_graph()
    n = club.number_of_nodes()
    u, v = np.array(club.edges, np.int64).T
    labels = np.array([club.nodes[vertex]["club"] == "Officer" for vertex in range(n)]).astype(np.int64)
    both_ways = np.concatenate([u, v]), np.concatenate([v, u])
    return build_graph(
        "karate", n, both_ways, features=np.eye(n, dtype=np.float32), labels=labels, split=split, seed=seed
    )
