# SPDX-License-Identifier: Apache-2.0
"""Contents of a picture: panels of curves, of bars along time, and of intervals."""

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
        bars: draw the lines as groups of bars.
        points: labels of lines that are drawn as points only, those of the first filled.
        stacked: bars are horizontal, and the lines follow each other in every bar.
        log: make both axes of lines logarithmic, so that a power law is a straight line.
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


@dataclass(frozen=True, slots=True)
class Intervals:
    """A panel with a bar from the least to the greatest value of each row, on a logarithmic axis.

    Attributes:
        title, x: what is drawn, and along which axis.
        spans: ``(low, middle, high)`` by the name of the row, from the top; all greater than 0.
        mark: where a line stands across all rows.
    """

    title: str
    x: str
    spans: Mapping[str, tuple[float, float, float]]
    mark: float = 1.0


Panel = Curves | Gantt | Intervals
