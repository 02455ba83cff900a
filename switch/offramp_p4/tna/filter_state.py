# SPDX-License-Identifier: Apache-2.0
"""Low-pass filters and random early detection of TNA, in whole numbers that both engines compute alike.

A filter's level follows its input with a time constant: after t it has come closer by 1 - exp(-t / constant).
Decay is a fraction of 2^64 for each microsecond, raised to the time by squaring.
"""

from __future__ import annotations

import math
from collections.abc import MutableSequence
from dataclasses import dataclass, field
from enum import IntEnum
from random import Random
from typing import Final

from offramp_p4.state.arrays import check_index

FILTERS: Final = ("Lpf", "Wred")
DIRECT_FILTERS: Final = ("DirectLpf", "DirectWred")
"""Filters that belong to the entries of a table."""
FRACTION_BITS: Final = 16
"""Fractional bits of a level."""
CHANCE_BITS: Final = 16
"""Fractional bits of a probability."""
_WHOLE: Final = (1 << 64) - 1


class FilterWord(IntEnum):
    """The words of a cell."""

    RATE = 0  # 1: what comes in adds up, and decays; 0: the level follows it
    RISE = 1  # the fraction that is left of a difference after a microsecond, upwards
    FALL = 2  # and downwards
    SCALE = 3  # bits by which the result is shifted right
    LEVEL = 4
    LAST_US = 5
    LOW = 6  # below this level no packet is dropped
    HIGH = 7  # from this level on all are
    CHANCE = 8  # the probability just below HIGH


Cell = MutableSequence[int]


@dataclass
class FilterState:
    """An array of filters, which start without a time constant: their level is their last input.

    With ``table`` it is empty: the filters are in the entries of that table.

    Attributes:
        cells: the words of each; only engines write LEVEL and LAST_US.
    """

    name: str
    size: int
    table: str | None = None
    cells: MutableSequence[Cell] = field(init=False)

    def __post_init__(self) -> None:
        self.cells = [[0] * len(FilterWord) for _ in range(self.size)]
        self.reset()

    def configure(
        self,
        index: int,
        *,
        rise_ns: int,
        fall_ns: int | None = None,
        rate: bool = False,
        scale: int = 0,
        low: int = 0,
        high: int = 0,
        probability: float = 1.0,
    ) -> None:
        """Set up one filter, which begins anew.

        Args:
            index: which.
            rise_ns: the time constant; of levels that rise if ``fall_ns`` is given.
            fall_ns: the time constant of levels that fall.
            rate: whether values add up, as bytes do, and decay.
            scale: bits by which the result is shifted right.
            low: level of Wred below which no packet is dropped.
            high: level of Wred from which on all packets are dropped.
            probability: share of packets that Wred drops just below ``high``.

        Raises:
            StateError: there is no such filter.
        """
        cell = self.cells[check_index("filter", self.name, index, self.size)]
        configure(
            cell,
            rise_ns=rise_ns,
            fall_ns=fall_ns,
            rate=rate,
            scale=scale,
            low=low,
            high=high,
            probability=probability,
        )

    def reset(self) -> None:
        """No filter has a time constant, and Wred drops nothing."""
        for index in range(self.size):
            self.reset_cell(index)

    def reset_cell(self, index: int) -> None:
        """One filter has no time constant, and drops nothing."""
        for word, value in zip(FilterWord, new_cell(), strict=True):
            self.cells[index][word] = value


def new_cell() -> list[int]:
    """A filter without time constant, which drops nothing."""
    cell = [0] * len(FilterWord)
    cell[FilterWord.LOW] = cell[FilterWord.HIGH] = (1 << 63) - 1
    return cell


def configure(
    cell: Cell,
    *,
    rise_ns: int,
    fall_ns: int | None = None,
    rate: bool = False,
    scale: int = 0,
    low: int = 0,
    high: int = 0,
    probability: float = 1.0,
) -> None:
    """Set up one filter, which begins anew; as :meth:`FilterState.configure`."""
    chance = round(min(1.0, max(0.0, probability)) * (1 << CHANCE_BITS))
    fall = rise_ns if fall_ns is None else fall_ns
    words = (int(rate), decay_of(rise_ns), decay_of(fall), scale, 0, 0, low, high, chance)
    for word, value in zip(FilterWord, words, strict=True):
        cell[word] = signed(value)


def decay_of(constant_ns: int) -> int:
    """The decay in a microsecond, as a fraction of 2^64; 0 for a time constant of 0."""
    return 0 if constant_ns <= 0 else min(_WHOLE, int(math.exp(-1000 / constant_ns) * (1 << 64)))


def signed(word: int) -> int:
    """A word as two's complement."""
    return word - (1 << 64) if word >> 63 else word


def left_after(decay: int, time_us: int) -> int:
    """The decay in a time, as a fraction of 2^64."""
    left = _WHOLE
    while time_us > 0:
        if time_us & 1:
            left = left * decay >> 64
        decay = decay * decay >> 64
        time_us >>= 1
    return left


def pass_level(cell: Cell, value: int, now_us: int) -> int:
    """Give a filter a value; its level, with fraction."""
    time_us, cell[FilterWord.LAST_US] = now_us - cell[FilterWord.LAST_US], now_us
    level, target = cell[FilterWord.LEVEL], (value & (1 << 32) - 1) << FRACTION_BITS
    if cell[FilterWord.RATE]:
        level = _decayed(level, cell[FilterWord.FALL], time_us) + target
    elif target >= level:
        level = target - _decayed(target - level, cell[FilterWord.RISE], time_us)
    else:
        level = target + _decayed(level - target, cell[FilterWord.FALL], time_us)
    cell[FilterWord.LEVEL] = level = min(level, (1 << 62) - 1)
    return level


def _decayed(amount: int, decay: int, time_us: int) -> int:
    if not decay:
        return 0
    return amount if time_us <= 0 else amount * left_after(decay & _WHOLE, time_us) >> 64


def filtered(cell: Cell, value: int, now_us: int) -> int:
    """The result of a low-pass filter."""
    return pass_level(cell, value, now_us) >> FRACTION_BITS + cell[FilterWord.SCALE]


def dropped(cell: Cell, value: int, now_us: int, random: Random) -> bool:
    """Whether random early detection drops a packet; random numbers are drawn between the thresholds only."""
    level = pass_level(cell, value, now_us) >> FRACTION_BITS
    low, high = cell[FilterWord.LOW], cell[FilterWord.HIGH]
    if level < low:
        return False
    if level >= high:
        return True
    return random.getrandbits(CHANCE_BITS) < cell[FilterWord.CHANCE] * (level - low) // (high - low)
