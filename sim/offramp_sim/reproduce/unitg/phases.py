# SPDX-License-Identifier: Apache-2.0
"""UniTG beside methods that train one model after the other, by an analytical model: tables 5.5 and 5.6, figure 5.9."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

from offramp_sim.figures.panels import Curves
from offramp_sim.reproduce.gpu import RTX3090
from offramp_sim.reproduce.item import PaperComparison, Reproduction, exact
from offramp_sim.reproduce.unitg.schedule import FEATURES, MODULES, SIZES, STAGES, VERTICES
from offramp_sim.unitg.engine import simulate
from offramp_sim.unitg.scenario import INTERLEAVED, UnitgScenario

_EDGES: Final = {"arxiv": 1_166_243, "products": 74_420, "pubmed": 44_338, "cora": 5_429}
_EPOCHS: Final = {
    "revgcn": {"arxiv": 1000, "products": 500, "pubmed": 1000, "cora": 1000},
    "revgat": {"arxiv": 2000, "products": 500, "pubmed": 1000, "cora": 500},
}
_SECONDS: Final = {  # table 5.5: GLEM, TAPE, UniTG
    ("revgcn", "products"): (7593.20, 6289.28, 1453.84),
    ("revgcn", "arxiv"): (81945.19, 71694.70, 4732.49),
    ("revgcn", "pubmed"): (9604.11, 8604.29, 2123.67),
    ("revgcn", "cora"): (5943.11, 5767.62, 1278.38),
    ("revgat", "products"): (3962.34, 2761.58, 621.83),
    ("revgat", "arxiv"): (46924.24, 38542.30, 5347.00),
    ("revgat", "pubmed"): (13550.53, 12224.39, 1304.79),
    ("revgat", "cora"): (1392.88, 1071.87, 277.69),
}
NETWORK_SHARE: Final = 0.89
"""Fraction of TAPE's time that the graph neural network takes in most cases, or more (section 5.4.1)."""
_MEGAJOULES: Final = {  # table 5.6: GLEM, TAPE, UniTG
    ("revgcn", "arxiv"): (27.72, 24.49, 1.56),
    ("revgat", "arxiv"): (15.43, 12.86, 1.65),
    ("revgcn", "pubmed"): (3.04, 2.75, 0.69),
    ("revgat", "pubmed"): (4.62, 4.20, 0.46),
}
_LM_WEIGHTS: Final = 86e6
"""Parameters of DeBERTa-base without its embeddings."""
_LM_FLOPS: Final = 71e12
"""Peak rate of an RTX 3090's tensor cores in 16 bits with float32 sums, in operations per second."""
_ITERATIONS: Final = 8
"""Number of simulated iterations: bubbles and texts are in the same ratio in all of them."""
_BUSY_W: Final = 350.0
"""Board power of an RTX 3090, in watts."""

OPTIONS: Final[dict[str, tuple[Any, ...]]] = {
    "tokens": (256, 64, 512),
    "lm_epochs": (4, 1, 10),
    "kernel_us": (10.0, 50.0),
    "kernels": (12, 40),
    "gnn_rounds": (3, 1),
    "lm_rounds": (2, 1),
    "exit_depth": (0.625, 1.0),
}
"""Values of :class:`Assumed` for a referee."""


@dataclass(frozen=True)
class Assumed:
    """Assumptions about what the thesis does not give.

    Attributes:
        tokens: tokens of a text.
        lm_epochs: passes over all texts of a fine-tuning.
        kernel_us: least time of a GPU kernel, in microseconds.
        kernels: kernels of a layer in a forward pass; a backward pass has twice as many.
        gnn_rounds, lm_rounds: how often TAPE trains each model: it has a graph neural network for each of three
            encodings, and two language models. GLEM is given the same.
        exit_depth: share of the language model's layers that a text runs through under the Lazy Tuner.
    """

    tokens: int = 256
    lm_epochs: int = 4
    kernel_us: float = 10.0
    kernels: int = 12
    gnn_rounds: int = 3
    lm_rounds: int = 2
    exit_depth: float = 0.625

    def iteration_s(self, model: str, graph: str) -> float:
        """Seconds of an epoch of the graph neural network on one GPU."""
        layers, hidden = SIZES[model][graph]
        inputs, classes = FEATURES[graph]
        widths = [inputs, *[hidden] * (layers - 1), classes]
        launched = 3 * layers * self.kernels * self.kernel_us * 1e-6
        return launched + RTX3090.epoch_s(VERTICES[graph], _EDGES[graph], widths)

    def text_s(self, graph: str) -> float:
        """Seconds of one fine-tuning of the language model on one GPU."""
        operations = 6 * _LM_WEIGHTS * self.tokens * VERTICES[graph] * self.lm_epochs
        return operations / (_LM_FLOPS * RTX3090.efficiency)


def implied_speed(model: str, networks: int, graph: str = "arxiv") -> float:
    """Pipeline's speed over one device, if TAPE trains ``networks`` and UniTG takes as long as one in a pipeline."""
    _, tape, unitg = _SECONDS[model, graph]
    return NETWORK_SHARE * tape / networks / unitg


class Phases(NamedTuple):
    """Seconds of a method for the graph neural network, the language model, and in all; busy seconds of each GPU."""

    network: float
    text: float
    total: float
    busy: float


@lru_cache(maxsize=256)
def methods(model: str, graph: str, assumed: Assumed) -> dict[str, Phases]:
    """Phases one after the other, as often as in TAPE and only once; and UniTG on four stages.

    The language model is data parallel over the four GPUs in all of them; the baselines' graph neural network is on
    one GPU, as in the thesis.
    """
    epochs = _EPOCHS[model][graph]
    network, text = epochs * assumed.iteration_s(model, graph), assumed.text_s(graph) / STAGES
    phases = {}
    for name, (networks, texts) in {"TAPE": (assumed.gnn_rounds, assumed.lm_rounds), "each once": (1, 1)}.items():
        parts = networks * network, texts * text
        phases[name] = Phases(*parts, sum(parts), sum(parts))
    # A stage has a quarter of the layers, a microbatch a quarter of the vertices; kernels do not get shorter.
    launched = 3 * SIZES[model][graph][0] * assumed.kernels * assumed.kernel_us * 1e-6
    forward = (launched + (network / epochs - launched) / STAGES) / STAGES / 3
    step = text * assumed.exit_depth / epochs
    scenario = UnitgScenario(
        forward_s=forward, backward_s=2 * forward, iterations=_ITERATIONS, lm_steps=_ITERATIONS, lm_step_s=step,
        lm_modules=MODULES,
    )  # fmt: skip
    total = simulate(scenario, INTERLEAVED).makespan_s * epochs / _ITERATIONS
    busy = epochs * (STAGES * 3 * forward + step)
    phases["UniTG"] = Phases(epochs * scenario.undisturbed().makespan, text * assumed.exit_depth, total, busy)
    return phases


_NOTE: Final = (
    "Seconds of an epoch of the graph neural network by a roofline of the RTX 3090 and the time of its kernels, of the "
    "language model by its operations; UniTG's by the simulator of its pipeline. No published time is an input. "
    "Assumed: texts of 256 tokens, 4 passes, 12 kernels of 10 us per layer, and for TAPE three graph neural networks "
    "and two language models; the referee changes each, and 'each once' is the baseline without repeated phases. The "
    "originals' reversible layers recompute and start more kernels than these."
)


@exact("unitg/table5.5", "Speed-up over one phase after the other", seconds=1, options=OPTIONS)
def table55(**open_: Any) -> Reproduction:
    """Total time of UniTG and of phases one after the other."""
    assumed, comparisons, data = Assumed(**open_), [], {}
    for (model, graph), (_, tape, unitg) in _SECONDS.items():
        by_method = methods(model, graph, assumed)
        where, ours = f"{model}, {graph}", by_method["UniTG"].total
        comparisons += [
            PaperComparison(
                f"{where}: UniTG over TAPE", f"{tape / unitg:.2f}x", f"{by_method['TAPE'].total / ours:.2f}x"
            ),
            PaperComparison(
                f"{where}: UniTG over each phase once", None, f"{by_method['each once'].total / ours:.2f}x"
            ),
            PaperComparison(f"{where}: UniTG, seconds", f"{unitg:.0f}", f"{ours:.0f}"),
        ]
        data[where] = {name: phases._asdict() for name, phases in by_method.items()}
    names = [f"{model}, {graph}" for model, graph in _SECONDS]
    lines = {
        "thesis": (names, [tape / unitg for _, tape, unitg in _SECONDS.values()]),
        "here": (names, [data[name]["TAPE"]["total"] / data[name]["UniTG"]["total"] for name in names]),
        "here, each phase once": (names, [data[n]["each once"]["total"] / data[n]["UniTG"]["total"] for n in names]),
    }
    panels = [Curves("over one phase after the other", "", "times", lines, bars=True)]
    note = f"{_NOTE} Accuracies need the thesis's models and texts: not shown, nor is GLEM's number of rounds known."
    return Reproduction([*comparisons], panels, {"stages": STAGES}, note, data)


@exact("unitg/table5.6", "Energy of a GPU", seconds=1, options={**OPTIONS, "idle_w": (100.0, 30.0, 200.0)})
def table56(*, idle_w: float = 100.0, **open_: Any) -> Reproduction:
    """Energy of a GPU in joules: board power while it works, less while it waits."""
    assumed, comparisons, data = Assumed(**open_), [], {}
    for (model, graph), (_, tape, unitg) in _MEGAJOULES.items():
        phases = methods(model, graph, assumed)
        joules = {name: _BUSY_W * p.busy + idle_w * max(0.0, p.total - p.busy) for name, p in phases.items()}
        where, watts = f"{model}, {graph}", 1e6 * unitg / _SECONDS[model, graph][2]
        over = {name: f"{spent / joules['UniTG']:.1f}x" for name, spent in joules.items()}
        comparisons += [
            PaperComparison(f"{where}: TAPE over UniTG", f"{tape / unitg:.1f}x", over["TAPE"]),
            PaperComparison(f"{where}: each phase once over UniTG", None, over["each once"]),
            PaperComparison(f"{where}: UniTG, mean power", f"{watts:.0f} W (joules over seconds)",
                       f"{joules['UniTG'] / phases['UniTG'].total:.0f} W"),
        ]  # fmt: skip
        data[where] = joules
    lines = {
        name: (list(data), [phases[name] / 1e6 for phases in data.values()]) for name in ("TAPE", "each once", "UniTG")
    }
    note = (
        f"{_NOTE} A GPU takes {_BUSY_W:.0f} W, the board's power, while it has something to do and {idle_w:.0f} W "
        "otherwise, both assumed; the GPU of the baselines is the one that the graph neural network is on. The "
        "thesis's joules over its seconds are 309 to 353 W for all methods: its savings are those of time."
    )
    panels = [Curves("energy of a GPU", "", "MJ", lines, bars=True)]
    return Reproduction([*comparisons], panels, {"busy_w": _BUSY_W, "idle_w": idle_w}, note, data)


@exact("unitg/fig5.9", "Where the time of each method goes", seconds=1, options=OPTIONS)
def figure59(**open_: Any) -> Reproduction:
    """Seconds of both phases, of baselines and of UniTG."""
    assumed, comparisons, panels, data = Assumed(**open_), [], [], {}
    for model, epochs in _EPOCHS.items():
        of = {graph: methods(model, graph, assumed) for graph in epochs}
        for graph, phases in of.items():
            share = 100 * phases["TAPE"].network / phases["TAPE"].total
            comparisons += [
                PaperComparison(f"{model}, {graph}: graph neural network in TAPE", "more than 89 % (most cases)",
                           f"{share:.0f} %", turns_at=50.0),
                PaperComparison(f"{model}, {graph}: UniTG over TAPE's language model alone", None,
                           f"{phases['UniTG'].total / phases['TAPE'].text:.2f}x"),
            ]  # fmt: skip
        bars: dict[str, Callable[[Phases], float]] = {
            "graph neural network": lambda p: p.network,
            "beyond it": lambda p: p.total - p.network,
        }
        labels = [f"{name}, {graph}" for graph in of for name in ("TAPE", "UniTG")]
        lines = {
            part: (labels, [value(of[graph][name]) for graph in of for name in ("TAPE", "UniTG")])
            for part, value in bars.items()
        }
        panels.append(Curves(model, "", "seconds", lines, bars=True, stacked=True))
        data[model] = {graph: {n: p._asdict() for n, p in phases.items()} for graph, phases in of.items()}
    return Reproduction([*comparisons], panels, {"stages": STAGES}, _NOTE, data)
