"""Workers as threads, and graphs of which it is known what matters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from offramp.graph.data import Graph, build_graph
from offramp.train.dgs.run import train_dgs, train_rank
from offramp.train.dgs.settings import DgsSettings
from offramp_sim.switchgnn.crew import run_group


def settings(**changes: Any) -> DgsSettings:
    """Small batches, explained inline."""
    fields: dict[str, Any] = {
        "workers": 3,
        "batch": 16,
        "epochs": 2,
        "fanout": (3, 3),
        "period": 4,
        "explain": "inline",
    }
    return DgsSettings("test", **(fields | changes))


def train(graph: Graph, how: DgsSettings) -> Any:
    """A run whose workers are threads."""
    return train_dgs(
        graph, how, run_jobs=lambda shares, report: in_threads([(share, None) for share in shares], report)
    )


def in_threads(jobs: list[Any], report: Callable[[Any], None]) -> Any:
    return run_group(len(jobs), lambda group: train_rank(group, jobs[group.rank], report))[0]


def planted(
    seed: int = 0, n: int = 500, k: int = 4, columns: int = 40, informative: int = 8, homophily: float = 0.85
) -> tuple[Graph, np.ndarray]:
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
) -> tuple[Graph, np.ndarray, np.ndarray]:
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


def auc(truth: np.ndarray, score: np.ndarray) -> float:
    """Probability that one of ``truth`` has the higher score of two."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(truth, score))
