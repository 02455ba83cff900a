# SPDX-License-Identifier: Apache-2.0
"""Many frames in one system call: sendmmsg(2) on packet sockets, straight out of NumPy arrays."""

from __future__ import annotations

import ctypes
import errno
import os
import socket

import numpy as np
import numpy.typing as npt

from offramp_base.errors import OfframpError
from offramp_base.wire.batch import PacketBatch

SLOTS = 512

# struct mmsghdr of 64-bit Linux: struct msghdr, then the length that the kernel fills in.
HEADER = np.dtype(
    [
        ("name", "u8"),
        ("namelen", "u4"),
        ("pad0", "u4"),
        ("iov", "u8"),
        ("iovlen", "u8"),
        ("control", "u8"),
        ("controllen", "u8"),
        ("flags", "i4"),
        ("pad1", "u4"),
        ("len", "u4"),
        ("pad2", "u4"),
    ]
)
IOVEC = np.dtype([("base", "u8"), ("len", "u8")])
if ctypes.sizeof(ctypes.c_void_p) != 8:
    raise OfframpError("AF_PACKET ports need a 64-bit Linux")
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.sendmmsg.restype = ctypes.c_int
LIBC.sendmmsg.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.c_int)


LIBC.recvmmsg.restype = ctypes.c_int
LIBC.recvmmsg.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.c_int, ctypes.c_void_p)


class PreparedFrames:
    """Frames ready to be handed to the kernel, any number of times; ``rows`` of the batch, or all."""

    def __init__(self, batch: PacketBatch, rows: npt.NDArray[np.intp] | None = None) -> None:
        self._data, self._iovecs = frame_vectors(batch, rows)
        self._headers = np.zeros(len(self._iovecs), HEADER)
        self._headers["iov"] = addresses(self._iovecs)
        self._headers["iovlen"] = 1

    def __len__(self) -> int:
        return len(self._headers)

    def part(self, start: int, end: int) -> PreparedFrames:
        """The frames from number ``start`` to before ``end``."""
        view = object.__new__(PreparedFrames)
        view._data, view._iovecs, view._headers = self._data, self._iovecs[start:end], self._headers[start:end]
        return view

    def size(self, start: int, end: int) -> int:
        """Bytes of the frames from number ``start`` to before ``end``."""
        return int(self._iovecs["len"][start:end].sum())

    def send(self, sock: socket.socket, start: int = 0) -> int:
        """Send frames from number ``start`` on, in order; the count that the kernel took. OSError as sendmmsg(2)."""
        return send_many(sock, self._headers[start:])


def frame_vectors(
    batch: PacketBatch, rows: npt.NDArray[np.intp] | None
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.void]]:
    """Scatter list of the frames (``rows`` of the batch, or all): memory to keep alive, and ``(n,)`` struct iovec."""
    data = batch.data if batch.data.strides[1] == 1 else np.ascontiguousarray(batch.data)
    bases, lengths = addresses(data), batch.lengths
    if rows is not None:
        bases, lengths = bases[rows], lengths[rows]
    vectors = np.zeros(len(lengths), IOVEC)
    vectors["base"], vectors["len"] = bases, lengths
    return data, vectors


def send_many(sock: socket.socket, headers: npt.NDArray[np.void]) -> int:
    """Send messages in order, without waiting; the count that the kernel took. OSError as sendmmsg(2) if it is 0."""
    first, done = headers.ctypes.data, 0
    while done < len(headers):
        many = min(len(headers) - done, SLOTS)
        count = LIBC.sendmmsg(sock.fileno(), first + done * HEADER.itemsize, many, socket.MSG_DONTWAIT)
        if count < 0:
            if not done:  # what has been sent must be counted: the caller would send it again
                _raise_unless_busy()
            break
        done += count
    return done


def receive_many(sock: socket.socket, headers: npt.NDArray[np.void]) -> int:
    """Receive up to a message for each header, without waiting; how many. OSError as recvmmsg(2)."""
    count: int = LIBC.recvmmsg(sock.fileno(), headers.ctypes.data, len(headers), socket.MSG_DONTWAIT, None)
    if count < 0:
        _raise_unless_busy()
    return max(0, count)


def _raise_unless_busy() -> None:
    number = ctypes.get_errno()
    if number not in {errno.EAGAIN, errno.EINTR}:
        raise OSError(number, os.strerror(number))


def long_enough(
    batch: PacketBatch, rows: npt.NDArray[np.intp] | None, shortest: int
) -> tuple[npt.NDArray[np.intp] | None, int]:
    """The rows (None: all) whose frames have at least ``shortest`` bytes, and the number of shorter ones."""
    fits = (batch.lengths if rows is None else batch.lengths[rows]) >= shortest
    if fits.all():
        return rows, 0
    return np.flatnonzero(fits) if rows is None else rows[fits], len(fits) - int(fits.sum())


def addresses(array: npt.NDArray[np.generic]) -> npt.NDArray[np.uint64]:
    """The address of each row."""
    first, step = array.ctypes.data, array.strides[0]
    return np.uint64(first) + np.arange(len(array), dtype=np.uint64) * np.uint64(step)
