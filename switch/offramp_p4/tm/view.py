# SPDX-License-Identifier: Apache-2.0
"""Queues as a control plane sees them, and lines as it may change them, on either engine."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from typing import Protocol

from offramp_p4.tm.config import QueueConfig, TmConfig
from offramp_p4.tm.manager import Observer
from offramp_p4.tm.queue import QueueStats


class QueueView(Sized, Protocol):
    """One queue; its length is the number of frames that wait."""

    @property
    def config(self) -> QueueConfig:
        """The queue's limits."""

    @property
    def bytes(self) -> int:
        """Bytes of the frames that wait in the queue."""

    @property
    def stats(self) -> QueueStats:
        """Counts since the start."""

    def limit_packets(self, packets: int) -> None:
        """Change the capacity; frames that wait stay.

        Raises:
            OfframpError: less than 1.
        """


class QueuesView(Protocol):
    """All queues and their lines.

    Attributes:
        observer: called with time, port, queue, packets and bytes of it whenever a depth changes.
    """

    observer: Observer | None

    @property
    def config(self) -> TmConfig:
        """The configuration that the queues started with."""

    @property
    def next_ps(self) -> int | None:
        """The time at which the next frame reaches the head of its port; None while all queues are empty."""

    @property
    def held_bytes(self) -> int:
        """Bytes of the frames that wait in all queues."""

    @property
    def misdirected(self) -> int:
        """Frames dropped because their queue does not exist."""

    def limit_rate(self, port: int, rate_bps: int) -> None:
        """The link of a port is no faster than ``rate_bps``; for use before anything is sent."""

    def pause(self, port: int, until_ps: int) -> None:
        """Let a port begin nothing before ``until_ps``."""

    def queues(self) -> Iterator[tuple[int, int, QueueView]]:
        """Port, number and queue of all that have been in use, in order."""

    def queue(self, port: int, number: int) -> QueueView:
        """One queue."""
