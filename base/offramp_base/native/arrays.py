# SPDX-License-Identifier: Apache-2.0
"""Records together with the arrays that their fields point to, as compiled code receives them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from offramp_base.native.records import Record, offset

R = TypeVar("R", bound=Record)
Array = npt.NDArray[Any]


def address(array: Array) -> int:
    """Address of an array's first byte."""
    first: int = array.__array_interface__["data"][0]
    return first


class RecordArrays(Generic[R]):
    """The words of a record; keeps alive the arrays that some of the words point to.

    Attributes:
        fields: the words by their names.
    """

    def __init__(self, record: type[R]) -> None:
        self.fields = record(np.zeros(record.WORDS, np.int64))
        self._arrays: dict[int, Array] = {}

    @property
    def address(self) -> int:
        """Address of the record."""
        address: int = self.fields.words.ctypes.data
        return address

    def give(self, field: object, array: npt.ArrayLike) -> Array:
        """Make a field, such as ``Context.ports``, point to an array; returns that array."""
        held = self._arrays[offset(field)] = np.ascontiguousarray(array)
        self.fields.words[offset(field)] = held.ctypes.data
        return held

    def __getitem__(self, field: object) -> Array:
        """The array that a field points to."""
        return self._arrays[offset(field)]


def with_sections(record: type[Record], lengths: Iterable[tuple[object, int]]) -> Array:
    """The words of a record with sections of the given lengths in words behind it, whose offsets its fields hold."""
    kept = [(offset(field), length) for field, length in lengths]
    words = np.zeros(record.WORDS + sum(length for _, length in kept), np.int64)
    end = record.WORDS
    for field, length in kept:
        words[field] = end
        end += length
    return words


def section(words: Array, field: object, length: int) -> Array:
    """A view of the section that a field leads to."""
    start = int(words[offset(field)])
    return words[start : start + length]
