# SPDX-License-Identifier: Apache-2.0
"""Times of the alternatives: a table that keeps predicted, measured and modelled apart, the same drawn, and parts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from statistics import median
from typing import TYPE_CHECKING, Final

from offramp.report.judge import quartiles
from offramp.report.palette import Palette
from offramp.report.rows import at, axis, share, strip, table_of
from offramp.report.sections import card
from offramp.report.units import duration, nice_ticks

if TYPE_CHECKING:
    from offramp.report.outcome import Alternative, Outcome, Parts

PARTS: Final[tuple[Parts, ...]] = ("computing", "sending", "waiting")
_MOST_DOTS: Final = 200
_TICKS: Final = 4
_DIAMOND: Final = '<path class="mark" d="M0 6l7 9l-7 9l-7 -9z"/>'
_SQUARE: Final = '<path class="mark" d="M-6 9h12v12h-12z"/>'
_LONG: Final = ' class="why"'
_HEAD: Final = ("predicted", "measured: median", "measured: middle half", "measured", "only modelled", "start-up")


def times(outcome: Outcome, palette: Palette) -> str:
    """The table of times, and the same drawn."""
    return f"<h3>Time of one {escape(outcome.step)}</h3>{_table(outcome, palette)}{_picture(outcome, palette)}"


def _table(outcome: Outcome, palette: Palette) -> str:
    unit = outcome.step
    columns = ["", *_HEAD, *(name for name, shown in _optional(outcome) if shown)]
    columns[4] = f"measured: {unit}s"
    whole = '<span class="whole">start-up</span>'  # a hyphen would let it break
    head = "".join(
        f"<th{_LONG if column == 'why' else ''}>{escape(column).replace('start-up', whole)}</th>" for column in columns
    )
    body = "".join(_row(each, columns, palette) for each in outcome.alternatives)
    caption = (
        f"Predicted: by the planner, before the run. Measured: {unit}s that ran here; middle half: from the first to "
        "the third quartile. Only modelled: by a simulator or a model of hardware that is not here. Start-up: "
        f"everything before the first {unit} that is counted; it is in none of the other columns."
    )
    shown = f'<table class="blocks"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return card(shown, caption)


def _row(each: Alternative, columns: Sequence[str], palette: Palette) -> str:
    badge = ' <span class="taken">taken</span>' if each.taken else ""
    cells = [f"<td>{palette.chip(each.name)}{badge}</td>", _cell(columns[1], each.predicted_s, "not predicted")]
    if each.measured_s:
        low, high = quartiles(each.measured_s)
        half = f"{duration(low)} to {duration(high)}" if len(each.measured_s) > 1 else "one only"
        values = [duration(median(each.measured_s)), half, str(len(each.measured_s))]
        cells += [_td(column, value, "measured") for column, value in zip(columns[2:5], values, strict=True)]
    else:
        cells.append('<td class="absent" colspan="3" data-label="measured">not measured</td>')
    cells += [_cell(columns[5], each.modelled_s, "not modelled"), _cell(columns[6], each.startup_s, "unknown")]
    if "limited by" in columns:
        cells.append(_td("limited by", each.bound or "unknown", "" if each.bound else "absent"))
    if "why" in columns:
        cells.append(_td("why", each.note, "why"))
    return f"<tr>{''.join(cells)}</tr>"


def _optional(outcome: Outcome) -> list[tuple[str, bool]]:
    """Columns that a table may have, and whether this one has them."""
    return [
        ("limited by", any(each.bound for each in outcome.alternatives)),
        ("why", any(each.note for each in outcome.alternatives)),
    ]


def _cell(column: str, seconds: float | None, absent: str) -> str:
    return _td(column, absent, "absent") if seconds is None else _td(column, duration(seconds), "known")


def _td(label: str, text: str, style: str) -> str:
    return f'<td class="{style}" data-label="{escape(label)}">{escape(text)}</td>'


def _picture(outcome: Outcome, palette: Palette) -> str:
    """Every measured step as a dot, with predicted and modelled times as marks of their own."""
    known = [each for each in outcome.alternatives if _values(each)]
    if not known:
        return ""
    ticks = nice_ticks(0, max(max(_values(each)) for each in known), _TICKS)
    rows = [(palette.chip(each.name), _line(each, ticks[-1], palette, outcome.step), "") for each in known]
    rows.append(("", axis(ticks, duration), ""))
    signs = [("<circle class='dot' cx='8' cy='9' r='4.5'/>", f"a measured {outcome.step}, or several")]
    signs += [("<path class='mark' d='M8 2v14' stroke-width='3'/>", "median of the measured ones")]
    signs += (
        [(f'<g transform="translate(8 -3) scale(0.8)">{_DIAMOND}</g>', "predicted")]
        if any(each.predicted_s is not None for each in known)
        else []
    )
    signs += (
        [(f'<g transform="translate(8 -3) scale(0.8)">{_SQUARE}</g>', "only modelled")]
        if any(each.modelled_s is not None for each in known)
        else []
    )
    return card(f"{_signs(signs)}{table_of(rows)}")


def _signs(signs: Sequence[tuple[str, str]]) -> str:
    items = "".join(
        f'<li><svg width="18" height="18" aria-hidden="true">{drawing}</svg><span>{escape(text)}</span></li>'
        for drawing, text in signs
    )
    return f'<ul class="legend signs">{items}</ul>'


def _values(each: Alternative) -> list[float]:
    return [value for value in (*each.measured_s, each.predicted_s, each.modelled_s) if value is not None]


def _line(each: Alternative, top: float, palette: Palette, unit: str) -> str:
    drawn = ['<line class="grid" x1="0" x2="100%" y1="15" y2="15"/>']
    labels = []
    if each.measured_s:
        every = -(-len(each.measured_s) // _MOST_DOTS)
        drawn += [f'<circle class="dot" cx="{share(s, top)}" cy="15" r="4.5"/>' for s in each.measured_s[::every]]
        middle = median(each.measured_s)
        drawn.append(at(middle, top, '<path class="median" d="M0 3v24"/>'))
        labels.append(f"measured {duration(middle)} in the median of {len(each.measured_s)}")
    for value, sign, word in ((each.predicted_s, _DIAMOND, "predicted"), (each.modelled_s, _SQUARE, "only modelled")):
        if value is not None:
            drawn.append(at(value, top, sign))
            labels.append(f"{word} {duration(value)}")
    text = f"{each.name}, one {unit}: {', '.join(labels)}"
    return strip(f'<g class="{palette.style(each.name)}"><title>{escape(text)}</title>{"".join(drawn)}</g>', text)


def parts(outcome: Outcome, palette: Palette) -> str:
    """The parts of a step as stacked bars; patterns tell them apart, since colours are the alternatives'."""
    known = [each for each in outcome.alternatives if each.parts_s]
    if not known:
        return ""
    ticks = nice_ticks(0, max(sum(each.parts_s.values()) for each in known), _TICKS)
    rows = [(palette.chip(each.name), _bar(each, ticks[-1]), _said(each)) for each in known]
    rows.append(("", axis(ticks, duration), ""))
    shown = [part for part in PARTS if any(part in each.parts_s for each in known)]
    signs = [
        (f'<rect class="part" fill="url(#part-{part})" x="1" y="3" width="16" height="12"/>', part) for part in shown
    ]
    caption = "Means over the ranks and the measured ones."
    if "waiting" not in shown:
        caption += " Waiting for other ranks could not be told from sending."
    heading = f"<h3>What the ranks do in one {escape(outcome.step)}</h3>"
    return f"{heading}{card(_signs(signs) + table_of(rows), caption)}"


def _bar(each: Alternative, top: float) -> str:
    drawn, reached = [], 0.0
    for part in PARTS:
        seconds = each.parts_s.get(part)
        if seconds is None:
            continue
        title = f"<title>{escape(f'{each.name}, {part}: {duration(seconds)}')}</title>"
        box = f'x="{share(reached, top)}" width="{share(seconds, top)}" y="3" height="24"'
        drawn.append(f'<rect class="part" fill="url(#part-{part})" {box}>{title}</rect>')
        reached += seconds
    return strip("".join(drawn), f"{each.name}: {_said(each)}")


def _said(each: Alternative) -> str:
    return " · ".join(f"{part} {duration(each.parts_s[part])}" for part in PARTS if part in each.parts_s)


PATTERNS: Final = (
    '<svg class="defs" aria-hidden="true"><defs>'
    '<pattern id="part-computing" width="8" height="8" patternUnits="userSpaceOnUse">'
    '<rect class="paper" width="8" height="8"/><rect class="print" width="8" height="8" opacity="0.55"/></pattern>'
    '<pattern id="part-sending" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect class="paper" width="7" height="7"/><rect class="print" width="2.6" height="7"/></pattern>'
    '<pattern id="part-waiting" width="7" height="7" patternUnits="userSpaceOnUse">'
    '<rect class="paper" width="7" height="7"/><circle class="print" cx="3.5" cy="3.5" r="1.2"/></pattern>'
    "</defs></svg>"
)
"""Patterns of the parts, which every drawing of the page refers to."""
