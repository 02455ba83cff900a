# SPDX-License-Identifier: Apache-2.0
"""What a picture shows: panels of curves, and of bars along time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Curves:
    """One panel of a plot.

    Attributes:
        title, x, y: what is drawn, and along which axes.
        lines: ``(xs, ys)`` by label.
        bars: whether the lines are drawn as groups of bars.
        points: labels of lines that are drawn as points alone.
        stacked: bars lie, and the lines follow each other in every bar.
        log: both axes of lines are logarithmic: a power law is a straight line.
    """

    title: str
    x: str
    y: str
    lines: Mapping[str, tuple[list[Any], list[float]]]
    bars: bool = False
    stacked: bool = False
    log: bool = False
    points: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Gantt:
    """A panel with a bar for everything that took time.

    Attributes:
        title, x: what is drawn, and the unit of time.
        rows: names of the rows, from the top.
        spans: ``(row, start, length)`` by label.
    """

    title: str
    x: str
    rows: tuple[str, ...]
    spans: Mapping[str, list[tuple[int, float, float]]]


Panel = Curves | Gantt
