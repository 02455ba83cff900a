"""Panels of curves as a picture."""

from __future__ import annotations

from pathlib import Path

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
        for i, (label, (xs, ys)) in enumerate(panel.lines.items()):
            if panel.bars:
                width = 0.8 / len(panel.lines)
                axes.bar(np.arange(len(xs)) + (i + 0.5) * width - 0.4, ys, width, label=label)
                axes.set_xticks(np.arange(len(xs)), [str(x) for x in xs])
            else:
                axes.plot(xs, ys, marker="." if len(xs) < 20 else None, label=label)
        axes.set(title=panel.title, xlabel=panel.x, ylabel=panel.y)
        axes.legend(fontsize="small")
    try:
        figure.savefig(path, dpi=110)
    except OSError as error:
        raise OfframpError(f"{path}: cannot be written: {error.strerror}") from None
