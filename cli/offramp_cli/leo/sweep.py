# SPDX-License-Identifier: Apache-2.0
"""``offramp simulate leo --sweep``: the default rule on many random settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from offramp_base import SettingsError
from offramp_cli import show
from offramp_cli.stages import stages

if TYPE_CHECKING:
    from rich.console import Console


def report(
    console: Console, settings: int, requests: int, seed: int, processes: int | None, kinds: Sequence[str]
) -> dict[str, Any]:
    """Run and show a sweep; returns its results, ready for JSON.

    Raises:
        OfframpError: no settings, or no such class of them.
    """
    from offramp_sim.leo import run_sweep
    from offramp_sim.leo.classes import names_of
    from offramp_sim.leo.sweep import by_class, summary

    classes = names_of(kinds)
    if settings < 1:
        raise SettingsError("sweep", "expected at least 1", settings)
    with stages(console) as stage:
        stage("settings")
        evaluations = run_sweep(settings, requests, seed, processes, classes)
    sums, classed = summary(evaluations), by_class(evaluations)
    if kinds:
        _show_classes(console, settings, classed)
    else:
        _show_promises(console, settings, sums)
    worst = max(evaluations, key=lambda v: v.against_simple if kinds else v.against_greedy)
    ratio, rivals = (worst.against_simple, "the simple rules") if kinds else (worst.against_greedy, "greedy")
    console.print(f"\nThe setting worst against {rivals} is number {worst.number} of {worst.kind}: {ratio:.3f}.")
    return {**sums, "classes": classed, "verdicts": [asdict(each) for each in evaluations]}


def _show_promises(console: Console, settings: int, sums: dict[str, Any]) -> None:
    """The promises of the default rule in numbers."""
    table = show.table("", "settings", "least", "median", "most", title=f"lookahead on {settings} settings")
    for name, what in (
        ("against_greedy", "cost over the better greedy rule's"),
        ("against_outstanding", "cost over that of the outstanding rule"),
        ("against_optimum", "mean JCT over that of the exact search, k = 8"),
        ("gain", "throughput over the better greedy rule's, in loops that offer more than all paths sustain"),
    ):
        known = sums[name]
        numbers = [f"{known[key]:.3f}" for key in ("least", "median", "most")] if known["count"] else [""] * 3
        table.add_row(what, str(known["count"]), *numbers)
    console.print(table)


def _show_classes(console: Console, settings: int, classed: dict[str, dict[str, dict[str, float]]]) -> None:
    """Cost over that of other rules, class by class."""
    rivals = ("outstanding", "weighted", "greedy", "exact")
    table = show.table("", "p95", "most", *rivals, title=f"cost of lookahead, {settings} settings of each class")
    for kind, known in classed.items():
        most = (f"{known[rival]['most']:.3f}" if known[rival]["count"] else "" for rival in rivals)
        table.add_row(kind, *(f"{known['simple'][which]:.3f}" for which in ("p95", "most")), *most)
    console.print(table)
    console.print(
        "\nOver the better of outstanding and weighted: 95th percentile and maximum; then the maximum over each rule. "
        "Exact: k = 8 with the future known, where that can be computed."
    )
