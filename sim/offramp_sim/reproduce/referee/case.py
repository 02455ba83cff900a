# SPDX-License-Identifier: Apache-2.0
"""One run of an item under the referee's settings, and its results."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from offramp_base.errors import OfframpError
from offramp_sim.reproduce.item import Item

_SEEDS_OF_OPTIONS: Final = 2


@dataclass(frozen=True, slots=True)
class ItemCase:
    """The settings of one run of an item.

    Attributes:
        item: its name.
        scale, seed: as in ``offramp reproduce``.
        options: options of the item that differ from its defaults.
    """

    item: str
    scale: float
    seed: int
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def name(self) -> str:
        """The settings as text, for people and as a key."""
        return ", ".join([f"scale {self.scale:g}", f"seed {self.seed}", *(f"{n} {v}" for n, v in self.options)])


@dataclass(frozen=True, slots=True)
class ItemValue:
    """A number that an item gave.

    Attributes:
        published, ours, evidence, source: as in :class:`~offramp_sim.reproduce.item.PaperComparison`.
        number: the first of ours.
        turn: value beyond which the claim is the opposite.
    """

    published: str | None
    ours: str
    evidence: str
    source: str
    number: float | None
    turn: float | None


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The results of one case.

    Attributes:
        values: values by what is compared; empty if there is an ``error``.
        seconds: that it took.
    """

    case: ItemCase
    values: dict[str, ItemValue] = field(default_factory=dict)
    error: str = ""
    seconds: float = 0.0

    def to_plain(self) -> dict[str, Any]:
        """The row as JSON."""
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """The row that :meth:`to_plain` wrote.

        Raises:
            KeyError, TypeError, ValueError: it is not a row.
        """
        about = plain["case"]
        options = tuple((str(n), tuple(v) if isinstance(v, list) else v) for n, v in about["options"])
        case = ItemCase(str(about["item"]), float(about["scale"]), int(about["seed"]), options)
        values = {str(what): ItemValue(**value) for what, value in plain["values"].items()}
        return cls(case, values, str(plain["error"]), float(plain["seconds"]))


def cases_of(item: Item, scales: Sequence[float], seeds: Sequence[int]) -> list[ItemCase]:
    """Every size with every seed; then each other value of each option alone, at the first size with two seeds."""
    seeds = seeds[:1] if item.exact else seeds
    cases = [ItemCase(item.name, scale, seed) for scale in scales for seed in seeds]
    for name, values in item.options.items():
        cases += [
            ItemCase(item.name, scales[0], seed, ((name, value),))
            for value in values[1:]
            for seed in seeds[:_SEEDS_OF_OPTIONS]
        ]
    return cases


def run_case(work: tuple[ItemCase, Path | None]) -> CaseResult:
    """Run a case, with a folder of data sets or None; if it fails, the row has the reason."""
    from offramp_sim.reproduce.catalogue import find

    case, folder = work
    (item,) = find(case.item)
    start = time.monotonic()
    try:
        outcome = item.reproduce(case.scale, case.seed, folder, **dict(case.options))
    except OfframpError as error:
        return CaseResult(case, error=str(error), seconds=time.monotonic() - start)
    except Exception as error:  # a sweep goes on, and the row says what happened
        return CaseResult(case, error=f"{type(error).__name__}: {error}", seconds=time.monotonic() - start)
    values = {
        c.what: ItemValue(c.published, c.ours, outcome.evidence_of(c).value, outcome.source_of(c), c.value, c.turn)
        for c in outcome.comparisons
    }
    return CaseResult(case, values, seconds=time.monotonic() - start)
