# SPDX-License-Identifier: Apache-2.0
"""Frames as UDP datagrams, one each.

Runs of equal length leave and arrive in one piece, which the kernel or the NIC cuts (UDP_SEGMENT, UDP_GRO; udp(7)).
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp_base.transport.mmsg import HEADER, IOVEC, addresses, frame_vectors, receive_many, send_many
from offramp_base.wire.batch import PacketBatch

SOL_UDP: Final = 17
UDP_SEGMENT, UDP_GRO = 103, 104
MOST_SEGMENTS: Final = 64
LONGEST: Final = 65_000
"""Most bytes of a run."""
_MESSAGES: Final = 64
_ROOM: Final = 1 << 16

# A control message: struct cmsghdr, then the length of the segments: 32 bits coming in, 16 going out.
_CONTROL: Final = np.dtype([("len", "u8"), ("level", "i4"), ("type", "i4"), ("size", "i4"), ("pad", "u4")])
_CONTROL_OUT: Final = np.dtype([("len", "u8"), ("level", "i4"), ("type", "i4"), ("size", "u2"), ("pad", "u2", 3)])
_CONTROL_OUT_BYTES: Final = 16 + 2
_NAME_BYTES: Final = 28
"""Bytes of struct sockaddr_in6, the longest address."""


class Datagrams:
    """Frames to be sent as datagrams; equal lengths of ``longest_run`` bytes or less may be joined into runs."""

    def __init__(self, batch: PacketBatch, rows: npt.NDArray[np.intp] | None, longest_run: int) -> None:
        self._data, self._iovecs = frame_vectors(batch, rows)
        self._longest_run = longest_run

    def __len__(self) -> int:
        return len(self._iovecs)

    def part(self, start: int, end: int) -> Datagrams:
        """The frames from number ``start`` to before ``end``."""
        view = object.__new__(Datagrams)
        view._data, view._iovecs, view._longest_run = self._data, self._iovecs[start:end], self._longest_run
        return view

    def size(self, start: int, end: int) -> int:
        """Bytes of the frames from number ``start`` to before ``end``."""
        return int(self._iovecs["len"][start:end].sum())

    def fitting(self, start: int, longest: int) -> int:
        """The first frame from number ``start`` on that is longer than ``longest`` bytes, or else the end."""
        long = self._iovecs["len"][start:] > longest
        return start + int(long.argmax()) if long.any() else len(self)

    def send(self, sock: socket.socket, to: bytes, start: int = 0) -> int:
        """Send frames from number ``start`` on, in order; the count that the kernel took. OSError as sendmmsg(2).

        ``to`` is a struct sockaddr, or empty on a socket that is connected.
        """
        iovecs = self._iovecs[start:]
        if not len(iovecs):
            return 0
        lengths = iovecs["len"].astype(np.int64)
        firsts = run_starts(lengths, self._together(lengths))
        counts = np.diff(firsts, append=len(iovecs))
        control = np.zeros(len(firsts), _CONTROL_OUT)
        control["len"], control["level"], control["type"] = _CONTROL_OUT_BYTES, SOL_UDP, UDP_SEGMENT
        control["size"] = lengths[firsts] * (counts > 1)
        headers = np.zeros(len(firsts), HEADER)
        headers["iov"], headers["iovlen"] = addresses(iovecs)[firsts], counts
        headers["control"] = np.where(counts > 1, addresses(control), 0)
        headers["controllen"] = np.where(counts > 1, _CONTROL_OUT.itemsize, 0)
        if to:
            name = np.frombuffer(to, np.uint8)
            headers["name"], headers["namelen"] = name.ctypes.data, len(name)
        return int(counts[: send_many(sock, headers)].sum())

    def _together(self, lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Frames of each length that one message may carry."""
        most = np.minimum(MOST_SEGMENTS, LONGEST // np.maximum(lengths, 1))
        return np.where((lengths > 0) & (lengths <= self._longest_run), np.maximum(most, 1), 1)


def run_starts(lengths: npt.NDArray[np.int64], most: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
    """Indices at which messages begin, each of frames of one length, at most ``most`` of that length."""
    at = np.arange(len(lengths))
    begins = np.concatenate(([True], lengths[1:] != lengths[:-1]))
    place = at - np.maximum.accumulate(np.where(begins, at, 0))
    return np.flatnonzero(place % most == 0)


Admit = Callable[[bytes, Callable[[], bytes]], bool]
"""Decides whether to accept a datagram, given its sender (struct sockaddr) and a function that returns its bytes: one
frame, or several that the sender has joined."""


class Inbox:
    """Room for datagrams and for the system call that fills it."""

    def __init__(self) -> None:
        self._room = np.zeros((_MESSAGES, 2 * _ROOM), np.uint8)  # so that the last frame of a run may be short
        self._iovecs = np.zeros(_MESSAGES, IOVEC)
        self._iovecs["base"], self._iovecs["len"] = addresses(self._room), _ROOM
        self._control = np.zeros(_MESSAGES, _CONTROL)
        self._headers = np.zeros(_MESSAGES, HEADER)
        self._headers["iov"], self._headers["iovlen"] = addresses(self._iovecs), 1
        self._headers["control"] = addresses(self._control)
        self._names = np.zeros((_MESSAGES, _NAME_BYTES), np.uint8)
        self._headers["name"] = addresses(self._names)

    def receive(self, sock: socket.socket, peer: bytes | None = b"", admit: Admit | None = None) -> PacketBatch:
        """The datagrams of one recvmmsg(2), unpadded, valid until the next call. OSError as there.

        Those of others than ``peer``, a struct sockaddr, are among them if ``admit`` returns true.
        """
        self._headers["controllen"], self._headers["namelen"] = _CONTROL.itemsize, _NAME_BYTES
        count = receive_many(sock, self._headers)
        if not count:
            return PacketBatch.empty()
        lengths = self._headers["len"][:count].astype(np.int32)
        rooms, control = self._room[:count], self._control["size"][:count]
        joined = self._headers["controllen"][:count] > 0
        if admit is not None and not self._all_from(peer, count):
            kept = [at for at in range(count) if admit(self._name(at), self._room[at, : lengths[at]].tobytes)]
            lengths, joined, rooms, control = lengths[kept], joined[kept], rooms[kept], control[kept]
        if not joined.any():
            return _batch(lengths, rooms[:, : int(lengths.max(initial=0))])
        segments = np.where(joined, control.astype(np.int32), lengths)
        return PacketBatch.concatenate(
            _split(room, length, segment)
            for room, length, segment in zip(rooms, lengths.tolist(), segments.tolist(), strict=True)
        )

    def _all_from(self, peer: bytes | None, count: int) -> bool:
        return peer is not None and self._names[:count, : len(peer)].tobytes() == peer * count

    def _name(self, at: int) -> bytes:
        return self._names[at, : self._headers["namelen"][at]].tobytes()


def _split(room: npt.NDArray[np.uint8], length: int, segment: int) -> PacketBatch:
    """The frames of one message: all of ``segment`` bytes, except perhaps the last."""
    if not length:
        return _batch(np.zeros(1, np.int32), room[:0].reshape(1, 0))
    count = -(-length // segment)
    lengths = np.full(count, segment, np.int32)
    lengths[-1] = length - segment * (count - 1)
    return _batch(lengths, room[: segment * count].reshape(count, segment))


def _batch(lengths: npt.NDArray[np.int32], data: npt.NDArray[np.uint8]) -> PacketBatch:
    return PacketBatch(np.zeros(len(lengths), np.int32), lengths, data)
