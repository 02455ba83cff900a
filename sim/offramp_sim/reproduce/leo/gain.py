# SPDX-License-Identifier: Apache-2.0
"""Gain of two paths of one function over the better one, on this machine's cores, beside the greedy rules."""

from __future__ import annotations

import os

from offramp.leo.applications.compare import PathResults, compare
from offramp.leo.applications.gains import PAIRS, application
from offramp_base.progress import report
from offramp_sim.figures.panels import Curves
from offramp_sim.reproduce.item import PaperComparison, Reproduction, measured

_SECONDS = 0.6
_ROUNDS = 5


@measured("leo/gain", "Two comparable paths against the better one, measured", seconds=180)
def gain(scale: float, seed: int) -> Reproduction:
    """Each path alone, both under the greedy rules, and both under LEO's, alternating in one run."""
    seconds = max(0.1, _SECONDS * scale)
    comparisons: list[PaperComparison] = []
    lines: dict[str, tuple[list[str], list[float]]] = {}
    numbers = {}
    for name in PAIRS:
        with application(name, seed=seed) as pair:
            comparison = compare(
                pair,
                seconds=seconds,
                rounds=_ROUNDS,
                seed=seed,
                show=lambda _, done, total: report("measurements", done, total),
            )
        wrong = sum(row.wrong for row in comparison.rows)
        rates = {_name(row): row.rate for row in comparison.rows}
        lines[name] = list(rates), list(rates.values())
        listed = ", ".join(f"{row} {rate:,.0f}" for row, rate in rates.items())
        comparisons.append(PaperComparison(f"{name}: requests per second", None, listed))
        gains = {_name(row): _over_better(row, comparison.alone) for row in comparison.rows if len(row.paths) > 1}
        for row, factor in gains.items():
            published = "1.2 to 2" if row == _name(comparison.rows[-1]) else None
            comparisons.append(PaperComparison(f"{name}: {row} over the better path", published, f"{factor:.2f}"))
        comparisons.append(PaperComparison(f"{name}: wrong answers", None, str(wrong)))
        numbers[name] = {"rates": rates, "gains": gains, "wrong": wrong}
    note = (
        "Requester and responder are processes of this machine; each path is a thread of the responder, or an agent. "
        "The factor is the median of rounds, in each of which all rows take turns. Published: the thesis's "
        "applications on its hosts."
    )
    panel = Curves("Two comparable paths", "", "requests per second", lines, bars=True)
    settings = {"seconds": seconds, "rounds": _ROUNDS, "processors": len(os.sched_getaffinity(0))}
    return Reproduction(comparisons, [panel], settings, note, numbers)


def _name(row: PathResults) -> str:
    return row.paths[0] if len(row.paths) == 1 else f"both, {row.policy.value}"


def _over_better(row: PathResults, alone: list[PathResults]) -> float:
    """The rate over that of the path that was better over the whole run; median of the rounds."""
    return row.over(max(alone, key=lambda one: one.rate))
