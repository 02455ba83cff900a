# SPDX-License-Identifier: Apache-2.0
"""The four rings of an AF_XDP socket and the memory for its frames (Linux's networking/af_xdp, <linux/if_xdp.h>).

Every ring has one producer and one consumer, each with a 32-bit counter that the other side reads; an entry's place is
its counter modulo the ring's size.
"""

from __future__ import annotations

import mmap
import socket
import struct
from typing import Any, Final

import numpy as np
import numpy.typing as npt

SOL_XDP: Final = 283
_MMAP_OFFSETS, _RX_RING, _TX_RING, _UMEM_REG, _FILL_RING, _COMPLETION_RING = 1, 2, 3, 4, 5, 6
_RX_PAGE, _TX_PAGE, _FILL_PAGE, _COMPLETION_PAGE = 0, 0x8000_0000, 0x1_0000_0000, 0x1_8000_0000

DESCRIPTOR: Final = np.dtype([("addr", "u8"), ("len", "u4"), ("options", "u4")])
"""Descriptor of a frame in the receive and transmit rings: offset of its first byte in the shared memory, and its
length."""
_ADDRESS: Final = np.dtype("u8")


class XdpRing:
    """One ring; ``mine`` is the counter of this side, ``theirs`` of the kernel.

    Attributes:
        entries: the ring's places.
    """

    def __init__(
        self,
        sock: socket.socket,
        page: int,
        offsets: tuple[int, int, int],
        entry: np.dtype[Any],
        size: int,
        *,
        produces: bool,
    ) -> None:
        producer, consumer, first = offsets
        self._memory = mmap.mmap(
            sock.fileno(), first + size * entry.itemsize, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE, offset=page
        )
        ours, other = (producer, consumer) if produces else (consumer, producer)
        self._mine, self._theirs = (np.frombuffer(self._memory, "u4", 1, at) for at in (ours, other))
        self.entries = np.frombuffer(self._memory, entry, size, first)
        self._size, self._produces = size, produces
        self._at = int(self._mine[0])

    def ready(self) -> int:
        """Places with something to consume, or room to produce."""
        between = int(self._theirs[0]) - self._at & 0xFFFF_FFFF
        return (between + self._size if self._produces else between) & 0xFFFF_FFFF

    def places(self, count: int) -> slice | npt.NDArray[np.intp]:
        """Indices of the next ``count`` entries; a slice if they do not wrap around the end."""
        start = self._at % self._size
        if start + count <= self._size:
            return slice(start, start + count)
        return np.arange(start, start + count) % self._size

    def advance(self, count: int) -> None:
        """Tell the kernel that ``count`` more entries are produced or consumed."""
        self._at = self._at + count & 0xFFFF_FFFF
        self._mine[0] = self._at

    def close(self) -> None:
        """Release the memory."""
        del self.entries, self._mine, self._theirs
        self._memory.close()


class XdpRings:
    """Frame memory of ``2 size`` chunks, the first half for receiving, and the rings of an AF_XDP socket.

    Attributes:
        chunks: ``(2 size, chunk)`` uint8.

    Raises:
        OSError: the kernel has no memory for it, or lets this user lock none.
    """

    def __init__(self, sock: socket.socket, size: int, chunk: int) -> None:
        self._memory = mmap.mmap(-1, 2 * size * chunk)
        self.chunks = np.frombuffer(self._memory, np.uint8).reshape(2 * size, chunk)
        sock.setsockopt(
            SOL_XDP, _UMEM_REG, struct.pack("QQIIII", self.chunks.ctypes.data, self.chunks.size, chunk, 0, 0, 0)
        )
        for ring in (_FILL_RING, _COMPLETION_RING, _RX_RING, _TX_RING):
            sock.setsockopt(SOL_XDP, ring, struct.pack("i", size))
        # struct xdp_mmap_offsets: for rx, tx, fill and completion each producer, consumer, entries and flags
        offsets = struct.unpack("16Q", sock.getsockopt(SOL_XDP, _MMAP_OFFSETS, 128))
        rx, tx, fill, completion = (offsets[at : at + 3] for at in range(0, 16, 4))
        self.received = XdpRing(sock, _RX_PAGE, rx, DESCRIPTOR, size, produces=False)
        self.sending = XdpRing(sock, _TX_PAGE, tx, DESCRIPTOR, size, produces=True)
        self.free = XdpRing(sock, _FILL_PAGE, fill, _ADDRESS, size, produces=True)
        self.sent = XdpRing(sock, _COMPLETION_PAGE, completion, _ADDRESS, size, produces=False)

    def close(self) -> None:
        """Release the memory, once the socket is closed."""
        for ring in (self.received, self.sending, self.free, self.sent):
            ring.close()
        del self.chunks
        self._memory.close()
