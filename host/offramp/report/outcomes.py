# SPDX-License-Identifier: Apache-2.0
"""Outcomes as one HTML page without external resources, the same for a job and for the acts of the demo."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

from offramp.report import sections
from offramp.report.charts import ChartLine
from offramp.report.fabric import fabric
from offramp.report.page import framed
from offramp.report.palette import Palette
from offramp.report.timeline import timeline
from offramp.report.times import PATTERNS, parts, times
from offramp.report.units import duration
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp.report.outcome import Outcome, ProgressPoint, Verdict

_ANSWERS: Final = {
    "yes": ("\N{CHECK MARK}", "Yes"),
    "no": ("\N{MULTIPLICATION X}", "No"),
    "unknown": ("?", "Cannot be told on this machine"),
}


def outcomes_page(
    title: str,
    lead: str,
    outcomes: Sequence[Outcome],
    command: str,
    origin: str,
    extra: str = "",
    folder: Path = Path(),
) -> str:
    """The page's HTML.

    Args:
        title: heading of the page.
        lead: a line below it.
        outcomes: outcomes in the order in which they are shown.
        command: how to repeat all of it.
        origin: version, commit and date.
        extra: further sections in HTML, before the command.
        folder: where the page will lie; the outcomes' traces are read from there.
    """
    palette = Palette.of(outcomes)
    body = [PATTERNS, _verdicts(outcomes)]
    body += [_section(k, each, palette, folder) for k, each in enumerate(outcomes)]
    body += [extra, sections.repeat(command, origin)]
    return framed(title, lead, body, palette.css)


def _anchor(number: int) -> str:
    return f"outcome-{number + 1}"


def _verdicts(outcomes: Sequence[Outcome]) -> str:
    """Every question with its answer; where there are several, each leads to its section."""
    shown = []
    for k, each in enumerate(outcomes):
        took = f'<span class="took">took {duration(each.seconds)}</span>' if each.seconds is not None else ""
        heading, question = escape(each.question), ""
        if len(outcomes) > 1:
            heading, question = f'<a href="#{_anchor(k)}">{escape(each.title)}</a>', escape(each.question)
        shown.append(
            f'<li class="card">{_badge(each.verdict)}<h2>{heading}{took}</h2>'
            f'<p class="question">{question}</p><p>{escape(each.verdict.sentence)}</p></li>'
        )
    return f'<ul class="verdicts">{"".join(shown)}</ul>'


def _badge(verdict: Verdict) -> str:
    sign, words = _ANSWERS[verdict.answer]
    return f'<p class="badge {verdict.answer}"><b aria-hidden="true">{sign}</b> {words}</p>'


def _section(number: int, outcome: Outcome, palette: Palette, folder: Path) -> str:
    return f'<section id="{_anchor(number)}">{"".join(_parts(outcome, palette, folder))}</section>'


def _parts(outcome: Outcome, palette: Palette, folder: Path) -> Iterator[str]:
    yield f"<h2>{escape(outcome.title)}</h2>"
    yield "".join(f"<p>{escape(note)}</p>" for note in outcome.notes)
    if outcome.checks:
        yield sections.checks(outcome.checks)
    if outcome.alternatives:
        yield times(outcome, palette)
        yield parts(outcome, palette)
    yield fabric(outcome, palette)
    yield _curves(outcome, palette)
    yield _timeline(outcome, folder)


def _curves(outcome: Outcome, palette: Palette) -> str:
    """Accuracy and loss by each alternative; empty where none was evaluated."""

    def lines(value: Callable[[ProgressPoint], float | None]) -> list[ChartLine]:
        known = []
        for each in outcome.alternatives:
            points = [(point.step, y) for point in each.curve if (y := value(point)) is not None]
            if points:
                xs, ys = zip(*points, strict=True)
                known.append(ChartLine(each.name, xs, ys, palette.style(each.name)))
        return known

    accuracy, loss = lines(lambda point: point.accuracy), lines(lambda point: point.loss)
    names = [line.name for line in (*accuracy, *loss)]
    if not names:
        return ""
    note = "Where curves coincide their colours alternate."
    legend = palette.key(list(dict.fromkeys(names)))
    return f"<h3>Learning</h3>{legend}{sections.curves(accuracy, loss, outcome.step, note)}"


def _timeline(outcome: Outcome, folder: Path) -> str:
    """A step of the trace, and the trace's file; a file that cannot be drawn is named all the same."""
    if not outcome.trace:
        return ""
    try:
        drawn = timeline(folder / outcome.trace)
    except OfframpError as error:
        drawn = f"<p>The trace is not drawn: {escape(str(error))}.</p>"
    where = f"All of it is in {outcome.trace}: open it in Perfetto (ui.perfetto.dev)."
    return f"<h3>Timeline of one {escape(outcome.step)}</h3>{sections.card(drawn, where)}"
