# SPDX-License-Identifier: Apache-2.0
"""Controls of DGS's masks: shuffled, constant and degree-based ones in their place; and a smaller fan-out."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from offramp.dgs.results import DgsResult
from offramp.dgs.settings import DgsSettings
from offramp.graph.data import Graph
from offramp_base.progress import counted
from offramp_sim.figures.panels import Curves
from offramp_sim.reproduce.dgs.graphs import hubs, planted
from offramp_sim.reproduce.dgs.runs import THREADS, run
from offramp_sim.reproduce.item import PaperComparison, Reproduction, measured

_SIGNALS: Final = ("shuffled", "constant", "degree")
_WAYS: Final[dict[str, dict[str, Any]]] = {
    "random": {"sampler": "random"},
    "random, fan-out 1": {"sampler": "random", "fanout": (1, 1)},
    "explained": {},
    **{name: {"signal": name} for name in _SIGNALS},
}


@measured(
    "dgs/controls",
    "Masks beside shuffled and constant ones",
    seconds=120,
    options={"fanout": ((3, 3), (6, 6))},
    sizes=(0.3, 0.5),
)
def controls(scale: float, seed: int, *, fanout: tuple[int, int] = (3, 3)) -> Reproduction:
    """Bytes and accuracy with node masks alone, if neighbours are alike and if a few carry what matters."""
    graphs = {
        "communities": planted(seed, n=max(240, round(800 * scale)))[0],
        "hubs": hubs(seed, n=max(240, round(900 * scale)))[0],
    }
    comparisons: list[PaperComparison] = []
    bars: dict[str, tuple[list[Any], list[float]]] = {way: ([], []) for way in _WAYS}
    data = {}
    for name in counted("graphs", list(graphs)):
        runs = {
            way: _bytes_and_accuracy(graphs[name], {"fanout": fanout, "seed": seed, **how})
            for way, how in _WAYS.items()
        }
        data[name] = runs
        sent, accuracy = runs["explained"]
        for way, (others, theirs) in runs.items():
            bars[way][0].append(name)
            bars[way][1].append(others / 1e3)
            if way != "explained":
                comparisons += [
                    PaperComparison(f"{name}: bytes by {way} over by explanations", None, f"{others / sent:.2f}x"),
                    PaperComparison(
                        f"{name}: explained less {way}, points", None, f"{accuracy - theirs:+.2f}", turns_at=0.0
                    ),
                ]
    note = (
        "Node masks alone, batches of 32, period 10, random owners, means of the last ten of 30 epochs. Shuffled, "
        "constant and degrees' masks have the mean of the explained ones: remote neighbours are drawn as rarely."
    )
    panel = Curves("bytes of an epoch", "", "kB", bars, bars=True)
    settings = {"workers": 4, "fan-out": fanout, "how": THREADS, "seed": seed}
    return Reproduction(comparisons, [panel], settings, note, data)


def _bytes_and_accuracy(graph: Graph, how: dict[str, Any]) -> tuple[float, float]:
    """Bytes of an epoch and test accuracy in per cent, means of the last ten."""
    fields: dict[str, Any] = {
        "workers": 4,
        "batch": 32,
        "epochs": 30,
        "period": 10,
        "partition": "random",
        "explain": "inline",
    }
    result: DgsResult = run(graph, DgsSettings("planted", columns=1.0, **(fields | how)))
    last = result.epochs[-10:]
    sent = float(np.mean([epoch.reported.ledger.total for epoch in last]))
    return sent, 100 * float(np.mean([epoch.test_accuracy for epoch in last]))
