"""Rings whose bytes travel over TCP: the receiver's ring becomes a copy of the sender's, position by position."""

from __future__ import annotations

import socket
import time
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.leo.runtime import ring
from offramp.leo.runtime.memory import make_ring
from offramp.leo.transports.link import Control, LinkDown

Words = npt.NDArray[np.int64]
_MOST: Final = 1 << 20


class TcpLink:
    """See the module; a :class:`offramp.leo.transports.link.Link`."""

    shared = False

    def __init__(self, control: Control, ring_bytes: int) -> None:
        self.sent, self.received = make_ring(ring_bytes), make_ring(ring_bytes)
        self._control, self._size = control, ring_bytes
        self._out = self.sent[ring.HEADER_WORDS :].data.cast("B")
        self._in = self.received[ring.HEADER_WORDS :].data.cast("B")
        self._socket = control.sock
        self._socket.setblocking(False)
        if self._socket.family != socket.AF_UNIX:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def pump(self) -> bool:
        """Send and receive what the kernel takes and has."""
        return self._push() | self._pull()

    def _push(self) -> bool:
        moved = False
        while (left := int(self.sent[ring.HEAD] - self.sent[ring.TAIL])) > 0:
            place = int(self.sent[ring.TAIL]) & self._size - 1
            try:
                count = self._socket.send(self._out[place : min(place + min(left, _MOST), self._size)])
            except (BlockingIOError, InterruptedError):
                break
            except OSError as error:
                raise LinkDown(str(error)) from None
            self.sent[ring.TAIL] += count
            moved = True
        return moved

    def _pull(self) -> bool:
        moved = False
        while (room := self._size - int(self.received[ring.HEAD] - self.received[ring.TAIL])) > 0:
            place = int(self.received[ring.HEAD]) & self._size - 1
            try:
                count = self._socket.recv_into(self._in[place : min(place + min(room, _MOST), self._size)])
            except (BlockingIOError, InterruptedError):
                break
            except OSError as error:
                raise LinkDown(str(error)) from None
            if count == 0:
                raise LinkDown("the peer has closed the connection")
            self.received[ring.ARRIVED] = time.monotonic_ns()
            self.received[ring.HEAD] += count
            moved = True
        return moved

    def close(self) -> None:
        """Close the socket."""
        self._control.close()
