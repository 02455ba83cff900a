# SPDX-License-Identifier: Apache-2.0
"""DGS's throughput by an alpha-beta model of real messages: figures 3.5 to 3.7 and table 3.2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from offramp.dgs.ledger import ring_bytes
from offramp_base.progress import counted
from offramp_sim.figures.panels import Curves
from offramp_sim.reproduce.dgs.runs import METHODS, SIZES, THREADS, stand_in, traffic
from offramp_sim.reproduce.item import PaperComparison, Reproduction, simulated
from offramp_sim.reproduce.table import ItemTable

OPTIONS: Final[dict[str, tuple[Any, ...]]] = {
    "link_gbps": (10.0, 1.0, 25.0),
    "vertex_us": (20.0, 2.0, 50.0),
    "synchronisation": (1.0, 0.0),
}
"""Values of :class:`ThroughputRates` for a referee."""
MODEL: Final = (
    "Time is modelled: multiplications of the first layer at 10 Tflop/s and 20 us per sampled vertex, "
    "then all bytes at 10 Gb/s per worker."
)
_SAMPLERS: Final[dict[str, dict[str, Any]]] = {
    "LADIES": {"sampler": "ladies"},
    "random": METHODS["random"],
    "FastGCN": {"sampler": "fastgcn"},
    "DGS": {},
}
_MATRICES: Final = {"sage": 2, "gcn": 1, "gat": 2}
"""Weight matrices of the first layer; attention's two vectors count as one more."""
_BATCH: Final = 1024
"""Targets of a worker's batch (section 3.4)."""
_ATTENTION: Final = 1.5
"""Time of a sampled vertex with attention over that with a mean; an assumption."""


@dataclass(frozen=True)
class ThroughputRates:
    """Rates that the thesis does not give.

    Attributes:
        link_gbps: link of a worker's network card (the thesis's 10).
        vertex_us: time to sample and load a vertex, in microseconds.
        flops: operations per second of a GPU on these layers.
        synchronisation: share of the real graph's probabilities that LADIES sums up for each layer of each batch of
            1,024 targets; with 0 only the bytes of the generated graph count.
    """

    link_gbps: float = 10.0
    vertex_us: float = 20.0
    flops: float = 10e12
    synchronisation: float = 1.0


def epoch_s(
    vertices: int, width: int, sent: int, workers: int = 8, model: str = "sage", rates: ThroughputRates | None = None
) -> float:
    """The alpha-beta model: computation and the bytes of an epoch, shared evenly by the workers."""
    rates = rates or ThroughputRates()
    heavy = _ATTENTION if model == "gat" else 1.0
    computing = vertices * (heavy * rates.vertex_us * 1e-6 + 2 * 3 * _MATRICES[model] * 16 * width / rates.flops)
    return (computing + 8 * sent / (1e9 * rates.link_gbps)) / workers


def _throughput(
    name: str, scale: float, seed: int, rates: ThroughputRates, sampler: str, workers: int, model: str
) -> float:
    """Thousands of training vertices per second."""
    graph = stand_in(name, scale, seed)
    last = traffic(graph, seed=seed, workers=workers, model=model, **_SAMPLERS[sampler]).epochs[-1].reported
    sent, probabilities = last.ledger.total, 0.0
    if sampler == "LADIES" and rates.synchronisation:
        sent -= last.ledger.synchronisation
        probabilities = rates.synchronisation * synchronisation_s(SIZES[name][0], workers, rates)
    seconds = epoch_s(last.vertices, graph.width, sent, workers, model, rates)
    targets = float(graph.train.sum())
    return 1 / (seconds / targets + probabilities / (workers * _BATCH)) / 1e3


def synchronisation_s(vertices: int, workers: int, rates: ThroughputRates, layers: int = 2) -> float:
    """Seconds of LADIES's sums of probabilities in a batch: a ring over one float32 per vertex for each layer."""
    return layers * ring_bytes(4 * vertices, workers) * 8 / (1e9 * rates.link_gbps)


def _scaling(name: str, scale: float, seed: int, rates: ThroughputRates) -> Reproduction:
    """Throughput of GraphSAGE against the number of workers."""
    workers = (2, 4, 8)
    lines = {
        sampler: (list(workers), [_throughput(name, scale, seed, rates, sampler, count, "sage") for count in workers])
        for sampler in counted("samplers", list(_SAMPLERS))
    }
    published = {"LADIES": "1.10 to 3.24x", "random": "up to 1.25x", "FastGCN": "up to 1.25x"}
    comparisons = [
        PaperComparison(
            f"{count} workers: DGS over {sampler}", shown, f"{lines['DGS'][1][i] / lines[sampler][1][i]:.2f}x"
        )
        for sampler, shown in published.items()
        for i, count in enumerate(workers)
    ]
    panel = Curves(f"throughput, GraphSAGE, {name}", "workers", "thousand vertices per second (model)", lines)
    note = (
        f"{MODEL} Sums of probabilities (LADIES) count as bytes alone, without their latency. GraphSAGE of the "
        "figure's three models; table 3.2 has all. Published factors are of figures 3.5 to 3.7 together."
    )
    settings = {"graph": f"like {name}", "how": THREADS, "seed": seed}
    return Reproduction([*comparisons], [panel], settings, note, {"throughput": lines})


@simulated("dgs/fig3.5", "Throughput against workers, Reddit", seconds=60, options=OPTIONS)
def figure35(scale: float, seed: int, **rates: float) -> Reproduction:
    """Reddit: the densest graph, the widest features."""
    return _scaling("Reddit", scale, seed, ThroughputRates(**rates))


@simulated("dgs/fig3.6", "Throughput against workers, Ogbn-products", seconds=60, options=OPTIONS)
def figure36(scale: float, seed: int, **rates: float) -> Reproduction:
    """Figure 3.6: throughput on Ogbn-products."""
    return _scaling("Ogbn-products", scale, seed, ThroughputRates(**rates))


@simulated("dgs/fig3.7", "Throughput against workers, Amazon", seconds=60, options=OPTIONS)
def figure37(scale: float, seed: int, **rates: float) -> Reproduction:
    """Amazon, where LADIES is furthest behind."""
    return _scaling("Amazon", scale, seed, ThroughputRates(**rates))


@simulated("dgs/table3.2", "Throughput of three models, Ogbn-papers", seconds=70, options=OPTIONS)
def table32(scale: float, seed: int, **rates: float) -> Reproduction:
    """Eight workers, three models, all samplers."""
    published = {
        "sage": {"LADIES": 10.43, "random": 31.42, "FastGCN": 36.72, "DGS": 41.57},
        "gcn": {"LADIES": 10.46, "random": 30.71, "FastGCN": 39.19, "DGS": 42.00},
        "gat": {"LADIES": 9.58, "random": 28.38, "FastGCN": 34.76, "DGS": 38.09},
    }

    def run(model: str) -> dict[str, float]:
        return {
            sampler: _throughput("Ogbn-papers", scale, seed, ThroughputRates(**rates), sampler, 8, model)
            for sampler in _SAMPLERS
            if not (model == "gat" and sampler == "LADIES")
        }

    table = ItemTable.sweep("models", published, run)
    comparisons = [
        PaperComparison(
            f"{model}: DGS over {sampler}", f"{theirs['DGS'] / theirs[sampler]:.2f}x", f"{ours['DGS'] / value:.2f}x"
        )
        for (model, theirs), ours in zip(published.items(), table.values(), strict=True)
        for sampler, value in ours.items()
        if sampler != "DGS"
    ]
    lines = table.lines()
    panel = Curves("throughput, 8 workers", "", "thousand vertices per second (model)", lines, bars=True)
    note = (
        f"{MODEL} A vertex under attention takes {_ATTENTION:g} times as long. Only factors compare: the graph is far "
        "smaller than the real one. LADIES sums up a probability for each vertex of the real graph, for each layer of "
        "each batch; it weighs neighbours, which attention cannot use: no LADIES for GAT."
    )
    settings = {"graph": "like Ogbn-papers", "workers": 8, "how": THREADS, "seed": seed}
    return Reproduction([*comparisons], [panel], settings, note, {"throughput": lines})
