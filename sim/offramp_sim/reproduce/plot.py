"""Panels of curves as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from offramp.errors import OfframpError
from offramp_sim.reproduce.item import Curves


def draw(panels: list[Curves], title: str, path: Path) -> None:
    """Write a PNG, without a display.

    Raises:
        OfframpError: matplotlib is missing, or the file cannot be written.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise OfframpError("plots need the package matplotlib: pip install 'offramp[gnn]'") from None
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(5 * columns, 3.6 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    for place, panel in enumerate(panels, 1):
        axes = figure.add_subplot(rows, columns, place)
        if panel.bars:
            _bars(axes, panel)
        else:
            _lines(axes, panel)
        axes.set_title(panel.title)
        if len(panel.lines) > 1:
            axes.legend(fontsize="small", framealpha=0.5)
    try:
        figure.savefig(path, dpi=110)
    except OSError as error:
        raise OfframpError(f"{path}: cannot be written: {error.strerror}") from None


def _lines(axes: Any, panel: Curves) -> None:
    few = 8
    for label, (xs, ys) in panel.lines.items():
        axes.plot(xs, ys, marker="." if len(xs) < 20 else None, label=label)
        if len(xs) <= few:
            axes.set_xticks(xs)
    axes.set(xlabel=panel.x, ylabel=panel.y)
    axes.set_ylim(bottom=0)


def _bars(axes: Any, panel: Curves) -> None:
    """Lying down, the first on top, so that long names have room."""
    width = 0.8 / len(panel.lines)
    for i, (label, (names, values)) in enumerate(panel.lines.items()):
        axes.barh(np.arange(len(names)) + (i + 0.5) * width - 0.4, values, width, label=label)
        axes.set_yticks(np.arange(len(names)), [str(name) for name in names])
    axes.invert_yaxis()
    axes.set(xlabel=panel.y, ylabel=panel.x)
