# SPDX-License-Identifier: Apache-2.0
"""The interface of every node in the network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from offramp_p4.tm.joint import Departure
from offramp_p4.tm.view import QueuesView


class NetworkNode(Protocol):
    """A switch or a host; times never go back.

    Attributes:
        name: unique in the network.
        tm: its output queues.
    """

    name: str

    @property
    def tm(self) -> QueuesView:
        """Output queues."""

    @property
    def next_ps(self) -> int | None:
        """Time at which :meth:`advance` has something to do without a further arrival; None: never."""

    def receive(self, now_ps: int, port: int, frame: bytes) -> None:
        """Accept a frame that has arrived."""

    def advance(self, until_ps: int) -> Sequence[Departure]:
        """Let time pass; returns the frames that have begun to leave."""
