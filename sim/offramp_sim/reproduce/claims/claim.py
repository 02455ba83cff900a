# SPDX-License-Identifier: Apache-2.0
"""A sentence of a document, the number that it rests on, and the judgement by the referee's rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from offramp_sim.reproduce.item import CLAIMS, Evidence, Item
from offramp_sim.reproduce.referee.case import CaseResult, ItemCase
from offramp_sim.reproduce.referee.verdict import Ruling, verdicts


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of a document.

    Attributes:
        item: that gives the number.
        number: what the item compares.
        document: path of the document from the root of the repository.
        says: its words there, regardless of line ends and columns.
        least, most: bounds of the number wherever the claim holds; None: no such bound.
        where: option values, by name, to which the claim applies; others are judged separately.
        sizes: range of scales to which the claim applies.
        headline: whether the paper's summary rests on the number.
    """

    item: str
    number: str
    document: str
    says: str
    least: float | None = None
    most: float | None = None
    where: Mapping[str, Sequence[Any]] = field(default_factory=dict, hash=False)
    sizes: tuple[float, float] = (0.0, float("inf"))
    headline: bool = False

    @property
    def name(self) -> str:
        """The item and its number."""
        return f"{self.item}: {self.number}"

    @property
    def bounds(self) -> str:
        """The bounds, as text for people."""
        if self.least is not None and self.most is not None:
            return f"{self.least:g} to {self.most:g}"
        return f"at least {self.least:g}" if self.least is not None else f"at most {self.most:g}"

    @property
    def conditions(self) -> str:
        """The conditions of the claim as text; empty: everywhere."""
        parts = [f"{name} {' or '.join(map(str, values))}" for name, values in self.where.items()]
        low, high = self.sizes
        if low > 0:
            parts.append(f"scale from {low:g}")
        if high < float("inf"):
            parts.append(f"scale to {high:g}")
        return ", ".join(parts)

    def covers(self, case: ItemCase, item: Item) -> bool:
        """Whether it is claimed for the settings of a case of its item."""
        chosen = {name: values[0] for name, values in item.options.items()} | dict(case.options)
        low, high = self.sizes
        return low <= case.scale <= high and all(chosen[name] in values for name, values in self.where.items())

    def admits(self, number: float) -> bool:
        """Whether a number is as claimed."""
        return (self.least is None or number >= self.least) and (self.most is None or number <= self.most)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The referee's judgement of a claim.

    Attributes:
        claim: that was judged.
        published: the paper's number, as text.
        evidence: the kind of our number.
        here: our number in the first setting.
        low, middle, high: over the settings to which the claim applies; None without numbers.
        settings, failed: number of these settings, and of those that failed.
        ruling: whether the number is as claimed in all of them.
        turns: those in which it does not hold.
        elsewhere: settings outside the claim in which it would not hold.
        nearest, distance: as in :class:`~offramp_sim.reproduce.referee.verdict.NumberVerdict`, over all settings.
    """

    claim: Claim
    published: str | None
    evidence: str
    here: str
    low: float | None
    middle: float | None
    high: float | None
    settings: int
    failed: int
    ruling: Ruling
    turns: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    nearest: str = ""
    distance: float | None = None


def judge(claim: Claim, item: Item, rows: Sequence[CaseResult]) -> Judgement:
    """Judge a claim by the rows of its item."""
    inside = [row for row in rows if claim.covers(row.case, item)]
    outside = [row for row in rows if row not in inside]
    verdict = {each.what: each for each in verdicts(rows)}.get(claim.number)
    failed = sum(bool(row.error) for row in inside)
    numbers = _numbers(claim, inside)
    if verdict is None or not numbers:
        return Judgement(claim, None, "", "", None, None, None, len(inside), failed, Ruling.MISSING)
    values = list(numbers.values())
    turns = tuple(name for name, number in numbers.items() if not claim.admits(number))
    elsewhere = tuple(name for name, number in _numbers(claim, outside).items() if not claim.admits(number))
    ruling = Ruling.NO_CLAIM
    if Evidence(verdict.evidence) in CLAIMS:
        ruling = Ruling.TURNS if turns else Ruling.HOLDS
    return Judgement(
        claim, verdict.published, verdict.evidence, verdict.here, min(values), median(values), max(values), len(inside),
        failed, ruling, turns, elsewhere, verdict.nearest, verdict.distance,
    )  # fmt: skip


def _numbers(claim: Claim, rows: Sequence[CaseResult]) -> dict[str, float]:
    """The claim's number in each case that has one, by the case's name."""
    values = {row.case.name: row.values[claim.number].number for row in rows if claim.number in row.values}
    return {name: number for name, number in values.items() if number is not None}
