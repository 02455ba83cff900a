# SPDX-License-Identifier: Apache-2.0
"""G3's figures by simulation: 4.2, 4.7 to 4.11 and 4.13 to 4.16."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from offramp.published import published
from offramp_base.progress import counted
from offramp_sim.figures.panels import Curves
from offramp_sim.reproduce.g3.bed import BINS, DATA, NOTE, OPTIONS, SIZES, SMALL, WORKERS, G3Parameters, bed, shown
from offramp_sim.reproduce.item import PaperComparison, Reproduction, simulated
from offramp_sim.reproduce.table import ItemTable, bar_chart

_COUNTS: Final = (2, 4, 8, 16)
_LABELLED: Final = {"products": 0.080, "papers": 0.011}
"""Share of vertices in OGB's training split: 75 batches per epoch of 16 workers for papers, as the thesis says."""

_BATCHES: Final = (
    "Mini-batches take every vertex as a target once an epoch; the thesis does not say what its throughput counts, and "
    "a share of labelled vertices would divide the factors here."
)
_SYSTEMS: Final = {"G3": ("g3", "g3", BINS), "BNS-GCN": ("metis", "intra", 1), "NeutronStar": ("chunk", "intra", 1)}
"""Partition and pipeline of each system, and its bins unless they are tuned."""
_LITERAL: Final = {
    "G3": ("g3", "g3", BINS),
    "BNS-GCN": (published("bns-gcn")["partition"], published("bns-gcn")["schedule"], 1),
    "NeutronStar": ("chunk", "sequential", 1),
}
"""The same as published: a barrier at each layer, and nothing of G3's pipeline in the others."""


@simulated("g3/fig4.2", "Scalability with replicated neighbourhoods", seconds=6, options=OPTIONS, sizes=SIZES)
def figure42(scale: float, seed: int, **conditions: Any) -> Reproduction:
    """Scalability if workers replicate what their neighbourhoods need."""
    trial = bed("products", scale, seed, G3Parameters(**conditions))
    counts = (1, *_COUNTS)
    full = {w: trial.replicated_s(w) for w in counted("workers", counts)}
    ours = {w: trial.g3_s(w) for w in counts}
    lines = {
        "replicated (DGL-like)": (list(counts), [full[1] / full[w] for w in counts]),
        "G3": (list(counts), [ours[1] / ours[w] for w in counts]),
        "linear": (list(counts), [float(w) for w in counts]),
    }
    comparisons = [
        PaperComparison("replicated: 2 to 16 workers (DGL; ROC)", "1.4; 3.2", f"{full[2] / full[16]:.1f}"),
        PaperComparison("G3: 2 to 16 workers", None, f"{ours[2] / ours[16]:.1f}"),
    ]
    panel = Curves("throughput over one worker's", "workers", "times", lines)
    return Reproduction(comparisons, [panel], shown(scale, seed, graph="products"), NOTE, {"speed_up": lines})


@simulated(
    "g3/fig4.7", "Throughput beside mini-batches (figures 4.7 to 4.10)", seconds=60, options=OPTIONS, sizes=SIZES
)
def figure47(scale: float, seed: int, **conditions: Any) -> Reproduction:
    """Throughput against the number of workers, beside sampled mini-batches, four data sets (figures 4.7 to 4.10)."""
    published = {
        "products": ("3.66", "2.04"),
        "amazon": ("2.48", "1.51"),
        "papers": ("1.47", "1.32"),
        "twitter": ("1.91", "1.13"),
    }
    comparisons, panels, data = [], [], {}
    for name in counted("data sets", list(DATA)):
        trial = bed(name, scale, seed, G3Parameters(**conditions))
        lines = {}
        gains: list[float] = []
        for model in ("sage", "gat"):
            ours = [trial.graph.vertices / trial.g3_s(w, model=model) / trial.ratio for w in _COUNTS]
            dgl = [trial.graph.vertices / trial.dgl_s(w, model=model) / trial.ratio for w in _COUNTS]
            lines[f"G3, {model}"] = (list(_COUNTS), [value / 1e6 for value in ours])
            lines[f"DGL-like, {model}"] = (list(_COUNTS), [value / 1e6 for value in dgl])
            gains += [a / b for a, b in zip(ours, dgl, strict=True)]
        most, mean = published[name]
        comparisons.append(
            PaperComparison(
                f"{name}: G3 over DGL, at most; 16 workers",
                f"{most}; {mean}",
                f"{max(gains):.2f}; {gains[3]:.2f}",
                turns_at=1.0,
            )
        )
        if name in _LABELLED:
            what = f"{name}: 16 workers, epochs of the {100 * _LABELLED[name]:.1f} % that are labelled"
            comparisons.append(PaperComparison(what, mean, f"{gains[3] * _LABELLED[name]:.2f}", turns_at=1.0))
        panels.append(Curves(name, "workers", "million vertices/s", lines))
        data[name] = gains
    return Reproduction(comparisons, panels, shown(scale, seed), f"{NOTE} {_BATCHES}", {"gains": data})


@simulated(
    "g3/fig4.11",
    "Throughput beside full-graph systems",
    seconds=40,
    options=OPTIONS | {"helped": (False, True)},
    sizes=SIZES,
)
def figure411(scale: float, seed: int, *, helped: bool = False, **conditions: Any) -> Reproduction:
    """Throughput beside other full-graph systems, 16 workers; ``helped`` ones overlap, in as many bins as suit them."""
    systems = _SYSTEMS if helped else _LITERAL
    published = {"BNS-GCN": {"sage": "1.38", "gat": "1.20"}, "NeutronStar": {"sage": "1.84", "gat": "1.89"}}
    gains: dict[tuple[str, str], list[float]] = {}
    panels = []
    for model in counted("models", ("sage", "gat")):
        table: ItemTable[str, float] = ItemTable()
        for name in DATA:
            trial = bed(name, scale, seed, G3Parameters(**conditions))
            alone = bed(name, scale, seed, replace(trial.conditions, tuned=trial.conditions.tuned and helped))
            times = {
                system: (trial if system == "G3" else alone).g3_s(model=model, method=method, mode=mode, bins=bins)
                for system, (method, mode, bins) in systems.items()
            }
            table[name] = {system: times["G3"] / seconds for system, seconds in times.items()}
            for system, seconds in times.items():
                gains.setdefault((system, model), []).append(seconds / times["G3"])
        panels.append(Curves(model, "", "throughput, G3 = 1", table.lines(), bars=True))
    comparisons = [
        PaperComparison(
            f"G3 over {system}, {model}: mean",
            text,
            f"{sum(gains[system, model]) / len(gains[system, model]):.2f}",
            turns_at=1.0,
        )
        for system, texts in published.items()
        for model, text in texts.items()
    ]
    every = [gain for (system, _), values in gains.items() if system != "G3" for gain in values]
    comparisons.append(PaperComparison("range", "1.08 to 2.24", f"{min(every):.2f} to {max(every):.2f}"))
    means = {f"{system}, {model}": values for (system, model), values in gains.items()}
    note = f"{NOTE} Others wait at each layer and have one bin unless they are helped by G3's overlap and tuned bins."
    shown_settings = shown(scale, seed, workers=WORKERS, helped=helped)
    return Reproduction(comparisons, panels, shown_settings, note, {"gains": means})


@simulated("g3/fig4.13", "How busy devices are", seconds=3, options=OPTIONS, sizes=SIZES)
def figure413(scale: float, seed: int, **conditions: Any) -> Reproduction:
    """Utilisation of the devices."""
    trial = bed("products", scale, seed, G3Parameters(**conditions))
    outcomes = {
        system: trial.epoch(method=method, mode=mode, bins=bins)
        for system, (method, mode, bins) in counted("systems", list(_SYSTEMS.items()))
    }
    published = {"G3": "5.4 %", "NeutronStar": "4.8 %", "BNS-GCN": "1.1 %"}
    shares = {system: outcome.busy("compute") for system, outcome in outcomes.items()}
    comparisons = [PaperComparison(f"{s}: device computes", published[s], f"{100 * shares[s]:.0f} %") for s in shares]
    others = (shares["BNS-GCN"] + shares["NeutronStar"]) / 2
    comparisons.append(
        PaperComparison("G3 over the mean of the others", "2.9 (1.8 from the shares)", f"{shares['G3'] / others:.1f}")
    )
    panel = bar_chart("device computes", "%", {system: 100 * share for system, share in shares.items()}, "share")
    note = f"{NOTE} A device counts as busy while a bin computes, which on a GPU would use a part of it only."
    return Reproduction(comparisons, [panel], shown(scale, seed, graph="products"), note, {"busy": shares})


@simulated("g3/fig4.14", "Throughput against layers", seconds=40, options=OPTIONS, sizes=SIZES)
def figure414(scale: float, seed: int, **conditions: Any) -> Reproduction:
    """Throughput with 2 to 4 layers, beside sampled mini-batches."""
    published = {"products": "25.9", "amazon": "9.6", "papers": "7.8", "twitter": "22.0"}
    lines, comparisons = {}, []
    for name in counted("data sets", list(DATA)):
        trial = bed(name, scale, seed, G3Parameters(**conditions))
        gains = [trial.dgl_s(layers=layers) / trial.g3_s(widths=trial.widths(layers)) for layers in (2, 3, 4)]
        lines[name] = ([2, 3, 4], gains)
        comparisons.append(
            PaperComparison(
                f"{name}: G3 over DGL, 2, 3, 4 layers", f"…, {published[name]}", ", ".join(f"{g:.1f}" for g in gains)
            )
        )
    panel = Curves("throughput of G3 over DGL-like", "layers", "times", lines)
    return Reproduction(
        comparisons, [panel], shown(scale, seed, workers=WORKERS), f"{NOTE} {_BATCHES}", {"gains": lines}
    )


@simulated("g3/fig4.15", "Throughput against the width of features", seconds=7, options=OPTIONS, sizes=SIZES)
def figure415(scale: float, seed: int, **conditions: Any) -> Reproduction:
    """Throughput against the width of the input features."""
    trial = bed("amazon", scale, seed, G3Parameters(**conditions))
    widths = [16, 32, 64, 128, 256]
    per_s = trial.graph.vertices / trial.ratio / 1e6
    ours = [per_s / trial.g3_s(widths=trial.widths(features=f)) for f in counted("widths", widths)]
    dgl = [per_s / trial.dgl_s(features=f) for f in widths]
    comparisons = [
        PaperComparison("G3 over DGL, 256 features", "1.94", f"{ours[-1] / dgl[-1]:.2f}", turns_at=1.0),
        PaperComparison("G3: 16 to 256 features", "a slight drop", f"{100 * (ours[-1] / ours[0] - 1):+.0f} %"),
        PaperComparison("DGL: 16 to 256 features", None, f"{100 * (dgl[-1] / dgl[0] - 1):+.0f} %"),
    ]
    lines = {"G3": (widths, ours), "DGL-like": (widths, dgl)}
    panel = Curves("amazon", "features", "million vertices/s", lines)
    note = f"{NOTE} {_BATCHES} G3's input features stay where they are; mini-batches load them in every epoch."
    return Reproduction(comparisons, [panel], shown(scale, seed, workers=WORKERS), note, {"throughput": lines})


@simulated("g3/fig4.16", "Partitions under G3's pipeline", seconds=29, options=OPTIONS, sizes=SIZES)
def figure416(scale: float, seed: int, **conditions: Any) -> Reproduction:
    """Partitions under G3's pipeline."""
    comparisons, panels, data = [], [], {}
    for name in counted("data sets", SMALL):
        trial = bed(name, scale, seed, G3Parameters(**conditions))
        per_s = trial.graph.vertices / trial.ratio / 1e6
        lines = {
            method: (list(_COUNTS), [per_s / trial.g3_s(w, method=method) for w in _COUNTS])
            for method in ("random", "chunk", "metis", "g3")
        }
        panels.append(Curves(name, "workers", "million vertices/s", lines))
        gain = max(a / b for a, b in zip(lines["g3"][1], lines["random"][1], strict=True))
        over = lines["g3"][1][-1] / lines["metis"][1][-1]
        comparisons += [
            PaperComparison(f"{name}: G3's over random, at most", "4.3 (either data set)", f"{gain:.2f}", turns_at=1.0),
            PaperComparison(f"{name}: G3's over METIS's, 16 workers", None, f"{over:.2f}", turns_at=1.0),
        ]
        data[name] = lines
    return Reproduction(comparisons, panels, shown(scale, seed), NOTE, data)
