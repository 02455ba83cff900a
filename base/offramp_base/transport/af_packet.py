# SPDX-License-Identifier: Apache-2.0
"""Raw Ethernet frames on a network interface: an AF_PACKET socket (packet(7))."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Final, cast

from offramp_base.errors import OfframpError
from offramp_base.transport import ring
from offramp_base.transport.base import LinkStats, OutgoingFrames
from offramp_base.transport.interface import (
    MIN_FRAME,
    SOL_PACKET,
    interface_index,
    longest_frame,
    make_promiscuous,
    packet_socket,
)
from offramp_base.transport.mmsg import PreparedFrames, long_enough
from offramp_base.wire.batch import PacketBatch

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_IGNORE_OUTGOING: Final = 23  # <linux/if_packet.h>; Python does not name it
_ETH_P_ALL: Final = 3


class AfPacketSocket:
    """A promiscuous packet socket on one interface that receives arriving frames, not those that it sends itself.

    What is sent passes the interface's queueing discipline, as from any other program: ``tc`` can shape and delay it.
    Frames arrive in a ring of ``ring_bytes`` (more for jumbo frames) shared with the kernel, where each takes a slot of
    the MTU and more.
    Frames longer than the interface's MTU (a NIC that merges packets makes such) are dropped and count as malformed.

    Raises:
        OfframpError: no such interface, or no permission.
    """

    shortest = MIN_FRAME

    def __init__(self, ifname: str, ring_bytes: int = ring.RING_BYTES, stats: LinkStats | None = None) -> None:
        self.name = f"interface {ifname}"
        self.stats = stats or LinkStats()
        index = interface_index(ifname)
        self.socket = packet_socket(ifname)
        try:
            self.socket.setblocking(False)
            self._ring = ring.PacketRing(self.socket, longest_frame(self.socket, ifname), ring_bytes)
            self.socket.setsockopt(SOL_PACKET, _IGNORE_OUTGOING, 1)
            make_promiscuous(self.socket, index)
            # Bound last: before this the socket hears nothing, so no frame of another interface slips in.
            self.socket.bind((ifname, _ETH_P_ALL))
        except OSError as error:
            self.socket.close()
            raise OfframpError(f"{self.name}: {error.strerror}") from None

    def fileno(self) -> int:
        """The descriptor to poll."""
        return self.socket.fileno()

    def receive(self, most: int = ring.MOST) -> PacketBatch:
        """Frames that have arrived, at most ``most``, without waiting; valid until the next call, unpadded.

        Raises:
            OSError: ENETDOWN when the interface is down or gone.
        """
        before = self._ring.truncated
        batch = self._ring.receive(most)
        self.stats.malformed += self._ring.truncated - before
        self.stats.received += len(batch)
        return batch

    def message(self, batch: PacketBatch, rows: npt.NDArray[np.intp] | None = None) -> OutgoingFrames:
        """Frames (``rows`` of the batch) made ready for :meth:`send`; too short ones are dropped and counted."""
        rows, short = long_enough(batch, rows, MIN_FRAME)
        self.stats.dropped += short
        self.stats.unfit += short
        return PreparedFrames(batch, rows)

    def send(self, message: OutgoingFrames, start: int = 0) -> int:
        """Hand frames to the kernel; returns how many it took. Raises OSError when the interface is gone."""
        try:
            done = cast("PreparedFrames", message).send(self.socket, start)
        except OSError as error:
            if error.errno == errno.ENOBUFS:
                return 0
            raise
        self.stats.sent += done
        self.stats.sent_bytes += cast("PreparedFrames", message).size(start, start + done)
        return done

    def refresh(self) -> None:
        """Count the frames that came while the ring was full."""
        if self.socket.fileno() < 0:
            return
        self.stats.missed += self._ring.missed()

    def close(self) -> None:
        """Release the interface."""
        if self.socket.fileno() >= 0:
            self.refresh()
            self._ring.close()
            self.socket.close()
