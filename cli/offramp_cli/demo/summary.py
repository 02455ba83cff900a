# SPDX-License-Identifier: Apache-2.0
"""The end of the demo on a terminal: per act its question, its verdict and its numbers, in 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

from offramp.report.units import duration

if TYPE_CHECKING:
    from offramp.report import Alternative, Outcome

WIDTH: Final = 80
_NUMBERS: Final = 3
"""Alternatives whose numbers are shown."""


def summary(outcomes: Sequence[Outcome], seconds: float, out: Path) -> Iterator[str]:
    """The lines."""
    for each in outcomes:
        yield from _wrapped(f"{each.name:<7}", each.question)
        yield from _wrapped(f"  {each.verdict.answer.upper():<9}", each.verdict.sentence)
        if values := numbers(each):
            yield from _wrapped("  numbers  ", values)
        for note in each.notes:
            yield from _wrapped("  note     ", note)
        for check in each.checks:
            yield from _wrapped("  check    ", f"{'holds' if check.holds else 'DOES NOT HOLD'}: {check.claim}")
    shares = ", ".join(f"{each.name} {each.seconds or 0:.0f} s" for each in outcomes)
    yield from _wrapped("time   ", f"{seconds:.0f} s: {shares}")
    yield f"report {out / 'report.html'}"
    yield f"data   {out / 'report.json'}"
    for each in outcomes:
        if each.trace:
            yield f"trace  {out / each.trace} ({each.name})"


def numbers(outcome: Outcome) -> str:
    """Times of the first alternatives that have any, each with its evidence."""
    known = [text for each in outcome.alternatives if (text := _number(each))]
    return f"per {outcome.step}: {', '.join(known[:_NUMBERS])}" if known else ""


def _number(alternative: Alternative) -> str:
    if alternative.measured_s:
        return f"{alternative.name} {duration(median(alternative.measured_s))} measured"
    if alternative.modelled_s is not None:
        return f"{alternative.name} {duration(alternative.modelled_s)} modelled"
    return ""


def _wrapped(head: str, text: str) -> Iterator[str]:
    yield from textwrap.wrap(
        text, WIDTH, initial_indent=head, subsequent_indent=" " * len(head), break_on_hyphens=False
    )
