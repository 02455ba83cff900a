# SPDX-License-Identifier: Apache-2.0
"""TorchGT's motivation, table 4.1 and figure 4.1, and its reach, figures 4.6 and 4.8."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np
from torch.utils._python_dispatch import TorchDispatchMode

from offramp.graph.generate import generate
from offramp.torchgt.memory_check import full_bytes
from offramp.torchgt.settings import TorchGtSettings
from offramp.train.settings import TrainSettings
from offramp_base.ending.children import fork_server
from offramp_base.ending.pool import each_in_process
from offramp_base.progress import counted
from offramp_sim.figures.panels import Curves
from offramp_sim.g3.study import train_here
from offramp_sim.reproduce.item import Evidence, PaperComparison, Reproduction, measured, simulated
from offramp_sim.reproduce.table import bar_chart
from offramp_sim.reproduce.torchgt.training import BASE, HARD, run_here
from offramp_sim.torchgt.measure import AttentionCase, measure, peak_bytes

_GPU_BYTES: Final = 24e9
"""GPU memory of an RTX 3090, in bytes."""
_RANKS: Final = [1, 2, 4, 8]


@measured(
    "torchgt/table4.1",
    "Graph transformers beside graph neural networks",
    seconds=60,
    options={"homophily": (0.45, 0.8), "attention": ("full", "topology")},
)
def table41(scale: float, seed: int, *, homophily: float = 0.45, attention: str = "full") -> Reproduction:
    """Test accuracy on vertices of two transformers and two message-passing networks, two seeds each."""
    graph = f"sbm:n={max(200, round(500 * scale))},k=10,degree=8,homophily={homophily:g},features=16"
    epochs = max(3, round(40 * min(1.0, scale)))
    published = {"GAT": "54.29 %", "GCN": "61.49 %", "GT": "68.59 %", "Graphormer": "66.16 %"}
    by_model: dict[str, list[float]] = {name: [] for name in published}
    for number in counted("seeds", (seed, seed + 1)):
        sample = generate(graph, BASE["split"], number)
        plain = TrainSettings(
            graph, propagator="local", split=BASE["split"], hidden=64, epochs=2 * epochs, schedule="sequential",
            workers=1, seed=number,
        )  # fmt: skip
        for name, model in (("GAT", "gat"), ("GCN", "gcn")):
            by_model[name].append(100 * train_here(sample, replace(plain, model=model)).test_accuracy)
        for name, model in (("GT", "gt"), ("Graphormer", "graphormer")):
            settings = TorchGtSettings(graph, model=model, attention=attention, epochs=epochs, seed=number, **BASE)
            by_model[name].append(100 * run_here(name, settings).epochs[-1].test_score)
    means = {name: float(np.mean(scores)) for name, scores in by_model.items()}
    comparisons = [PaperComparison(f"{name}: test accuracy", published[name], f"{means[name]:.2f} %") for name in means]
    best = max(means["GT"], means["Graphormer"]) - max(means["GAT"], means["GCN"])
    comparisons.append(
        PaperComparison("better transformer less better network, points", "+7.10", f"{best:+.2f}", turns_at=0)
    )
    note = (
        "A stochastic block model (published: Flickr), the networks with twice the epochs. In full attention "
        "Graphormer, which knows of an edge only by a bias of its scores, learns its training vertices by heart; "
        "--referee has attention along edges. Sets of graphs are not shown: no message-passing network here "
        "takes them."
    )
    panel = bar_chart("test accuracy", "%", means, "mean of two seeds")
    return Reproduction([*comparisons], [panel], {"graph": graph, "epochs": epochs, "seed": seed}, note, by_model)


class _Attention(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Seconds in the fused attention, forward and backward."""

    seconds = 0.0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del types
        start = time.perf_counter()
        out = func(*args, **(kwargs or {}))
        if "scaled_dot_product" in str(func):
            self.seconds += time.perf_counter() - start
        return out


@measured("torchgt/fig4.1", "Full attention's share of a step", seconds=5, options={"model": ("gt", "graphormer")})
def figure41(scale: float, seed: int, *, model: str = "gt") -> Reproduction:
    """Time in the fused kernel over that of an iteration, by length."""
    sizes = [max(128, round(size * scale)) for size in (512, 1024, 2048)]
    shares, rest, inside = [], [], []
    for tokens in counted("lengths", sizes):
        graph = f"sbm:n={tokens},k=10,degree=10"
        settings = TorchGtSettings(
            graph, model=model, attention="full", interleave="never", epochs=2, seed=seed, global_token=False, **BASE
        )
        with _Attention() as attention:  # type: ignore[no-untyped-call]
            whole = sum(epoch.seconds for epoch in run_here(f"{tokens} tokens", settings).epochs)
        shares.append(100 * attention.seconds / whole)
        inside.append(attention.seconds)
        rest.append(whole - attention.seconds)
    comparisons = [
        PaperComparison(
            f"attention's share, {tokens:,} tokens", "more than 80 % (64K to 512K)", f"{share:.0f} %", turns_at=50
        )
        for tokens, share in zip(sizes, shares, strict=True)
    ]
    lines = {"attention": ([f"{s:,}" for s in sizes], inside), "the rest": ([f"{s:,}" for s in sizes], rest)}
    note = (
        "Two epochs, a step and a scoring pass each, PyTorch's fused kernel for CPUs. It takes no bias, so GT stands "
        "for Graphormer without one; with one (--referee) attention is several kernels, of which the fused one is a "
        "part. Two cores: the figure's GPUs and lengths are not here, and the share grows with the length."
    )
    panel = Curves("two epochs", "tokens", "seconds", lines, bars=True, stacked=True)
    return Reproduction([*comparisons], [panel], {"model": model, "seed": seed}, note, {"share_percent": shares})


@measured("torchgt/fig4.6", "Convergence of TorchGT and GP-Flash", seconds=60, options={"homophily": (0.45, 0.8)})
def figure46(scale: float, seed: int, *, homophily: float = 0.45) -> Reproduction:
    """Test scores over epochs; full attention in float32 separates the effect of precision from that of the pattern."""
    graph = HARD.format(n=max(100, round(800 * scale)), homophily=homophily)
    epochs = max(3, round(30 * min(1.0, scale)))
    ways: dict[str, dict[str, Any]] = {
        "TorchGT": {"attention": "reformed"},
        "GP-Flash (16 bits)": {"attention": "full", "wire": "bfloat16"},
        "full attention (32 bits)": {"attention": "full"},
    }
    published = {"graphormer": "+5.56 (arxiv)", "gt": "+2.74 (arxiv)"}
    comparisons, panels, data = [], [], {}
    for model in counted("models", list(published)):
        results = {
            name: run_here(
                f"{model}, {name}", TorchGtSettings(graph, model=model, epochs=epochs, seed=seed, **BASE, **how)
            )
            for name, how in ways.items()
        }
        last = {name: 100 * result.epochs[-1].test_score for name, result in results.items()}
        ours, flash, exact = last.values()
        comparisons += [
            PaperComparison(
                f"{model}: TorchGT less GP-Flash, points", published[model], f"{ours - flash:+.2f}", turns_at=0
            ),
            PaperComparison(f"{model}: 32 bits less 16, points", None, f"{exact - flash:+.2f}", turns_at=0),
        ]
        curves: dict[str, tuple[list[Any], list[float]]] = {
            name: ([e.epoch for e in result.epochs], [e.test_score for e in result.epochs])
            for name, result in results.items()
        }
        panels.append(Curves(model, "epoch", "test accuracy", curves))
        data[model] = last
    note = (
        "A graph of communities (published: four data sets). Only what attention takes and gives has 16 bits here; the "
        "third curve shows how much of the difference is precision."
    )
    return Reproduction(comparisons, panels, {"graph": graph, "epochs": epochs, "seed": seed}, note, data)


@simulated(
    "torchgt/fig4.8", "Longest sequences, and throughput against length", seconds=40, options={"degree": (10, 50)}
)
def figure48(scale: float, seed: int, *, degree: int = 10) -> Reproduction:
    """(a) Sequences that fit 24 GB per rank, by memory measured here; (b) tokens per second in attention, measured."""
    model = TorchGtSettings("karate", model="graphormer", attention="topology", seed=seed, **BASE)
    short, long = (max(1024, round(tokens * scale)) for tokens in (4096, 16_384))
    step = {tokens: _step_bytes(model, tokens, degree) for tokens in counted("memory", (short, long))}
    token_bytes = (step[long] - step[short]) / (long - short)
    shared_bytes = 16.0 * (degree + 3)  # every rank holds the pattern of all tokens: ids, and buckets for the bias
    reach: dict[str, list[float]] = {"TorchGT": [], "GP-Raw": []}
    for ranks in _RANKS:
        own = max(token_bytes - shared_bytes, 1.0) / ranks
        reach["TorchGT"].append(_GPU_BYTES / (own + shared_bytes))
        full = full_bytes(replace(model, workers=ranks, heads=8), 1)
        reach["GP-Raw"].append((_GPU_BYTES / full) ** 0.5)
    comparisons = [
        PaperComparison("TorchGT, 1 GPU", "400K", f"{reach['TorchGT'][0] / 1e3:.0f}K", turns_at=None),
        PaperComparison("TorchGT, 8 GPUs", "1,300K", f"{reach['TorchGT'][-1] / 1e3:.0f}K"),
        PaperComparison("GP-Raw, 1 GPU", "8K", f"{reach['GP-Raw'][0] / 1e3:.0f}K"),
        PaperComparison("GP-Raw, 8 GPUs", "22K", f"{reach['GP-Raw'][-1] / 1e3:.0f}K"),
        PaperComparison("TorchGT over GP-Raw, 1 GPU", "50x", f"{reach['TorchGT'][0] / reach['GP-Raw'][0]:.0f}x"),
        PaperComparison("TorchGT, 8 GPUs over 1", "3.25x", f"{reach['TorchGT'][-1] / reach['TorchGT'][0]:.2f}x"),
        PaperComparison("GP-Raw, 8 GPUs over 1", "2.75x", f"{reach['GP-Raw'][-1] / reach['GP-Raw'][0]:.2f}x"),
    ]
    sizes = [max(256, round(tokens * scale) // 256 * 256) for tokens in (1024, 2048, 4096)]
    rates: dict[str, list[float]] = {}
    for kind, name in (("topology", "TorchGT"), ("dense", "GP-Flash")):
        costs = [measure(AttentionCase(kind, tokens, degree, repeat=1, seed=seed)) for tokens in counted(name, sizes)]
        rates[name] = [tokens / cost.seconds for tokens, cost in zip(sizes, costs, strict=True)]
        published = {"TorchGT": "about 1 (128K to 1300K)", "GP-Flash": "0.12 (128K to 1300K)"}[name]
        change = rates[name][-1] / rates[name][0]
        comparisons.append(
            PaperComparison(f"{name}: throughput, {sizes[-1] // sizes[0]} times as long", published, f"{change:.2f}",
                       evidence=Evidence.MEASURED, turns_at=None)
        )  # fmt: skip
    panels = [
        Curves("(a) longest sequence, 24 GB a rank", "ranks", "thousand tokens",
               {name: (_RANKS, [s / 1e3 for s in values]) for name, values in reach.items()}, log=True),
        Curves("(b) attention of a core", "tokens", "tokens per second",
               {name: (sizes, values) for name, values in rates.items()}, log=True),
    ]  # fmt: skip
    note = (
        "Bytes of a token are those of a training step's peak, measured in processes of their own at two lengths; on "
        "more ranks a rank holds its share of them, and the pattern of all tokens. GP-Raw's are the numbers for each "
        "pair that full attention with bias keeps. Memory of a GPU's kernels, and what its allocator wastes, are not "
        "in it. Accuracy against the length, and eight GPUs at 1.3 million tokens, are not shown."
    )
    data = {"token_bytes": token_bytes, "longest": reach, "tokens_per_s": rates}
    return Reproduction(comparisons, panels, {"degree": degree, "tokens": [short, long], "seed": seed}, note, data)


def _step_bytes(model: TorchGtSettings, tokens: int, degree: int) -> int:
    """Peak memory of an epoch in a fresh process, beyond what it had before, in bytes."""
    settings = replace(model, graph=f"sbm:n={tokens},k=10,degree={degree}", interleave="never", epochs=1)
    context = fork_server(["torch", __name__])
    return next(peak for _, peak in each_in_process(partial(_peak), [settings], 1, context))


def _peak(settings: TorchGtSettings) -> int:
    return peak_bytes(lambda: run_here("memory", settings))
