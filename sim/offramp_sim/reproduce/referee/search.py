# SPDX-License-Identifier: Apache-2.0
"""The setting nearest to a published number: options are changed one after the other, each to its best value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from offramp_sim.reproduce.item import Item, range_in
from offramp_sim.reproduce.referee.case import CaseResult, ItemCase
from offramp_sim.reproduce.referee.verdict import apart, distance


@dataclass(frozen=True, slots=True)
class Nearest:
    """The setting in which an item is nearest to a published number.

    Attributes:
        item, what: the number.
        published, ours: as texts.
        case: the settings.
        distance: ours over the published number, or less it, where a change in percent is compared; within a published
            range 1, or 0.
        runs: that the search took beyond those of the referee.
    """

    item: str
    what: str
    published: str
    ours: str
    case: ItemCase
    distance: float
    runs: int


def search(
    item: Item,
    what: str,
    rows: Sequence[CaseResult],
    tries: int,
    run: Callable[[Sequence[ItemCase]], Sequence[CaseResult]],
) -> Nearest | None:
    """Search for the nearest setting, from the best of ``rows`` on, by coordinate descent over the item's options.

    Args:
        item: that gives the number.
        what: is compared.
        rows: rows of a referee.
        tries: most runs.
        run: returns the rows of cases.

    Returns:
        The nearest setting; None if the paper or all rows have no number.
    """
    known = {row.case: row for row in rows}
    scored = {case: far for case, row in known.items() if (far := _apart(row, what)) is not None}
    if not scored:
        return None
    spent, best = 0, min(scored, key=lambda case: scored[case])
    moved = True
    while moved and scored[best] > 0:
        moved = False
        for name, values in item.options.items():
            cases = [case for case in _moved(item, best, name, values) if case not in known][: tries - spent]
            spent += len(cases)
            for row in run(cases) if cases else ():
                known[row.case] = row
                if (far := _apart(row, what)) is not None:
                    scored[row.case] = far
            nearest = min(scored, key=lambda case: scored[case])
            moved, best = moved or scored[nearest] < scored[best], nearest
    value = known[best].values[what]
    published = range_in(value.published)
    assert published is not None
    assert value.number is not None
    away = distance(value.number, published, as_factor=_as_factor(value.turn, value.number, published))
    return Nearest(item.name, what, value.published or "", value.ours, best, away, spent)


def _moved(item: Item, case: ItemCase, name: str, values: Sequence[object]) -> list[ItemCase]:
    """The case with each value of one option."""
    chosen = dict(case.options)
    cases = []
    for value in values:
        options = {n: known[0] for n, known in item.options.items()} | chosen | {name: value}
        differing = tuple((n, options[n]) for n, known in item.options.items() if options[n] != known[0])
        cases.append(ItemCase(case.item, case.scale, case.seed, differing))
    return cases


def _apart(row: CaseResult, what: str) -> float | None:
    value = row.values.get(what)
    published = range_in(value.published) if value is not None else None
    if value is None or published is None or value.number is None:
        return None
    return apart(value.number, published, as_factor=_as_factor(value.turn, value.number, published))


def _as_factor(turn: float | None, number: float, published: tuple[float, float]) -> bool:
    return turn != 0 and published[0] > 0 and number > 0
