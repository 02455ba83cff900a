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
from collections import deque
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp_base.transport import ring
from offramp_base.transport.af_packet import AfPacketSocket
from offramp_base.transport.base import LinkStats
from offramp_base.transport.datagrams import run_starts
from offramp_base.transport.interface import MIN_FRAME, mtu
from offramp_base.transport.mmsg import HEADER, IOVEC, addresses, frame_vectors, long_enough, send_many
from offramp_base.wire.batch import PacketBatch
from offramp_base.wire.ethernet import ETHER_TYPE_IPV4

ETHER_TYPE: Final = 0x88B6
"""EtherType for experiments (IEEE 802)."""
_HEAD: Final = b"\xff" * 6 + b"\x02\0\0\0\0\0" + ETHER_TYPE.to_bytes(2, "big")
_HEAD_BYTES: Final = len(_HEAD) + 2
_LENGTH_AT: Final = len(_HEAD)
_PROTOCOL_AT: Final = 23
"""Byte of an Ethernet frame that names the protocol over IPv4."""
_OF_THE_KERNEL: Final = [socket.IPPROTO_ICMP, socket.IPPROTO_TCP, socket.IPPROTO_UDP]
_MOST_FRAMES: Final = 1000
"""Frames of a bundle: the kernel takes 1,024 pieces at once."""
_MOST_BYTES: Final = 16 << 20
"""Memory of a batch whose frames differ in length: its rows are as wide as the longest."""


class BundleSocket(AfPacketSocket):
    """A packet socket that takes and sends bundles as long as the interface's MTU; the rest is as of its base.

    Args:
        ifname, ring_bytes, stats: as of :class:`~offramp_base.transport.af_packet.AfPacketSocket`. A bundle that is
            none counts as malformed.
        first: send everything in bundles, as hosts do; or only what is answered.

    Raises:
        OfframpError: no such interface, or no permission.
    """

    def __init__(
        self, ifname: str, ring_bytes: int = ring.RING_BYTES, stats: LinkStats | None = None, *, first: bool
    ) -> None:
        super().__init__(ifname, ring_bytes, stats)
        self._room = mtu(self.socket, ifname) + MIN_FRAME - _HEAD_BYTES
        self._first = first
        self._answered = np.zeros(256, np.bool_)  # by protocol
        self._unread: deque[PacketBatch] = deque()

    def receive(self) -> PacketBatch:
        """The frames that have arrived, bundled or not, in order; valid until the next call, unpadded.

        Raises:
            OSError: ENETDOWN when the interface is down or gone.
        """
        while not self._unread:
            batch = super().receive()
            if not len(batch):
                return batch
            self._unread.extend(PacketBatch.concatenations(self._unbundle(batch), _MOST_BYTES))
        return self._unread.popleft()

    def message(self, batch: PacketBatch, rows: npt.NDArray[np.intp] | None = None) -> Bundles:
        """Frames (``rows`` of the batch) made ready for :meth:`send`; too short ones are dropped and counted."""
        rows, short = long_enough(batch, rows, MIN_FRAME)
        self.stats.dropped += short
        self.stats.unfit += short
        return Bundles(batch, rows, self._room, None if self._first else self._answered)

    def _unbundle(self, batch: PacketBatch) -> list[PacketBatch]:
        """The frames of a batch, those of bundles in memory of their own."""
        data = batch.data
        if data.shape[1] < _HEAD_BYTES:
            return [batch]
        bundles = _numbers(data, 12) == ETHER_TYPE
        if not bundles.any():
            self._learn(batch, answer=False)
            return [batch]
        lengths = np.where(bundles, _numbers(data, _LENGTH_AT), 0)
        key = lengths * (1 << 20) + np.where(bundles, batch.lengths, 0)
        edges = np.flatnonzero(np.diff(key)) + 1
        parts: list[PacketBatch] = []
        for start, end in zip([0, *edges.tolist()], [*edges.tolist(), len(key)], strict=True):
            part = batch.select(slice(start, end))
            if bundles[start]:
                part = self._frames(part, int(lengths[start]))
            self._learn(part, answer=bool(bundles[start]))
            parts.append(part)
        return parts

    def _frames(self, bundles: PacketBatch, length: int) -> PacketBatch:
        """The frames of bundles that are equally long, as their frames are."""
        self.stats.received -= len(bundles)
        size = int(bundles.lengths[0]) - _HEAD_BYTES
        if length < MIN_FRAME or size <= 0 or size % length:
            self.stats.malformed += len(bundles)
            return PacketBatch.empty()
        data = bundles.data[:, _HEAD_BYTES : _HEAD_BYTES + size].reshape(-1, length)
        self.stats.received += len(data)
        return PacketBatch(np.zeros(len(data), np.int32), np.full(len(data), length, np.int32), data)

    def _learn(self, frames: PacketBatch, *, answer: bool) -> None:
        """Note whether protocols over IPv4 have come in bundles; a bundle's first frame is enough to see."""
        if self._first or not (answer or self._answered.any()):
            return
        seen = 1 if answer else len(frames)
        self._answered[_protocols(frames.data[:seen], frames.lengths[:seen])] = answer
        self._answered[0] = False
        self._answered[_OF_THE_KERNEL] = False


class Bundles:
    """Frames to be sent, in order: runs of equal length in bundles that hold ``room`` bytes.

    ``bundled`` tells by protocol over IPv4 which frames; None: all that fit.
    """

    def __init__(
        self,
        batch: PacketBatch,
        rows: npt.NDArray[np.intp] | None,
        room: int,
        bundled: npt.NDArray[np.bool_] | None,
    ) -> None:
        self._data, self._iovecs = frame_vectors(batch, rows)
        self._room = room
        self._bundled = self._iovecs["len"] <= room
        if bundled is not None:
            some = bundled.any()
            self._bundled &= bundled[_protocols(batch.data, self._iovecs["len"], rows)] if some else False

    def __len__(self) -> int:
        return len(self._iovecs)

    def part(self, start: int, end: int) -> Bundles:
        """The frames from number ``start`` to before ``end``."""
        made = object.__new__(Bundles)
        made._data, made._room = self._data, self._room
        made._iovecs, made._bundled = self._iovecs[start:end], self._bundled[start:end]
        return made

    def size(self, start: int, end: int) -> int:
        """Bytes of the frames from number ``start`` to before ``end``."""
        return int(self._iovecs["len"][start:end].sum())

    def send(self, sock: socket.socket, start: int = 0) -> int:
        """Send frames from number ``start`` on, in order; the count that the kernel took. OSError as sendmmsg(2)."""
        frames, bundled = self._iovecs[start:], self._bundled[start:]
        if not len(frames):
            return 0
        lengths = frames["len"].astype(np.int64)
        firsts = _first_frames(lengths, bundled, self._room)
        counts = np.diff(firsts, append=len(frames))
        in_bundle = bundled[firsts]
        before = np.cumsum(in_bundle)  # heads up to and with that of each message
        heads = np.empty((int(before[-1]), _HEAD_BYTES), np.uint8)
        heads[:, :_LENGTH_AT] = np.frombuffer(_HEAD, np.uint8)
        heads[:, _LENGTH_AT:] = lengths[firsts[in_bundle]].astype(">u2").view(np.uint8).reshape(-1, 2)
        iovecs = np.empty(len(frames) + len(heads), IOVEC)
        iovecs[np.arange(len(frames)) + np.repeat(before, counts)] = frames
        at = firsts + before - in_bundle
        iovecs["base"][at[in_bundle]], iovecs["len"][at[in_bundle]] = addresses(heads), _HEAD_BYTES
        headers = np.zeros(len(firsts), HEADER)
        headers["iov"], headers["iovlen"] = addresses(iovecs)[at], counts + in_bundle
        return int(counts[: send_many(sock, headers)].sum())


def _first_frames(lengths: npt.NDArray[np.int64], bundled: npt.NDArray[np.bool_], room: int) -> npt.NDArray[np.intp]:
    """The number of the first frame of each message: a bundle, or a frame alone."""
    most = np.minimum(room // lengths, _MOST_FRAMES)
    if bundled.all() and (lengths == lengths[0]).all():
        return np.arange(0, len(lengths), most[0])
    return run_starts(np.where(bundled, lengths, -1), np.where(bundled, most, 1))


def _numbers(data: npt.NDArray[np.uint8], at: int) -> npt.NDArray[np.int64]:
    """16-bit numbers of all rows."""
    return data[:, at].astype(np.int64) << 8 | data[:, at + 1]


def _protocols(
    data: npt.NDArray[np.uint8], lengths: npt.NDArray[np.integer], rows: npt.NDArray[np.intp] | None = None
) -> npt.NDArray[np.int64]:
    """``(n,)``: the protocol over IPv4 of each frame (``rows``, or all), 0 of others; ``lengths`` are theirs."""
    if data.shape[1] <= _PROTOCOL_AT:
        return np.zeros(len(lengths), np.int64)
    heads = data[:, 12 : _PROTOCOL_AT + 1] if rows is None else data[rows, 12 : _PROTOCOL_AT + 1]
    over = (_numbers(heads, 0) == ETHER_TYPE_IPV4) & (lengths > _PROTOCOL_AT)
    return np.where(over, heads[:, -1], 0)
