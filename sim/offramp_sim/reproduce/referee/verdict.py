# SPDX-License-Identifier: Apache-2.0
"""Verdicts on the numbers of a sweep: interval, whether and where the sign turns, and the nearest setting."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from offramp_sim.reproduce.item import CLAIMS, Evidence, range_in
from offramp_sim.reproduce.referee.case import CaseResult, ItemCase, ItemValue


class Ruling(StrEnum):
    """The referee's ruling on a number: whether it supports its claim."""

    HOLDS = "holds"
    """In every setting, the number stays on one side of the value at which the claim would turn."""
    TURNS = "turns"
    """In some settings the opposite is true."""
    VARIES = "no sign"
    """The number has an interval, but no threshold that it should stay above or below."""
    NO_CLAIM = "no claim"
    """The number is fitted, assumed, restated or context."""
    MISSING = "no number"
    """No setting gave a number."""


@dataclass(frozen=True, slots=True)
class NumberVerdict:
    """The verdict on one number of an item.

    Attributes:
        what: is compared.
        published: the paper's number as text.
        here: ours in the first case.
        evidence, source: the kind of number, and what it is fitted to or taken from.
        low, middle, high: over the settings; None without numbers.
        ruling: what it may be used for.
        turns: settings on the other side of the turning point than most.
        nearest: the setting that comes closest to the published number, where both have numbers.
        distance: ours over the published number there, or less it, where a change in percent is compared.
    """

    what: str
    published: str | None
    here: str
    evidence: str
    source: str
    low: float | None
    middle: float | None
    high: float | None
    ruling: Ruling
    turns: tuple[str, ...] = ()
    nearest: str = ""
    distance: float | None = None


def verdicts(rows: Sequence[CaseResult]) -> list[NumberVerdict]:
    """A verdict for each number that any row has, in order of first appearance."""
    compared = dict.fromkeys(what for row in rows for what in row.values)
    return [_verdict(what, [(row.case, row.values[what]) for row in rows if what in row.values]) for what in compared]


def _verdict(what: str, cases: Sequence[tuple[ItemCase, ItemValue]]) -> NumberVerdict:
    _, first = cases[0]
    numbers = [(case, value.number) for case, value in cases if value.number is not None]
    about = (what, first.published, first.ours, first.evidence, first.source)
    if not numbers:
        return NumberVerdict(*about, None, None, None, Ruling.MISSING)
    values = [number for _, number in numbers]
    low, middle, high = min(values), median(values), max(values)
    turn = next((value.turn for _, value in cases if value.turn is not None), None)
    turns: tuple[str, ...] = ()
    if Evidence(first.evidence) not in CLAIMS:
        ruling = Ruling.NO_CLAIM
    elif turn is None:
        ruling = Ruling.VARIES
    else:
        turns = tuple(case.name for case, number in numbers if (number - turn) * (middle - turn) <= 0)
        ruling = Ruling.TURNS if turns else Ruling.HOLDS
    nearest, distance = _nearest(numbers, range_in(first.published), turn)
    return NumberVerdict(*about, low, middle, high, ruling, turns, nearest, distance)


def _nearest(
    numbers: Sequence[tuple[ItemCase, float]], published: tuple[float, float] | None, turn: float | None
) -> tuple[str, float | None]:
    if published is None:
        return "", None
    as_factor = turn != 0 and published[0] > 0 and all(number > 0 for _, number in numbers)
    case, number = min(numbers, key=lambda each: apart(each[1], published, as_factor=as_factor))
    return case.name, distance(number, published, as_factor=as_factor)


def apart(number: float, published: tuple[float, float], *, as_factor: bool) -> float:
    """Distance of a number from a published one or range, on either side; 0 within it."""
    away = distance(number, published, as_factor=as_factor)
    return abs(math.log(away)) if as_factor else abs(away)


def distance(number: float, published: tuple[float, float], *, as_factor: bool) -> float:
    """A number over the nearer end of a published range (1 within it), or the difference from it (0 within it)."""
    nearer = min(max(number, published[0]), published[1])
    return number / nearer if as_factor else number - nearer
