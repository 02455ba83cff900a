# SPDX-License-Identifier: Apache-2.0
"""Registers, counters and meters in NumPy arrays."""

from __future__ import annotations

from collections.abc import Iterable, MutableSequence
from typing import Any, cast, overload

import numpy as np
import numpy.typing as npt

from offramp_base.native.records import offset
from offramp_p4.native.runtime import context as at
from offramp_p4.native.shape import container
from offramp_p4.native.state.context import Words
from offramp_p4.native.state.numbers import Numbers
from offramp_p4.state import CounterState, MeterCell, MeterState, RegisterState
from offramp_p4.types import Bits


class NativeRegister(RegisterState):
    """A register array whose cells are a column of rows that it shares with other registers."""

    def __post_init__(self) -> None:
        self.attach(np.zeros((self.size, container(self.width.width)), np.uint8))

    def attach(self, column: npt.NDArray[np.uint8]) -> None:
        """Use these bytes, one row for each cell."""
        self._numbers = Numbers(column, self.width)
        self.values = cast("list[int]", self._numbers)
        self.reset()

    def reset(self) -> None:
        """All values as the program gives them."""
        self._numbers.fill(self.initial)


class NativeCounter(CounterState):
    """A counter array; each row has packets and bytes.

    Attributes:
        rows: memory in which machine code counts.
    """

    def __post_init__(self) -> None:
        self.rows: Words = np.zeros((self.size, 2), np.int64)
        raw = self.rows.view(np.uint8)
        self._counts = Numbers(raw[:, :8], Bits(64)), Numbers(raw[:, 8:], Bits(64))
        self.packets, self.bytes = (cast("list[int]", c) for c in self._counts)

    def reset(self) -> None:
        """All counts 0."""
        self.rows[:] = 0


class NativeMeterCell(MeterCell):
    """A meter in a row of words."""

    __slots__ = ("_numbers", "_words")

    def __init__(self, words: Words) -> None:
        self._words, self._numbers = words, words.view(np.float64)

    @property
    def rates(self) -> tuple[tuple[float, int], ...]:
        """Rate in units per second, and burst, of each bucket."""
        pairs = self._numbers[offset(at.Meter.buckets) : offset(at.Meter.levels)].reshape(2, 2)[
            : self._words[at.Meter.rates]
        ]
        return tuple((rate, int(burst)) for rate, burst in pairs.tolist())

    @rates.setter
    def rates(self, rates: tuple[tuple[float, int], ...]) -> None:
        assert len(rates) <= 2, rates
        self._words[at.Meter.rates] = len(rates)
        for i, pair in enumerate(rates):
            self._numbers[offset(at.Meter.buckets) + 2 * i : offset(at.Meter.buckets) + 2 * i + 2] = pair

    @property
    def levels(self) -> list[float]:
        """The level of each token bucket; an array that may be written to."""
        return cast(
            "list[float]",
            self._numbers[offset(at.Meter.levels) : offset(at.Meter.levels) + self._words[at.Meter.rates]],
        )

    @levels.setter
    def levels(self, levels: Iterable[float]) -> None:
        for i, level in enumerate(levels):
            self._numbers[offset(at.Meter.levels) + i] = level

    @property
    def last_us(self) -> int:
        """The time at which the levels were last brought up to date, microseconds."""
        return int(self._words[at.Meter.last_us])

    @last_us.setter
    def last_us(self, now_us: int) -> None:
        self._words[at.Meter.last_us] = now_us

    @property
    def packets(self) -> list[int]:
        """Packets of each colour; an array that may be written to."""
        return cast("list[int]", self._words[offset(at.Meter.packets) : offset(at.Meter.octets)])

    @packets.setter
    def packets(self, counts: Iterable[int]) -> None:
        self._words[offset(at.Meter.packets) : offset(at.Meter.octets)] = list(counts)

    @property
    def octets(self) -> list[int]:
        """Bytes of each colour; an array that may be written to."""
        return cast("list[int]", self._words[offset(at.Meter.octets) : at.Meter.WORDS])

    @octets.setter
    def octets(self, counts: Iterable[int]) -> None:
        self._words[offset(at.Meter.octets) : at.Meter.WORDS] = list(counts)

    def take_over(self, cell: MeterCell) -> None:
        """Become the same meter as ``cell``."""
        self._words[:] = 0
        self.rates, self.levels, self.last_us = cell.rates, list(cell.levels), cell.last_us
        self.packets, self.octets = cell.packets, cell.octets

    def plain(self) -> MeterCell:
        """A copy of the meter outside the rows."""
        levels = [float(level) for level in self.levels]
        packets, octets = (list(map(int, counts)) for counts in (self.packets, self.octets))
        return MeterCell(self.rates, levels, self.last_us, packets, octets)


class _MeterCells(MutableSequence[MeterCell]):
    """The meters in rows of words; of fixed length."""

    def __init__(self, rows: Words) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> MeterCell: ...
    @overload
    def __getitem__(self, index: slice) -> MutableSequence[MeterCell]: ...
    def __getitem__(self, index: int | slice) -> MeterCell | MutableSequence[MeterCell]:
        if isinstance(index, slice):
            return [NativeMeterCell(row) for row in self._rows[index]]
        return NativeMeterCell(self._rows[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        cells = zip(self[index], value, strict=True) if isinstance(index, slice) else [(self[index], value)]
        for mine, cell in cells:
            cast("NativeMeterCell", mine).take_over(cell)

    def __delitem__(self, index: int | slice) -> None:
        raise TypeError("an array of meters keeps its length")

    def insert(self, index: int, value: MeterCell) -> None:
        """Refuse to insert: the array's length is fixed."""
        del index, value
        raise TypeError("an array of meters keeps its length")


class NativeMeter(MeterState):
    """A meter array.

    Attributes:
        rows: memory that machine code reads and writes.
    """

    def __post_init__(self) -> None:
        self.rows: Words = np.zeros((self.size, at.Meter.WORDS), np.int64)
        self.cells = cast("list[MeterCell]", _MeterCells(self.rows))

    def reset(self) -> None:
        """No rates anywhere: all green."""
        self.rows[:] = 0
