# SPDX-License-Identifier: Apache-2.0
"""Charts as inline SVG; colours come from the page's style sheet, so they follow its theme."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from offramp.report.units import nice_ticks

WIDTH, HEIGHT = 320, 220
"""Pixels of a chart at its smallest, as on a telephone; it grows by a third where there is room."""
LEFT, RIGHT, TOP, BOTTOM = 70, 12, 14, 44
_GROUP = 56
"""Fewest pixels of a group of bars, whose name is below it."""
DASH = 14

Format = Callable[[float], str]


@dataclass(frozen=True)
class ChartLine:
    """A curve: ``style`` is a class of the style sheet, ``dashed`` for limits and references."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    style: str
    dashed: bool = False


@dataclass(frozen=True)
class ChartBar:
    """A bar up to ``outer`` in a light shade, filled up to ``inner`` in the full one."""

    name: str
    inner: float
    outer: float
    style: str


class _Frame:
    """Axes and the mapping from values to the drawing's coordinates."""

    def __init__(self, x_range: tuple[float, float], ticks: Sequence[float], width: int = WIDTH) -> None:
        self._x0, x1 = x_range
        self.width = width
        self._per_x = (width - LEFT - RIGHT) / ((x1 - self._x0) or 1)
        self._y0 = ticks[0]
        self._per_y = (HEIGHT - TOP - BOTTOM) / (ticks[-1] - ticks[0])

    def x(self, value: float) -> float:
        return round(LEFT + (value - self._x0) * self._per_x, 2)

    def y(self, value: float) -> float:
        return round(HEIGHT - BOTTOM - (value - self._y0) * self._per_y, 2)

    def grid(self, ticks: Sequence[float], form: Format) -> str:
        return "".join(
            f'<line class="grid" x1="{LEFT}" x2="{self.width - RIGHT}" y1="{self.y(t)}" y2="{self.y(t)}"/>'
            f'<text class="tick end" x="{LEFT - 8}" y="{self.y(t) + 4}">{escape(form(t))}</text>'
            for t in ticks
        )

    def labels(self, at: Sequence[tuple[float, str]]) -> str:
        y = HEIGHT - BOTTOM + 18
        return "".join(
            f'<text class="tick middle" x="{self.x(value)}" y="{y}">{escape(text)}</text>' for value, text in at
        )


def line_chart(lines: Sequence[ChartLine], *, x_label: str, y_label: str, x_form: Format, y_form: Format) -> str:
    """Curves over a common x axis; where some coincide, their colours alternate so that all are visible."""
    xs = [x for line in lines for x in line.x]
    ys = [y for line in lines for y in line.y]
    ticks = nice_ticks(min(ys), max(ys), 6)
    frame = _Frame((min(xs), max(xs)), ticks)
    parts = [frame.grid(ticks, y_form)]
    inside = [t for t in nice_ticks(min(xs), max(xs), 6) if min(xs) <= t <= max(xs)]
    if all(float(x).is_integer() for x in xs):
        inside = [t for t in inside if float(t).is_integer()]  # nothing happened in epoch 1.4
    parts.append(frame.labels([(t, x_form(t)) for t in inside]))
    solid = [line for line in lines if not line.dashed]
    for line in lines:
        path = "M" + "L".join(f"{frame.x(x)} {frame.y(y)}" for x, y in zip(line.x, line.y, strict=True))
        parts.append(f'<path class="line {line.style}" d="{path}"{_dashes(line, solid)}/>')
        if len(line.x) == 1:  # a path of one point is not seen
            parts.append(
                f'<circle class="dot {line.style}" cx="{frame.x(line.x[0])}" cy="{frame.y(line.y[0])}" r="4"/>'
            )
    if max(len(line.x) for line in lines) <= 400:
        parts.append(_hover_points(frame, lines, x_form, y_form))
    return _svg(frame, parts, x_label, y_label)


def bar_chart(
    groups: Sequence[tuple[str, Sequence[ChartBar]]], *, x_label: str, y_label: str, y_form: Format, top: float
) -> str:
    """Groups of bars side by side on an axis from 0 to at least ``top``."""
    ticks = nice_ticks(0, top)
    frame = _Frame((0, len(groups)), ticks, max(WIDTH, LEFT + RIGHT + _GROUP * len(groups)))
    parts = [frame.grid(ticks, y_form), frame.labels([(i + 0.5, name) for i, (name, _) in enumerate(groups)])]
    width = 0.76 / max([1, *(len(bars) for _, bars in groups)])
    for i, (name, bars) in enumerate(groups):
        for j, bar in enumerate(bars):
            left, right = frame.x(i + 0.12 + j * width), frame.x(i + 0.12 + (j + 0.88) * width)
            of_all = f" of {y_form(bar.outer)}" if bar.outer != bar.inner else ""
            what = f"{name}, {bar.name}: {y_form(bar.inner)}{of_all}"
            parts.append(
                f"<g><title>{escape(what)}</title>"
                f"{_rectangle(frame, left, right, bar.outer, f'bar outer {bar.style}')}"
                f"{_rectangle(frame, left, right, bar.inner, f'bar {bar.style}')}</g>"
            )
    return _svg(frame, parts, x_label, y_label)


def _dashes(line: ChartLine, solid: Sequence[ChartLine]) -> str:
    if line.dashed:
        return ' stroke-width="1.5" stroke-dasharray="6 5"'
    turn = solid.index(line)
    if not turn:
        return ' stroke-width="2.4"'
    # The first curve is whole; each further one shows in a stretch of its own along it.
    before, after = DASH * turn, DASH * (len(solid) - 1 - turn)
    return f' stroke-width="2.4" stroke-dasharray="0 {before} {DASH} {after}"'


def _rectangle(frame: _Frame, left: float, right: float, value: float, style: str) -> str:
    top = frame.y(value)
    return (
        f'<rect class="{style}" x="{left}" y="{top}" width="{right - left:.2f}"'
        f' height="{frame.y(0) - top:.2f}" rx="1.5"/>'
    )


def _hover_points(frame: _Frame, lines: Sequence[ChartLine], x_form: Format, y_form: Format) -> str:
    return "".join(
        f'<circle class="hover {line.style}" cx="{frame.x(x)}" cy="{frame.y(y)}" r="4">'
        f"<title>{escape(f'{line.name}, {x_form(x)}: {y_form(y)}')}</title></circle>"
        for line in lines
        for x, y in zip(line.x, line.y, strict=True)
    )


def _svg(frame: _Frame, parts: Sequence[str], x_label: str, y_label: str) -> str:
    width = frame.width
    center, middle = (LEFT + width - RIGHT) / 2, (TOP + HEIGHT - BOTTOM) / 2
    label = escape(f"{y_label} by {x_label}")
    return (
        f'<div class="scroll"><svg class="chart" style="min-width: {width}px; max-width: {width * 4 // 3}px"'
        f' viewBox="0 0 {width} {HEIGHT}" role="img" aria-label="{label}">'
        f"{''.join(parts)}"
        f'<text class="axis middle" x="{center}" y="{HEIGHT - 6}">{escape(x_label)}</text>'
        f'<text class="axis middle" transform="translate(14 {middle}) rotate(-90)">{escape(y_label)}</text>'
        "</svg></div>"
    )
