# SPDX-License-Identifier: Apache-2.0
"""Behaviour and cost of Sylvie's controller: figures 3.5 and 3.10 to 3.12."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch

from offramp.graph.generate import generate
from offramp.models import make_model, model_widths
from offramp.train.control import AdaptiveControl, open_codec
from offramp.train.planned import plan_run
from offramp.workers.mailbox import Key
from offramp_base.progress import counted
from offramp_sim.figures.panels import Curves
from offramp_sim.g3.measured import run_timed
from offramp_sim.g3.study import COMPUTE_S, RATE_BPS, Trained, train_here
from offramp_sim.reproduce.item import Evidence, PaperComparison, Reproduction, measured
from offramp_sim.reproduce.sylvie.accuracy import task
from offramp_sim.reproduce.sylvie.network import slow_network

if TYPE_CHECKING:
    from offramp.train.settings import TrainSettings

_BITS: Final = {"fp32": "32", "q8": "8", "q4": "4", "q2": "2", "q1": "1"}
_CLOCK: Final = (
    f"Trained here on a clock of modelled time: {1e3 * COMPUTE_S:g} ms and the bytes at {RATE_BPS / 1e6:g} Mb/s, so "
    "that runs repeat."
)
_TRAINING: Final = 200
"""Epochs over which one-off costs are spread."""


@measured(
    "sylvie/fig3.5",
    "Loss by width against epochs and bytes",
    seconds=40,
    options={"model": ("gat", "sage"), "lr": (0.01, 0.003)},
)
def figure35(scale: float, seed: int, *, model: str = "gat", lr: float = 0.01) -> Reproduction:
    """Training loss by width, against epochs and against bytes sent."""
    settings = replace(task(scale / 3, seed), model=model, lr=lr, bins=1, epochs=60)
    graph = generate(settings.graph, None, seed)
    runs = {codec: train_here(graph, replace(settings, codec=codec)) for codec in counted("widths", list(_BITS))}
    loss = {codec: np.array([epoch.loss for epoch in run.epochs]) for codec, run in runs.items()}
    each = {codec: run.payload_bytes / len(run.epochs) for codec, run in runs.items()}
    early = 5 * each["fp32"]  # as many bytes as five epochs of float32
    at = {codec: float(loss[codec][min(len(loss[codec]), int(early / each[codec])) - 1]) for codec in _BITS}
    late = {codec: float(loss[codec][-10:].mean()) for codec in _BITS}
    comparisons = [
        PaperComparison(
            f"{_BITS[codec]} bits: {what}, less that of 32", sign, f"{of[codec] - of['fp32']:+.3f}", turns_at=0.0
        )
        for what, sign, of in (
            ("loss of the last 10 epochs", "positive", late),
            ("loss after the bytes of 5 epochs of 32", "negative", at),
        )
        for codec in _BITS
        if codec != "fp32"
    ]
    epochs = list(range(1, settings.epochs + 1))
    panels = [
        Curves("(a) over epochs", "epoch", "training loss", {_BITS[c]: (epochs, loss[c].tolist()) for c in _BITS}),
        Curves(
            "(b) over bytes", "MB sent by all workers", "training loss",
            {_BITS[c]: ([each[c] * e / 1e6 for e in epochs], loss[c].tolist()) for c in _BITS},
        ),
    ]  # fmt: skip
    note = (
        "Losses of quantised forward passes, as training sees them. The thesis plots (a) over time on its testbed, "
        "where fewer bits are worse; an epoch's time is that of its bytes here, so epochs stand for it."
    )
    shown = {"graph": settings.graph, "model": model, "lr": lr, "epochs": settings.epochs, "seed": seed}
    return Reproduction(comparisons, panels, shown, note, {"loss": {c: loss[c].tolist() for c in _BITS}, "bytes": each})


@measured(
    "sylvie/fig3.10",
    "How far back the controller looks",
    seconds=50,
    options={"model": ("gcn", "sage"), "epochs": (120, 60)},
)
def figure310(scale: float, seed: int, *, model: str = "gcn", epochs: int = 120) -> Reproduction:
    """Sylvie with rates of descent compared over 1 to 40 epochs, beside two controllers that never change anything."""
    length = max(12, round(epochs * min(1.0, scale)))
    base = replace(task(scale / 3, seed), model=model, epochs=length, bins=1, layers=3)
    graph = generate(base.graph, None, seed)
    lags = [lag for lag in (1, 5, 10, 20, 40) if lag < length]
    runs: dict[str, dict[str, Any]] = {
        **{f"{lag}": {"codec": "sylvie", "schedule": "adaptive", "descent_lag": lag} for lag in lags},
        "fewest bits, in step": {"codec": "q1"},
        "fewest bits, stale": {"codec": "q1", "schedule": "stale"},
    }
    ran = {name: train_here(graph, replace(base, **how)) for name, how in counted("runs", list(runs.items()))}
    rate = {name: len(run.epochs) / sum(epoch.seconds for epoch in run.epochs) for name, run in ran.items()}
    comparisons = [
        PaperComparison("epochs per second, lag 10 over lag 5", "1.19x", f"{rate['10'] / rate['5']:.2f}x",
                   evidence=Evidence.SIMULATED),
        *(PaperComparison(f"lag {name}: test accuracy" if name.isdigit() else f"{name}: test accuracy", None,
                     f"{100 * run.test_accuracy:.2f} %") for name, run in ran.items()),
        *(PaperComparison(f"lag {name}: epochs stale", None, _share(run)) for name, run in ran.items() if
        name.isdigit()),
    ]  # fmt: skip
    names = list(ran)
    panels = [
        Curves("convergence", "epoch", "test accuracy, %",
               {name: _curve(run) for name, run in ran.items()}),
        Curves("speed", "lag", "epochs per second", {"modelled": (names, [rate[n] for n in names])}, bars=True),
    ]  # fmt: skip
    note = (
        f"{_CLOCK} The thesis has 4.98 epochs per second with a lag of 5 and 5.93 with 10 (Reddit, one server), and "
        "advises against a lag of 1 and very large ones. A controller that never changes anything is the control. "
        "Sylvie begins with a lag's worth of epochs at the fewest bits, in step."
    )
    shown = {"graph": base.graph, "model": model, "epochs": length, "seed": seed}
    return Reproduction(comparisons, panels, shown, note, {"epochs_per_s": rate})


def _curve(run: Trained) -> tuple[list[Any], list[float]]:
    return [epoch.epoch for epoch in run.epochs], [100 * epoch.test_accuracy for epoch in run.epochs]


def _share(run: Trained) -> str:
    return f"{100 * np.mean([epoch.stale for epoch in run.epochs]):.0f} %"


@measured(
    "sylvie/fig3.11",
    "What quantising, deciding and planning cost (figure 3.12)",
    seconds=9,
    options={"link_mbps": (100.0, 1000.0, 10_000.0), "partition": ("hash", "metis")},
)
def figure311(scale: float, seed: int, **network: Any) -> Reproduction:
    """Seconds of the offline stage, of coding in both directions and of decisions, beside those of epochs."""
    settings = replace(
        slow_network(scale / 2, seed, **network), model="sage", codec="sylvie", schedule="adaptive", epochs=16, bins=1
    )
    graph = generate(settings.graph, None, seed)
    start = time.perf_counter()
    jobs = plan_run(graph, settings).jobs([])
    offline = time.perf_counter() - start
    coded = _coding_s(settings, jobs, model_widths(settings, graph.width, graph.classes))
    start = time.perf_counter()
    control = AdaptiveControl.of(settings)
    for number in range(_TRAINING):
        control.observe(1.0 / (number + 1), 0.1)
    deciding = (time.perf_counter() - start) / _TRAINING
    timed = run_timed(graph, settings)
    online = sum(coded.values()) + deciding
    share = 100 * (offline + _TRAINING * online) / (_TRAINING * timed.epoch_s + offline)
    comparisons = [
        PaperComparison("offline and online stage over the whole", "7.8 %", f"{share:.1f} %"),
        PaperComparison("offline stage", "3.1 s", f"{offline:.2f} s", evidence=Evidence.CONTEXT),
        PaperComparison("quantising, an epoch", None, f"{1e3 * coded['quantise']:.2f} ms"),
        PaperComparison("dequantising, an epoch", None, f"{1e3 * coded['dequantise']:.2f} ms"),
        PaperComparison("deciding, an epoch", "least of all", f"{1e3 * deciding:.3f} ms"),
        PaperComparison("an epoch", None, f"{1e3 * timed.epoch_s:.1f} ms"),
    ]
    rest = max(0.0, timed.epoch_s - timed.waiting_s - online)
    parts = {
        "waiting for messages": timed.waiting_s,
        "codes": sum(coded.values()),
        "deciding": deciding,
        "the rest": rest,
    }
    whole = {"training": _TRAINING * (timed.epoch_s - online), "online": _TRAINING * online, "offline": offline}
    panels = [
        Curves(
            f"{_TRAINING} epochs", "", "s", {n: (["Sylvie"], [v]) for n, v in whole.items()}, bars=True, stacked=True
        ),
        Curves("an epoch", "", "ms", {n: (["Sylvie"], [1e3 * v]) for n, v in parts.items()}, bars=True, stacked=True),
    ]
    note = (
        "The offline stage is the partition and who sends what, in one process for all workers. Codes are timed by "
        "themselves: all messages of the busiest worker's epoch, forward and backward, at the base width with which "
        f"Sylvie starts, in one thread. {_TRAINING} epochs share the offline stage; the thesis has 2,000."
    )
    shown = {"graph": settings.graph, "hidden": settings.hidden, "partition": settings.partition, "seed": seed}
    return Reproduction(comparisons, panels, shown, note, {"whole_s": whole, "epoch_s": parts})


def _coding_s(settings: TrainSettings, jobs: list[Any], widths: list[int]) -> dict[str, float]:
    """Seconds that the busiest worker spends on coding in an epoch, by direction."""
    plans = [job.rows for job in jobs]
    codecs = [open_codec(settings, plan, rank) for rank, plan in enumerate(plans)]
    messages = make_model(settings, widths).messages[1:]
    spent = {"quantise": np.zeros(len(jobs)), "dequantise": np.zeros(len(jobs))}
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for layer, width in enumerate(messages, 1):
            for backward in (False, True):
                for rank, plan in enumerate(plans):
                    x = torch.randn(len(plan.ids), width)
                    for message in plan.receives if backward else plan.sends:
                        ends = plans[message.peer].sends if backward else plans[message.peer].receives
                        bin_ = message.bin
                        other = next(end for end in ends if (end.peer, end.bin) == (rank, bin_))
                        key = Key(1, layer, backward, bin_)
                        out = torch.zeros(len(plans[message.peer].ids), width)
                        codecs[rank].encode(x, message, key)  # the layout of its codes is made once in a run
                        start = time.perf_counter()
                        payload = codecs[rank].encode(x, message, key)
                        middle = time.perf_counter()
                        codecs[message.peer].decode(payload, other, key, out)
                        spent["quantise"][rank] += middle - start
                        spent["dequantise"][message.peer] += time.perf_counter() - middle
    finally:
        torch.set_num_threads(threads)
    return {name: float(seconds.max()) for name, seconds in spent.items()}
