# SPDX-License-Identifier: Apache-2.0
"""Plans as pictures: utilisation of each dimension over time, and its operations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from offramp.themis.network import Collective
from offramp.themis.plan import CollectivePlan
from offramp_base.errors import OfframpError
from offramp_base.extras import needs
from offramp_sim.figures import save
from offramp_sim.themis.metrics import busy, share_by_window

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WINDOWS = 60
COLOURS = {
    Collective.REDUCE_SCATTER: "#2b6cb0",
    Collective.ALL_GATHER: "#dd8b2f",
    Collective.ALL_REDUCE: "#6b46c1",
    Collective.ALL_TO_ALL: "#2f855a",
}


def draw_plans(plans: Sequence[CollectivePlan], path: Path) -> None:
    """Write a PNG with a row for each plan, without a display.

    Raises:
        OfframpError: matplotlib is missing, or the file cannot be written.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise OfframpError(f"a plot {needs('matplotlib')}") from None
    figure = Figure(figsize=(12, 0.6 + 2.4 * len(plans)), layout="constrained")
    FigureCanvasAgg(figure)
    end = max(plan.finish_ps for plan in plans)
    for row, plan in enumerate(plans):
        left = figure.add_subplot(len(plans), 2, 2 * row + 1)
        right = figure.add_subplot(len(plans), 2, 2 * row + 2)
        draw_utilisation(left, plan, end)
        draw_operations(right, plan, end)
    save(figure, path)


def draw_utilisation(axes: Axes, plan: CollectivePlan, end_ps: int) -> None:
    """The share of each window in which a dimension transfers."""
    window = max(1, -(-end_ps // WINDOWS))
    for dim in range(len(plan.network.dimensions)):
        shares = share_by_window(busy(plan.timeline, dim), plan.finish_ps, window)
        edges = [min(plan.finish_ps, i * window) / 1e9 for i in range(len(shares) + 1)]
        axes.stairs([100 * share for share in shares], edges, label=f"dim{dim + 1}", linewidth=1.4)
    axes.set(title=str(plan.scheduler), ylabel="utilisation, %", ylim=(0, 105), xlim=(0, end_ps / 1e9))
    axes.set_xlabel("ms")
    axes.legend(loc="center right", fontsize="small")


def draw_operations(axes: Axes, plan: CollectivePlan, end_ps: int) -> None:
    """One bar per operation on its dimension, coloured by kind."""
    stages = plan.stages()
    dims = len(plan.network.dimensions)
    for stage, colour in COLOURS.items():
        for dim in range(dims):
            spans = [
                (op.start / 1e9, (op.end - op.start) / 1e9)
                for op in plan.timeline.operations
                if op.dim == dim and stages[op.chunk][op.place].stage is stage
            ]
            if spans:
                axes.broken_barh(spans, (dim - 0.4, 0.8), facecolors=colour, edgecolor="white", linewidth=0.3)
    used = dict.fromkeys(stage.stage for chunk in stages for stage in chunk)
    for stage in used:
        axes.plot([], [], color=COLOURS[stage], linewidth=6, label=stage.value)
    axes.set_yticks(range(dims), [f"dim{dim + 1}" for dim in range(dims)])
    axes.invert_yaxis()
    axes.set(xlim=(0, end_ps / 1e9), xlabel="ms", title=f"{plan.scheduler}: {plan.finish_ps / 1e9:.3f} ms")
    axes.legend(loc="lower right", fontsize="small")
