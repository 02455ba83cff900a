# SPDX-License-Identifier: Apache-2.0
"""A picture of a run: the busiest links over time, and the GPUs that jobs use."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from offramp_base.errors import OfframpError
from offramp_base.extras import needs
from offramp_sim.cluster.results import link_use
from offramp_sim.cluster.simulate import ClusterRun
from offramp_sim.figures import save

_BINS: Final = 200
_LINKS: Final = 24


def draw(runs: dict[str, ClusterRun], path: Path) -> None:
    """Write a picture with a column for each order: GPUs in use above, the busiest links below.

    Raises:
        OfframpError: matplotlib is missing, or the file cannot be written.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise OfframpError(f"a picture {needs('matplotlib')}") from None
    shown = {name: link_use(run, _BINS, _LINKS) for name, run in runs.items()}
    rows = max((len(links) for links, _ in shown.values()), default=0)
    high = 1.6 + 0.22 * max(rows, 1)
    figure = Figure(figsize=(6.4 * len(runs), high + 1.8), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(2, len(runs), squeeze=False, sharex="col", height_ratios=(1.6, high))
    image = None
    for column, (name, run) in enumerate(runs.items()):
        end = max(run.makespan_s, 1e-9)
        above, below = axes[0][column], axes[1][column]
        times, gpus = _gpus(run)
        above.step(times, gpus, where="post", color="#4c78a8", linewidth=1)
        above.fill_between(times, gpus, step="post", color="#4c78a8", alpha=0.25)
        above.set_ylim(0, run.fabric.ranks * 1.05)
        above.set_title(f"{name}: all done after {_shown(end)}")
        above.set_ylabel("GPUs in use")
        links, use = shown[name]
        if links:
            extent = (0.0, end, len(links) - 0.5, -0.5)
            image = below.imshow(
                use, aspect="auto", cmap="magma_r", vmin=0, vmax=1, extent=extent, interpolation="nearest"
            )
            below.set_yticks(range(len(links)), [run.fabric.shown(link) for link in links], fontsize=7)
        else:
            below.text(0.5, 0.5, "no job used the network", ha="center", transform=below.transAxes)
        below.set_xlabel("seconds")
    if image is not None:
        figure.colorbar(image, ax=list(axes[1]), label="share of the link's rate", fraction=0.03)
    save(figure, path)


def _gpus(run: ClusterRun) -> tuple[np.ndarray, np.ndarray]:
    """Times, and GPUs in use from each on."""
    times = np.array([t for each in run.outcomes for t in (each.start_s, each.finish_s)])
    change = np.array([n for each in run.outcomes for n in (each.job.gpus, -each.job.gpus)])
    by = np.argsort(times, kind="stable")
    return np.concatenate([[0.0], times[by]]), np.concatenate([[0], np.cumsum(change[by])])


def _shown(seconds: float) -> str:
    from offramp.report.units import duration

    return duration(seconds)
