# SPDX-License-Identifier: Apache-2.0
"""G3 measured on this machine, and by the simulator calibrated on it: figures 4.12 and 4.17, and priorities."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch

from offramp.g3.block import BipartiteBlock
from offramp.graph.generate import generate
from offramp.graph.halo_plan import plan_halo_features
from offramp.graph.partition import partition
from offramp.models import make_model
from offramp.models.base import Inputs
from offramp.train.settings import TrainSettings
from offramp_base.progress import counted
from offramp_sim.figures.panels import Curves
from offramp_sim.g3.measured import run_timed
from offramp_sim.g3.pipeline import MODES, Costs, simulate
from offramp_sim.g3.study import train_here
from offramp_sim.reproduce.g3.bed import NOTE, SMALL, WORKERS, bed, shown
from offramp_sim.reproduce.item import PaperComparison, Reproduction, measured, simulated

if TYPE_CHECKING:
    from offramp.graph.data import Graph

LINK_BPS: Final = 1e8
_BINS: Final = 8
_COUNTS: Final = (2, 4, 8, 16)
_NAMES: Final = {"sequential": "sequential", "inter": "inter-layer", "intra": "intra-layer", "g3": "G3"}


def here(
    scale: float, seed: int, *, link_mbps: float = LINK_BPS / 1e6, bins: int = _BINS, partition: str = "g3"
) -> TrainSettings:
    """A graph with communities on four workers behind cards of 100 Mb/s."""
    graph = f"sbm:n={max(400, round(16_000 * scale))},k=4,degree=8,features=32,homophily=0.95"
    how = {"propagator": "p2p", "workers": 4, "partition": partition, "link_bps": 1e6 * link_mbps, "bins": bins}
    return TrainSettings(graph, layers=4, hidden=128, epochs=8, seed=seed, schedule="g3", **how)  # type: ignore[arg-type]


def calibrate(graph: Graph, settings: TrainSettings) -> Costs:
    """Costs of bins on one core of this machine, as half of a forward and a backward pass, by least squares."""
    owner = np.zeros(graph.vertices, np.int32)
    wide = [settings.hidden] * (settings.layers + 1)
    model = make_model(settings, wide)
    rows, took = [], []
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    for bins in (4, 16, 64):
        (plan,) = plan_halo_features(graph, owner, 1, bins=bins)
        for part in plan.bins[:: max(1, bins // 4)]:
            block = BipartiteBlock(plan.adjacency, part, plan.ids, plan.degree, torch.float32)
            message = torch.ones(len(block.sources), settings.hidden, requires_grad=True)
            best = np.inf
            for _ in range(3):
                start = time.perf_counter()
                model.combine(1, block, Inputs(message)).sum().backward()  # type: ignore[no-untyped-call]
                best = min(best, time.perf_counter() - start)
            rows.append([1.0, len(part), plan.adjacency[part].nnz])
            took.append(best / 2)
    torch.set_num_threads(threads)
    from scipy.optimize import nnls

    (start_s, target_s, edge_s), _ = nnls(np.array(rows), np.array(took))
    sharing = settings.workers / len(os.sched_getaffinity(0))  # workers to a core
    crowd = max(1.0, sharing)
    memory = 1e10
    return Costs(
        memory, memory, (settings.link_bps or LINK_BPS) / 8, 1e-4, crowd * start_s, crowd * target_s, crowd * edge_s
    )


@measured(
    "g3/fig4.17",
    "Pipelines, measured and simulated",
    seconds=90,
    options={"link_mbps": (100.0, 1000.0), "bins": (8, 2), "partition": ("g3", "metis")},
    sizes=(0.2, 0.1, 0.8),
)
def figure417(scale: float, seed: int, **open_: Any) -> Reproduction:
    """The pipelines, measured on four workers here, simulated alike, and simulated at the thesis's size."""
    settings = here(scale, seed, **open_)
    graph = generate(settings.graph, None, seed)
    measured = {
        mode: run_timed(graph, replace(settings, schedule=mode)).epoch_s
        for mode in counted("runs on this machine", list(MODES))
    }
    bulk = run_timed(graph, replace(settings, schedule="sequential", bins=1)).epoch_s
    costs = calibrate(graph, settings)
    owner = partition(graph, settings.workers, settings.partition, seed)
    targets = -(-graph.vertices // (settings.workers * (settings.bins or _BINS)))
    widths = [settings.hidden] * settings.layers + [graph.classes]
    predicted = {
        mode: 2 * simulate(graph, owner, widths, mode, costs, targets=targets).seconds
        for mode in counted("simulated runs", list(MODES))
    }
    comparisons = []
    for mode, name in _NAMES.items():
        shares = [f"{100 * (of[mode] / of['sequential'] - 1):+.0f} %" for of in (measured, predicted)]
        ours = f"{measured[mode]:.2f} s, {shares[0]}; {predicted[mode]:.2f} s, {shares[1]}"
        comparisons.append(PaperComparison(f"{name}, here: measured; by the simulator", None, ours))
    comparisons.append(PaperComparison("sequential, one bin, here", None, f"{bulk:.2f} s"))
    comparisons += [
        PaperComparison(
            "G3 in bins over the same bins in sequence, here", None, f"{measured['sequential'] / measured['g3']:.2f}x"
        ),
        PaperComparison("G3 in bins over one bin in sequence, here", None, f"{bulk / measured['g3']:.2f}x"),
    ]
    panels = [
        Curves(
            "4 workers on this machine",
            "",
            "s an epoch",
            {
                "measured": (list(_NAMES.values()), [measured[mode] for mode in _NAMES]),
                "simulated": (list(_NAMES.values()), [predicted[mode] for mode in _NAMES]),
            },
            bars=True,
        )
    ]
    gains: list[float] = []
    for name in counted("data sets", SMALL):
        trial = bed(name, scale, seed)
        per_s = trial.graph.vertices / trial.ratio / 1e6
        seconds = {(w, m): per_s / trial.g3_s(w, mode=m) for w, m in product(_COUNTS, MODES)}
        lines = {_NAMES[mode]: (list(_COUNTS), [seconds[w, mode] for w in _COUNTS]) for mode in MODES}
        panels.append(Curves(name, "workers", "million vertices/s", lines))
        gains += [seconds[w, "g3"] / seconds[w, "sequential"] for w in _COUNTS]
    comparisons.append(PaperComparison("G3 over sequential, at most", "11.66", f"{max(gains):.2f}"))
    note = (
        "All pipelines of a panel have the same bins; one bin without a pipeline saves what bins cost here, where "
        "nothing limits a device's memory. The simulator knows the computation of one core, shared by its workers, and "
        f"the cards' rate. {NOTE}"
    )
    data = {"measured": measured, "predicted": predicted, "one_bin_s": bulk, "gains": gains}
    return Reproduction(comparisons, panels, _shown(settings), note, data)


def _shown(settings: TrainSettings) -> dict[str, Any]:
    return {"graph": settings.graph, "link": f"{(settings.link_bps or 0) / 1e6:g} Mb/s", "bins": settings.bins}


@measured(
    "g3/fig4.12", "Time to accuracy", seconds=20, options={"homophily": (0.6, 0.8), "partition": ("hash", "metis")}
)
def figure412(scale: float, seed: int, *, homophily: float = 0.6, partition: str = "hash") -> Reproduction:
    """Time to accuracy: accuracies from training here, times of epochs from simulation."""
    graph_of = f"sbm:n={max(400, round(2000 * scale))},k=8,degree=10,features=32,homophily={homophily:g}"
    how = {"propagator": "p2p", "workers": 4, "partition": partition, "layers": 2, "hidden": 16, "epochs": 60}
    settings = TrainSettings(graph_of, seed=seed, schedule="g3", **how)  # type: ignore[arg-type]
    graph = generate(graph_of, None, seed)
    full, cut = (
        [100 * epoch.test_accuracy for epoch in train_here(graph, replace(settings, schedule=schedule)).epochs]
        for schedule in counted("training", ("g3", "isolated"))
    )
    trial = bed("products", scale, seed)
    times = {
        "G3": trial.g3_s(),
        "BNS-GCN": trial.g3_s(method="metis", mode="sequential", bins=1),
        "NeutronStar": trial.g3_s(method="chunk", mode="intra", bins=1),
    }
    real = {system: seconds / trial.ratio for system, seconds in times.items()}
    lines = {system: ([seconds * (epoch + 1) for epoch in range(len(full))], full) for system, seconds in real.items()}
    alone = trial.epoch(method="metis", bins=1).busy("compute") * trial.epoch(method="metis", bins=1).seconds
    cluster = 2 * alone / trial.ratio
    lines["ClusterGCN-like"] = ([cluster * (epoch + 1) for epoch in range(len(cut))], cut)
    comparisons = [
        PaperComparison(
            "BNS-GCN over G3, time to the same accuracy", "1.8 to 2.3", f"{real['BNS-GCN'] / real['G3']:.2f}x"
        ),
        PaperComparison("NeutronStar over G3", "1.8 to 2.3", f"{real['NeutronStar'] / real['G3']:.2f}x"),
        PaperComparison(
            "without edges between workers: points lost", "10.7", f"{full[-1] - cut[-1]:.1f}", turns_at=0.0
        ),
    ]
    panel = Curves("accuracy over time", "s", "accuracy, %", lines)
    note = (
        "Full-graph systems compute the same numbers, so that time to accuracy is that of an epoch. Edges are cut by a "
        f"hash of the vertices: METIS's parts of a block model are its classes, and cutting them helps. {NOTE}"
    )
    return Reproduction(
        comparisons, [panel], shown(scale, seed, trained_on=graph_of, workers=WORKERS), note, {"s": real}
    )


@simulated(
    "g3/priorities",
    "Hermod's priorities on G3's exchanges",
    seconds=40,
    options={"link_mbps": (100.0, 1000.0), "bins": (2, 8)},
)
def priorities(scale: float, seed: int, *, link_mbps: float = LINK_BPS / 1e6, bins: int = 2) -> Reproduction:
    """Hermod's priorities on G3's exchanges: rows of a layer before the sums of weight gradients."""
    graph_of = f"sbm:n={max(400, round(1500 * scale))},k=8,degree=8,features=32"
    how = {"propagator": "p2p", "workers": 4, "partition": "hash", "link_bps": 1e6 * link_mbps, "model": "sage"}
    settings = TrainSettings(graph_of, bins=bins, layers=5, hidden=256, epochs=8, seed=seed, schedule="g3", **how)  # type: ignore[arg-type]
    graph = generate(graph_of, None, seed)
    runs = {name: run_timed(graph, replace(settings, priorities=name)) for name in counted("runs", ("none", "hermod"))}
    none, hermod = (runs[name].epoch_s for name in ("none", "hermod"))
    comparisons = [
        PaperComparison("first come, first served: an epoch", None, f"{none:.2f} s"),
        PaperComparison("by priority", None, f"{hermod:.2f} s, {100 * (hermod / none - 1):+.0f} %"),
    ]
    comparisons.append(PaperComparison("first come, first served over by priority", None, f"{none / hermod:.2f}x"))
    lines = {
        "waiting for rows": (list(runs), [timed.waiting_s for timed in runs.values()]),
        "the rest": (list(runs), [timed.epoch_s - timed.waiting_s for timed in runs.values()]),
    }
    note = (
        "Five layers of GraphSAGE, 256 wide: a layer's gradients are as many bytes as half a layer's rows. Both runs "
        "go over Hermod's end-host scheduler, on emulated cards that limit what is sent; all numbers that "
        "are computed are the same."
    )
    data = {name: {"epoch_s": timed.epoch_s, "waiting_s": timed.waiting_s} for name, timed in runs.items()}
    panel = Curves("an epoch", "", "s", lines, bars=True, stacked=True)
    return Reproduction(comparisons, [panel], _shown(settings), note, data)
