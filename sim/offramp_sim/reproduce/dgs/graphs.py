# SPDX-License-Identifier: Apache-2.0
"""Graphs in which the important vertices and columns are known."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from offramp.graph.data import Graph, build_graph

Flags = npt.NDArray[np.bool_]


def planted(
    seed: int = 0, n: int = 500, k: int = 4, columns: int = 40, informative: int = 8, homophily: float = 0.85
) -> tuple[Graph, Flags]:
    """A graph whose neighbours mostly share a class, and which columns tell about it."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, n)
    order, u = np.argsort(labels, kind="stable"), rng.integers(0, n, 6 * n)
    starts = np.searchsorted(labels[order], np.arange(k + 1))
    low, high = starts[labels[u]], starts[labels[u] + 1]
    same = order[low + (rng.random(len(u)) * (high - low)).astype(int)]
    v = np.where(rng.random(len(u)) < homophily, same, rng.integers(0, n, len(u)))
    x = rng.normal(size=(n, columns)).astype(np.float32)
    chosen = rng.choice(columns, informative, replace=False)
    x[:, chosen] += rng.normal(size=(k, informative))[labels].astype(np.float32)
    graph = build_graph("planted", n, (u, v), features=x, labels=labels, split="0.5/0.2/0.3", seed=seed)
    return graph, np.isin(np.arange(columns), chosen)


def hubs(
    seed: int = 0, n: int = 900, k: int = 4, columns: int = 40, informative: int = 10
) -> tuple[Graph, Flags, Flags]:
    """A fifth of the vertices carry their class's features, three of them beside every other vertex of the class.

    All other edges join vertices at random, and their ends have noise alone.
    """
    rng = np.random.default_rng(seed)
    labels, hub = rng.integers(0, k, n), rng.random(n) < 0.2
    ends = []
    for c in range(k):
        here, others = np.flatnonzero(hub & (labels == c)), np.flatnonzero(~hub & (labels == c))
        ends.append((np.repeat(others, 3), rng.choice(here, 3 * len(others))))
    ends.append((rng.integers(0, n, 4 * n), rng.choice(np.flatnonzero(~hub), 4 * n)))
    x = 0.7 * rng.normal(size=(n, columns)).astype(np.float32)
    chosen = rng.choice(columns, informative, replace=False)
    x[:, chosen] += np.where(hub[:, np.newaxis], 2 * rng.normal(size=(k, informative))[labels], 0).astype(np.float32)
    u, v = (np.concatenate(parts) for parts in zip(*ends, strict=True))
    graph = build_graph("hubs", n, (u, v), features=x, labels=labels, split="0.5/0.2/0.3", seed=seed)
    return graph, np.isin(np.arange(columns), chosen), hub
