# SPDX-License-Identifier: Apache-2.0
"""A link on an Ethernet that several hosts share: what is addressed to others does not arrive."""

from __future__ import annotations

from typing import Final

import numpy as np

from offramp_base.transport.base import FrameIO, LinkStats
from offramp_base.wire.batch import PacketBatch
from offramp_base.wire.ethernet import BROADCAST_MAC

_BYTES: Final = 6
"""Bytes of a MAC address; a frame begins with the destination's."""


class Addressed:
    """A FrameIO around another one, for the host of one MAC address; broadcasts arrive, too.

    Interfaces are opened promiscuous, since these addresses are not their own; so they hear what a switch floods.
    """

    def __init__(self, inner: FrameIO, mac: int) -> None:
        self._inner = inner
        self._mine = np.frombuffer(mac.to_bytes(_BYTES, "big"), np.uint8)
        self._all = np.frombuffer(BROADCAST_MAC.to_bytes(_BYTES, "big"), np.uint8)

    @property
    def stats(self) -> LinkStats:
        """Counters of the link inside, others' frames among them."""
        return self._inner.stats

    def send(self, batch: PacketBatch) -> None:
        """Send all frames."""
        self._inner.send(batch)

    def receive(self, timeout_s: float) -> PacketBatch:
        """Frames for this host; possibly none although some arrived."""
        batch = self._inner.receive(timeout_s)
        if not len(batch):
            return batch
        to = batch.data[:, :_BYTES]
        mine = (to == self._mine).all(axis=1) | (to == self._all).all(axis=1)
        return batch if mine.all() else batch.select(mine)

    def close(self) -> None:
        """Release the link."""
        self._inner.close()
