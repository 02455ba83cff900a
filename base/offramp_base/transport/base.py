# SPDX-License-Identifier: Apache-2.0
"""The interfaces that every transport implements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from offramp_base.wire.batch import PacketBatch

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import numpy.typing as npt


@dataclass(slots=True)
class LinkStats:
    """Frames of one end of a link since it was opened.

    Attributes:
        dropped: frames that could not be sent.
        malformed: messages or frames from outside that were no frames, or too long.
        missed: frames that arrived faster than they were taken.
        strangers: messages or connections of others than the link's host, which were dropped.
        unfit: frames among ``dropped`` that were too short or too long for the link.
        sent_bytes: bytes of the frames ``sent``; counted by sockets and ports of the switch, but not those of DPDK's.
    """

    received: int = 0
    sent: int = 0
    dropped: int = 0
    malformed: int = 0
    missed: int = 0
    strangers: int = 0
    unfit: int = 0
    sent_bytes: int = 0

    @property
    def lost(self) -> int:
        """Frames that did not come through, as far as this end knows."""
        return self.dropped + self.malformed + self.missed


class FrameIO(Protocol):
    """One end of a link that carries Ethernet frames; the other end is a switch port."""

    @property
    def stats(self) -> LinkStats:
        """Counts since the link was opened, up to now."""

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


class LentSocket(Protocol):
    """A connected socket that other code moves frames over.

    Attributes:
        name: name for messages.
        stats: counts, which that code brings up to date.
        longest_run: bytes up to which datagrams may be joined into runs; 0: a Unix socket, with messages of
            :mod:`offramp_base.transport.framing`.
    """

    name: str
    stats: LinkStats
    longest_run: int

    def fileno(self) -> int:
        """The descriptor."""


@runtime_checkable
class Lending(Protocol):
    """A link that lets other code move frames over its socket."""

    def lend(self, use: Callable[[LentSocket], None]) -> bool:
        """Have ``use`` move frames by itself until it returns; False, and it is not called, where it must not.

        Raises:
            OfframpError: the link is gone.
        """


class OutgoingFrames(Protocol):
    """Frames that a :class:`FrameSocket` has prepared for sending."""

    def __len__(self) -> int: ...

    def part(self, start: int, end: int) -> OutgoingFrames:
        """The frames from number ``start`` to before ``end``."""


class FrameSocket(Protocol):
    """A socket that carries whole frames, many in one call, and never blocks.

    Attributes:
        name: name for messages.
        stats: counts; ``missed`` as of the last :meth:`refresh`.
        shortest: bytes of the shortest frame that can be sent.
    """

    name: str
    stats: LinkStats
    shortest: int

    def fileno(self) -> int:
        """The descriptor to poll."""

    def receive(self) -> PacketBatch:
        """Frames that have arrived, without waiting; valid until the next call, unpadded.

        Raises:
            OSError: nothing is left, and the link is gone.
        """

    def message(self, batch: PacketBatch, rows: npt.NDArray[np.intp] | None = None) -> OutgoingFrames:
        """Frames (``rows`` of the batch) made ready for :meth:`send`; too short ones are dropped and counted."""

    def send(self, message: OutgoingFrames, start: int = 0) -> int:
        """Hand over frames from number ``start`` on; returns how many were taken.

        Raises:
            OSError: the link is gone; EMSGSIZE: the next frame is longer than the link takes.
        """

    def refresh(self) -> None:
        """Bring ``stats`` up to date with what the kernel counts."""

    def close(self) -> None:
        """Release the socket."""
