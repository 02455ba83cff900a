# SPDX-License-Identifier: Apache-2.0
"""Raw Ethernet frames on a network interface: an AF_XDP socket (Linux's networking/af_xdp).

Frames go between the interface and memory of this process without the kernel's packet sockets and queues. The kernel
hands all frames of the interface to this socket and none to its own protocols.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import socket
import struct
import time
from typing import Final, cast

import numpy as np
import numpy.typing as npt

from offramp_base.errors import OfframpError
from offramp_base.transport.base import LinkStats, OutgoingFrames
from offramp_base.transport.interface import (
    MIN_FRAME,
    UP,
    flags,
    interface_index,
    longest_frame,
    make_promiscuous,
    mtu,
    packet_socket,
)
from offramp_base.transport.mmsg import long_enough
from offramp_base.transport.xdp.bpf import MODES, Redirect
from offramp_base.transport.xdp.frames import FrameRows
from offramp_base.transport.xdp.rings import SOL_XDP, XdpRings
from offramp_base.wire.batch import PacketBatch

FRAMES: Final = 4096
"""Places of each ring, and frames that wait in each direction."""
MOST: Final = 512
"""Frames of one batch, so that no interface keeps others waiting."""
_AF_XDP: Final = 44
_STATISTICS, _TX_BUDGET = 7, 9
_NEED_WAKEUP: Final = 1 << 3
_CHUNKS: Final = (2048, 4096)
_RESERVED: Final = 256
"""Bytes before each received frame that the kernel keeps for XDP programs."""
_SIOCETHTOOL, _ETHTOOL_GCHANNELS = 0x8946, 0x3C
_QUEUE_FREE_S: Final = 2.0
_LIBC = ctypes.CDLL(None, use_errno=True)


class AfXdpSocket:
    """All frames of one interface by an AF_XDP socket of its only receive queue.

    Frames that are longer than the interface's MTU allows are dropped and count as malformed.

    Args:
        ifname: the interface.
        stats: counters to continue.
        mode: where frames are taken, ``native`` or ``generic``; None: in the driver if it can, or else the
            kernel's common path.

    Raises:
        OfframpError: no such interface, no permission, more than one receive queue, an MTU above 3,776 bytes, or
            another program that uses XDP on it.
    """

    shortest = MIN_FRAME

    def __init__(self, ifname: str, stats: LinkStats | None = None, mode: str | None = None) -> None:
        self.name = f"interface {ifname}"
        self.stats = stats or LinkStats()
        self._ifname = ifname
        self._index = interface_index(ifname)
        self._helper = packet_socket(ifname)  # of AF_XDP the kernel takes neither promiscuity nor ioctl(2)
        self._open: list[socket.socket | Redirect | XdpRings] = []
        self._counted: tuple[int, int, int] | None = None
        try:
            make_promiscuous(self._helper, self._index)
            self._longest = mtu(self._helper, ifname) + MIN_FRAME
            self._set_up(longest_frame(self._helper, ifname), mode)
        except OSError as error:
            self.close()
            raise OfframpError(f"{self.name}: AF_XDP: {_advice(error, ifname)}") from None
        except OfframpError:
            self.close()
            raise
        self._held = np.zeros(0, np.uint64)
        self._spare = np.arange(FRAMES, 2 * FRAMES)
        self._counted = self._kernel_counts()

    def _set_up(self, longest: int, mode: str | None) -> None:
        queues = _receive_queues(self._helper, self._ifname)
        if queues != 1:
            raise OfframpError(
                f"{self.name}: {queues} receive queues, AF_XDP takes frames of one: "
                f"ethtool -L {self._ifname} combined 1, or af_packet:{self._ifname}"
            )
        chunk = next((size for size in _CHUNKS if longest <= size - _RESERVED), None)
        if chunk is None:
            raise OfframpError(
                f"{self.name}: MTU of {mtu(self._helper, self._ifname)} bytes: AF_XDP takes frames of up to "
                f"{_CHUNKS[-1] - _RESERVED} bytes; af_packet:{self._ifname} takes longer ones"
            )
        self._chunk = chunk
        self.socket = socket.socket(_AF_XDP, socket.SOCK_RAW, 0)
        self._open.append(self.socket)
        self._rings = XdpRings(self.socket, FRAMES, chunk)
        self._open.append(self._rings)
        with contextlib.suppress(OSError):  # before Linux 6.17 a call sends 32 frames
            self.socket.setsockopt(SOL_XDP, _TX_BUDGET, FRAMES)
        redirect = self._redirect([mode] if mode else ["native", "generic"])
        self._rings.free.entries[:] = np.arange(FRAMES, dtype=np.uint64) * np.uint64(chunk)
        self._rings.free.advance(FRAMES)
        _bind(self.socket, self._index)
        redirect.attach(0, self.socket.fileno())

    def _redirect(self, modes: list[str]) -> Redirect:
        for mode in modes:
            try:
                redirect = Redirect(self._index, 1, mode)
            except OSError as error:
                if mode == modes[-1] or error.errno in {errno.EPERM, errno.EBUSY, errno.EEXIST}:
                    raise
                continue
            self._open.append(redirect)
            self.mode = mode
            return redirect
        raise AssertionError(MODES)

    def fileno(self) -> int:
        """The descriptor to poll."""
        return self.socket.fileno()

    def receive(self) -> PacketBatch:
        """Frames that have arrived, at most :data:`MOST`; valid until the next call, unpadded.

        Raises:
            OSError: nothing is left, and the interface is down or gone.
        """
        self._release()
        ring = self._rings.received
        count = min(ring.ready(), MOST)
        if not count:
            self._check()
            return PacketBatch.empty()
        descriptors = ring.entries[ring.places(count)]
        addresses, lengths = descriptors["addr"].copy(), descriptors["len"].astype(np.int32)
        ring.advance(count)
        self._held = addresses
        self.stats.received += count
        data = _rows(self._rings.chunks, addresses.astype(np.intp), self._chunk, int(lengths.max()))
        return PacketBatch(np.zeros(count, np.int32), lengths, data)

    def message(self, batch: PacketBatch, rows: npt.NDArray[np.intp] | None = None) -> FrameRows:
        """Frames (``rows`` of the batch) made ready for :meth:`send`; too short ones are dropped and counted."""
        rows, short = long_enough(batch, rows, MIN_FRAME)
        self.stats.dropped += short
        self.stats.unfit += short
        return FrameRows.of(batch, rows)

    def send(self, message: OutgoingFrames, start: int = 0) -> int:
        """Hand frames to the kernel; how many it took. OSError when the interface is gone."""
        frames, rings = cast("FrameRows", message), self._rings
        self._reap()
        room = min(len(frames) - start, len(self._spare), rings.sending.ready())
        count = frames.fitting(start, room, self._longest)
        if room and not count:
            raise OSError(errno.EMSGSIZE, os.strerror(errno.EMSGSIZE))
        if count:
            chunks, self._spare = self._spare[:count], self._spare[count:]
            lengths = frames.copy_to(rings.chunks, chunks, start)
            places = rings.sending.places(count)
            rings.sending.entries["addr"][places] = chunks * self._chunk
            rings.sending.entries["len"][places] = lengths
            rings.sending.entries["options"][places] = 0
            rings.sending.advance(count)
            self.stats.sent += count
            self.stats.sent_bytes += int(lengths.sum())
        self._kick()
        return count

    def refresh(self) -> None:
        """Count the frames that the kernel could not deliver or send."""
        if self._counted is None:
            return
        counts = self._kernel_counts()
        long, missed, invalid = (now - before for now, before in zip(counts, self._counted, strict=True))
        self._counted = counts
        self.stats.malformed += long
        self.stats.missed += missed
        self.stats.dropped += invalid

    def close(self) -> None:
        """Release the interface."""
        self.refresh()
        self._counted = None
        self._helper.close()
        self._open.sort(key=lambda resource: isinstance(resource, XdpRings))  # memory last
        while self._open:
            self._open.pop(0).close()

    def _release(self) -> None:
        """Give the chunks of the last batch back to the kernel."""
        if len(self._held):
            free = self._rings.free
            free.entries[free.places(len(self._held))] = self._held // self._chunk * self._chunk
            free.advance(len(self._held))
            self._held = self._held[:0]

    def _reap(self) -> None:
        """Take back the chunks of frames that are sent."""
        sent = self._rings.sent
        count = sent.ready()
        if count:
            done = sent.entries[sent.places(count)].astype(np.intp) // self._chunk
            sent.advance(count)
            self._spare = np.concatenate((self._spare, done))

    def _kick(self) -> None:
        """Make the kernel send what is in the ring, as far as the interface takes it."""
        while (waiting := FRAMES - self._rings.sending.ready()) > 0:
            try:
                self.socket.send(b"", socket.MSG_DONTWAIT)
            except OSError as error:
                if error.errno == errno.EBUSY:  # one frame was lost at the interface
                    self.stats.sent -= 1
                    self.stats.dropped += 1
                elif error.errno not in {errno.EAGAIN, errno.ENOBUFS, errno.EINTR}:
                    raise
            if FRAMES - self._rings.sending.ready() >= waiting:
                break  # what is left goes with the next call, or with poll(2)

    def _check(self) -> None:
        number = self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if not number and not flags(self._ifname, self._helper) & UP:
            number = errno.ENETDOWN
        if number and number != errno.EAGAIN:
            raise OSError(number, os.strerror(number))

    def _kernel_counts(self) -> tuple[int, int, int]:
        """Frames too long, frames without room, invalid descriptors (struct xdp_statistics)."""
        raw = self.socket.getsockopt(SOL_XDP, _STATISTICS, 48)
        dropped, _, invalid, full, empty, _ = struct.unpack("6Q", raw)
        return dropped - empty, full + empty, invalid


def _rows(chunks: npt.NDArray[np.uint8], addresses: npt.NDArray[np.intp], chunk: int, width: int) -> np.ndarray:
    """The frames at ``addresses``: a view where they follow each other, or else a copy."""
    steps = np.diff(addresses)
    first, at = divmod(int(addresses[0]), chunk)
    if (steps == chunk).all():
        return chunks[first : first + len(addresses), at : at + width]
    rows, offsets = np.divmod(addresses, chunk)
    if (offsets == at).all():
        return chunks[rows, at : at + width]
    flat = chunks.reshape(-1)
    return np.stack([np.resize(flat[a : a + width], width) for a in addresses.tolist()])


def _bind(sock: socket.socket, index: int) -> None:
    # struct sockaddr_xdp: family, flags, interface, queue, shared descriptor; Python knows no such address
    address = struct.pack("HHIII", _AF_XDP, _NEED_WAKEUP, index, 0, 0)
    # A queue is free again some time after its last socket was closed: the kernel clears it in the background.
    deadline = time.monotonic() + _QUEUE_FREE_S
    while _LIBC.bind(sock.fileno(), address, len(address)):
        number = ctypes.get_errno()
        if number != errno.EBUSY or time.monotonic() > deadline:
            raise OSError(number, os.strerror(number))
        time.sleep(0.001)


def _receive_queues(sock: socket.socket, ifname: str) -> int:
    """Number of receive queues that ethtool reports; 1 for a driver without channels."""
    # struct ethtool_channels: command, four limits, then receiving, sending, other and combined queues
    channels = ctypes.create_string_buffer(struct.pack("9I", _ETHTOOL_GCHANNELS, *[0] * 8), 36)
    try:
        fcntl.ioctl(sock, _SIOCETHTOOL, struct.pack("16sQ16x", ifname.encode()[:15], ctypes.addressof(channels)))
    except OSError:
        return 1
    counts = struct.unpack("9I", channels.raw)
    return max(1, int(counts[5] + counts[8]))


def _advice(error: OSError, ifname: str) -> str:
    match error.errno:
        case errno.EPERM | errno.EACCES:
            return "needs root, or CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF; unix:PATH links need none"
        case errno.EBUSY | errno.EEXIST:
            return f"another program takes its frames by XDP; af_packet:{ifname} works beside it"
        case errno.EAFNOSUPPORT | errno.EPROTONOSUPPORT:
            return f"not in this kernel (CONFIG_XDP_SOCKETS); af_packet:{ifname} works without"
        case _:
            return error.strerror or str(error)
