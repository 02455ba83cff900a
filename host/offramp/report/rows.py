# SPDX-License-Identifier: Apache-2.0
"""Drawings as wide as their place: positions are shares of the width, so text keeps its size on every screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Final

_HEIGHT: Final = 30


def strip(content: str, label: str, height: int = _HEIGHT) -> str:
    """A drawing of this height; ``label`` is what a reader hears who does not see it."""
    return f'<svg class="flat" height="{height}" role="img" aria-label="{escape(label)}">{content}</svg>'


def share(value: float, top: float) -> str:
    """The position of a value on an axis from 0 to ``top``."""
    return f"{100 * value / top if top else 0.0:.3f}%"


def at(value: float, top: float, content: str) -> str:
    """Content whose origin is at a value of the axis."""
    return f'<svg x="{share(value, top)}" overflow="visible">{content}</svg>'


def axis(ticks: Sequence[float], form: Callable[[float], str]) -> str:
    """Names of the ticks of an axis that begins at 0."""
    marks = []
    for k, tick in enumerate(ticks):
        anchor = "" if k == 0 else "end" if k == len(ticks) - 1 else "middle"
        marks.append(f'<text class="tick {anchor}" x="{share(tick, ticks[-1])}" y="14">{escape(form(tick))}</text>')
    return strip("".join(marks), "axis", 18)


def table_of(rows: Sequence[tuple[str, str, str]]) -> str:
    """Rows of a name in HTML, a drawing, and a line in HTML below it."""
    cells = "".join(
        f'<div class="name">{name}</div><div class="plot">{drawing}'
        + (f'<p class="note">{below}</p>' if below else "")
        + "</div>"
        for name, drawing, below in rows
    )
    return f'<div class="rows">{cells}</div>'
