# SPDX-License-Identifier: Apache-2.0
"""DGS's runs for tables and figures, with real messages between workers that are threads of this process."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np

from offramp.dgs.results import DgsResult
from offramp.dgs.run import train_dgs
from offramp.dgs.settings import DgsSettings
from offramp.graph.data import Graph
from offramp.graph.generate import generate
from offramp.published import published
from offramp_base.progress import report
from offramp_sim.reproduce.dgs.graphs import planted
from offramp_sim.switchgnn.thread_group import open_threads

THREADS: Final = "workers are threads, messages are real"
GRAPHS: Final = {
    "Reddit": "degree=60,features=602,k=16",
    "Ogbn-products": "degree=40,features=100,k=16",
    "Amazon": "degree=50,features=200,k=16",
    "Ogbn-papers": "degree=30,features=128,k=16",
}
"""Stand-ins with the real graphs' numbers of features, and with degrees in the same order."""

METHODS: Final[dict[str, dict[str, Any]]] = {
    "random": {"sampler": "random"},
    "NS-only": {"columns": 1.0},
    "FS-only": {"node_mask": False},
    "DGS": {},
}
"""Settings that each method of the thesis changes in a run of DGS."""


SIZES: Final = {
    "Reddit": (232_965, 984.0),
    "Ogbn-products": (2_449_029, 50.5),
    "Amazon": (1_598_960, 82.7),
    "Ogbn-papers": (111_059_956, 29.1),
}
"""Vertices and mean degrees of the real graphs (table 3.1)."""


def stand_in(name: str, scale: float, seed: int, *, as_published: bool = False) -> Graph:
    """A graph with planted communities and a power law of degrees.

    With ``as_published`` the generator is asked for the real mean degree, or for a quarter of the vertices where that
    is less; it drops duplicate edges, of which so few vertices have many, so that the mean is up to 60 % below.
    """
    n, of = max(400, round(1200 * scale)), GRAPHS[name]
    if as_published:
        of = f"degree={min(SIZES[name][1], n / 4):g},{of.partition(',')[2]}"
    return generate(f"sbm:n={n},homophily=0.8,gamma=2.5,{of}", "0.5/0.2/0.3", seed)


def traffic(graph: Graph, *, as_published: bool = False, **changes: Any) -> DgsResult:
    """A run of eight workers, the thesis's epsilon, columns and steps.

    An epoch has four batches, so that the masks of the first explanation serve from the second epoch on. Fan-outs are
    10 and 10, or with ``as_published`` the thesis's, whose loss, pool and rule of stopping explanations then have.
    """
    workers = changes.get("workers", 8)
    if "sampler" in changes:  # without masks there is nothing that a signal could stand for
        changes.pop("signal", None)
    fields: dict[str, Any] = {
        "workers": workers,
        "batch": max(1, int(graph.train.sum()) // workers // 4),
        "epochs": 3,
        "fanout": (10, 10),
        "period": 3,
        "explain": "inline",
    }
    theirs = published("dgs") if as_published else {}
    if changes.get("layers", 2) != 2:
        theirs["fanout"] = theirs.get("fanout", fields["fanout"])[:1] * changes["layers"]
    return run(graph, DgsSettings("generated", **(fields | theirs | changes)))


def run(graph: Graph, settings: DgsSettings) -> DgsResult:
    """Run one training."""
    result = train_dgs(graph, settings, launch=open_threads)
    assert result is not None
    return result


def steady_bytes(result: DgsResult) -> int:
    """Bytes of the last epoch, when masks are in use."""
    return result.epochs[-1].reported.ledger.total


@lru_cache(maxsize=256)
def accuracy(seed: int, scale: float, **changes: Any) -> float:
    """Test accuracy in per cent, mean of the last five epochs, on the planted task."""
    fields: dict[str, Any] = {
        "workers": 4,
        "batch": 64,
        "epochs": 15,
        "fanout": (8, 8),
        "period": 10,
        "partition": "random",
        "explain": "inline",
    }
    graph = planted(seed, n=max(300, round(800 * scale)), columns=60, informative=4, homophily=0.95)[0]
    result = run(graph, DgsSettings("planted", seed=seed, **(fields | changes)))
    return 100 * float(np.mean([epoch.test_accuracy for epoch in result.epochs[-5:]]))


def mean_accuracy(what: str, seeds: range, scale: float, **changes: Any) -> float:
    """Mean accuracy over several seeds, with progress."""
    scores = []
    for done, seed in enumerate(seeds):
        report(what, done, len(seeds))
        scores.append(accuracy(seed, scale, **changes))
    return float(np.mean(scores))
