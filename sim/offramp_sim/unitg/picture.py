# SPDX-License-Identifier: Apache-2.0
"""A run over time: a row for each stage's device, and one for the language model's gradients that reach it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from offramp_sim.figures.panels import Gantt
from offramp_sim.figures.plot import draw
from offramp_sim.unitg.engine import StageActivity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from offramp_sim.unitg.engine import PipelineResult

_LABELS = ("forward", "backward", "language model", "gradients")


def panel(title: str, stages: int, bars: Iterable[StageActivity], unit: str = "seconds", gap: float = 1e-9) -> Gantt:
    """Bars as a panel, with rows of gradients if there are any. Modules at most ``gap`` apart are one bar."""
    shown = list(bars)
    rows = [f"stage {stage + 1}" for stage in range(stages)]
    with_links = any(bar.name == "gradients" for bar in shown)
    if with_links:
        rows = [name for stage in rows for name in (stage, "downlink")]
    spans: dict[str, list[tuple[int, float, float]]] = {}
    for label in _LABELS:
        chosen = [bar for bar in shown if bar.name.startswith(label)]
        if label == "language model":
            chosen = list(_joined(chosen, gap))
        if chosen:
            spans[label] = [(_row(bar, with_links=with_links), bar.start, bar.end - bar.start) for bar in chosen]
    return Gantt(title, unit, tuple(rows), spans)


def draw_outcomes(outcomes: Mapping[str, PipelineResult], stages: int, path: Path) -> None:
    """A PNG with a panel for each policy.

    Raises:
        OfframpError: matplotlib is missing, or the file cannot be written.
    """
    panels = [panel(f"{policy}: {o.makespan_s:.4g} s", stages, o.bars) for policy, o in outcomes.items()]
    draw(panels, "Pipeline and language model", path)


def _row(bar: StageActivity, *, with_links: bool) -> int:
    return 2 * bar.stage + (bar.name == "gradients") if with_links else bar.stage


def _joined(bars: list[StageActivity], gap: float) -> Iterator[StageActivity]:
    last: StageActivity | None = None
    for bar in sorted(bars, key=lambda b: (b.stage, b.start)):
        if last is not None and bar.stage == last.stage and bar.start - last.end <= gap:
            last = StageActivity(bar.stage, bar.name, last.start, bar.end)
            continue
        if last is not None:
            yield last
        last = bar
    if last is not None:
        yield last
