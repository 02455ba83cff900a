# SPDX-License-Identifier: Apache-2.0
"""SwitchGNN's eight servers over time: loss (figure 13), and a GPU's share of computation in an epoch (figure 14)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from offramp.graph.generate import generate
from offramp.train.settings import TrainSettings
from offramp_base.progress import counted
from offramp_sim.figures.panels import Curves
from offramp_sim.g3.study import train_here
from offramp_sim.reproduce.bench import bed_of, origin
from offramp_sim.reproduce.datasets import DATASETS, every
from offramp_sim.reproduce.item import Evidence, PaperComparison, Reproduction, simulated
from offramp_sim.reproduce.switchgnn.servers import LAYERS, SERVERS, compute_s, conditions_of, epoch_s
from offramp_sim.reproduce.table import ItemTable

_WORKERS: Final = 8
_SCHEMES: Final = ("bns-gcn", "g3", "switchgnn", "switchgnn, 10 GB", "hybrid")
_EPOCHS: Final = 100


@simulated("switchgnn/fig13", "Loss over time", seconds=13, files=True, options=SERVERS, sizes=(0.25, 0.125, 1.0))
def figure13(scale: float, seed: int, folder: Path | None = None, **open_: Any) -> Reproduction:
    """Loss from training here, in float32 and in the switch's integers; times of epochs from simulation."""
    conditions = conditions_of(open_)
    spec = f"sbm:n={max(200, round(1000 * scale))},k=8,degree=12,features=32,homophily=0.6"
    settings = TrainSettings(
        spec, propagator="p2p", workers=4, layers=LAYERS, hidden=32, epochs=max(5, round(_EPOCHS * min(1.0, scale))),
        seed=seed,
    )  # fmt: skip
    graph = generate(spec, None, seed)
    runs = {
        codec: train_here(graph, replace(settings, codec=codec)) for codec in counted("training", ("fp32", "fixed"))
    }
    loss = {codec: [epoch.loss for epoch in run.epochs] for codec, run in runs.items()}
    apart = max(abs(a - b) for a, b in zip(*loss.values(), strict=True))
    points = 100 * (runs["fixed"].test_accuracy - runs["fp32"].test_accuracy)
    comparisons = [
        PaperComparison(
            "largest difference of losses, integers and float32", "none", f"{apart:.1e}", Evidence.MEASURED
        ),
        PaperComparison("test accuracy, integers less float32, points", "no loss", f"{points:+.2f}", Evidence.MEASURED),
    ]
    panels, data = [], {}
    for name in DATASETS:
        bed = bed_of(name, _WORKERS, scale, seed, folder, conditions)
        times = {scheme: epoch_s(bed, scheme, LAYERS) for scheme in _SCHEMES}
        lines: dict[str, tuple[list[Any], list[float]]] = {
            scheme: (
                [seconds * epoch for epoch in range(1, settings.epochs + 1)],
                loss["fp32" if scheme in ("bns-gcn", "g3") else "fixed"],
            )
            for scheme, seconds in times.items()
        }
        panels.append(Curves(name, "seconds", "training loss", lines))
        comparisons += [
            PaperComparison(
                f"{name}: time to a loss, {other} over {scheme}",
                "SwitchGNN fastest",
                f"{times[other] / times[scheme]:.2f}x",
            )
            for scheme in _SCHEMES[2:]
            for other in _SCHEMES[:2]
        ]
        data[name] = times
    note = (
        "All systems compute the same numbers, up to the switch's fixed point, so that the loss over time is the loss "
        "over epochs, stretched by the time of an epoch: that of figure 11 at eight workers. Losses are of a generated "
        f"graph that two cores can train, not of the data sets. {origin(*every(scale, seed, folder))}"
    )
    shown = {"trained_on": spec, "epochs": settings.epochs, "workers": _WORKERS, "memory_mb": conditions.memory_mb}
    shown["seed"] = seed
    return Reproduction(comparisons, panels, shown, note, {"epoch_s": data, "loss": loss})


@simulated(
    "switchgnn/fig14",
    "Share of an epoch that a GPU computes",
    seconds=4,
    files=True,
    options=SERVERS,
    sizes=(0.25, 0.125, 1.0),
)
def figure14(scale: float, seed: int, folder: Path | None = None, **open_: Any) -> Reproduction:
    """Share of computation in the time of an epoch, by scheme."""
    conditions = conditions_of(open_)
    table: ItemTable[str, float] = ItemTable()
    for name, data in DATASETS.items():
        bed = bed_of(name, _WORKERS, scale, seed, folder, conditions)
        computing = compute_s(data, LAYERS, _WORKERS, conditions)
        table[name] = {scheme: 100 * computing / epoch_s(bed, scheme, LAYERS) for scheme in _SCHEMES}
    comparisons = [
        PaperComparison(f"{name}: {scheme} over {other}", "more", f"{shares[scheme] / shares[other]:.2f}x")
        for name, shares in table.items()
        for scheme in _SCHEMES[2:]
        for other in _SCHEMES[:2]
    ]
    note = (
        "A GPU computes a part of the time; what of its units that keeps busy, second by second, which the figure "
        "shows for one worker, needs the GPU. Every scheme computes the same, so the shares are the inverse of epochs. "
        f"{origin(*every(scale, seed, folder))}"
    )
    panel = Curves("GPU computes", "", "% of an epoch", table.lines(), bars=True)
    return Reproduction(
        comparisons, [panel], {"workers": _WORKERS, "layers": LAYERS, "seed": seed}, note, table.lines()
    )
