# SPDX-License-Identifier: Apache-2.0
"""Each coflow over time, with priorities and without."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from offramp_sim.figures import save
from offramp_sim.hermod.lab.experiment import LabResult
from offramp_sim.hermod.lab.scenario import KINDS

_COLOURS: Final = {"EP": "#d55e00", "PP": "#0072b2", "DP-0": "#009e73", "DP-1": "#8fd4bf"}
_LABELS: Final = {"EP": "EP: tokens", "PP": "PP: activations", "DP-0": "DP: first layers", "DP-1": "DP: last layers"}


def draw(outcomes: list[LabResult], path: Path) -> None:
    """Bars of the coflows, a panel for each run, as SVG, PNG or PDF by the file's name.

    Raises:
        OfframpError: the file cannot be written.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 1.2 + 1.7 * len(outcomes)), layout="constrained")
    panels = figure.subplots(len(outcomes), 1, sharex=True, squeeze=False)[:, 0]
    for axes, outcome in zip(panels, outcomes, strict=True):
        for row, kind in enumerate(reversed(KINDS)):
            start, seconds = outcome.start_s[kind], outcome.seconds(kind)
            axes.barh(row, seconds, left=start, color=_COLOURS[kind], height=0.7)
            axes.text(start + seconds, row, f" {seconds:.2f} s", va="center", fontsize=9)
        axes.set_yticks(range(len(KINDS)), [_LABELS[kind] for kind in reversed(KINDS)])
        axes.set_title(outcome.scenario.title, loc="left", fontsize=10)
        axes.margins(x=0.1)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    panels[-1].set_xlabel("seconds")
    save(figure, path, dpi=150)
