# SPDX-License-Identifier: Apache-2.0
"""Stateful arrays: registers, counters, meters, and parser value sets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from offramp_p4.state.match import Match, StateError, matches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from offramp_p4.types import Bits


def check_index(kind: str, name: str, index: int, size: int) -> int:
    """``index`` if it lies in the array."""
    if not 0 <= index < size:
        raise StateError("invalid", f"{kind} {name}: index {index} is outside 0..{size - 1}")
    return index


@dataclass(slots=True)
class RegisterState:
    """A register array. ``values`` stays the same list object: the compiled program works on it directly.

    Attributes:
        initial: initial value of every cell.
    """

    name: str
    width: Bits
    size: int
    initial: int = 0
    values: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.values = [self.initial] * self.size

    def read(self, index: int) -> int:
        """The value at ``index``, as an unsigned bit pattern."""
        return self.values[check_index("register", self.name, index, self.size)] & self.width.mask

    def write(self, index: int, value: int) -> None:
        """Set the value at ``index`` to an unsigned bit pattern."""
        check_index("register", self.name, index, self.size)
        if not 0 <= value <= self.width.mask:
            raise StateError("invalid", f"register {self.name}: value {value} does not fit {self.width}")
        self.values[index] = self.width.wrap(value)

    def reset(self) -> None:
        """All values as the program gives them."""
        self.values[:] = [self.initial] * self.size


CounterKind = Literal["packets", "bytes", "packets_and_bytes"]


@dataclass(slots=True)
class CounterState:
    """A counter array. With ``table`` it is that table's direct counter: the counts are in its entries."""

    name: str
    kind: CounterKind
    size: int
    table: str | None = None
    packets: list[int] = field(init=False)
    bytes: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.packets, self.bytes = [0] * self.size, [0] * self.size

    def write(self, index: int, packets: int, bytes_: int) -> None:
        """Set both counts at ``index``."""
        check_index("counter", self.name, index, self.size)
        self.packets[index], self.bytes[index] = packets, bytes_

    def reset(self) -> None:
        """All counts 0."""
        self.packets[:] = self.bytes[:] = [0] * self.size


OVERFLOW: Final = -1.0
"""The rate of a bucket that takes what the one before it has no room for."""
COLOURS: Final = 3


def single_rate(rates: Sequence[tuple[float, int]]) -> bool:
    """Whether buckets are those of a single-rate three-colour meter."""
    return len(rates) == 2 and rates[1][0] == OVERFLOW


@dataclass(slots=True)
class MeterCell:
    """Token buckets of a two-rate three-colour meter (RFC 2698, colour-blind); green without rates.

    Colours: 0 green, 1 yellow, 2 red. Buckets are served as bmv2 does: peak first, and a packet that one
    bucket refuses takes nothing from the next. If the second rate is :data:`OVERFLOW`, it is a single-rate meter
    (RFC 2697): the second bucket has what the first has no room for, and serves packets that the first refuses.

    Attributes:
        rates: rate in units per second, and burst, of each bucket.
        levels: units in each bucket.
        last_us: time at which the levels were last brought up to date, microseconds.
        packets, octets: what the meter has given each colour (P4Runtime's ``MeterCounterData``).
    """

    rates: tuple[tuple[float, int], ...] = ()
    levels: list[float] = field(default_factory=list)
    last_us: int = 0
    packets: list[int] = field(default_factory=lambda: [0] * COLOURS)
    octets: list[int] = field(default_factory=lambda: [0] * COLOURS)

    def configure(self, rates: tuple[tuple[float, int], ...], now_us: int = 0) -> None:
        """Set (units per second, burst) of the committed and of the other bucket; buckets start full."""
        self.rates, self.levels, self.last_us = rates, [float(burst) for _, burst in rates], now_us

    def clear_counts(self) -> None:
        """Count from zero, in all colours."""
        self.packets[:], self.octets[:] = [0] * COLOURS, [0] * COLOURS

    def execute(self, amount: int, now_us: int, length: int = 0) -> int:
        """The colour of a packet of ``length`` bytes that costs ``amount`` units (1, or its bytes)."""
        return self._counted(self._mark(amount, now_us), length)

    def execute_coloured(self, amount: int, now_us: int, before: int, length: int = 0) -> int:
        """The colour of a packet that has one: never better, and what it may not use stays in the bucket."""
        return self._counted(self._mark_again(amount, now_us, before), length)

    def _counted(self, colour: int, length: int) -> int:
        self.packets[colour] += 1
        self.octets[colour] += length
        return colour

    def _mark(self, amount: int, now_us: int) -> int:
        elapsed, self.last_us = (now_us - self.last_us) / 1e6, now_us
        spare = 0.0
        for i, (rate, burst) in enumerate(self.rates):
            level = self.levels[i] + (spare if rate == OVERFLOW else rate * elapsed)
            self.levels[i] = min(float(burst), level)
            spare = level - self.levels[i]
        if single_rate(self.rates):
            return self._first_that_serves(amount, 0)
        for i in reversed(range(len(self.rates))):
            if self.levels[i] < amount:
                return i + 1
            self.levels[i] -= amount
        return 0

    def _first_that_serves(self, amount: int, first: int) -> int:
        """The first bucket of a single-rate meter that a packet can take its units from; 2: none."""
        for i in range(first, 2):
            if self.levels[i] >= amount:
                self.levels[i] -= amount
                return i
        return 2

    def _mark_again(self, amount: int, now_us: int, before: int) -> int:
        if before == 0:
            return self._mark(amount, now_us)
        if before == 2 or single_rate(self.rates):
            self._mark(0, now_us)  # buckets fill all the same
            return 2 if before == 2 else self._first_that_serves(amount, 1)
        colour = self._mark(amount, now_us)
        if colour == 0 and self.rates:
            self.levels[0] += amount  # a yellow packet takes nothing from the committed bucket
        return max(1, colour)


@dataclass(slots=True)
class MeterState:
    """A meter array. With ``table`` it is that table's direct meter, and the cells are in its entries."""

    name: str
    kind: Literal["packets", "bytes"]
    size: int
    table: str | None = None
    cells: list[MeterCell] = field(init=False)

    def __post_init__(self) -> None:
        self.cells = [MeterCell() for _ in range(self.size)]

    def reset(self) -> None:
        """No rates anywhere: all green."""
        self.cells[:] = [MeterCell() for _ in range(self.size)]


@dataclass(slots=True)
class ValueSetState:
    """Members of a parser value set (P4-16 section 12.11): a match for each scalar of its element."""

    name: str
    widths: tuple[int, ...]
    size: int
    members: list[tuple[Match, ...]] = field(default_factory=list)

    def set(self, members: Sequence[tuple[Match, ...]]) -> None:
        """Replace all members."""
        if len(members) > self.size:
            raise StateError("exhausted", f"value set {self.name} holds at most {self.size} members")
        if any(len(member) != len(self.widths) for member in members):
            raise StateError("invalid", f"value set {self.name}: a member needs {len(self.widths)} matches")
        self.members[:] = members

    def contains(self, *values: int) -> bool:
        """Whether some member matches the unsigned ``values``."""
        return any(
            all(matches(m, v, w) for m, v, w in zip(member, values, self.widths, strict=True))
            for member in self.members
        )
