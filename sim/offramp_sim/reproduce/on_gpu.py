# SPDX-License-Identifier: Apache-2.0
"""What a GPU changes, measured where there is one: epochs, and kernels over time as CUPTI records them.

Elsewhere each item says so and measures nothing: a processor's time is not a GPU's.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import torch

from offramp.graph.load import load
from offramp.torchgt.run import train as train_torchgt
from offramp.torchgt.settings import TorchGtSettings
from offramp.train.run import train
from offramp.train.settings import TrainSettings
from offramp.unitg.run import train_unitg
from offramp.unitg.settings import UnitgSettings
from offramp.workers.tracing import tracing
from offramp_base.errors import OfframpError
from offramp_sim.figures.panels import Curves
from offramp_sim.reproduce.item import Evidence, PaperComparison, Reproduction, measured

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

KERNELS: Final = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})
"""Categories of the trace's events that run on the GPU."""
WINDOWS: Final = 50
_DEVICE = "cuda"
ELSEWHERE: Final = "not here: this machine has no GPU; epochs of other graphs were measured on one NVIDIA H200"


class Activity(NamedTuple):
    """Kernels of a trace.

    Attributes:
        busy: share of the time from the first kernel to the last in which one ran.
        over_time: ``(windows,)`` the same in equal pieces of that time.
        seconds: that time.
    """

    busy: float
    over_time: npt.NDArray[np.float64]
    seconds: float


def activity(path: Path, windows: int = WINDOWS) -> Activity:
    """When kernels ran, from a trace of PyTorch's profiler.

    Raises:
        OfframpError: the trace has no kernels.
    """
    events = json.loads(path.read_text(encoding="utf-8")).get("traceEvents", [])
    spans = sorted((e["ts"], e["ts"] + e["dur"]) for e in events if e.get("cat") in KERNELS and e.get("dur"))
    if not spans:
        raise OfframpError(f"{path.name}: expected kernels of a GPU")
    merged = [list(spans[0])]
    for start, end in spans[1:]:
        if start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    starts, ends = np.array(merged).T
    edges = np.linspace(starts[0], ends[-1], windows + 1)
    done = np.clip(edges[:, None], starts, ends).sum(axis=1) - starts.sum()
    over_time = np.diff(done) / np.diff(edges)
    return Activity(float(over_time.mean()), over_time, (ends[-1] - starts[0]) / 1e6)


class GpuRun(NamedTuple):
    """Seconds of an epoch, and the kernels of rank 0."""

    epoch_s: float
    kernels: Activity


def on_gpu(run: Callable[[], Any]) -> GpuRun:
    """Run what trains on ``cuda`` and returns a result with epochs, under the profiler; the first epoch warms up."""
    with tempfile.TemporaryDirectory() as folder:
        with tracing(Path(folder)):
            result = run()
        kernels = activity(Path(folder) / "rank0.json")
    return GpuRun(median([epoch.seconds for epoch in result.epochs][1:]), kernels)


def gpu_name() -> str | None:
    """The first GPU's name; None without one."""
    return str(torch.cuda.get_device_name()) if torch.cuda.is_available() else None


def shown(title: str, published: Mapping[str, str | None], runs: Mapping[str, Callable[[], Any]]) -> Reproduction:
    """Epochs and activity of runs by name; without a GPU a line that says where there was one."""
    device = gpu_name()
    if device is None:
        lines = [PaperComparison(name, published.get(name), ELSEWHERE, Evidence.CONTEXT) for name in runs]
        return Reproduction(lines, (), {"device": "none"}, ELSEWHERE)
    results = {name: on_gpu(run) for name, run in runs.items()}
    lines = [
        PaperComparison(f"{name}: time in which a kernel runs", published.get(name), f"{100 * r.kernels.busy:.0f} %")
        for name, r in results.items()
    ]
    lines += [PaperComparison(f"{name}: epoch", None, f"{1e3 * r.epoch_s:.1f} ms") for name, r in results.items()]
    share = np.linspace(0, 1, WINDOWS).tolist()
    curves = {name: (share, (100 * r.kernels.over_time).tolist()) for name, r in results.items()}
    rows = [f"| {name} | {1e3 * r.epoch_s:.1f} ms | {100 * r.kernels.busy:.0f} % |" for name, r in results.items()]
    return Reproduction(
        lines,
        [Curves(title, "share of the run", "% of the time with a kernel", curves)],
        {"device": device},
        "Kernels and copies of rank 0 as CUPTI records them, from the first to the last. A kernel counts whatever it "
        "fills of the GPU: SM activity is at most this.",
        data={name: {"epoch_s": r.epoch_s, "busy": r.kernels.busy} for name, r in results.items()},
        markdown="\n".join([f"| {title}, on {device} | epoch | a kernel runs |", "|---|---|---|", *rows, ""]),
    )


def _graph(scale: float, features: int = 128) -> str:
    return f"sbm:n={max(400, round(50_000 * scale))},k=8,degree=20,features={features}"


def _train(scale: float, seed: int, schedule: str, workers: int) -> Callable[[], Any]:
    fields: dict[str, Any] = {"propagator": "p2p", "layers": 4, "hidden": 128, "epochs": 6, "device": _DEVICE}
    settings = TrainSettings(_graph(scale), workers=workers, schedule=schedule, seed=seed, **fields)
    return lambda: train(load(settings.graph, seed=seed), settings)


@measured("gpu/switchgnn-fig14", "A GPU's kernels over an epoch, one worker and four", seconds=1)
def switchgnn(scale: float, seed: int) -> Reproduction:
    """Figure 14's traces: how long workers wait for each other."""
    runs = {f"{count} workers": _train(scale, seed, "plain", count) for count in (1, 4)}
    return shown("full-graph training", {}, runs)


@measured("gpu/g3-fig4.13", "A GPU's kernels over an epoch, by schedule", seconds=1)
def g3(scale: float, seed: int) -> Reproduction:
    """Figure 4.13's traces."""
    return shown("schedules", {}, {name: _train(scale, seed, name, 2) for name in ("sequential", "g3")})


@measured("gpu/unitg-fig5.13", "A GPU's kernels with and without the language model in bubbles", seconds=1)
def unitg(scale: float, seed: int) -> Reproduction:
    """Figures 5.2, 5.13 and 5.14."""

    def run(mode: str) -> Callable[[], Any]:
        settings = UnitgSettings(
            _graph(scale / 10), stages=2, layers=16, hidden=128, epochs=10, mode=mode, device=_DEVICE, seed=seed
        )
        return lambda: train_unitg(load(settings.graph, seed=seed), settings)

    return shown("stages of RevGCN", {}, {mode: run(mode) for mode in ("alone", "interleaved")})


@measured("gpu/torchgt-table4.6", "Epochs of a graph transformer on a GPU, by attention", seconds=1)
def torchgt(scale: float, seed: int) -> Reproduction:
    """Table 4.6's epochs, on another GPU."""

    def run(attention: str) -> Callable[[], Any]:
        settings = TorchGtSettings(
            _graph(scale / 10), attention=attention, epochs=4, workers=1, device=_DEVICE, seed=seed
        )
        return lambda: train_torchgt(settings)

    return shown("attention", {}, {name: run(name) for name in ("full", "topology", "reformed")})
