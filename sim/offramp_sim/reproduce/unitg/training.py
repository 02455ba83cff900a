# SPDX-License-Identifier: Apache-2.0
"""UniTG trained in this process: tables 5.1 and 5.2, figures 5.6, 5.10 and 5.11."""

from __future__ import annotations

import time
from dataclasses import replace
from statistics import mean
from typing import TYPE_CHECKING, Final

import numpy as np
import torch

from offramp.graph.data import Graph, build_graph
from offramp.graph.generate import generate
from offramp.unitg.finetune import FineTuner, Texts
from offramp.unitg.gate import Gate
from offramp.unitg.job import plan
from offramp.unitg.language_model import exit_depths
from offramp.unitg.lazy_tuner import mean_depth
from offramp.unitg.microbatches import affinity_order, affinity_split, cut_edges, make_microbatches, random_split
from offramp.unitg.pipeline import Stage
from offramp.unitg.run import train_rank
from offramp.unitg.schedule import PipelinePosition, split_layers
from offramp.unitg.settings import EXIT_RULES, UnitgSettings
from offramp.unitg.timetable import timetable
from offramp.workers.group import Group
from offramp.workers.mailbox import NoMailbox
from offramp_base.progress import counted
from offramp_sim.figures.panels import Curves
from offramp_sim.reproduce.item import Evidence, PaperComparison, Reproduction, exact, measured
from offramp_sim.reproduce.table import bar_chart
from offramp_sim.reproduce.unitg.phases import implied_speed

if TYPE_CHECKING:
    from collections.abc import Callable

    from offramp.graph.csr import IntArray

_SPLIT: Final = "0.3/0.2/0.5"
_COUNTS: Final = (1, 2, 4, 8, 16)
_MODELS: Final = ("revgcn", "revgat", "resgen")


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


@measured(
    "unitg/table5.1",
    "Accuracy with and without texts",
    seconds=6,
    options={"homophily": (0.5, 0.8), "model": ("gcn", "revgcn")},
)
def table51(scale: float, seed: int, *, homophily: float = 0.5, model: str = "gcn") -> Reproduction:
    """Texts beside numeric features: where features tell little, embeddings of texts tell more."""
    graph = generate(f"sbm:n={_size(800, scale)},k=5,homophily={homophily:g},degree=6,features=16", _SPLIT, seed)
    base = UnitgSettings(
        "sbm", text="topics", stages=1, model=model, layers=2, hidden=32, epochs=60,
        lm_length=16, lm_width=32, lm_layers=4, lm_batch=32, lm_epochs=6, lm_lr=3e-3, seed=seed,
    )  # fmt: skip
    accuracy = {}
    for mode in counted("training", ("alone", "sequential")):
        outcome = train_rank(Group(), plan(graph, replace(base, mode=mode)).jobs[0], lambda _: None)
        assert outcome is not None
        accuracy[mode] = outcome.epochs[-1].test_accuracy
    names = {"alone": "features only (GCN)", "sequential": "text first (TAPE's way)"}
    published = {"alone": "70.0 to 76.1 %", "sequential": "75.2 to 94.3 %"}
    comparisons = [PaperComparison(names[m], published[m], _percent(accuracy[m])) for m in names]
    bars = {"": (list(names.values()), [100 * accuracy[m] for m in names])}
    note = (
        "A stochastic block model whose features alone say little, texts drawn by class (30 % of the words), and a "
        "transformer that starts from nothing; the thesis has pubmed, arxiv and products and pretrained models. On one "
        "stage there are no bubbles, so nothing is interleaved here: offramp train unitg does that."
    )
    settings_shown = {"vertices": graph.vertices, "seed": seed}
    panels = [Curves("Test accuracy", "", "%", bars, bars=True)]
    gained = 100 * (accuracy["sequential"] - accuracy["alone"])
    comparisons.append(PaperComparison("with texts less without, points", "+5 to +18", f"{gained:+.1f}", turns_at=0.0))
    return Reproduction(comparisons, panels, settings_shown, note, accuracy)


@measured(
    "unitg/table5.2",
    "Time of an epoch in the order of affinity",
    seconds=25,
    options={"homophily": (0.95, 0.8), "hidden": (64, 128)},
)
def table52(scale: float, seed: int, *, homophily: float = 0.95, hidden: int = 64) -> Reproduction:
    """Time of an epoch with vertices ordered by affinity against a random order."""
    n = _size(40_000, scale)
    generated = generate(f"sbm:n={n},k={max(2, n // 500)},homophily={homophily:g},degree=20,features=32", _SPLIT, seed)
    graph = _shuffled(generated, seed)
    orders = {"random": np.arange(n), "affinity": affinity_order(graph, seed)}
    published = {"revgcn": 2.59 / 2.39, "revgat": 0.89 / 0.83, "resgen": 0.26 / 0.23}
    comparisons, data = [], {}
    for model in counted("epochs", _MODELS):
        settings = UnitgSettings("sbm", model=model, layers=3, hidden=hidden, stages=1, mode="alone", seed=seed)
        stages = {name: _stage(graph, settings, [order]) for name, order in orders.items()}
        seconds = {name: float("inf") for name in orders}
        for step in range(1, 5):
            for name, stage in stages.items():
                start = time.perf_counter()
                stage.iteration(step)
                if step > 1:
                    seconds[name] = min(seconds[name], time.perf_counter() - start)
        ratio = seconds["random"] / seconds["affinity"]
        comparisons.append(
            PaperComparison(f"{model}, times as fast", f"{published[model]:.2f}", f"{ratio:.2f}", turns_at=1.0)
        )
        data[model] = seconds
    lines = {name: (list(_MODELS), [data[m][name] for m in _MODELS]) for name in orders}
    panels = [Curves("An epoch", "", "seconds", lines, bars=True)]
    note = (
        "Communities of 500 vertices in random order against METIS clusters next to each other; the best of three "
        "epochs each, in turn, in this process. Caches of a CPU, not of a GPU."
    )
    return Reproduction(comparisons, panels, {"vertices": n, "layers": 3, "hidden": hidden, "seed": seed}, note, data)


@measured(
    "unitg/fig5.6", "Accuracy against microbatches", seconds=30, options={"homophily": (0.8, 0.5), "layers": (4, 8)}
)
def figure56(scale: float, seed: int, *, homophily: float = 0.8, layers: int = 4) -> Reproduction:
    """Accuracy against the number of microbatches, cut by affinity and at random."""
    graph = generate(f"sbm:n={_size(1200, scale)},k=6,homophily={homophily:g},degree=8,features=24", _SPLIT, seed)

    def at_random(of: Graph, count: int, seed: int) -> list[IntArray]:
        return random_split(of.vertices, count, seed)

    cuts: dict[str, Callable[[Graph, int, int], list[IntArray]]] = {"affinity": affinity_split, "random": at_random}
    lines: dict[str, tuple[list[int], list[float]]] = {}
    edges: dict[str, tuple[list[int], list[float]]] = {}
    for model in counted("models", ("revgcn", "revgat")):
        settings = UnitgSettings("sbm", model=model, layers=layers, hidden=32, stages=1, mode="alone", seed=seed)
        for cut, split in cuts.items():
            accuracy, lost = [], []
            for count in _COUNTS:
                pieces = split(graph, count, seed)
                stage = _stage(graph, settings, pieces)
                for step in range(1, 41):
                    sums = stage.iteration(step)
                accuracy.append(100 * sums[3] / int(graph.test.sum()))
                lost.append(100 * cut_edges(graph, pieces) / graph.edges)
            lines[f"{model}, {cut}"] = (list(_COUNTS), accuracy)
            edges[cut] = (list(_COUNTS), lost)
    panels = [
        Curves("Test accuracy", "microbatches", "%", lines),
        Curves("Edges lost", "microbatches", "%", edges),
    ]
    drop = {name: values[0] - values[-1] for name, (_, values) in lines.items()}
    comparisons = [
        PaperComparison("revgat, points lost at 16 microbatches", "up to 18", f"{drop['revgat, affinity']:.1f}"),
        PaperComparison("revgat, cut at random", None, f"{drop['revgat, random']:.1f}"),
        PaperComparison("revgcn, points lost at 16 microbatches", None, f"{drop['revgcn, affinity']:.1f}"),
        PaperComparison("revgcn, cut at random", None, f"{drop['revgcn, random']:.1f}"),
        *(
            PaperComparison(
                f"{model}, points that affinity keeps over a random cut",
                None,
                f"{drop[f'{model}, random'] - drop[f'{model}, affinity']:+.1f}",
                turns_at=0.0,
            )
            for model in ("revgat", "revgcn")
        ),
        PaperComparison("edges lost at 16, affinity", None, f"{edges['affinity'][1][-1]:.0f} %"),
        PaperComparison("edges lost at 16, at random", None, f"{edges['random'][1][-1]:.0f} %"),
    ]
    note = (
        f"A stochastic block model, {layers} layers, 40 epochs, accuracy over the same pieces as in training. The "
        "thesis's cut is by affinity; its models are deeper and its graphs real. A random cut of the same sizes is "
        "the control it lacks."
    )
    return Reproduction(comparisons, panels, {"vertices": graph.vertices, "seed": seed}, note, {"accuracy": lines})


@exact("unitg/fig5.10", "What the pipeline gives", seconds=1)
def figure510() -> Reproduction:
    """Benefit of the pipeline to the graph neural network, and the largest model that fits."""
    stages = [1, 2, 4, 8]
    speed = {}
    for count in (1, 2, 4):
        ours = []
        for p in stages:
            table = timetable([1 / p] * p, [2 / p] * p, count)
            ours.append(3 * count / table.makespan)
        speed[f"{count} microbatches"] = (stages, ours)
    largest = []
    for p in stages:
        settings = UnitgSettings("arxiv", model="revgcn", layers=28 * p, hidden=224, stages=p)
        model = settings.make_model(settings.widths(128, 40))
        held = sum(parameter.numel() for parameter in model.parameters())
        assert len(split_layers(settings.layers, p)) == p
        largest.append(held / 1e6)
    comparisons = [
        PaperComparison("pipeline on four devices against one", "3", f"{speed['4 microbatches'][1][2]:.2f}"),
        PaperComparison(
            "with reordering (table 5.2's 1.08)",
            "3.4",
            f"{1.08 * speed['4 microbatches'][1][2]:.2f}",
            evidence=Evidence.RESTATED,
            source="table 5.2's gain",
        ),
        *(
            PaperComparison(
                f"{model}, by the seconds of table 5.5, TAPE with {networks} networks",
                "3.4",
                f"{implied_speed(model, networks):.2f}",
                evidence=Evidence.RESTATED,
                source="table 5.5, and 89 % of TAPE's time",
            )
            for model in ("revgcn", "revgat")
            for networks in (2, 3, 4)
        ),
        PaperComparison(
            "largest model, 8 devices over 1", "nearly 8 (19 M weights on 8)", f"{largest[-1] / largest[0]:.2f}"
        ),
    ]
    panels = [
        Curves("Speed against one device", "devices", "times", speed),
        Curves("28 layers of 224 a device", "devices", "M weights", {"": (stages, largest)}),
    ]
    note = (
        "Table 5.5's seconds imply a pipeline's speed: 3.4 fits RevGCN if TAPE trains four networks, and RevGAT if it "
        "trains two; no number fits both. "
        "Equal stages without transfers: M P / (M + P - 1), 2.29 for four devices and microbatches. The thesis's 3 has "
        "parts that a schedule does not explain (memory, the vanilla code). One microbatch gains nothing. "
        "Weights of our RevGCN, 28 layers on each device."
    )
    return Reproduction(comparisons, panels, {"hidden": 224}, note, {"speed_up": speed, "weights_m": largest})


@measured("unitg/fig5.11", "Early exits", seconds=15, options={"homophily": (0.7, 0.4), "lm_layers": (8, 4)})
def figure511(scale: float, seed: int, *, homophily: float = 0.7, lm_layers: int = 8) -> Reproduction:
    """Fine-tuning with exits by centrality, at random, and without: time and loss."""
    graph = generate(
        f"sbm:n={_size(600, scale)},k=4,homophily={homophily:g},degree=8,features=16,gamma=2.5", _SPLIT, seed
    )
    base = UnitgSettings(
        "sbm", text="topics", stages=1, lm_layers=lm_layers, lm_width=64, lm_length=16, lm_batch=24, lm_lr=2e-3,
        seed=seed,
    )  # fmt: skip
    seconds, depth, loss, lines = {}, {}, {}, {}
    for rule in counted("fine-tuning", list(EXIT_RULES)):
        corpus = plan(graph, replace(base, exits=rule, lm_batch=24 if rule != "none" else 96)).jobs[0].corpus
        assert corpus is not None
        tuner = FineTuner(
            corpus.model(base, graph.width, graph.classes),
            Texts(torch.from_numpy(corpus.tokens).long(), torch.from_numpy(corpus.labels)),
            corpus.batches,
            NoMailbox(1),
            Gate(is_open=True),
            lr=base.lm_lr,
        )
        tuner.run(1)  # loads libraries and what they keep
        start = time.process_time()
        tuner.run(max(4, round(25 * scale)))
        seconds[rule] = time.process_time() - start
        depth[rule] = mean_depth(corpus.batches.groups, exit_depths(base.lm_layers)) / base.lm_layers
        loss[rule] = mean(tuner.progress.losses[-4:])
        lines[rule] = ([float(i) for i in range(1, len(tuner.progress.losses) + 1)], tuner.progress.losses)
    saved = {rule: seconds["none"] / seconds[rule] for rule in EXIT_RULES}
    comparisons = [
        PaperComparison(
            "tuning time without exits over with, by value", "3.8 to 4.3", f"{saved['value']:.2f}", turns_at=1.0
        ),
        PaperComparison(
            "tuning time without exits over with, by quartiles",
            "3.8 to 4.3",
            f"{saved['centrality']:.2f}",
            turns_at=1.0,
        ),
        PaperComparison("layers that a text runs through, by value", None, _percent(depth["value"])),
        PaperComparison("layers that a text runs through, by quartiles", "62.5 %", _percent(depth["centrality"])),
        PaperComparison("last loss, all layers", "slightly lower", f"{loss['none']:.3f}"),
        PaperComparison("last loss, exits by value", None, f"{loss['value']:.3f}"),
        PaperComparison("exits by centrality", None, f"{loss['centrality']:.3f}"),
        PaperComparison("exits at random, at the same cost", None, f"{loss['random']:.3f}"),
    ]
    panels = [
        Curves("Loss (mean of the exits)", "step", "cross-entropy", lines),
        bar_chart("Processor time", "seconds", seconds),
    ]
    note = (
        "As many texts a step with four exits as without. Groups of equal size save at most 1.6 of layer work; bins of "
        "equal width of the degrees' values put nearly all vertices of a power law into the first, and save up to 4: "
        "the thesis's factors are theirs. Texts ignore degrees here: what central exits gain over random ones in the "
        "loss is chance."
    )
    return Reproduction(comparisons, panels, {"vertices": graph.vertices, "seed": seed}, note, {"seconds": seconds})


def _stage(graph: Graph, settings: UnitgSettings, pieces: list[IntArray]) -> Stage:
    """A stage with all layers on this device, over the pieces; equals a pipeline of any number of stages (U1)."""
    job = plan(graph, settings).jobs[0]
    place = PipelinePosition(0, 1, len(pieces))
    cut = replace(job, place=place, microbatches=make_microbatches(graph, pieces))
    return Stage(cut, NoMailbox(1), Gate())


def _shuffled(graph: Graph, seed: int) -> Graph:
    order = np.random.default_rng(seed).permutation(graph.vertices)
    heads = np.repeat(np.arange(graph.vertices), graph.degrees)
    place = np.empty_like(order)
    place[order] = np.arange(graph.vertices)
    return build_graph(
        graph.name,
        graph.vertices,
        (place[heads], place[graph.indices]),
        features=graph.features[order],
        labels=graph.labels[order],
        split=_SPLIT,
        seed=seed,
    )


def _size(vertices: int, scale: float) -> int:
    return max(100, round(vertices * scale))
