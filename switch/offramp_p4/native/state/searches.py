# SPDX-License-Identifier: Apache-2.0
"""The interface of the native engine's search structures towards tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar, cast

import numpy.typing as npt

from offramp_p4.native.state.context import Bytes, Words, line_zeros
from offramp_p4.state import Match


class SearchEntry(Protocol):
    """An entry as a search needs it."""

    keys: tuple[Match, ...]
    priority: int


class EntrySearch(Protocol):
    """Finds entries by number, from 1.

    What takes long is done beside the packets: where :attr:`wants_time`, :meth:`prepare` builds something anew while
    nothing is changed, and :meth:`publish` takes it into use between packets.
    """

    def clear(self, capacity: int) -> None:
        """No entries, and room for numbers up to ``capacity``."""

    def grow(self, capacity: int) -> None:
        """Room for numbers up to ``capacity``; all entries stay."""

    def add(self, entries: Sequence[SearchEntry], numbers: Words) -> None:
        """Find these entries, too, which follow all others in the order of insertion."""

    def remove(self, entry: SearchEntry, number: int) -> None:
        """Remove an entry from the index."""

    @property
    def wants_time(self) -> bool:
        """Whether :meth:`prepare` has work to do."""

    def prepare(self, capacity: int) -> None:
        """Rebuild a structure beside the one that packets use; nothing changes until it is used.

        ``capacity`` is the highest number that there will be room for then.
        """

    def publish(self) -> None:
        """Use the structure that :meth:`prepare` has built."""


class BatchSearch(EntrySearch, Protocol):
    """A search over rows of words as entries, which can list all of them."""

    @property
    def nbytes(self) -> int:
        """Memory in use."""

    def add_rows(self, keys: Words, lengths: Bytes, numbers: Words) -> int:
        """Find entries by rows of words and lengths of prefixes until one is there already; returns how many.

        ``keys`` are brought to their canonical form: 0 behind the prefix.
        """

    def remove_rows(self, keys: Words, lengths: Bytes, numbers: Words) -> None:
        """Remove these entries from the index."""

    def find(self, keys: tuple[Match, ...]) -> int:
        """The number of the entry with these keys; 0 if there is none."""

    def listed(self) -> tuple[Words, Words]:
        """All entries: their keys as rows of words, and their numbers."""

    def matches(self, row: Words) -> tuple[Match, ...]:
        """The keys of a row of words."""


_A = TypeVar("_A", bound=npt.NDArray[Any])


def enlarged(array: _A, rows: int) -> _A:
    """A copy of the rows with zeros behind them."""
    larger = line_zeros((rows, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return cast("_A", larger)
