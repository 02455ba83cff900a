# SPDX-License-Identifier: Apache-2.0
"""A picture of the activity of stages and language models in the last iterations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_sim.figures import draw
from offramp_sim.unitg import StageActivity
from offramp_sim.unitg.picture import panel

if TYPE_CHECKING:
    from pathlib import Path

    from offramp.unitg import UnitgResult

_ITERATIONS = 3
_GAP_MS = 1.0


def draw_run(result: UnitgResult, path: Path) -> None:
    """Draw a PNG of the last iterations in which the language model ran, with a row for each stage.

    Raises:
        OfframpError: matplotlib is missing, or the file cannot be written.
    """
    ends = [m.end for record in result.stages for m in record.modules]
    spans = [done for record in result.stages for done in record.spans]
    latest = min(max(ends, default=float("inf")), max(done.end for done in spans))
    steps = sorted({done.step for done in spans if done.start <= latest})[-_ITERATIONS:]
    shown = [done for done in spans if done.step in steps]
    start, end = min(d.start for d in shown), max(d.end for d in shown)
    bars = []
    for record in result.stages:
        stage = record.place.stage
        bars += [
            StageActivity(stage, "language model", 1000 * (m.start - start), 1000 * (m.end - start))
            for m in record.modules
            if start <= m.start and m.end <= end
        ]
        for done in record.spans:
            if done.step in steps:
                name = "backward" if done.op.backward else "forward"
                bars.append(StageActivity(stage, name, 1000 * (done.start - start), 1000 * (done.end - start)))
    title = f"{result.settings['graph_name']}, {result.settings['mode']}: {len(steps)} iterations"
    draw([panel(title, len(result.stages), bars, "milliseconds", _GAP_MS)], "UniTG", path)
