# SPDX-License-Identifier: Apache-2.0
"""Figures 6.3, 6.10 and 6.12 to 6.14 on the real runtime: requester and responder are processes of this machine.

Accelerators are the models of :mod:`offramp.leo.devices.model`, whose answers are correct and whose times are chosen to
be comparable with a core's; the requester's own core often limits both paths together.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, Final

import numpy as np

from offramp.leo.applications.application import Application
from offramp.leo.applications.compare import ApplicationRun, PathResults, compare, running
from offramp.leo.applications.compare import PathComparison as Paths
from offramp.leo.applications.gains import application as pair
from offramp.leo.applications.named import open_application
from offramp.leo.selection import Policy
from offramp_base.progress import counted, report
from offramp_sim.figures.panels import Curves
from offramp_sim.reproduce.item import PaperComparison, Reproduction, measured

_SECONDS: Final = 0.5
_ROUNDS: Final = 3
_SHARES: Final = (0.2, 0.4, 0.6, 0.8, 0.9)
"""Offered loads as shares of what all paths together sustain; a path alone is measured up to its own limit."""
_REACHED: Final = 0.95
_RULES: Final = (Policy.GREEDY_INTRA, Policy.GREEDY_E2E, Policy.OUTSTANDING, Policy.WEIGHTED)
_KVS: Final = {"acc": "model:service_us=0.5,table_bytes=8388608"}
_PAIR: Final = "digest, a core each"
_NOTE: Final = (
    "Two processes on this machine's cores, rounds in turn, every answer compared; medians of rounds. Published: the "
    "thesis's hosts and cards."
)


def _compared(application: Application, scale: float, seed: int) -> Paths:
    return compare(
        application,
        seconds=max(0.1, _SECONDS * scale),
        rounds=_ROUNDS,
        seed=seed,
        show=lambda _, done, total: report("measurements", done, total),
    )


def _name(row: PathResults) -> str:
    return row.paths[0] if len(row.paths) == 1 else f"both, {row.policy.value}"


def _settings(scale: float) -> dict[str, Any]:
    cores = len(os.sched_getaffinity(0))
    return {"seconds": max(0.1, _SECONDS * scale), "rounds": _ROUNDS, "processors": cores}


def _rows(what: str, paths: Paths, published: str | None) -> tuple[list[PaperComparison], dict[str, float]]:
    """Rates, the default rule over the better path alone and over the others' rules, wrong answers."""
    rates = {_name(row): row.rate for row in paths.rows}
    listed = ", ".join(f"{name} {rate:,.0f}" for name, rate in rates.items())
    leo, better = paths.rows[-1], max(paths.alone, key=lambda row: row.rate)
    rivals = paths.rows[len(paths.alone) : -1]
    comparisons = [
        PaperComparison(f"{what}: requests per second", None, listed),
        PaperComparison(f"{what}: LEO over the better path", published, f"{leo.over(better):.2f}"),
    ]
    comparisons += [
        PaperComparison(f"{what}: LEO over {rival.policy.value}", None, f"{leo.over(rival):.2f}") for rival in rivals
    ]
    wrong = sum(row.wrong for row in paths.rows)
    return [*comparisons, PaperComparison(f"{what}: wrong answers", None, str(wrong))], rates


def _figure(applications: dict[str, Application], published: str | None, scale: float, seed: int) -> Reproduction:
    comparisons: list[PaperComparison] = []
    lines: dict[str, tuple[list[Any], list[float]]] = {}
    for name, application in applications.items():
        rows, rates = _rows(name, _compared(application, scale, seed), published)
        comparisons += rows
        lines[name] = list(rates), list(rates.values())
    panel = Curves("Measured on this machine", "", "requests per second", lines, bars=True)
    data = {name: dict(zip(*line, strict=True)) for name, line in lines.items()}
    return Reproduction(comparisons, [panel], _settings(scale), _NOTE, {"rates": data})


@measured("leo/fig6.3-measured", "The same on two cores, measured", seconds=60)
def figure63_measured(scale: float, seed: int) -> Reproduction:
    """A digest on the CPU's thread and on a device's, each alone, and on both by weighted random choice."""
    with pair(_PAIR, seed=seed) as leo_pair:
        return _figure({"digest": replace(leo_pair, rivals=(Policy.WEIGHTED,))}, "1.32", scale, seed)


@measured("leo/fig6.12-measured", "The same on this machine, measured", seconds=90)
def figure612_measured(scale: float, seed: int) -> Reproduction:
    """Reads of block storage by the CPU, by the accelerator as Solar, by iPipe's migration, by LEO."""
    sizes = {f"{size}B": open_application(["ebs"], devices={}, workload=size, seed=seed) for size in ("64K", "4K")}
    return _figure(sizes, "1.14 to 1.9", scale, seed)


@measured("leo/fig6.13-measured", "The same on this machine, measured", seconds=50)
def figure613_measured(scale: float, seed: int) -> Reproduction:
    """Sums of vectors of 256 KiB by the CPU, by the accelerator, by both."""
    return _figure({"all-reduce": open_application(["allreduce"], devices={}, seed=seed)}, None, scale, seed)


@measured("leo/fig6.14-measured", "The same on this machine, measured", seconds=120)
def figure614_measured(scale: float, seed: int) -> Reproduction:
    """The key-value store and the pair of digests under every rule of path selection."""
    kvs = open_application(["kvs"], devices=_KVS, workload="C", seed=seed)
    with pair(_PAIR, seed=seed) as digest:
        runs = {"kvs": replace(kvs, rivals=_RULES), "digest": replace(digest, rivals=_RULES)}
        return _figure(runs, None, scale, seed)


@measured("leo/fig6.10-measured", "The same on this machine, measured", seconds=90)
def figure610_measured(scale: float, seed: int) -> Reproduction:
    """Median latency of look-ups against the rate offered, over the CPU, the accelerator, and both."""
    seconds = max(0.1, _SECONDS * scale)
    comparisons, panels, data = [], [], {}
    for mix in counted("workloads", ["C", "B"]):
        application = open_application(["kvs"], devices=_KVS, workload=mix, seed=seed)
        with running(application) as run:
            rates, wrong = _sustained(run, seed, seconds)
            lines: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in rates}
            offered = [share * rates["LEO"] for share in _SHARES]
            for rate in offered:
                for name, paths in _systems(application).items():
                    if rate < _REACHED * rates[name]:
                        outcome, _ = run(paths, _measured(rates), Policy.LOOKAHEAD, seed, rate, seconds)
                        lines[name][0].append(rate)
                        lines[name][1].append(outcome.latency_us())
                        wrong += outcome.wrong
        panels.append(Curves(f"YCSB-{mix}", "requests per second offered", "median, us", lines))
        listed = ", ".join(f"{name} {rate:,.0f}" for name, rate in rates.items())
        better = max(rate for name, rate in rates.items() if name != "LEO")
        comparisons += [
            PaperComparison(f"YCSB-{mix}: sustained requests per second", None, listed),
            PaperComparison(
                f"YCSB-{mix}: LEO over the better path", "1.2 to 2", f"{rates['LEO'] / max(better, 1.0):.2f}"
            ),
            PaperComparison(f"YCSB-{mix}: wrong answers", None, str(wrong)),
        ]
        data[mix] = {"sustained": rates, "latency": lines}
    return Reproduction(comparisons, panels, _settings(scale), _NOTE, data)


def _systems(application: Application) -> dict[str, tuple[str, ...]]:
    cpu, accelerator = application.paths
    return {cpu: (cpu,), accelerator: (accelerator,), "LEO": (cpu, accelerator)}


def _measured(rates: dict[str, float]) -> dict[str, float]:
    """Nanoseconds that a request takes on each path."""
    return {name: 1e9 / max(rate, 1.0) for name, rate in rates.items() if name != "LEO"}


def _sustained(run: ApplicationRun, seed: int, seconds: float) -> tuple[dict[str, float], int]:
    """Requests per second of each path and of all, medians of alternating rounds; and the number of wrong answers."""
    rates_by_name: dict[str, list[float]] = {name: [] for name in _systems(run.application)}
    wrong = 0
    for number in range(_ROUNDS):
        for name, paths in _systems(run.application).items():
            known = _measured({other: float(np.median(rates)) for other, rates in rates_by_name.items() if rates})
            outcome, _ = run(paths, known, Policy.LOOKAHEAD, seed + number, None, seconds)
            rates_by_name[name].append(outcome.rate)
            wrong += outcome.wrong
    return {name: float(np.median(rates)) for name, rates in rates_by_name.items()}, wrong
