# SPDX-License-Identifier: Apache-2.0
"""The first section of the page: which way was best, in time and in bytes, and what the terms mean."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from offramp.report.model import ReportTable
from offramp.report.sections import card, table
from offramp.report.units import duration, percent, si

if TYPE_CHECKING:
    from collections.abc import Callable

    from offramp.report.model import Report, TrainingRun

_BEST = " \N{CHECK MARK}"
_CAPTION = "\N{CHECK MARK} best of the ways that share the graph. Wire: bytes up and down, all links, with headers."
TERMS = {
    "local": "one process that has the whole graph: what the others must compute",
    "p2p": "each worker sends the features of a vertex straight to every worker that needs them",
    "strawman": "a switch program that adds what finds room, and leaves the rest to the workers",
    "switch": "SwitchGNN: the switch adds features of neighbouring vertices by a plan made beforehand",
    "payload, wire": "features alone; with headers, padding and gaps, as a link carries them",
    "boundary vertex": "one whose features another worker needs",
    "aggregator": "a slot of the switch's memory that holds one sum until all of its parts have come",
    "pass": "one packet's way through the switch; a recirculated packet takes several",
    "overflow": "a packet that found no free aggregator",
}
"""Explanations of the page's terms."""


def answer(report: Report) -> str:
    """Run times and bytes of all ways with the winners named; for one way, how to compare; empty if none sends."""
    sharing = [run for run in report.runs if run.communicates]
    if not sharing:
        return ""
    if len(sharing) == 1:
        return _page(
            f"Only {sharing[0].name} was run: --compare trains by the other ways, too, and names the winner here."
        )
    quick = min(sharing, key=lambda run: float(run.result["seconds"]))
    small = min(sharing, key=wire_bytes)
    clause = "on both counts" if quick is small else f"in time; {small.name} in bytes"
    text = (
        f"Of the ways that share the graph among workers, {quick.name} wins {clause}. Training took "
        + _each(sharing, lambda run: duration(run.result["seconds"]))
        + "; on the wire were "
        + _each(sharing, lambda run: si(wire_bytes(run), "B"))
        + f". {report.advice}"
    )
    rows = [
        [
            run.name,
            duration(run.result["seconds"]) + (_BEST if run is quick else ""),
            (si(wire_bytes(run), "B") if run.communicates else "none") + (_BEST if run is small else ""),
            percent(run.result["test_accuracy"]),
        ]
        for run in report.runs
    ]
    return _page(text.strip(), card(table(ReportTable("", ["", "training", "wire", "accuracy"], rows)), _CAPTION))


def _page(text: str, shown: str = "") -> str:
    return f'<h2>Should I use the switch for this?</h2><p class="answer">{escape(text)}</p>{shown}'


def wire_bytes(run: TrainingRun) -> int:
    """All bytes on the links of a run, up and down."""
    return int(run.result["wire_bytes_up"] + run.result["wire_bytes_down"])


def _each(runs: list[TrainingRun], shown: Callable[[TrainingRun], str]) -> str:
    return ", ".join(f"{shown(run)} by {run.name}" for run in runs)
