# SPDX-License-Identifier: Apache-2.0
"""The picture of a pipeline: rows and spans counted by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from offramp_sim.figures.panels import Gantt
from offramp_sim.unitg import picture
from offramp_sim.unitg.engine import PipelineResult, StageActivity

BARS = [
    StageActivity(1, "language model", 0, 1),
    StageActivity(0, "forward 1", 0, 1),
    StageActivity(0, "language model", 3.5, 3.75),
    StageActivity(0, "language model", 2.25, 3),
    StageActivity(0, "language model", 1, 2.25),
    StageActivity(1, "forward 1", 1, 2),
    StageActivity(1, "backward 1", 2, 5),
]
GRADIENTS = [StageActivity(1, "gradients", 2, 6), StageActivity(0, "gradients", 0, 0.5)]
"""The last module of stage 0 ends after stage 1's begins; bars of two stages are never one."""


def test_stages_without_gradients_have_a_row_each() -> None:
    assert picture.panel("a", 2, BARS, "ms") == Gantt(
        "a",
        "ms",
        ("stage 1", "stage 2"),
        {
            "forward": [(0, 0, 1), (1, 1, 1)],
            "backward": [(1, 2, 3)],
            "language model": [(0, 1, 2), (0, 3.5, 0.25), (1, 0, 1)],
        },
    )


def test_gradients_have_the_row_under_their_stage() -> None:
    panel = picture.panel("a", 2, [*BARS, *GRADIENTS])
    assert panel.x == "seconds"
    assert panel.rows == ("stage 1", "downlink", "stage 2", "downlink")
    assert panel.spans == {
        "forward": [(0, 0, 1), (2, 1, 1)],
        "backward": [(2, 2, 3)],
        "language model": [(0, 1, 2), (0, 3.5, 0.25), (2, 0, 1)],
        "gradients": [(3, 2, 4), (1, 0, 0.5)],
    }


@pytest.mark.parametrize(("gap", "spans"), [(0.5, [(0, 1, 2.75)]), (0.25, [(0, 1, 2), (0, 3.5, 0.25)])])
def test_modules_at_most_a_gap_apart_are_one_bar(gap: float, spans: list[tuple[int, float, float]]) -> None:
    modules = [bar for bar in BARS if bar.stage == 0 and bar.name == "language model"]
    assert picture.panel("a", 1, modules, gap=gap).spans == {"language model": spans}


def test_nothing_is_drawn_of_no_bars() -> None:
    assert picture.panel("a", 1, []) == Gantt("a", "seconds", ("stage 1",), {})


def test_each_policy_has_a_panel_with_its_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    drawn: list[tuple[list[Gantt], str, Path]] = []
    monkeypatch.setattr(picture, "draw", lambda *arguments: drawn.append(arguments))
    first, second = (PipelineResult(makespan_s=seconds, bars=BARS[:1]) for seconds in (5.00025, 7))
    picture.draw_outcomes({"a": first, "b": second}, 2, tmp_path / "p.png")
    [(panels, title, path)] = drawn
    assert [p.title for p in panels] == ["a: 5 s", "b: 7 s"]
    assert (title, path) == ("Pipeline and language model", tmp_path / "p.png")
    assert panels[0].spans == {"language model": [(1, 0, 1)]}
