# SPDX-License-Identifier: Apache-2.0
"""What a figure or table of a paper is, and what reproducing it gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from offramp_base.registry import Registry
from offramp_sim.figures.panels import Panel


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


ITEMS: Final[Registry[Item]] = Registry("item", "offramp.reproduce", "offramp_sim.reproduce")

Run = TypeVar("Run", bound=Callable[..., Reproduction])


def reproduces(name: str, title: str, *, seconds: int, files: bool = False) -> Callable[[Run], Run]:
    """Decorator that makes an :class:`Item` of a function of scale and seed, and of a folder where ``files`` is set."""

    def enter(run: Run) -> Run:
        ITEMS.register(name)(Item(name, title, seconds, run, files))
        return run

    return enter
