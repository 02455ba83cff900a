"""A picture of an iteration: computation and coflows of each stage, one policy above the other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from offramp.coflow.dag import Coflow, Compute
from offramp.coflow.factors import CType
from offramp.errors import OfframpError
from offramp_sim.flow.simulate import Outcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS: Final = {
    "forward": "#4c78a8",
    "backward": "#9ecae9",
    "EP": "#f58518",
    "PP": "#54a24b",
    "DP": "#e45756",
}
"""Of computation and of coflows."""
_LANES: Final = ("compute", CType.EP, CType.PP, CType.DP)
_MOST_STAGES: Final = 8
Stretch = tuple[float, float]


def bars(outcome: Outcome, begin: float, end: float, replica: int = 0) -> dict[tuple[int, str], list[Stretch]]:
    """Stretches ``(start, length)`` between two times, by lane (four for each rank of the pipeline) and colour.

    Computation is that of one replica; a coflow belongs to the rank of its sender, if that replica takes part.
    """
    dag = outcome.loaded.dag
    replicas = dag.workers // dag.stages
    found: dict[tuple[int, str], list[Stretch]] = {}
    for k, task in enumerate(dag.tasks):
        first, last = max(begin, float(outcome.start[k])), min(end, float(outcome.end[k]))
        if last <= first:
            continue
        place = _lane(task, replica, replicas)
        if place is not None:
            found.setdefault(place, []).append((first, last - first))
    return found


def _lane(task: Compute | Coflow, replica: int, replicas: int) -> tuple[int, str] | None:
    if isinstance(task, Compute):
        if task.worker < 0 or task.worker % replicas != replica:
            return None
        return 4 * (task.worker // replicas), "backward" if task.backward else "forward"
    senders = task.flows.source
    mine = senders[senders % replicas == replica]
    if task.ctype is CType.TP or not len(mine):
        return None
    return 4 * int(mine[0] // replicas) + _LANES.index(task.ctype), task.ctype.name


def draw(outcomes: dict[str, Outcome], path: Path, title: str) -> None:
    """Write a PNG: the last iteration of each outcome, from the start of its first computation, on one time axis.

    Raises:
        OfframpError: matplotlib is missing, or the file cannot be written.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.patches import Patch
    except ImportError:
        raise OfframpError("the timeline needs the package matplotlib: pip install 'offramp[gnn]'") from None
    stages = min(_MOST_STAGES, next(iter(outcomes.values())).loaded.dag.stages)
    figure = Figure(figsize=(14, (0.55 * stages + 1) * len(outcomes) + 0.8), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    panels = figure.subplots(len(outcomes), 1, sharex=True, squeeze=False)[:, 0]
    longest = max(o.iteration_s for o in outcomes.values())
    for axes, (name, outcome) in zip(panels, outcomes.items(), strict=True):
        _panel(axes, name, outcome, stages, longest)
    panels[-1].set_xlabel("seconds since the iteration before ended")
    handles = [Patch(color=colour, label=name) for name, colour in COLOURS.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    try:
        figure.savefig(path, dpi=110)
    except OSError as error:
        raise OfframpError(f"{path}: cannot be written: {error.strerror}") from None


def _panel(axes: Axes, name: str, outcome: Outcome, stages: int, longest: float) -> None:
    end = outcome.iteration_ends[-1]
    begin = end - outcome.iteration_s
    for (lane, colour), pieces in bars(outcome, begin, begin + 1.06 * longest).items():
        if lane // 4 < stages:
            moved = [(start - begin, length) for start, length in pieces]
            axes.broken_barh(moved, (lane + 0.1 + lane // 4, 0.9), facecolors=COLOURS[colour], edgecolor="none")
    axes.axvline(outcome.iteration_s, color="black", linewidth=1.2)
    axes.annotate(
        f"{outcome.iteration_s:.3g} s",
        (outcome.iteration_s, 1),
        xycoords=("data", "axes fraction"),
        xytext=(4, -10),
        textcoords="offset points",
    )
    axes.set_title(name, loc="left")
    axes.set_yticks([5 * s + 2 for s in range(stages)], [f"stage {s}" for s in range(stages)])
    axes.set_ylim(5 * stages, -0.5)
    axes.set_xlim(0, 1.06 * longest)
    axes.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
