# SPDX-License-Identifier: Apache-2.0
"""Common part of links that move bytes: the record with which compiled code moves them, and a round for Python."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from offramp.leo.native.clock import Clock
from offramp.leo.native.machine import address, machine
from offramp.leo.native.mover import LinkMover, move
from offramp_base.native.ring_end import RingSide, Words


@cache
def _native() -> dict[str, Callable[..., int]]:
    return machine(move)


class Moving:
    """A :class:`~offramp.leo.native.mover.LinkMover`, and the rings whose bytes it moves.

    Attributes:
        words: the record, for compiled loops.
    """

    def __init__(self, kind: int, sent: RingSide, received: RingSide, numbers: Mapping[int, int]) -> None:
        """``numbers``: values of the record, by word."""
        self.words: Words = np.zeros(LinkMover.WORDS, np.int64)
        Clock().install(self.words)
        self.words[LinkMover.kind] = kind
        for word, number in numbers.items():
            self.words[word] = number
        self._keep = sent, received
        self._arguments = [address(each) for each in (self.words, sent.words, received.words)]
        self._move = _native()["move"]

    def __call__(self) -> bool:
        """Move what can be moved without waiting; returns whether anything was."""
        return self._move(*self._arguments) != 0

    @property
    def fault(self) -> int:
        """The fault, as defined in :mod:`offramp.leo.native.mover`, or 0."""
        return int(self.words[LinkMover.fault])

    def stop(self, fault: int) -> None:
        """Move nothing any more, since the resources that the record names are about to be closed."""
        self.words[LinkMover.fault] = fault


def function_address(function: Any) -> int:
    """Address of a function of a library loaded with ctypes."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0
