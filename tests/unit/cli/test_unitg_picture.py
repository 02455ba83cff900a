# SPDX-License-Identifier: Apache-2.0
"""Bars of a training run's last iterations, in milliseconds from their begin."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from offramp_cli.unitg import picture
from offramp_sim.unitg.engine import StageActivity

if TYPE_CHECKING:
    import pytest


def test_bars_are_of_the_last_iterations_in_which_the_language_model_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    def span(step: int, start: float, end: float, *, backward: bool = False) -> Any:
        return SimpleNamespace(step=step, start=start, end=end, op=SimpleNamespace(backward=backward))

    def stage(number: int, modules: list[tuple[float, float]], spans: list[Any]) -> Any:
        times = [SimpleNamespace(start=start, end=end) for start, end in modules]
        return SimpleNamespace(place=SimpleNamespace(stage=number), modules=times, spans=spans)

    first = [span(n, n, n + 0.25) for n in range(6)]
    second = [span(n, n + 0.5, n + 0.75, backward=True) for n in range(6)]
    stages = [stage(0, [(0.25, 0.5), (3.25, 3.5)], first), stage(1, [(4.0, 4.125)], second)]
    drawn: list[Any] = []
    monkeypatch.setattr(picture, "draw", lambda *given: drawn.append(given))
    monkeypatch.setattr(picture, "panel", lambda *given: given)
    result: Any = SimpleNamespace(stages=stages, settings={"graph_name": "karate", "mode": "unitg"})
    picture.draw_run(result, Path("p.png"))
    ((((title, count, bars, unit, _),), name, path),) = drawn
    assert (title, count, unit, name, path) == (
        "karate, unitg: 3 iterations",
        2,
        "milliseconds",
        "UniTG",
        Path("p.png"),
    )
    assert bars == [
        StageActivity(0, "language model", 1250.0, 1500.0),
        *(StageActivity(0, "forward", 1000.0 * n, 1000.0 * n + 250) for n in range(3)),
        StageActivity(1, "language model", 2000.0, 2125.0),
        *(StageActivity(1, "backward", 1000.0 * n + 500, 1000.0 * n + 750) for n in range(3)),
    ]
