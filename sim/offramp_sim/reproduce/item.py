# SPDX-License-Identifier: Apache-2.0
"""What a figure or table of a paper is, and what reproducing it gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
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


@dataclass(frozen=True, slots=True)
class Comparison:
    """A number of the paper beside ours; ``published`` None: the text of the paper gives none."""

    what: str
    published: str | None
    ours: str


@dataclass(frozen=True, slots=True)
class Reproduction:
    """What one run has found.

    Attributes:
        comparisons: numbers side by side.
        panels: what to draw.
        settings: what it was run with.
        note: assumptions, and why a number differs where it does.
        data: all numbers behind the plot, ready for JSON.
    """

    comparisons: list[Comparison]
    panels: Sequence[Panel]
    settings: dict[str, Any]
    note: str
    data: dict[str, Any] = field(default_factory=dict)

    def as_json(self, name: str) -> dict[str, Any]:
        """``published``, ``ours``, ``settings``, ``note`` and the data."""
        return {
            "name": name,
            "published": {c.what: c.published for c in self.comparisons},
            "ours": {c.what: c.ours for c in self.comparisons},
            "settings": self.settings,
            "note": self.note,
            "data": self.data,
        }


@dataclass(frozen=True, slots=True)
class Item:
    """A figure or table.

    Attributes:
        name: ``system/item``.
        title: what it shows.
        seconds: about how long it takes on two cores at scale 1.
        run: of scale and seed, and where ``files`` is set of a folder of data sets.
    """

    name: str
    title: str
    seconds: int
    run: Callable[..., Reproduction]
    files: bool = False

    def reproduce(self, scale: float, seed: int, folder: Path | None = None) -> Reproduction:
        """Run it; ``folder`` may hold data sets as their sources hand them out."""
        return self.run(scale, seed, folder) if self.files else self.run(scale, seed)
