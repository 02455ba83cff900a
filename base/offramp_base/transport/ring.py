# SPDX-License-Identifier: Apache-2.0
"""Frames as they arrive, in memory shared with the kernel: the receive ring of a packet socket (packet(7), TPACKET_V2).

No system call and no copy for a frame: a batch is a view of the ring's slots, and its rows are the frames.
"""

from __future__ import annotations

import errno
import mmap
import os
import socket
import struct
from typing import Final

import numpy as np

from offramp_base.wire.batch import PacketBatch

MOST: Final = 512
"""Frames of one batch, so that no interface keeps others waiting."""
RING_BYTES: Final = 32 << 20
_BLOCK: Final = 1 << 17
_SHORT_SLOT: Final = 4096
_FIRST_LOOK: Final = 32
_JUMBO_FRAMES: Final = 4096
"""Frames that a ring of longer slots should hold, in up to four times the memory asked for.

Slots are as long as the MTU. 16 MiB hold a thousand jumbo frames, or as many short ones, which a link of 100 Mb/s
brings in 50 ms; a switch may be busy for longer.
"""
_HEADROOM: Final = 160
"""More than the slot's header, padding and VLAN tags take."""

# <linux/if_packet.h>; Python names none of these.
_SOL_PACKET, _PACKET_RX_RING, _PACKET_STATISTICS, _PACKET_VERSION = 263, 5, 6, 10
_TPACKET_V2 = 1
USER, VLAN_VALID, _VLAN_TPID_VALID = 1 << 0, 1 << 4, 1 << 6
# struct tpacket2_hdr
_HEADER = np.dtype(
    [
        ("status", "u4"),
        ("len", "u4"),
        ("snaplen", "u4"),
        ("mac", "u2"),
        ("net", "u2"),
        ("sec", "u4"),
        ("nsec", "u4"),
        ("vlan_tci", "u2"),
        ("vlan_tpid", "u2"),
    ]
)


class PacketRing:
    """The receive ring of a packet socket that is not bound yet, for frames of up to ``width`` bytes.

    Attributes:
        width: bytes of the longest frame.
        slots: ``(count, bytes)``, each a struct tpacket2_hdr and a frame.
        truncated: longer frames, which are dropped.

    Raises:
        OSError: the kernel has no memory for it.
    """

    def __init__(self, sock: socket.socket, width: int, ring_bytes: int = RING_BYTES) -> None:
        self._socket, self.width = sock, width
        slot = 1 << (width + _HEADROOM - 1).bit_length()
        block = max(_BLOCK, slot)
        size = max(ring_bytes, 64 * slot)
        if slot > _SHORT_SLOT:
            size = max(size, min(_JUMBO_FRAMES * slot, 4 * ring_bytes))
        count = size // block * (block // slot)
        sock.setsockopt(_SOL_PACKET, _PACKET_VERSION, _TPACKET_V2)
        sock.setsockopt(_SOL_PACKET, _PACKET_RX_RING, struct.pack("4I", block, count * slot // block, slot, count))
        self._memory = mmap.mmap(sock.fileno(), count * slot, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        self.slots = np.frombuffer(self._memory, np.uint8).reshape(count, slot)
        self._headers = np.ndarray(count, _HEADER, self._memory, 0, slot)
        self._status = self._headers["status"]
        self._next = self._held = 0
        self.truncated = 0

    def receive(self, most: int = MOST) -> PacketBatch:
        """Frames that have arrived, at most ``most``; valid until the next call, unpadded.

        Raises:
            OSError: nothing is left, and the interface is down or gone.
        """
        before = self._held
        start, end = self.ahead(most)
        count = self._ready(start, end, before)
        if not count:
            return self.nothing()
        self._held = count
        self.pass_over(count)
        return self._batch(start, start + count)

    def _ready(self, start: int, end: int, expected: int) -> int:
        """The number of slots from ``start`` on that have frames.

        Slots lie in pages of their own, so few more are looked at than have frames: at first as many as expected.
        """
        at, step = start, max(_FIRST_LOOK, expected)
        while at < end:
            ready = self._status[at : min(at + step, end)] & USER
            if not ready.all():
                return at - start + int(ready.argmin())
            at, step = at + len(ready), 2 * step
        return end - start

    def ahead(self, most: int = MOST) -> tuple[int, int]:
        """Slots of the next frames, from the first to before the last; those of the last batch are given back."""
        self.release()
        self._next %= len(self._status)
        return self._next, min(self._next + most, len(self._status))

    def pass_over(self, count: int) -> None:
        """Go on behind ``count`` slots more."""
        self._next += count

    def nothing(self) -> PacketBatch:
        """No frames: there are none.

        Raises:
            OSError: the interface is down or gone.
        """
        number = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if number and number != errno.EAGAIN:
            raise OSError(number, os.strerror(number))
        return PacketBatch.empty()

    def release(self) -> None:
        """Give the slots of the last batch back to the kernel; until then poll(2) says that there is something."""
        self._status[self._next - self._held : self._next] = 0
        self._held = 0

    def missed(self) -> int:
        """Frames that came while the ring was full, since the last call."""
        raw = self._socket.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8)
        drops: int = struct.unpack("II", raw)[1]
        return drops

    def close(self) -> None:
        """Release the memory; batches received before are gone."""
        del self.slots, self._headers, self._status
        try:
            self._memory.close()
        except BufferError:  # somebody still holds a batch; the memory goes with it
            del self._memory

    def _batch(self, start: int, end: int) -> PacketBatch:
        headers = self._headers[start:end]
        lengths = headers["snaplen"].astype(np.int32)
        first = int(headers["mac"][0])
        data = self.slots[start:end, first : first + int(lengths.max())]
        if (headers["mac"] != first).any():
            data = np.zeros((end - start, self.width), np.uint8)
            for row, slot, mac, length in zip(data, self.slots[start:end], headers["mac"], lengths, strict=True):
                row[: min(length, self.width)] = slot[mac : mac + length][: self.width]
        batch = PacketBatch(np.zeros(end - start, np.int32), lengths, data)
        tagged = (headers["status"] & VLAN_VALID) != 0
        cut = (headers["len"] > headers["snaplen"]) | (lengths > self.width)
        if tagged.any():
            batch = _restore_tags(batch, tagged, headers)
        if cut.any():
            self.truncated += int(cut.sum())
            batch = batch.select(~cut)
        return batch


def padded(batch: PacketBatch) -> PacketBatch:
    """The frames in memory of their own, which may be that of the batch, with zeros behind the end of each."""
    data = batch.data if batch.data.flags.owndata else np.array(batch.data)
    if len(batch) and int(batch.lengths.min()) < data.shape[1]:
        data[np.arange(data.shape[1]) >= batch.lengths[:, None]] = 0
    return PacketBatch(batch.ports, batch.lengths, data)


def _restore_tags(batch: PacketBatch, tagged: np.ndarray, headers: np.ndarray) -> PacketBatch:
    """Put back the 802.1Q tags that the kernel keeps beside a frame."""
    width = batch.data.shape[1] + 4
    data = np.zeros((len(batch), width), np.uint8)
    data[~tagged, :-4] = batch.data[~tagged]
    data[tagged, :12] = batch.data[tagged, :12]
    data[tagged, 16:] = batch.data[tagged, 12:]
    tpid = np.where(headers["status"] & _VLAN_TPID_VALID, headers["vlan_tpid"], 0x8100)[tagged].astype(">u2")
    data[tagged, 12:14] = tpid.view(np.uint8).reshape(-1, 2)
    data[tagged, 14:16] = headers["vlan_tci"][tagged].astype(">u2").view(np.uint8).reshape(-1, 2)
    return PacketBatch(batch.ports, batch.lengths + 4 * tagged.astype(np.int32), data)
