# SPDX-License-Identifier: Apache-2.0
"""Sylvie on a slow network: tables 3.2, 3.9, 3.10 and 3.11, as far as two cores and emulated cards can show them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from offramp.graph.generate import generate
from offramp.models import make_model, model_widths
from offramp.sylvie.message import message_bytes
from offramp.train.planned import plan_run
from offramp.train.settings import TrainSettings
from offramp_base.progress import counted
from offramp_sim.figures.panels import Curves
from offramp_sim.g3.measured import WARM_UP, MeasuredRun, run_timed
from offramp_sim.reproduce.item import Evidence, PaperComparison, Reproduction, measured, reproduces
from offramp_sim.reproduce.table import ItemTable

if TYPE_CHECKING:
    from offramp.graph.data import Graph

LINK_BPS: Final = 1e8
_BITS: Final = {"fp32": "32", "q8": "8", "q4": "4", "q2": "2", "q1": "1", "sylvie": "adaptive"}
_CONTROLLED: Final = 7
"""Epochs before the first decision of Sylvie's controller, which compares rates of descent five epochs apart."""
_DECIDED: Final = 16
_OPTIONS: Final = {"link_mbps": (100.0, 1000.0, 10_000.0), "partition": ("hash", "metis")}
_NOTE: Final = (
    "Four worker processes on this machine's cores, each behind an emulated card (100 Mb/s in both directions); "
    "medians of an epoch of the slowest worker, of adaptive rows only epochs the controller has decided. Bytes are "
    "those of all workers, a mean over all epochs. GPU times are context: here the workers share the cores, so that "
    "computation weighs more."
)


def slow_network(scale: float, seed: int, link_mbps: float = LINK_BPS / 1e6, partition: str = "hash") -> TrainSettings:
    """A graph of which, cut by hash, all three other workers need nearly every vertex, so that messages dominate."""
    graph = f"sbm:n={max(400, round(20_000 * scale))},k=8,degree=16,features=32"
    return TrainSettings(
        graph,
        propagator="p2p",
        workers=4,
        partition=partition,
        schedule="sequential",
        link_bps=1e6 * link_mbps,
        layers=4,
        hidden=128,
        epochs=7,
        seed=seed,
    )


@reproduces(
    "sylvie/table3.2",
    "Bytes of an epoch",
    seconds=2,
    evidence=Evidence.FITTED,
    source="table 3.2's bytes, from which our graph's size follows",
)
def table32(scale: float, seed: int) -> Reproduction:
    """Bytes of an epoch: boundary rows times the hidden widths, twice."""
    copies = 1.01e6
    published = {"4-GraphSAGE-128": (1.56, 3.11), "4-GCN-256": (3.10, 6.20), "3-GAT-256": (2.07, 4.14)}
    comparisons, law = [], {}
    for name, (embeddings, messages) in published.items():
        layers, model, hidden = name.split("-")
        law[name] = copies * (int(layers) - 1) * int(hidden) * 4 / 1e9
        comparisons.append(
            PaperComparison(f"{name}: by the law, 1.01 million rows", f"{embeddings:.2f} GB", f"{law[name]:.2f} GB")
        )
        comparisons.append(PaperComparison(f"{name}: messages", f"{messages:.2f} GB", f"{2 * law[name]:.2f} GB"))
    settings = replace(slow_network(scale / 10, seed), epochs=3, link_bps=None)
    graph = generate(settings.graph, None, seed)
    for model in counted("models", ("sage", "gcn", "gat")):
        chosen = replace(settings, model=model, hidden=32)
        timed = run_timed(graph, chosen)
        rows = plan_run(graph, chosen).boundary.R
        widths = make_model(chosen, model_widths(chosen, graph.width, graph.classes)).messages
        by_law = 2 * 4 * rows * sum(widths[1:])
        comparisons.append(
            PaperComparison(
                f"4-{model}-32 here, an epoch: counted, by the law", None, f"{timed.payload_bytes // 3}, {by_law}"
            )
        )
    panel = Curves(
        "messages of an epoch",
        "",
        "GB",
        {
            "published": (list(published), [total for _, total in published.values()]),
            "2 n (L - 1) H 4 bytes": (list(law), [2 * volume for volume in law.values()]),
        },
        bars=True,
    )
    note = (
        "The first layer's input features do not travel. Here the last layer's messages are as narrow as the classes, "
        "because a weight that narrows is applied before the sum; the law counts them at their width."
    )
    return Reproduction(comparisons, [panel], {"graph": settings.graph, "workers": 4}, note, {"law_gb": law})


@measured("sylvie/table3.9", "Epoch time by width, and its parts (figure 3.2)", seconds=90, options=_OPTIONS)
def table39(scale: float, seed: int, **network: Any) -> Reproduction:
    """Epoch time by width, always in step."""
    published = {"fp32": 0.90, "q8": 0.52, "q4": 0.37, "q2": 0.28, "q1": 0.22, "sylvie": 0.39}
    runs = timed_runs(slow_network(scale, seed, **network), [{"codec": codec} for codec in _BITS])
    times = {codec: timed.epoch_s for codec, timed in zip(_BITS, runs, strict=True)}
    comparisons = [
        PaperComparison(
            f"{name}{' bits' * name.isdigit()}: epoch",
            f"{published[codec]:.2f} s",
            f"{times[codec]:.2f} s",
            evidence=Evidence.CONTEXT,
        )
        for codec, name in _BITS.items()
    ]
    comparisons += [
        PaperComparison(
            f"{name}{' bits' * name.isdigit()}: 32 bits' epoch over its own",
            f"{published['fp32'] / published[codec]:.1f}",
            f"{times['fp32'] / times[codec]:.2f}",
            turns_at=1.0,
        )
        for codec, name in _BITS.items()
        if codec != "fp32"
    ]
    comparisons += [
        PaperComparison(
            f"{name}{' bits' * name.isdigit()}: bytes of an epoch", None, f"{timed.epoch_bytes / 1e6:.2f} MB"
        )
        for name, timed in zip(_BITS.values(), runs, strict=True)
    ]
    comparisons.append(PaperComparison("adaptive: epochs by least bits", None, _widths(runs[-1])))
    one, full = runs[list(_BITS).index("q1")], runs[0]
    for what, published_less, part in (
        ("epoch", "-84.2 %", "epoch_s"),
        ("waiting for messages", "-89.8 %", "waiting_s"),
    ):
        ours = 100 * (getattr(one, part) / getattr(full, part) - 1)
        comparisons.append(PaperComparison(f"1 bit against 32, {what} (figure 3.2)", published_less, f"{ours:+.1f} %"))
    order = ["q1", "q2", "q4", "q8", "fp32"]
    in_order = all(times[a] < times[b] for a, b in pairwise(order))
    comparisons.append(PaperComparison("1 < 2 < 4 < 8 < 32 bits", "yes", "yes" if in_order else "no"))
    lines = {
        "computation": (list(_BITS.values()), [t.epoch_s - t.waiting_s for t in runs]),
        "waiting for messages": (list(_BITS.values()), [t.waiting_s for t in runs]),
    }
    panel = Curves("an epoch", "bits", "s", lines, bars=True, stacked=True)
    data = {codec: _numbers(timed) for codec, timed in zip(_BITS, runs, strict=True)}
    return Reproduction([*comparisons], [panel], _shown(slow_network(scale, seed, **network)), _NOTE, data)


@measured("sylvie/table3.10", "Epoch time in step and stale", seconds=90, options=_OPTIONS)
def table310(scale: float, seed: int, **network: Any) -> Reproduction:
    """Epoch time by mode: in step, an epoch stale, and chosen by the controller."""
    published = {
        ("fp32", "sequential"): "0.90 s", ("fp32", "stale"): "0.75 s", ("fp32", "adaptive"): "0.81 s",
        ("q1", "sequential"): "0.21 s", ("q1", "stale"): "0.12 s", ("q1", "adaptive"): "0.17 s",
        ("sylvie", "adaptive"): "0.27 s",
    }  # fmt: skip
    changes = [{"codec": codec, "schedule": schedule, "bins": 1} for codec, schedule in published]
    runs = timed_runs(slow_network(scale, seed, **network), changes)
    names = {"sequential": "in step", "stale": "stale", "adaptive": "adaptive"}
    comparisons = [
        PaperComparison(
            f"{_BITS[codec]} bits, {names[schedule]}: epoch, bytes",
            text,
            f"{timed.epoch_s:.2f} s, {timed.epoch_bytes / 1e6:.2f} MB",
        )
        for ((codec, schedule), text), timed in zip(published.items(), runs, strict=True)
    ]
    bars = {"epoch": ([f"{_BITS[c]} bits, {names[s]}" for c, s in published], [t.epoch_s for t in runs])}
    data = {f"{codec}, {schedule}": _numbers(t) for (codec, schedule), t in zip(published, runs, strict=True)}
    return Reproduction(
        comparisons,
        [Curves("an epoch", "", "s", bars, bars=True)],
        _shown(slow_network(scale, seed, **network)),
        _NOTE,
        data,
    )


@reproduces("sylvie/table3.11", "Codes and bounds", seconds=1, evidence=Evidence.RESTATED)
def table311(_scale: float, _seed: int) -> Reproduction:
    """Bytes of an epoch, codes and bounds separately, by the formula of our messages."""
    comparisons = []
    table: ItemTable[str, float] = ItemTable()
    published = {"reddit": (256, 2791.7, 126.9, 15.6), "amazon": (128, 5632.6, 254.7, 30.4)}
    for name, (hidden, full, main, scales) in published.items():
        rows = round(full * 1e6 / (hidden * 4))
        for label, shares, base in (
            ("1 bit for all", (1.0, 0.0, 0.0, 0.0), 1),
            ("adaptive, ecdf, base 1", (0.25, 0.25, 0.25, 0.25), 1),
            ("adaptive, ecdf, base 2", (1 / 3, 1 / 3, 1 / 3), 2),
        ):
            counts = [round(share * rows) for share in shares]
            each = message_bytes(counts, hidden, base, compact=True) / 1e6
            bounds = 4 * rows / 1e6
            table[f"{name}, {label}"] = {"codes": each - bounds, "bounds": bounds}
            comparisons.append(
                PaperComparison(
                    f"{name}, {label}: codes + bounds, and fp32 over both",
                    f"{main} + {scales} MB, {full / (main + scales):.1f}",
                    f"{each - bounds:.1f} + {bounds:.1f} MB, {full / each:.1f}",
                )
            )
    note = (
        "The published 1.45 bits a value cannot come of percentiles, which give 3.75 bits at base 1, and the bounds "
        "are proportional to the width there, not to rows: 4 bytes per row here."
    )
    panel = Curves("an epoch", "", "MB", table.lines(), bars=True, stacked=True)
    return Reproduction(comparisons, [panel], {"rows": "published bytes / (4 H)"}, note, table.lines())


def timed_runs(settings: TrainSettings, changes: list[dict[str, Any]]) -> list[MeasuredRun]:
    """One run for each of ``changes`` of the settings, on the same graph."""
    graph = generate(settings.graph, None, settings.seed)
    return [_run(graph, replace(settings, **change)) for change in counted("runs", changes)]


def _run(graph: Graph, settings: TrainSettings) -> MeasuredRun:
    """Run one training; with the controller, long enough for it to decide, and timed over the epochs it decides."""
    if "adaptive" not in (settings.schedule, _BITS[settings.codec]):
        return run_timed(graph, settings)
    timed = run_timed(graph, replace(settings, epochs=_CONTROLLED + _DECIDED))
    return replace(timed, epochs=timed.epochs[_CONTROLLED - WARM_UP :])


def _widths(timed: MeasuredRun) -> str:
    counts = Counter(epoch.bits for epoch in timed.epochs)
    return ", ".join(f"{bits}: {counts[bits]}" for bits in sorted(counts))


def _numbers(timed: MeasuredRun) -> dict[str, float]:
    return {
        "epoch_s": timed.epoch_s,
        "waiting_s": timed.waiting_s,
        "payload_bytes": timed.payload_bytes,
        "epoch_bytes": timed.epoch_bytes,
        "timed_epochs": len(timed.epochs),
    }


def _shown(settings: TrainSettings) -> dict[str, object]:
    link = f"{(settings.link_bps or 0) / 1e6:g} Mb/s"
    partition = settings.partition
    return {"graph": settings.graph, "layers": settings.layers, "hidden": 128, "link": link, "partition": partition}
