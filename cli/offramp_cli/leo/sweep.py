# SPDX-License-Identifier: Apache-2.0
"""``offramp simulate leo --sweep``: the default rule on many random settings."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from offramp_base.settings.error import SettingsError
from offramp_cli import show
from offramp_cli.stages import stages

if TYPE_CHECKING:
    from rich.console import Console


def report(console: Console, settings: int, requests: int, seed: int, processes: int | None) -> dict[str, Any]:
    """Run and show a sweep; what it found, ready for JSON.

    Raises:
        OfframpError: no settings.
    """
    from offramp_sim.leo.sweep import run_sweep, summary

    if settings < 1:
        raise SettingsError("sweep", "expected at least 1", settings)
    with stages(console) as stage:
        stage("settings")
        evaluations = run_sweep(settings, requests, seed, processes)
    found = summary(evaluations)
    table = show.table("", "settings", "least", "median", "most", title=f"lookahead on {settings} settings")
    for name, what in (
        ("against_greedy", "cost over the better greedy rule's"),
        ("against_outstanding", "cost over that of the outstanding rule"),
        ("against_optimum", "mean JCT over that of the exact search, k = 8"),
        ("gain", "throughput over the better greedy rule's, loops that offer more than all paths sustain"),
    ):
        known = found[name]
        numbers = [f"{known[key]:.3f}" for key in ("least", "median", "most")] if known["count"] else [""] * 3
        table.add_row(what, str(known["count"]), *numbers)
    console.print(table)
    worst = max(evaluations, key=lambda v: v.against_greedy)
    console.print(f"\nThe setting worst against greedy is number {worst.number}: {worst.against_greedy:.3f}.")
    return {**found, "verdicts": [asdict(each) for each in evaluations]}
