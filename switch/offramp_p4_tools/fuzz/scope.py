# SPDX-License-Identifier: Apache-2.0
"""Names that a random program may use at some point, and random choices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final, TypeVar

from offramp_p4.types import BOOL, Bits, Type

_T = TypeVar("_T")
WIDTHS: Final = (
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    9,
    12,
    13,
    16,
    16,
    17,
    24,
    31,
    32,
    32,
    33,
    47,
    48,
    63,
    64,
    65,
    96,
    127,
    128,
    129,
    256,
)


@dataclass(frozen=True, slots=True)
class Operand:
    """A variable or field: its text, and whether it may be written."""

    text: str
    type: Type
    writable: bool = True


@dataclass(frozen=True, slots=True)
class Callee:
    """A function or directly called action: parameters as (direction, type)."""

    name: str
    params: tuple[tuple[str, Type], ...]
    returns: Type | None = None


@dataclass(slots=True)
class ReachableNames:
    """Names in reach.

    Attributes:
        stacks: (text, size, header type) of header stacks.
        headers: (text, header type) of headers that may be made valid, copied and compared.
        tables: tables with the names of their actions, applied at most once each.
        arrays: (extern, name, element type, size) of registers, counters and meters.
        controls: statements that apply a nested control.
        portable: keep to what p4c's back end for bmv2 takes too.
        in_action, in_loop, in_parser: place of the statement.
    """

    rng: Random
    operands: list[Operand] = field(default_factory=list)
    functions: list[Callee] = field(default_factory=list)
    actions: list[Callee] = field(default_factory=list)
    stacks: list[tuple[str, int, str]] = field(default_factory=list)
    headers: list[tuple[str, str]] = field(default_factory=list)
    tables: list[tuple[str, list[str]]] = field(default_factory=list)
    arrays: list[tuple[str, str, Type, int]] = field(default_factory=list)
    controls: list[str] = field(default_factory=list)
    requests: list[Callable[[], str]] = field(default_factory=list)
    portable: bool = False
    in_action: bool = False
    in_loop: bool = False
    in_parser: bool = False

    def inner(self) -> ReachableNames:
        """A scope for a nested block: what is declared there ends with it."""
        return replace(self, operands=list(self.operands))

    def pick(self, items: Sequence[_T]) -> _T:
        """One of ``items``."""
        return self.rng.choice(items)

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.rng.random() < probability

    def bits(self) -> Bits:
        """A type ``bit<W>`` or ``int<W>``."""
        width = self.pick(WIDTHS)
        return Bits(width, signed=width > 1 and self.chance(0.25))

    def scalar(self) -> Type:
        """A type of a variable."""
        return BOOL if self.chance(0.12) else self.bits()

    def of_type(self, wanted: Callable[[Type], bool], *, writable: bool = False) -> list[Operand]:
        """The places whose type is wanted."""
        return [p for p in self.operands if wanted(p.type) and (p.writable or not writable)]
