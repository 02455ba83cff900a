# SPDX-License-Identifier: Apache-2.0
"""Panels as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from offramp.report.units import nice_ticks
from offramp_base.errors import OfframpError
from offramp_base.extras import needs
from offramp_sim.figures import save
from offramp_sim.figures.panels import Curves, Gantt, Intervals, Panel

_USUAL: Final = 3.6
_FEW_POWERS: Final = 8
"""An axis over less than this factor has less than three powers of two: too few ticks to read values from."""


def draw(panels: Sequence[Panel], title: str, path: Path) -> None:
    """Write a PNG, without a display.

    Raises:
        OfframpError: matplotlib is missing, or the file cannot be written.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise OfframpError(f"a plot {needs('matplotlib')}") from None
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    high = max(map(_height, panels))
    wide = max(map(_width, panels))
    figure = Figure(figsize=(wide * columns, high * rows), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    for place, panel in enumerate(panels, 1):
        axes = figure.add_subplot(rows, columns, place)
        axes.set_title(panel.title)
        if isinstance(panel, Gantt):
            _gantt(axes, panel)
            _legend_below(axes, -0.2)
            continue
        if isinstance(panel, Intervals):
            _intervals(axes, panel)
            continue
        if panel.stacked:
            _stacked(axes, panel)
            _legend_below(axes)
            continue
        if panel.bars:
            _bars(axes, panel)
            if _height(panel) > _USUAL:
                _legend_below(axes)
                continue
        else:
            _lines(axes, panel)
            if panel.log:
                _legend_below(axes)
                continue
        if len(panel.lines) > 1:
            axes.legend(fontsize="small", framealpha=0.5)
    save(figure, path)


def _width(panel: Panel) -> float:
    """Width in inches: intervals stand beside their names."""
    if not isinstance(panel, Intervals):
        return 5.0
    return max(5.0, 3.5 + 0.075 * max(map(len, panel.spans), default=0))


def _height(panel: Panel) -> float:
    """Height in inches: horizontal bars need room for their names."""
    if isinstance(panel, Intervals):
        return max(_USUAL, 1.0 + 0.2 * len(panel.spans))
    if not isinstance(panel, Curves):
        return _USUAL
    rows = max((len(names) for names, _ in panel.lines.values()), default=0)
    return max(6.0 if panel.stacked else _USUAL, 1.0 + 0.11 * rows * len(panel.lines) if panel.bars else 0.0)


def _lines(axes: Any, panel: Curves) -> None:
    few = 8
    for label, (xs, ys) in panel.lines.items():
        if label in panel.points:
            face = "black" if label == panel.points[0] else "white"
            axes.plot(xs, ys, "ko", markersize=4, markerfacecolor=face, label=label, zorder=3)
            continue
        axes.plot(xs, ys, marker="." if len(xs) < 20 and not panel.points else None, label=label)
        if len(xs) <= few and not panel.log:
            axes.set_xticks(xs)
    axes.set(xlabel=panel.x, ylabel=panel.y)
    if panel.log:
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        if panel.points:
            _ticks_at(axes, [panel.lines[label] for label in panel.points])
    else:
        axes.set_ylim(bottom=0)


def _ticks_at(axes: Any, points: Sequence[tuple[Sequence[Any], Sequence[float]]]) -> None:
    """Ticks where there are points, as plain numbers."""
    for axis, place in ((axes.xaxis, 0), (axes.yaxis, 1)):
        axis.set_ticks([], minor=True)
        axis.set_ticks(sorted({float(at) for each in points for at in each[place]}))
        axis.set_major_formatter("{x:g}")


def _bars(axes: Any, panel: Curves) -> None:
    """Draw horizontal bars, the first on top, so that long names have room."""
    width = 0.8 / len(panel.lines)
    for i, (label, (names, values)) in enumerate(panel.lines.items()):
        axes.barh(np.arange(len(names)) + (i + 0.5) * width - 0.4, values, width, label=label)
        axes.set_yticks(np.arange(len(names)), [str(name) for name in names])
    axes.invert_yaxis()
    axes.set(xlabel=panel.y, ylabel=panel.x)


def _stacked(axes: Any, panel: Curves) -> None:
    under = np.zeros(max((len(names) for names, _ in panel.lines.values()), default=0))
    for label, (names, values) in panel.lines.items():
        axes.barh(np.arange(len(names)), values, 0.8, left=under[: len(names)], label=label)
        under[: len(names)] += values
        axes.set_yticks(np.arange(len(names)), [str(name) for name in names], fontsize="small")
    axes.invert_yaxis()
    axes.set(xlabel=panel.y, ylabel=panel.x)


def _gantt(axes: Any, panel: Gantt) -> None:
    for i, (label, spans) in enumerate(panel.spans.items()):
        for row in range(len(panel.rows)):
            bars = [(start, length) for at, start, length in spans if at == row]
            axes.broken_barh(bars, (row - 0.4, 0.8), facecolors=f"C{i}", edgecolor="white", linewidth=0.5)
        axes.plot([], [], color=f"C{i}", linewidth=6, label=label)
    axes.set_yticks(range(len(panel.rows)), panel.rows)
    axes.invert_yaxis()
    axes.set(xlabel=panel.x)


def _intervals(axes: Any, panel: Intervals) -> None:
    for row, (low, middle, high) in enumerate(panel.spans.values()):
        axes.plot([low, high], [row, row], color="C0", linewidth=4, alpha=0.5, solid_capstyle="butt")
        axes.plot([middle], [row], "o", color="C0", markersize=4)
    axes.axvline(panel.mark, color="black", linewidth=1)
    axes.set_yticks(range(len(panel.spans)), list(panel.spans), fontsize="small")
    axes.invert_yaxis()
    axes.set_xscale("log", base=2)
    low, high = axes.get_xlim()
    if high < _FEW_POWERS * low:
        axes.set_xticks([tick for tick in nice_ticks(low, high, 8) if low <= tick <= high])
        axes.set_xticks([], minor=True)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set(xlabel=panel.x)


def _legend_below(axes: Any, at: float = -0.18) -> None:
    axes.legend(fontsize="small", loc="upper center", bbox_to_anchor=(0.5, at), ncols=2)
