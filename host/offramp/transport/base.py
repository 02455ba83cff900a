"""The interface every transport implements."""

from __future__ import annotations

from typing import Protocol

from offramp.wire.batch import PacketBatch


class FrameIO(Protocol):
    """One end of a link that carries Ethernet frames; the other end is a switch port."""

    def send(self, batch: PacketBatch) -> None:
        """Send all frames of ``batch`` in order (its ports are ignored).

        Raises:
            OfframpError: the link is gone.
        """

    def receive(self, timeout_s: float) -> PacketBatch:
        """Frames that have arrived, at least one unless ``timeout_s`` seconds pass without any.

        Raises:
            OfframpError: the link is gone.
        """

    def close(self) -> None:
        """Release the link."""
