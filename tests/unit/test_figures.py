# SPDX-License-Identifier: Apache-2.0
"""Axes of pictures from which values can be read; whether a picture is handsome is for the eye."""

from __future__ import annotations

from pathlib import Path

import pytest

from offramp_base.errors import OfframpError
from offramp_sim.figures import plot
from offramp_sim.figures.files import save
from offramp_sim.figures.panels import Curves, Gantt, Intervals
from offramp_sim.figures.plot import _gantt, _intervals, _legend_below


@pytest.mark.parametrize(
    ("low", "high"), [(0.78, 1.7), (0.98, 1.02), (0.9, 1.2), (0.3, 2.2), (0.1, 0.79), (0.1, 40.0), (1.0, 1.0)]
)
def test_an_axis_of_intervals_has_at_least_three_ticks(low: float, high: float) -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure()
    axes = figure.add_subplot()
    _intervals(axes, Intervals("", "ours over the published number", {"a": (low, 1.0, high)}))
    left, right = axes.get_xlim()
    shown = {tick.get_text() for tick in axes.get_xticklabels() if left <= tick.get_position()[0] <= right}
    assert len(shown) >= 3, shown
    assert all(float(text) for text in shown)


def test_a_panel_over_time_names_its_rows_and_has_its_legend_below() -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure()
    axes = figure.add_subplot()
    _gantt(axes, Gantt("", "time, s", ("first", "second"), {"x": [(0, 1.0, 2.0)], "y": [(1, 0.0, 1.0)]}))
    _legend_below(axes, -0.2)
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["first", "second"]
    assert axes.get_ylim()[0] > axes.get_ylim()[1], "from the top"
    assert axes.get_xlabel() == "time, s"
    bars = [bar.get_extents() for many in axes.collections for bar in many.get_paths()]
    assert sorted((bar.x0, bar.x1, round(bar.y0, 1)) for bar in bars) == [(0.0, 1.0, 0.6), (1.0, 3.0, -0.4)]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["x", "y"]


def test_pictures_over_time_and_stacked_ones_have_legends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    below: list[float] = []
    monkeypatch.setattr(plot, "_legend_below", lambda axes, at=-0.18: below.append(at))
    gantt = Gantt("", "s", ("r",), {"x": [(0, 1.0, 2.0)]})
    stacked = Curves("", "", "", {"x": (["a"], [1.0])}, stacked=True)
    plot.draw([gantt, stacked], "both", tmp_path / "p.png")
    assert below == [-0.2, -0.18]
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("name", "begins"), [("p", b"\x89PNG"), ("p.png", b"\x89PNG"), ("p.pdf", b"%PDF")])
def test_a_picture_s_format_is_its_ending_s_or_png(tmp_path: Path, name: str, begins: bytes) -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure()
    save(figure, tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(begins)


def test_a_picture_that_cannot_be_written_is_one_line_and_no_file(tmp_path: Path) -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure()
    for name, reason in {
        "p.txt": r"p\.txt: cannot be written: expected a name that ends in \.png$",
        "none/p.png": r"none/p\.png: cannot be written: No such file or directory$",
    }.items():
        with pytest.raises(OfframpError, match=reason):
            save(figure, tmp_path / name)
    assert list(tmp_path.iterdir()) == []
