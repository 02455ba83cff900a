# SPDX-License-Identifier: Apache-2.0
"""The socket beside the rings: it transfers their memory, wakes a waiting side, and closes with either side."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from typing import Final

from offramp_base.errors import OfframpError
from offramp_base.sealed_memory import SharedMemory
from offramp_base.transport.shm.rings import MEMORY_BYTES

GREETING: Final = b"offramp-shm-1"
GREETING_S: Final = 10.0
_RING: Final = b"!"


def offer(sock: socket.socket, memory: SharedMemory) -> None:
    """Send the memory of the rings to the process that has connected.

    Raises:
        OSError: it is gone.
    """
    socket.send_fds(sock, [GREETING], [memory.fd])


def accept(sock: socket.socket, name: str) -> SharedMemory:
    """The rings of the switch at the other end.

    Raises:
        OfframpError: it is not a switch with such a port, or its memory has another layout.
    """
    deadline = time.monotonic() + GREETING_S
    sock.settimeout(GREETING_S)
    try:
        message, descriptors, _, _ = socket.recv_fds(sock, len(GREETING) + 1, 1)
    except OSError as error:
        late = time.monotonic() >= deadline
        raise OfframpError(f"{name}: {'no greeting from the switch' if late else error.strerror}") from None
    if message != GREETING or len(descriptors) != 1:
        for descriptor in descriptors:
            os.close(descriptor)
        raise OfframpError(f"{name}: what listens there is no port in shared memory")
    sock.setblocking(False)
    return SharedMemory.attach(descriptors[0], MEMORY_BYTES, name)


def ring(sock: socket.socket) -> None:
    """Wake the other side; a side that has not yet heard the last rings, or is gone, is not told again."""
    with contextlib.suppress(OSError):
        sock.send(_RING, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)


def receive(sock: socket.socket) -> bool:
    """Take all pending rings; False if the other side is gone."""
    while True:
        try:
            if not sock.recv(len(_RING), socket.MSG_DONTWAIT):
                return False
        except BlockingIOError:
            return True
        except OSError:
            return False
