# SPDX-License-Identifier: Apache-2.0
"""The store's host: answers what the switch does not, and counts what is asked for most."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping
from typing import Final

from offramp.leo.kvcache.wire import MOST_VERSION, Frame, Kind
from offramp_base.errors import OfframpError

REMEMBERED: Final = 1024
"""Writes of a client whose replies are kept: a client has fewer than that unanswered, and says nothing older."""


class Store:
    """Values with versions. A write is executed once, however often and late its frame comes.

    Attributes:
        asked: how often each key was asked for here since :meth:`count` was called last.
    """

    def __init__(self, values: Mapping[int, bytes]) -> None:
        """These values are version 1."""
        self._values = {key: (1, value) for key, value in values.items()}
        self._done: dict[int, OrderedDict[int, tuple[int, bytes]]] = {}
        self.asked: Counter[int] = Counter()

    def handle(self, frame: Frame) -> Frame | None:
        """The reply to a request; None where it deserves none.

        Raises:
            OfframpError: a key has been written 2^32 times.
        """
        if frame.kind is Kind.GET:
            self.asked[frame.key] += 1
            return frame.answer(*self.get(frame.key))
        if frame.kind is not Kind.PUT:
            return None
        done = self._done.setdefault(frame.client, OrderedDict())
        if frame.request not in done:
            if done and frame.request <= max(done) - REMEMBERED:
                return None  # so old that its client has heard of it
            done[frame.request] = self.put(frame.key, frame.value)
            for old in [request for request in done if request <= frame.request - REMEMBERED]:
                del done[old]
        return frame.answer(*done[frame.request])

    def get(self, key: int) -> tuple[int, bytes]:
        """Version and value of a key; version 0 where there is none."""
        return self._values.get(key, (0, bytes(64)))

    def put(self, key: int, value: bytes) -> tuple[int, bytes]:
        """Write a value; its version, and the value.

        Raises:
            OfframpError: it has been written 2^32 times.
        """
        version = self.get(key)[0] + 1
        if version >= MOST_VERSION:
            raise OfframpError(f"key {key}: written {version} times: versions have 32 bits")
        self._values[key] = version, value
        return self._values[key]

    def count(self) -> Counter[int]:
        """How often each key was asked for since the last call."""
        found, self.asked = self.asked, Counter()
        return found
