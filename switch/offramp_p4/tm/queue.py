# SPDX-License-Identifier: Apache-2.0
"""One first-in-first-out queue with its limits and counts."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from offramp_p4.tm.config import QueueConfig

T = TypeVar("T")


@dataclass(slots=True)
class QueueStats:
    """Counts since the start, frames unless said otherwise; ``enqueued = dequeued + waiting``.

    Attributes:
        dropped: did not fit into the queue or the shared buffer.
        marked: got a congestion mark.
        peak_packets, peak_bytes: most that ever waited.
    """

    enqueued: int = 0
    enqueued_bytes: int = 0
    dequeued: int = 0
    dequeued_bytes: int = 0
    dropped: int = 0
    dropped_bytes: int = 0
    marked: int = 0
    peak_packets: int = 0
    peak_bytes: int = 0


@dataclass(slots=True)
class HeldFrame(Generic[T]):
    """A frame in a queue.

    Attributes:
        congested: it found more bytes before it than the queue's threshold.
    """

    item: T
    frame_bytes: int
    enqueued_ps: int
    congested: bool


class Queue(Generic[T]):
    """Frames in the order of their arrival.

    Attributes:
        bytes: bytes of the frames that wait.
    """

    def __init__(self, config: QueueConfig) -> None:
        self.config = config
        self.stats = QueueStats()
        self.bytes = 0
        self._held: deque[HeldFrame[T]] = deque()

    def __len__(self) -> int:
        return len(self._held)

    @property
    def head_bytes(self) -> int:
        """Size of the frame that is next."""
        return self._held[0].frame_bytes

    def limit_packets(self, packets: int) -> None:
        """Change the capacity; frames that wait stay.

        Raises:
            OfframpError: less than 1.
        """
        self.config = replace(self.config, limit_packets=packets)

    def fits(self, frame_bytes: int) -> bool:
        """Whether the limits of this queue allow another frame."""
        config = self.config
        return (config.limit_packets is None or len(self._held) < config.limit_packets) and (
            config.limit_bytes is None or self.bytes + frame_bytes <= config.limit_bytes
        )

    def push(self, now_ps: int, frame_bytes: int, item: T) -> None:
        """Append a frame."""
        stats, threshold = self.stats, self.config.ecn_bytes
        congested = threshold is not None and self.bytes > threshold
        self._held.append(HeldFrame(item, frame_bytes, now_ps, congested))
        self.bytes += frame_bytes
        stats.enqueued += 1
        stats.enqueued_bytes += frame_bytes
        stats.peak_packets = max(stats.peak_packets, len(self._held))
        stats.peak_bytes = max(stats.peak_bytes, self.bytes)

    def pop(self) -> HeldFrame[T]:
        """Take the first frame."""
        held = self._held.popleft()
        self.bytes -= held.frame_bytes
        self.stats.dequeued += 1
        self.stats.dequeued_bytes += held.frame_bytes
        return held

    def drop(self, frame_bytes: int) -> None:
        """Count a frame that was not let in."""
        self.stats.dropped += 1
        self.stats.dropped_bytes += frame_bytes
