# SPDX-License-Identifier: Apache-2.0
"""Pictures of a small plan whose bars and shares are counted by hand."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from offramp.themis.network import Collective
from offramp.themis.pipeline import Operation, Timeline
from offramp.themis.plan import CollectivePlan
from offramp_sim.themis import picture

MS = 10**9
"""A millisecond in picoseconds."""


class Axes:
    """Notes what is drawn on it, by the name of the call."""

    def __init__(self) -> None:
        self.calls: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {}

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments, **options: self.calls.setdefault(name, []).append((arguments, options))


@pytest.fixture
def plan() -> CollectivePlan:
    """Two chunks: scattered on both dimensions, then gathered on the second; each dimension is idle for a time."""
    operations = (
        Operation(dim=0, chunk=0, place=0, ready=0, start=0, end=30 * MS, done=30 * MS),
        Operation(dim=1, chunk=0, place=1, ready=30 * MS, start=30 * MS, end=45 * MS, done=45 * MS),
        Operation(dim=0, chunk=1, place=0, ready=0, start=45 * MS, end=60 * MS, done=60 * MS),
        Operation(dim=1, chunk=1, place=1, ready=60 * MS, start=60 * MS, end=90 * MS, done=90 * MS),
    )
    scatter, gather = (SimpleNamespace(stage=c) for c in (Collective.REDUCE_SCATTER, Collective.ALL_GATHER))
    plan = SimpleNamespace(
        network=SimpleNamespace(dimensions=(None, None)),
        scheduler="themis",
        timeline=Timeline(operations, 2, 90 * MS),
        finish_ps=90 * MS,
        stages=lambda: [[scatter, scatter], [scatter, gather]],
    )
    return cast("CollectivePlan", plan)


def test_each_window_has_the_share_in_which_a_dimension_transfers(plan: CollectivePlan) -> None:
    """A plan that ends at 120 ms is drawn in 60 windows of 2 ms: this one has 45 of them."""
    axes = Axes()
    picture.draw_utilisation(cast("Any", axes), plan, 120 * MS)
    shares = [arguments for arguments, _ in axes.calls["stairs"]]
    first = [100.0] * 15 + [0] * 7 + [50.0] + [100.0] * 7 + [0] * 15
    second = [0] * 15 + [100.0] * 7 + [50.0] + [0] * 7 + [100.0] * 15
    edges = [2.0 * i for i in range(46)]
    assert shares == [(first, edges), (second, edges)]
    assert [options["label"] for _, options in axes.calls["stairs"]] == ["dim1", "dim2"]
    [(_, options)] = axes.calls["set"]
    assert options == {"title": "themis", "ylabel": "utilisation, %", "ylim": (0, 105), "xlim": (0, 120.0)}


def test_windows_are_at_least_a_picosecond(plan: CollectivePlan) -> None:
    nothing = SimpleNamespace(network=plan.network, scheduler="a", timeline=Timeline((), 2, 0), finish_ps=0)
    axes = Axes()
    picture.draw_utilisation(cast("Any", axes), cast("CollectivePlan", nothing), 0)
    assert [arguments for arguments, _ in axes.calls["stairs"]] == [([], [0.0])] * 2


def test_the_last_window_ends_with_the_plan(plan: CollectivePlan) -> None:
    """61 ps in windows of 2 ps."""
    axes = Axes()
    timeline = Timeline((Operation(0, 0, 0, 0, 0, 61, 61),), 1, 61)
    short = SimpleNamespace(network=SimpleNamespace(dimensions=(None,)), scheduler="a", timeline=timeline, finish_ps=61)
    picture.draw_utilisation(cast("Any", axes), cast("CollectivePlan", short), 61)
    [((shares, edges), _)] = axes.calls["stairs"]
    assert shares == [100.0] * 31
    assert edges == [2 * i / 1e9 for i in range(31)] + [61 / 1e9]


def test_each_operation_is_a_bar_of_its_kind(plan: CollectivePlan) -> None:
    axes = Axes()
    picture.draw_operations(cast("Any", axes), plan, 120 * MS)
    bars = [(*arguments, options["facecolors"]) for arguments, options in axes.calls["broken_barh"]]
    scatter, gather = picture.COLOURS[Collective.REDUCE_SCATTER], picture.COLOURS[Collective.ALL_GATHER]
    assert bars == [
        ([(0.0, 30.0), (45.0, 15.0)], (-0.4, 0.8), scatter),
        ([(30.0, 15.0)], (0.6, 0.8), scatter),
        ([(60.0, 30.0)], (0.6, 0.8), gather),
    ]
    assert [(o["label"], o["color"]) for _, o in axes.calls["plot"]] == [
        (Collective.REDUCE_SCATTER.value, scatter),
        (Collective.ALL_GATHER.value, gather),
    ]
    assert axes.calls["set_yticks"] == [((range(2), ["dim1", "dim2"]), {})]
    assert len(axes.calls["invert_yaxis"]) == 1
    [(_, options)] = axes.calls["set"]
    assert options == {"xlim": (0, 120.0), "xlabel": "ms", "title": "themis: 90.000 ms"}


def test_each_plan_has_a_row_that_ends_with_the_last_of_all(
    plan: CollectivePlan, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    drawn: list[tuple[str, int, int]] = []
    monkeypatch.setattr(
        picture,
        "draw_utilisation",
        lambda axes, plan, end: drawn.append(("left", axes.get_subplotspec().num1, end)),
    )
    monkeypatch.setattr(
        picture,
        "draw_operations",
        lambda axes, plan, end: drawn.append(("right", axes.get_subplotspec().num1, end)),
    )
    sizes: list[tuple[Any, ...]] = []
    monkeypatch.setattr(picture, "save", lambda figure, path: sizes.append((*figure.get_size_inches(), path)))
    longer = cast("CollectivePlan", SimpleNamespace(finish_ps=100 * MS))
    picture.draw_plans([plan, longer], tmp_path / "p.png")
    assert drawn == [(side, 2 * row + (side == "right"), 100 * MS) for row in (0, 1) for side in ("left", "right")]
    assert sizes == [(12, pytest.approx(5.4), tmp_path / "p.png")]
