"""Many frames in one system call: recvmmsg(2) and sendmmsg(2) on packet sockets, over NumPy arrays.

The message headers are prepared once; a call moves up to ``slots`` frames straight into or out of one array.
"""

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
# struct cmsghdr with struct tpacket_auxdata (packet(7)), which says whether the kernel took out a VLAN tag.
_AUXDATA = np.dtype(
    [
        ("cmsg_len", "u8"),
        ("level", "i4"),
        ("type", "i4"),
        ("status", "u4"),
        ("len", "u4"),
        ("snaplen", "u4"),
        ("mac", "u2"),
        ("net", "u2"),
        ("vlan_tci", "u2"),
        ("vlan_tpid", "u2"),
        ("pad", "u4"),
    ]
)
_VLAN_VALID, _VLAN_TPID_VALID = 1 << 4, 1 << 6

if ctypes.sizeof(ctypes.c_void_p) != 8:
    raise OfframpError("AF_PACKET ports need a 64-bit Linux")
_LIBC = ctypes.CDLL(None, use_errno=True)
for _call in (_LIBC.recvmmsg, _LIBC.sendmmsg):
    _call.restype = ctypes.c_int
_LIBC.recvmmsg.argtypes = (
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_uint,
    ctypes.c_int,
    ctypes.c_void_p,
)
_LIBC.sendmmsg.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.c_int)


class Receiver:
    """Receives frames of up to ``width`` bytes; ``truncated`` counts longer ones, which are dropped."""

    def __init__(self, width: int, slots: int = SLOTS) -> None:
        self._frames = np.zeros((slots, width), np.uint8)
        self._aux = np.zeros(slots, _AUXDATA)
        self._iovecs, self._headers = _prepare(self._frames)
        self._iovecs["len"] = width
        self._headers["control"] = _addresses(self._aux)
        self.truncated = 0

    def receive(self, sock: socket.socket) -> PacketBatch:
        """What has arrived, at most one array full; empty if nothing has. OSError as from recv(2)."""
        self._headers["controllen"] = _AUXDATA.itemsize
        self._aux["status"] = 0
        count = _LIBC.recvmmsg(sock.fileno(), self._headers.ctypes.data, len(self._headers), socket.MSG_DONTWAIT, None)
        if count < 0:
            return _nothing_or_raise()
        headers = self._headers[:count]
        lengths = headers["len"].astype(np.int32)
        data = self._frames[:count, : int(lengths.max(initial=0))].copy()
        batch = PacketBatch(np.zeros(count, np.int32), lengths, data)
        tagged = (self._aux["status"][:count] & _VLAN_VALID) != 0
        if tagged.any():
            batch = _restore_tags(batch, tagged, self._aux[:count])
        cut = (headers["flags"] & socket.MSG_TRUNC) != 0
        if cut.any():
            self.truncated += int(cut.sum())
            batch = batch.select(~cut)
        # Beyond a frame's end stands what an earlier frame left: a batch has zeros there.
        batch.data[np.arange(batch.data.shape[1]) >= batch.lengths[:, None]] = 0
        return batch


def send(sock: socket.socket, batch: PacketBatch) -> int:
    """Hand frames to the kernel, in order; the count it took. OSError as from sendmmsg(2)."""
    data = np.ascontiguousarray(batch.data)
    iovecs, headers = _prepare(data)
    iovecs["len"] = batch.lengths
    done = 0
    while done < len(batch):
        many = min(len(batch) - done, SLOTS)
        count = _LIBC.sendmmsg(sock.fileno(), headers.ctypes.data + done * _HEADER.itemsize, many, socket.MSG_DONTWAIT)
        if count < 0:
            _nothing_or_raise()
            break
        done += count
    return done


def _prepare(frames: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.void], npt.NDArray[np.void]]:
    iovecs = np.zeros(len(frames), _IOVEC)
    iovecs["base"] = _addresses(frames)
    headers = np.zeros(len(frames), _HEADER)
    headers["iov"] = _addresses(iovecs)
    headers["iovlen"] = 1
    return iovecs, headers


def _addresses(array: npt.NDArray[np.generic]) -> npt.NDArray[np.uint64]:
    """The address of each row."""
    first, step = array.ctypes.data, array.strides[0]
    return np.arange(first, first + len(array) * step, step, dtype=np.uint64)


def _nothing_or_raise() -> PacketBatch:
    number = ctypes.get_errno()
    if number not in {errno.EAGAIN, errno.EINTR}:
        raise OSError(number, os.strerror(number))
    return PacketBatch.empty()


def _restore_tags(batch: PacketBatch, tagged: npt.NDArray[np.bool_], aux: npt.NDArray[np.void]) -> PacketBatch:
    """Put back the 802.1Q tags that the kernel keeps beside a frame."""
    width = batch.data.shape[1] + 4
    data = np.zeros((len(batch), width), np.uint8)
    data[~tagged, :-4] = batch.data[~tagged]
    data[tagged, :12] = batch.data[tagged, :12]
    data[tagged, 16:] = batch.data[tagged, 12:]
    tpid = np.where(aux["status"] & _VLAN_TPID_VALID, aux["vlan_tpid"], 0x8100)[tagged].astype(">u2")
    data[tagged, 12:14] = tpid.view(np.uint8).reshape(-1, 2)
    data[tagged, 14:16] = aux["vlan_tci"][tagged].astype(">u2").view(np.uint8).reshape(-1, 2)
    return PacketBatch(batch.ports, batch.lengths + 4 * tagged.astype(np.int32), data)
