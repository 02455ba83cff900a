"""Many frames in one system call: sendmmsg(2) on packet sockets, straight out of NumPy arrays."""

from __future__ import annotations

import ctypes
import errno
import os
import socket

import numpy as np
import numpy.typing as npt

from offramp.errors import OfframpError
from offramp.wire.batch import PacketBatch

SLOTS = 512

# struct mmsghdr of 64-bit Linux: struct msghdr, then the length that the kernel fills in.
_HEADER = np.dtype(
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
_IOVEC = np.dtype([("base", "u8"), ("len", "u8")])
if ctypes.sizeof(ctypes.c_void_p) != 8:
    raise OfframpError("AF_PACKET ports need a 64-bit Linux")
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.sendmmsg.restype = ctypes.c_int
_LIBC.sendmmsg.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.c_int)


class Message:
    """Frames ready to be handed to the kernel, as often as one likes; ``rows`` of the batch, or all."""

    def __init__(self, batch: PacketBatch, rows: npt.NDArray[np.intp] | None = None) -> None:
        self._data = batch.data if batch.data.strides[1] == 1 else np.ascontiguousarray(batch.data)
        bases, lengths = _addresses(self._data), batch.lengths
        if rows is not None:
            bases, lengths = bases[rows], lengths[rows]
        self._iovecs = np.zeros(len(lengths), _IOVEC)
        self._iovecs["base"], self._iovecs["len"] = bases, lengths
        self._headers = np.zeros(len(lengths), _HEADER)
        self._headers["iov"] = _addresses(self._iovecs)
        self._headers["iovlen"] = 1

    def __len__(self) -> int:
        return len(self._headers)

    def part(self, start: int, end: int) -> Message:
        """The frames from number ``start`` to before ``end``."""
        made = object.__new__(Message)
        made._data, made._iovecs, made._headers = self._data, self._iovecs, self._headers[start:end]
        return made

    def send(self, sock: socket.socket, start: int = 0) -> int:
        """Send frames from number ``start`` on, in order; the count that the kernel took. OSError as sendmmsg(2)."""
        first = self._headers.ctypes.data
        done = start
        while done < len(self):
            many = min(len(self) - done, SLOTS)
            count = _LIBC.sendmmsg(sock.fileno(), first + done * _HEADER.itemsize, many, socket.MSG_DONTWAIT)
            if count < 0:
                number = ctypes.get_errno()
                if number not in {errno.EAGAIN, errno.EINTR}:
                    raise OSError(number, os.strerror(number))
                break
            done += count
        return done - start


def _addresses(array: npt.NDArray[np.generic]) -> npt.NDArray[np.uint64]:
    """The address of each row."""
    first, step = array.ctypes.data, array.strides[0]
    return np.uint64(first) + np.arange(len(array), dtype=np.uint64) * np.uint64(step)
