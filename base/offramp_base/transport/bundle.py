# SPDX-License-Identifier: Apache-2.0
"""Runs of frames in one frame of an interface: what the kernel does for each then counts once.

For links with Offramp at both ends, such as a laboratory's. A bundle is an Ethernet frame of a type for experiments:
16 bits with the length of its frames, then the frames without gaps, all of that length.

A host puts all that it sends into bundles. A switch's port answers in kind: it takes single frames as well, and sends
bundles of those protocols over IPv4 that have come in bundles last. So the kernel of the host, which knows no bundles,
gets its own frames singly, and a program that knows none does too.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp_base.native.arrays import RecordArrays, address
from offramp_base.native.library import compiled_all
from offramp_base.native.records import offset
from offramp_base.transport import ring
from offramp_base.transport.af_packet import AfPacketSocket
from offramp_base.transport.base import LinkStats
from offramp_base.transport.bundles import (
    HEAD,
    HEAD_BYTES,
    HEADER_WORDS,
    IOVEC_WORDS,
    Arrived,
    BundledFrames,
    lay_out,
    make_messages,
    measure,
)
from offramp_base.transport.interface import MIN_FRAME, mtu
from offramp_base.transport.mmsg import HEADER, send_many
from offramp_base.wire.batch import PacketBatch

_OF_THE_KERNEL: Final = [socket.IPPROTO_ICMP, socket.IPPROTO_TCP, socket.IPPROTO_UDP]
_MOST_BYTES: Final = 16 << 20
"""Memory of a batch whose frames differ in length: its rows are as wide as the longest."""
_HEAD: Final = np.frombuffer(HEAD.ljust(HEAD_BYTES, b"\0"), np.uint8)
_HEAD_AT: Final = address(_HEAD)
_HEAD_WORDS: Final = HEAD_BYTES // 8


@cache
def _functions() -> dict[str, Callable[..., int]]:
    return compiled_all((measure, lay_out, make_messages))


class BundleSocket(AfPacketSocket):
    """A packet socket that takes and sends bundles as long as the interface's MTU; the rest is as of its base.

    Args:
        ifname, ring_bytes, stats: as of :class:`~offramp_base.transport.af_packet.AfPacketSocket`. A bundle that is
            none counts as malformed.
        first: send everything in bundles, as hosts do; or only what is answered.

    Raises:
        OfframpError: no such interface, no permission, or llvmlite is missing.
    """

    def __init__(
        self, ifname: str, ring_bytes: int = ring.RING_BYTES, stats: LinkStats | None = None, *, first: bool
    ) -> None:
        self._call = _functions()
        super().__init__(ifname, ring_bytes, stats)
        self._room = mtu(self.socket, ifname) + MIN_FRAME - HEAD_BYTES
        self._answered = None if first else np.zeros(256, np.uint8)  # by protocol
        self._arrived = RecordArrays(Arrived)
        fields, slots = self._arrived.fields, self._ring.slots
        fields.words[offset(Arrived.slots)] = address(slots)  # not given, so that the ring can be released
        fields.slot_bytes = slots.shape[1]
        fields.longest, fields.most_bytes = self._ring.width, _MOST_BYTES

    def receive(self, most: int = ring.MOST) -> PacketBatch:
        """The frames of at most ``most`` that have arrived, bundled or not, in order; unpadded.

        Raises:
            OSError: ENETDOWN when the interface is down or gone.
        """
        arrived = self._arrived.fields
        start, end = self._ring.ahead(most)
        if not self._call["measure"](self._arrived.address, start, end):
            return super().receive(1) if arrived.odd else self._ring.nothing()
        frames, width = arrived.frames, arrived.width
        data, lengths = np.empty((frames, width), np.uint8), np.empty(frames, np.int32)
        answered = 0 if self._answered is None else address(self._answered)
        self._call["lay_out"](self._arrived.address, start, address(data), address(lengths), answered)
        self._ring.pass_over(arrived.taken)
        if self._answered is not None:
            self._answered[_OF_THE_KERNEL] = 0
        self.stats.received += frames
        self.stats.malformed += arrived.malformed
        return PacketBatch(np.zeros(frames, np.int32), lengths, data)

    def message(self, batch: PacketBatch, rows: npt.NDArray[np.intp] | None = None) -> Bundles:
        """Frames (``rows`` of the batch) made ready for :meth:`send`; too short ones are dropped and counted."""
        message = Bundles(batch, rows, self._room, self._answered)
        self.stats.dropped += message.short
        self.stats.unfit += message.short
        return message


class _Places:
    """The indices of the words of a :class:`BundledFrames` and its arrays, for that many frames."""

    def __init__(self, count: int) -> None:
        self.rows = BundledFrames.WORDS
        self.firsts = self.rows + count
        self.headers = self.firsts + count + 1
        self.iovecs = self.headers + HEADER_WORDS * count
        self.heads = self.iovecs + 2 * IOVEC_WORDS * count
        self.end = self.heads + _HEAD_WORDS * count


class Bundles:
    """Frames to be sent, in order: runs of equal length in bundles that hold ``room`` bytes.

    ``bundled`` tells by protocol over IPv4 which frames; None: all that fit.

    Attributes:
        short: frames that are too short for Ethernet, and left out.
    """

    def __init__(
        self,
        batch: PacketBatch,
        rows: npt.NDArray[np.intp] | None,
        room: int,
        bundled: npt.NDArray[np.uint8] | None,
    ) -> None:
        data = batch.data if batch.data.strides[1] == 1 else np.ascontiguousarray(batch.data)
        lengths = np.ascontiguousarray(batch.lengths, np.int32)
        self._batch, self._room, self._bundled = PacketBatch(batch.ports, lengths, data), room, bundled
        count = len(batch) if rows is None else len(rows)
        places = _Places(count)
        words = self._words = np.zeros(places.end, np.int64)  # one piece of memory: this is done for every message
        words[places.rows : places.firsts] = np.arange(count) if rows is None else rows
        start = address(words)
        words[: BundledFrames.short] = (
            address(data),
            data.strides[0],
            address(lengths),
            start + 8 * places.rows,
            count,
            room,
            0 if bundled is None else address(bundled),
            _HEAD_AT,
            start + 8 * places.headers,
            start + 8 * places.iovecs,
            start + 8 * places.heads,
            start + 8 * places.firsts,
        )
        kept = _functions()["make_messages"](start)
        messages = int(words[BundledFrames.messages])
        self.short = int(words[BundledFrames.short])
        self._rows = words[places.rows : places.rows + kept]
        self._firsts = words[places.firsts : places.firsts + messages + 1]
        self._headers = words[places.headers : places.headers + HEADER_WORDS * messages].view(HEADER)

    def __len__(self) -> int:
        return len(self._rows)

    def part(self, start: int, end: int) -> Bundles:
        """The frames from number ``start`` to before ``end``."""
        return Bundles(self._batch, self._rows[start:end], self._room, self._bundled)

    def size(self, start: int, end: int) -> int:
        """Bytes of the frames from number ``start`` to before ``end``."""
        return int(self._batch.lengths[self._rows[start:end]].sum())

    def send(self, sock: socket.socket, start: int = 0) -> int:
        """Send frames from number ``start`` on, in order; the count that the kernel took. OSError as sendmmsg(2)."""
        first = int(np.searchsorted(self._firsts, start))
        if self._firsts[first] != start:  # the rest of a message
            return self.part(start, len(self)).send(sock)
        return int(self._firsts[first + send_many(sock, self._headers[first:])]) - start
