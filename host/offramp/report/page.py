# SPDX-License-Identifier: Apache-2.0
"""The report as one HTML page without external resources."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from offramp.report import sections
from offramp.report.answer import TERMS, answer
from offramp.report.units import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from offramp.report.model import Report


def render(report: Report) -> str:
    """The page's HTML."""
    return framed(report.title, report.summary, _body(report))


def framed(title: str, lead: str, parts: Iterable[str], css: str = "") -> str:
    """A whole page: its title, a line below it, and parts in HTML; ``css``: rules beside the style sheet's."""
    style = files("offramp.report").joinpath("style.css").read_text("utf-8") + css
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>\n{style}</style></head>\n<body><main>\n"
        f'<h1>{escape(title)}</h1><p class="lead">{escape(lead)}</p>\n' + "\n".join(parts) + "\n</main></body></html>\n"
    )


def _body(report: Report) -> Iterator[str]:
    yield answer(report)
    yield sections.tiles(report)
    if report.checks:
        yield sections.checks(report.checks)
    yield "<h2>Learning</h2>" + sections.legend(report.runs) + sections.learning(report.runs)
    yield sections.traffic(report.runs)
    yield "<h2>Runs</h2>" + sections.totals(report.runs)
    for table in report.tables:
        yield f"<h2>{escape(table.title)}</h2>" + sections.card(sections.table(table))
    for note in report.notes:
        yield f"<h2>{escape(note.title)}</h2><p>{escape(note.text)}</p>"
    yield sections.terms(TERMS)
    yield "<h2>Settings</h2>" + "".join(_settings(run.name, run.result["settings"]) for run in report.runs)
    yield sections.repeat(report.command, report.origin)


def _settings(name: str, settings: dict[str, Any]) -> str:
    rows = "".join(
        f"<tr><td>{escape(key)}</td><td>{escape(number(value))}</td></tr>" for key, value in settings.items()
    )
    return (
        f'<div class="card" style="margin-bottom:10px"><details><summary>{escape(name)}</summary>'
        f'<table class="settings"><tbody>{rows}</tbody></table></details></div>'
    )
