# SPDX-License-Identifier: Apache-2.0
"""TorchGT's training: tables 4.4, 4.5 and 4.8, figures 4.9 and 4.10."""

from __future__ import annotations

from typing import Any, Final

from offramp.torchgt.results import TorchGtResult
from offramp.torchgt.settings import PAPER, TorchGtSettings
from offramp_base.progress import counted, report
from offramp_sim.figures.panels import Curves
from offramp_sim.reproduce.item import Evidence, PaperComparison, Reproduction, measured, reproduces
from offramp_sim.reproduce.table import ItemTable

_COMMUNITIES: Final = "sbm:n={n},k=10,degree={degree},homophily={homophily:g}"
_EPOCHS: Final = 300
HARD: Final = "sbm:n={n},k=10,degree=8,homophily={homophily:g},features=16"
BASE: Final[dict[str, Any]] = {"workers": 1, "split": "0.6/0.2/0.2"}


def run_here(name: str, settings: TorchGtSettings) -> TorchGtResult:
    """Run one training, whose epochs are reported under ``name``."""
    from offramp.torchgt.run import train

    result = train(settings, lambda epoch: report(name, epoch.epoch, settings.epochs))
    assert result is not None
    return result


def _epoch_s(result: TorchGtResult) -> float:
    """Median seconds of an epoch, so that interleaved full epochs and a busy machine do not decide."""
    times = sorted(epoch.seconds for epoch in result.epochs)
    return times[len(times) // 2]


@reproduces("torchgt/table4.4", "Models", seconds=1, evidence=Evidence.CONTEXT)
def table44(scale: float, seed: int) -> Reproduction:
    """The models and their sizes."""
    from offramp.torchgt.model import GraphTransformer

    del scale
    comparisons = []
    for (name, size), published in zip(PAPER.items(), ("4, 64, 8", "12, 768, 32", "4, 128, 8"), strict=True):
        model = GraphTransformer(TorchGtSettings("karate", model=name, seed=seed), 128, 40)
        parameters = sum(p.numel() for p in model.parameters())
        comparisons.append(PaperComparison(f"{name}: layers, hidden, heads", published, ", ".join(map(str, size[:3]))))
        comparisons.append(PaperComparison(f"{name}: parameters (128 features, 40 classes)", None, f"{parameters:,}"))
    lines = {"hidden width": (list(PAPER), [float(size.hidden) for size in PAPER.values()])}
    panels = [Curves("Models", "", "columns", lines, bars=True)]
    return Reproduction(comparisons, panels, {"seed": seed}, "GPH_Slim is graphormer, GPH_Large graphormer-large.")


@measured(
    "torchgt/table4.5",
    "Epoch time of full attention, topology and TorchGT",
    seconds=90,
    options={"homophily": (0.8, 0.5), "degree": (10, 40)},
)
def table45(scale: float, seed: int, *, homophily: float = 0.8, degree: int = 10) -> Reproduction:
    """Epoch time and accuracy of full attention, topology and TorchGT."""
    published = {
        ("graphormer", "arxiv"): "3.9x, +5.6 points",
        ("graphormer", "products"): "50.8x, +0.4 points",
        ("gt", "arxiv"): "5.3x, +2.7 points",
        ("gt", "products"): "36.3x, +15.9 points",
    }
    communities = _COMMUNITIES.format(n=max(100, round(2000 * scale)), degree=degree, homophily=homophily)
    graphs = {"communities": communities, "digits": "digits"}
    methods = {"full": "full", "topology": "topology", "reformed": "TorchGT"}
    table: ItemTable[str, float] = ItemTable()
    comparisons = [PaperComparison(f"TorchGT over GP-Flash, {m}, {g}", text, "") for (m, g), text in published.items()]
    data: dict[str, Any] = {}
    cases = [(model, graph) for model in ("graphormer", "gt") for graph in graphs]
    for model, graph in counted("models and graphs", cases):
        results: dict[str, TorchGtResult] = {}
        for attention, label in methods.items():
            epochs = max(2, round((3 if attention == "full" else 9) * min(1.0, scale)))
            settings = TorchGtSettings(
                graphs[graph], model=model, attention=attention, interleave="never", epochs=epochs, seed=seed, **BASE
            )
            results[attention] = run_here(f"{model}, {graph}, {label}", settings)
        seconds = {attention: _epoch_s(result) for attention, result in results.items()}
        table[f"{model}, {graph}"] = {label: seconds[attention] for attention, label in methods.items()}
        data[f"{model}, {graph}"] = {a: {"epoch_s": seconds[a], **_scores(r)} for a, r in results.items()}
        for attention in ("topology", "reformed"):
            name = f"{methods[attention]} over full, {model}, {graph}"
            comparisons.append(PaperComparison(name, None, f"{seconds['full'] / seconds[attention]:.1f}x"))
        share = results["reformed"].preparation_seconds / (_EPOCHS * seconds["reformed"])
        what = f"preparation over training of {_EPOCHS} epochs, {model}, {graph}"
        comparisons.append(PaperComparison(what, "5.4 % (arxiv), 2.0 % (MalNet)", f"{100 * share:.1f} %"))
    note = (
        "One process; median epoch. Full attention is GP-Raw for Graphormer, whose bias no fused kernel takes, and "
        "GP-Flash for GT. The published sequences have 64K to 256K tokens; the gain grows with the length (fig4.11)."
    )
    panels = [Curves("Epoch", "", "seconds", table.lines(), bars=True)]
    return Reproduction(comparisons, panels, {"scale": scale, "seed": seed, **graphs}, note, data)


@measured(
    "torchgt/table4.7",
    "16 bits against 32",
    seconds=30,
    options={"homophily": (0.45, 0.8), "model": ("gt", "graphormer")},
)
def table47(scale: float, seed: int, *, homophily: float = 0.45, model: str = "gt") -> Reproduction:
    """Training in 16 bits against 32."""
    published = {
        "GP-Flash (BF16)": (".44 s, 48.25 %", "17.31 s, 63.51 %"),
        "TorchGT, BF16": (".08 s, 48.29 %", ".60 s, 63.58 %"),
        "TorchGT, FP32": (".11 s, 53.81 %", "1.00 s, 73.10 %"),
    }
    changes: tuple[dict[str, Any], ...] = (
        {"attention": "full", "wire": "bfloat16"},
        {"attention": "reformed", "interleave": "never", "wire": "bfloat16"},
        {"attention": "reformed", "interleave": "never"},
    )
    graph = HARD.format(n=max(100, round(1000 * scale)), homophily=homophily)
    epochs = max(3, round(40 * min(1.0, scale)))
    comparisons, scores = [], []
    for (name, texts), change in counted("methods", list(zip(published.items(), changes, strict=True))):
        result = run_here(name, TorchGtSettings(graph, model=model, epochs=epochs, seed=seed, **BASE, **change))
        scores.append(result.epochs[-1].test_score)
        ours = f"{_epoch_s(result):.3f} s, {100 * scores[-1]:.2f} %"
        comparisons.append(PaperComparison(name, f"{texts[0]} (arxiv); {texts[1]} (Amazon)", ours))
    points = 100 * (scores[2] - scores[1])
    comparisons.append(
        PaperComparison("TorchGT: 32 bits less 16, points", "+5.5, +9.5", f"{points:+.2f}", turns_at=0.0)
    )
    note = (
        "Only what attention takes and gives is rounded to bfloat16 (--wire), which halves the bytes of "
        "all-to-alls; cores compute with float32 either way, so times say nothing about precision here."
    )
    panels = [Curves("Accuracy", "", "test accuracy", {"here": (list(published), scores)}, bars=True)]
    return Reproduction(comparisons, panels, {"graph": graph, "epochs": epochs, "seed": seed}, note)


@measured(
    "torchgt/table4.8",
    "Static thresholds and the tuner",
    seconds=60,
    options={"homophily": (0.45, 0.8), "placement": ("densest", "random")},
)
def table48(scale: float, seed: int, *, homophily: float = 0.45, placement: str = "dense") -> Reproduction:
    """Static thresholds against the tuner."""
    published = {
        "1": (".368 s, 53.34 %", ".098 s, 56.70 %"),
        "1.5": (".257 s, 54.19 %", ".090 s, 56.84 %"),
        "5": (".088 s, 53.82 %", ".089 s, 56.51 %"),
        "7": (".087 s, 50.84 %", ".084 s, 53.65 %"),
        "10": (".077 s, 48.31 %", ".071 s, 45.95 %"),
        "tuner": (".114 s, 53.81 %", ".093 s, 56.72 %"),
    }
    vertices = max(200, round(2000 * scale))
    graph = HARD.format(n=vertices, homophily=homophily)
    epochs = max(3, round(40 * min(1.0, scale)))
    density = 9 / vertices  # eight neighbours and itself
    comparisons, data = [], {}
    lines: dict[str, tuple[list[Any], list[float]]] = {}
    for place, model in enumerate(("graphormer", "gt")):
        times, scores, kept = [], [], []
        for factor, texts in counted(model, list(published.items())):
            beta = "auto" if factor == "tuner" else f"{min(1.0, float(factor) * density):.6f}"
            settings = TorchGtSettings(
                graph,
                model=model,
                beta=beta,
                placement=placement,
                interleave="never",
                epochs=epochs,
                lr=5e-3,
                seed=seed,
                **BASE,
            )
            result = run_here(f"{model}, {factor}", settings)
            times.append(_epoch_s(result))
            scores.append(result.epochs[-1].test_score)
            kept.append(result.epochs[-1].pairs)
            name = "tuner" if factor == "tuner" else f"{factor} \N{GREEK SMALL LETTER BETA}G"
            comparisons.append(
                PaperComparison(f"{model}, {name}", texts[place], f"{times[-1]:.3f} s, {100 * scores[-1]:.2f} %")
            )
        comparisons += _tuner(model, times, scores)
        lines[model] = (list(published), scores)
        data[model] = {"epoch_s": times, "test_score": scores, "pairs": kept}
    note = (
        f"A graph of {vertices:,} vertices in 10 communities, mean degree 8, {epochs} epochs, one process; published: "
        "ogbn-arxiv on a GPU. Blocks stand where most edges are, which keeps more of the graph than blocks at random "
        "do (--placement random)."
    )
    panels = [Curves("Accuracy", "threshold", "test accuracy", lines, bars=True)]
    return Reproduction(comparisons, panels, {"scale": scale, "seed": seed, "graph": graph}, note, data)


def _tuner(model: str, times: list[float], scores: list[float]) -> list[PaperComparison]:
    """The tuner, the last run, beside the best static threshold, and beside all pairs of edges."""
    best = 100 * (scores[-1] - max(scores[:-1]))
    return [
        PaperComparison(f"{model}: tuner less the best static threshold, points", None, f"{best:+.2f}", turns_at=0.0),
        PaperComparison(
            f"{model}: epoch of 1 \N{GREEK SMALL LETTER BETA}G over the tuner's", None, f"{times[0] / times[-1]:.2f}x"
        ),
    ]


def _convergence(
    graph: str, scale: float, seed: int, published: dict[str, str], note: str, **changes: Any
) -> Reproduction:
    epochs = max(3, round(changes.pop("epochs") * min(1.0, scale)))
    in_full = changes.pop("evaluated_in_full", None)
    lines: dict[str, tuple[list[Any], list[float]]] = {}
    losses: dict[str, tuple[list[Any], list[float]]] = {}
    comparisons, data = [], {}
    for attention in counted("attentions", list(published)):
        evaluate = "full" if attention == in_full else "pattern"
        settings = TorchGtSettings(
            graph, attention=attention, evaluate=evaluate, epochs=epochs, seed=seed, **BASE, **changes
        )
        result = run_here(attention, settings)
        numbers = [epoch.epoch for epoch in result.epochs]
        lines[attention] = (numbers, [epoch.val_score for epoch in result.epochs])
        losses[attention] = (numbers, [epoch.loss for epoch in result.epochs])
        data[attention] = _scores(result)
        ours = f"{data[attention]['test']:.4f}, {sum(e.seconds for e in result.epochs):.1f} s"
        comparisons.append(PaperComparison(f"{attention}: test {result.metric}, time", published[attention], ours))
    metric = result.metric
    comparisons += [
        PaperComparison(
            f"interleaved less {other}, test {metric}",
            None,
            f"{data['interleaved']['test'] - data[other]['test']:+.4f}",
            turns_at=0.0,
        )
        for other in ("full", "topology")
    ]
    panels = [
        Curves("Validation", "epoch", metric, lines),
        Curves("Training loss", "epoch", "loss", losses),
    ]
    return Reproduction(comparisons, panels, {"graph": graph, "epochs": epochs, "seed": seed, **changes}, note, data)


@measured(
    "torchgt/fig4.9",
    "Convergence on vertices",
    seconds=30,
    options={"homophily": (0.45, 0.8), "model": ("gt", "graphormer"), "period": (8, 2)},
)
def figure49(scale: float, seed: int, *, homophily: float = 0.45, model: str = "gt", period: int = 8) -> Reproduction:
    """Convergence on vertices."""
    published = {"interleaved": "best", "full": "below interleaved", "topology": "below interleaved"}
    note = (
        "GT on a graph of communities (published: GPH_Slim and GT on ogbn-arxiv). Where neighbours share their class, "
        "topology is itself the better attention."
    )
    graph = HARD.format(n=max(100, round(1000 * scale)), homophily=homophily)
    return _convergence(graph, scale, seed, published, note, model=model, epochs=40, period=period)


@measured(
    "torchgt/fig4.10", "Convergence on sets of graphs", seconds=60, options={"period": (2, 4), "distance": (12, 4)}
)
def figure410(scale: float, seed: int, *, period: int = 2, distance: int = 12) -> Reproduction:
    """Convergence on sets of graphs, where distant pairs matter."""
    published = {"interleaved": "about full", "full": "best", "topology": "worst"}
    note = (
        "Graphormer, graphs of ZINC's size whose target is the mean distance of two vertices (published: ZINC and "
        "ogbg-molpcba). Every second step of interleaved attention is full, and it is evaluated in full."
    )
    graph = f"molecules:count={max(20, round(400 * scale))}"
    size = {"layers": 2, "hidden": 32, "heads": 4, "distance": distance, "graphs": 40}
    return _convergence(
        graph, scale, seed, published, note, epochs=100, period=period, lr=5e-3, evaluated_in_full="interleaved", **size
    )


def _scores(result: TorchGtResult) -> dict[str, Any]:
    last = result.epochs[-1]
    return {"test": last.test_score, "validation": last.val_score, "loss": last.loss, "pairs": last.pairs}
