# SPDX-License-Identifier: Apache-2.0
"""Figures and tables of papers as items, and the results of reproducing them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, TypeVar

from offramp_base.registry import Registry
from offramp_sim.figures.panels import Panel


class Evidence(StrEnum):
    """The kind of a number; only measured and simulated ones can be claims."""

    MEASURED = "measured"
    """Measured by a clock or a counter, in a real run on this machine."""
    SIMULATED = "simulated"
    """Computed by a model whose inputs are not the paper's results."""
    FITTED = "fitted"
    """Computed by a model with some inputs chosen to yield the paper's results."""
    ASSUMED = "assumed"
    """An input of ours that the paper does not give, or gives elsewhere."""
    RESTATED = "restated"
    """Arithmetic on numbers that the paper gives."""
    CONTEXT = "context"
    """For orientation only: it reproduces nothing of the paper."""


CLAIMS: Final = frozenset({Evidence.MEASURED, Evidence.SIMULATED})
SIZES: Final = (0.5, 0.25, 2.0)
"""Default scales at which a referee runs an item: within a factor of eight."""
_NUMBER: Final = re.compile(r"[-+\N{MINUS SIGN}]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
_RANGE: Final = re.compile(rf"({_NUMBER.pattern}) to ({_NUMBER.pattern})")
_CHANGE: Final = re.compile(r"^[-+\N{MINUS SIGN}]\d[\d,.]* ?%")
_FACTOR: Final = re.compile("\\d ?[x\N{MULTIPLICATION SIGN}]$")


@dataclass(frozen=True, slots=True)
class PaperComparison:
    """A number of the paper beside ours.

    Attributes:
        what: what is compared.
        published: the paper's number as text; None: it gives none.
        ours: our number as text.
        evidence: kind of our number; None: that of the item.
        source: what a fitted value is fitted to, or where an assumed one is from.
        turns_at: value beyond which the claim is the opposite; by default 0 for changes in percent and 1 for factors.
    """

    what: str
    published: str | None
    ours: str
    evidence: Evidence | None = None
    source: str = ""
    turns_at: float | None = None

    @property
    def value(self) -> float | None:
        """The first number in ours, if there is one."""
        return number_in(self.ours)

    @property
    def turn(self) -> float | None:
        """:attr:`turns_at`, or the default for the form of ours."""
        if self.turns_at is not None or self.value is None:
            return self.turns_at
        if _CHANGE.match(self.ours.strip()):
            return 0.0
        return 1.0 if _FACTOR.search(self.ours.rstrip()) else None


def number_in(text: str | None) -> float | None:
    """The first number of a text, such as ``-12 %`` or ``1.31 times``; None if there is none."""
    match = _NUMBER.search(text) if text else None
    return _value(match[0]) if match else None


def range_in(text: str | None) -> tuple[float, float] | None:
    """Both numbers of a range such as ``1.2 to 2``, or the first number of a text twice; None if there is none."""
    first = _NUMBER.search(text) if text else None
    if first is None or text is None:
        return None
    match = _RANGE.match(text, first.start())
    ends = [_value(end) for end in (match.groups() if match else (first[0],))]
    return min(ends), max(ends)


def _value(text: str) -> float:
    return float(text.replace("\N{MINUS SIGN}", "-").replace(",", ""))


@dataclass(frozen=True, slots=True)
class Reproduction:
    """Results of one run.

    Attributes:
        comparisons: numbers side by side.
        panels: panels to draw.
        settings: settings of the run.
        note: assumptions, and reasons why numbers differ.
        data: all numbers behind the plot, ready for JSON.
        evidence, source: evidence and source of the numbers that do not say it themselves.
        markdown: a table for a page of the documents, written beside the plot, which is then drawn as SVG as well.
    """

    comparisons: list[PaperComparison]
    panels: Sequence[Panel]
    settings: dict[str, Any]
    note: str
    data: dict[str, Any] = field(default_factory=dict)
    evidence: Evidence = Evidence.SIMULATED
    source: str = ""
    markdown: str = ""

    def evidence_of(self, comparison: PaperComparison) -> Evidence:
        """The kind of our number."""
        return comparison.evidence or self.evidence

    def source_of(self, comparison: PaperComparison) -> str:
        """The source that our number is fitted to or taken from; empty: none."""
        return comparison.source or (self.source if comparison.evidence is None else "")

    def as_json(self, name: str) -> dict[str, Any]:
        """``published``, ``ours``, ``evidence``, ``sources``, ``settings``, ``note`` and the data."""
        return {
            "name": name,
            "published": {c.what: c.published for c in self.comparisons},
            "ours": {c.what: c.ours for c in self.comparisons},
            "evidence": {c.what: self.evidence_of(c).value for c in self.comparisons},
            "sources": {c.what: text for c in self.comparisons if (text := self.source_of(c))},
            "settings": self.settings,
            "note": self.note,
            "data": self.data,
        }


@dataclass(frozen=True, slots=True)
class Item:
    """A figure or table.

    Attributes:
        name: ``system/item``.
        title: contents of the figure or table.
        seconds: approximate duration on two cores at scale 1.
        run: called with :meth:`arguments`, and with options by name.
        evidence, source: evidence and source of the numbers that do not say it themselves.
        options: settings that the paper leaves open, or that we chose: values by name; without a referee, the first.
        files: whether it can read data sets from a folder.
        sizes: scales at which a referee runs it; options vary at the first one.
        exact: whether it is a function of its options alone, without sizes and randomness.
    """

    name: str
    title: str
    seconds: int
    run: Callable[..., Reproduction]
    evidence: Evidence
    files: bool = False
    options: Mapping[str, Sequence[Any]] = field(default_factory=dict, hash=False)
    source: str = ""
    sizes: tuple[float, ...] = SIZES
    exact: bool = False

    def arguments(self, scale: float, seed: int, folder: Path | None = None) -> tuple[Any, ...]:
        """What ``run`` is given before its options: scale and seed, unless it is exact, and the folder of data sets."""
        return () if self.exact else (scale, seed, folder) if self.files else (scale, seed)

    def reproduce(self, scale: float, seed: int, folder: Path | None = None, **options: Any) -> Reproduction:
        """Run it; ``folder`` may hold data sets in the files of their sources."""
        reproduction = self.run(*self.arguments(scale, seed, folder), **options)
        return replace(reproduction, evidence=self.evidence, source=self.source)


ITEMS: Final[Registry[Item]] = Registry("item", "offramp.reproduce", "offramp_sim.reproduce", partial=True)

Run = TypeVar("Run", bound=Callable[..., Reproduction])


def reproduces(
    name: str,
    title: str,
    *,
    seconds: int,
    evidence: Evidence,
    files: bool = False,
    options: Mapping[str, Sequence[Any]] | None = None,
    source: str = "",
    sizes: tuple[float, ...] = SIZES,
    exact: bool = False,
) -> Callable[[Run], Run]:
    """Decorator that makes an :class:`Item` of a function, as its attributes say."""
    sizes = (1.0,) if exact else sizes

    def enter(run: Run) -> Run:
        ITEMS.register(name)(Item(name, title, seconds, run, evidence, files, options or {}, source, sizes, exact))
        return run

    return enter


def simulated(name: str, title: str, *, seconds: int, **more: Any) -> Callable[[Run], Run]:
    """:func:`reproduces` of numbers that a model computes from inputs that are not the paper's results."""
    return reproduces(name, title, seconds=seconds, evidence=Evidence.SIMULATED, **more)


def measured(name: str, title: str, *, seconds: int, **more: Any) -> Callable[[Run], Run]:
    """:func:`reproduces` of numbers that a clock or a counter of this machine gives."""
    return reproduces(name, title, seconds=seconds, evidence=Evidence.MEASURED, **more)


def exact(name: str, title: str, *, seconds: int, **more: Any) -> Callable[[Run], Run]:
    """:func:`simulated` by a function of the options alone."""
    return reproduces(name, title, **{"seconds": seconds, "evidence": Evidence.SIMULATED, "exact": True, **more})
