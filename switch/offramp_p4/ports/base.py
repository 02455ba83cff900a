# SPDX-License-Identifier: Apache-2.0
"""The interface of a port towards the forwarding loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from offramp_base.transport.base import LinkStats
from offramp_base.wire.batch import PacketBatch

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Port(Protocol):
    """One port; no method blocks, and faults of the outside world never raise: they are counted and logged."""

    name: str
    stats: LinkStats

    def interest(self) -> list[tuple[int, int]]:
        """File descriptors and poll(2) events that the port waits for."""

    def receive(self) -> list[PacketBatch]:
        """Some of the frames that have arrived: a fair share, not all. Valid until the next call, and not padded."""

    def send(self, batch: PacketBatch, rows: npt.NDArray[np.intp] | None = None) -> None:
        """Send frames (these rows of the batch, or all), keeping what does not fit for :meth:`flush`."""

    def flush(self) -> None:
        """Send the frames that were kept."""

    def rest(self) -> None:
        """Called when nothing has arrived on any port and the loop is about to wait: notify a host now."""

    @property
    def congested(self) -> bool:
        """Whether so much is kept that the switch should take in nothing more until it has left."""

    @property
    def busy(self) -> bool:
        """Whether frames are kept because the link takes no more now."""

    @property
    def up(self) -> bool:
        """Whether the device behind the port exists and has a carrier."""

    def tick(self, now: float) -> None:
        """Called about once per second."""

    def close(self) -> None:
        """Release everything."""
