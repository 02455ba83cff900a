# SPDX-License-Identifier: Apache-2.0
"""A picture of an iteration: computation and coflows of each stage, one policy above the other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from offramp_base.errors import OfframpError
from offramp_base.extras import needs
from offramp_sim.figures import save
from offramp_sim.hermod.flow.bars import LANES, Stretch, bars
from offramp_sim.hermod.flow.simulate import FlowResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS: Final = {
    "forward": "#4c78a8",
    "backward": "#9ecae9",
    "EP": "#f58518",
    "PP": "#54a24b",
    "DP": "#e45756",
}
"""Colours of computation and of coflows."""
MEANINGS: Final = {
    "fair": "every link is shared",
    "fifo": "what was submitted first goes first",
    "host-fifo": "hosts send in order of submission, links are shared",
    "lina": "DP waits at senders of EP, links are shared",
    "lina-fifo": "DP waits at senders of EP, otherwise in order of submission",
    "dp-first": "DP before the rest",
    "pp-first": "PP before the rest",
    "ep-first": "EP before the rest",
    "type": "EP and PP before DP",
    "ep-pp-dp": "EP before PP before DP",
    "layer-first": "earlier layers first",
    "hermod": "earlier microbatches first, then EP and PP before DP, then earlier layers",
    "hermod-interleaved": "earlier microbatches first, then EP before PP before DP, then earlier layers",
}
_POINTS: Final = "offset points"
_MOST_STAGES: Final = 8
_WAITING: Final = "#d9d9d9"
_LATER: Final = 0.3
"""Opacity of bars that belong to the next iteration."""


def draw(outcomes: dict[str, FlowResult], path: Path, title: str) -> None:
    """Write a PNG: the last iteration of each outcome, from the end of the one before, on one time axis.

    Raises:
        OfframpError: matplotlib is missing, or the file cannot be written.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.patches import Patch
    except ImportError:
        raise OfframpError(f"the timeline {needs('matplotlib')}") from None
    stages = min(_MOST_STAGES, next(iter(outcomes.values())).loaded.dag.stages)
    figure = Figure(figsize=(14, (0.55 * stages + 1) * len(outcomes) + 1.1), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    panels = figure.subplots(len(outcomes), 1, sharex=True, squeeze=False)[:, 0]
    longest = max(o.iteration_s for o in outcomes.values())
    used = set()
    for axes, (name, outcome) in zip(panels, outcomes.items(), strict=True):
        used |= _panel(axes, name, outcome, stages, longest)
    first = next(iter(outcomes.values())).iteration_s
    for axes, outcome in list(zip(panels, outcomes.values(), strict=True))[1:]:
        _saved(axes, outcome.iteration_s, first)
    panels[-1].set_xlabel("seconds since the iteration before ended; pale: the next iteration's")
    handles = [Patch(color=colour, label=name) for name, colour in COLOURS.items() if name in used]
    handles.append(Patch(facecolor="white", edgecolor="grey", hatch="////", label="held up by other coflows"))
    handles.append(Patch(facecolor=_WAITING, label="the stage's GPUs wait"))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    save(figure, path)


def _panel(axes: Axes, name: str, outcome: FlowResult, stages: int, longest: float) -> set[str]:
    """Draw one outcome; returns the colours that it needs."""
    span, end = outcome.iteration_s, outcome.iteration_ends[-1]
    begin = end - span
    chart = bars(outcome, begin, begin + 1.06 * longest)
    used = set()
    for (lane, colour), pieces in chart.stretches.items():
        if lane // LANES < stages:
            used.add(colour)
            _cut(axes, lane, [(start - begin, length) for start, length in pieces], span, COLOURS[colour])
    for lane, pieces in chart.held_up.items():
        if lane // LANES < stages:
            moved = [(start - begin, length) for start, length in pieces if start < end]
            axes.broken_barh(moved, _place(lane), facecolors="none", edgecolor="white", hatch="////", linewidth=0)
    for stage in range(stages):
        idle = [(start - begin, length) for start, length in chart.idle(stage, begin, end)]
        bottom, height = _place(LANES * stage)
        axes.broken_barh(idle, (bottom + height / 4, height / 2), facecolors=_WAITING, edgecolor="none")
    axes.axvline(span, color="black", linewidth=1.2)
    axes.annotate(f"{span:.3g} s", (span, 1), xycoords=("data", "axes fraction"), xytext=(4, -10), textcoords=_POINTS)
    meaning = f": {MEANINGS[name]}" if name in MEANINGS else ""
    axes.set_title(f"{name}{meaning}; GPUs compute {chart.computing(stages, begin, end):.0%} of the time", loc="left")
    axes.set_yticks([(LANES + 1) * s + 2 for s in range(stages)], [f"stage {s}" for s in range(stages)])
    axes.set_ylim((LANES + 1) * stages, -0.5)
    axes.set_xlim(0, 1.06 * longest)
    axes.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    return used


def _place(lane: int) -> tuple[float, float]:
    """Top and height of a lane; stages lie a lane apart."""
    return lane + 0.1 + lane // LANES, 0.9


def _cut(axes: Axes, lane: int, pieces: list[Stretch], span: float, colour: str) -> None:
    """Bars of this iteration, and pale ones from its end on."""
    now = [(start, min(length, span - start)) for start, length in pieces if start < span]
    later = [(max(start, span), start + length - max(start, span)) for start, length in pieces if start + length > span]
    axes.broken_barh(now, _place(lane), facecolors=colour, edgecolor="none")
    axes.broken_barh(later, _place(lane), facecolors=colour, edgecolor="none", alpha=_LATER)


def _saved(axes: Axes, span: float, first: float) -> None:
    """An arrow between the ends of this iteration and the first panel's."""
    if abs(first / span - 1) < 0.005:
        return
    axes.axvline(first, color="black", linewidth=1.2, linestyle=":")
    middle = sum(axes.get_ylim()) / 2
    axes.annotate("", (span, middle), (first, middle), arrowprops={"arrowstyle": "<->", "color": "black"})
    word = "saved" if first > span else "lost"
    text = f"{abs(first - span):.3g} s {word}\n{first / span:.2f}\N{MULTIPLICATION SIGN} as fast"
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85}
    axes.annotate(text, ((span + first) / 2, middle), ha="center", va="center", bbox=box)
