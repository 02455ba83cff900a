# SPDX-License-Identifier: Apache-2.0
"""Joins the ingress and the egress of a switch through a traffic manager, on either engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from offramp_base.errors import OfframpError
from offramp_base.wire.batch import PacketBatch
from offramp_p4.tm.view import QueuesView

PS_PER_US: Final = 10**6
Mark = Callable[[bytes], bytes]
Times = npt.NDArray[np.int64]


class Departure(NamedTuple):
    """A frame on its way out; ``ps`` is when the gap behind it ends."""

    ps: int
    port: int
    frame: bytes


class Joint(Protocol):
    """Ingress and egress of a switch, joined by a traffic manager; implemented by either engine.

    Attributes:
        tm: queues and their counts.
    """

    @property
    def tm(self) -> QueuesView:
        """Queues and their counts."""

    def receive(self, now_ps: int, port: int, frame: bytes) -> None:
        """A frame arrives."""

    def receive_batch(self, times_ps: Times, batch: PacketBatch) -> None:
        """Frames arrive, each at its time."""

    @property
    def next_ps(self) -> int | None:
        """The time at which something happens without a further arrival; None: never."""

    def advance(self, until_ps: int) -> list[Departure]:
        """Let time pass; the frames whose sending has begun since the last call."""

    def advance_batch(self, until_ps: int) -> tuple[Times, PacketBatch]:
        """Let time pass; the departures as arrays."""

    def pass_batch(self, times_ps: Times, batch: PacketBatch, until_ps: int) -> tuple[Times, PacketBatch]:
        """Frames arrive, each at its time; then time passes."""

    def reset(self) -> None:
        """Empty the queues and set the time to 0."""


def check_time(now_ps: int, reached_ps: int) -> None:
    """Check that a frame does not arrive in the past.

    Raises:
        OfframpError: it does.
    """
    if now_ps < reached_ps:
        raise OfframpError(f"a frame arrives at {now_ps} ps: the switch is at {reached_ps} ps")


def check_marked(frame: bytes, marked: bytes) -> bytes:
    """``marked``, which has as many bytes as ``frame``.

    Raises:
        OfframpError: it has not.
    """
    if len(marked) != len(frame):
        raise OfframpError(f"mark: a frame of {len(frame)} bytes came back with {len(marked)}")
    return marked
