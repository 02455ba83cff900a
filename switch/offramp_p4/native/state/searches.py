# SPDX-License-Identifier: Apache-2.0
"""What every look-up structure of the native engine offers the tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from offramp_p4.native.state.context import Words
from offramp_p4.state import Match


class Entry(Protocol):
    """What a search needs of an entry."""

    keys: tuple[Match, ...]
    priority: int


class Search(Protocol):
    """Finds entries by number, from 1.

    What takes long is done beside the packets: where :attr:`wants_time`, :meth:`prepare` builds something anew while
    nothing is changed, and :meth:`publish` takes it into use between packets.
    """

    def clear(self, capacity: int) -> None:
        """No entries, and room for numbers up to ``capacity``."""

    def grow(self, capacity: int) -> None:
        """Room for numbers up to ``capacity``; all entries stay."""

    def add(self, entries: Sequence[Entry], numbers: Words) -> None:
        """Find these entries, too, which follow all others in the order of insertion."""

    def remove(self, entry: Entry, number: int) -> None:
        """No longer find an entry."""

    @property
    def wants_time(self) -> bool:
        """Whether :meth:`prepare` has something to do."""

    def prepare(self) -> None:
        """Build something anew, beside what packets use; nothing changes meanwhile."""

    def publish(self) -> None:
        """Use what :meth:`prepare` has made."""


def enlarged(array: Words, rows: int) -> Words:
    """The same rows, and zeros behind them."""
    made = np.zeros((rows, *array.shape[1:]), array.dtype)
    made[: len(array)] = array
    return made
