# SPDX-License-Identifier: Apache-2.0
"""One run of an item under settings of the referee's, and what it found."""

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
class Case:
    """Where an item is run.

    Attributes:
        item: its name.
        scale, seed: as ``offramp reproduce`` has them.
        options: of the item, those that differ from its own.
    """

    item: str
    scale: float
    seed: int
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def name(self) -> str:
        """The settings, for people and as a key."""
        return ", ".join([f"scale {self.scale:g}", f"seed {self.seed}", *(f"{n} {v}" for n, v in self.options)])


@dataclass(frozen=True, slots=True)
class Value:
    """A number that an item gave.

    Attributes:
        published, ours, evidence, source: as in :class:`~offramp_sim.reproduce.item.Comparison`.
        number: the first of ours.
        turn: on whose other side the claim is the opposite.
    """

    published: str | None
    ours: str
    evidence: str
    source: str
    number: float | None
    turn: float | None


@dataclass(frozen=True, slots=True)
class Row:
    """What one case gave.

    Attributes:
        values: by what is compared; empty where ``error`` says why.
        seconds: that it took.
    """

    case: Case
    values: dict[str, Value] = field(default_factory=dict)
    error: str = ""
    seconds: float = 0.0

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """The row that :meth:`to_plain` wrote.

        Raises:
            KeyError, TypeError, ValueError: it is not such a row.
        """
        about = plain["case"]
        options = tuple((str(n), tuple(v) if isinstance(v, list) else v) for n, v in about["options"])
        case = Case(str(about["item"]), float(about["scale"]), int(about["seed"]), options)
        values = {str(what): Value(**value) for what, value in plain["values"].items()}
        return cls(case, values, str(plain["error"]), float(plain["seconds"]))


def cases_of(item: Item, scales: Sequence[float], seeds: Sequence[int]) -> list[Case]:
    """Every size with every seed; then each other value of each option alone, at the first size with two seeds."""
    seeds = seeds if item.seeded else seeds[:1]
    found = [Case(item.name, scale, seed) for scale in scales for seed in seeds]
    for name, values in item.options.items():
        found += [
            Case(item.name, scales[0], seed, ((name, value),))
            for value in values[1:]
            for seed in seeds[:_SEEDS_OF_OPTIONS]
        ]
    return found


def run_case(work: tuple[Case, Path | None]) -> Row:
    """Run a case, with a folder of data sets or None; one that fails is a row with the reason."""
    from offramp_sim.reproduce.catalogue import find

    case, folder = work
    (item,) = find(case.item)
    start = time.monotonic()
    try:
        found = item.reproduce(case.scale, case.seed, folder, **dict(case.options))
    except OfframpError as error:
        return Row(case, error=str(error), seconds=time.monotonic() - start)
    except Exception as error:  # a sweep goes on, and the row says what happened
        return Row(case, error=f"{type(error).__name__}: {error}", seconds=time.monotonic() - start)
    values = {
        c.what: Value(c.published, c.ours, found.evidence_of(c).value, found.source_of(c), c.value, c.turn)
        for c in found.comparisons
    }
    return Row(case, values, seconds=time.monotonic() - start)
