# SPDX-License-Identifier: Apache-2.0
"""The common base of a host's ends of links that begin at a Unix socket of the switch."""

from __future__ import annotations

import select
import socket
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar, Final

from offramp_base.errors import OfframpError
from offramp_base.transport.base import LinkStats
from offramp_base.wire.batch import PacketBatch

STALL_S: Final = 60.0
"""Seconds after which a switch that takes no frame is given up."""
MAX_PATH: Final = 107
"""Longest path of a Unix socket, bytes."""
CLOSED: Final = "the switch closed the link"
STALLED: Final = f"the switch took no frame for {STALL_S:g} s"


def check_path(path: str | Path) -> str:
    """Return the path if it is short enough for a socket.

    Raises:
        OfframpError: it is too long.
    """
    if len(str(path).encode()) > MAX_PATH:
        raise OfframpError(f"unix:{path}: a socket path has at most {MAX_PATH} bytes")
    return str(path)


class HostLink(ABC):
    """A FrameIO that connects to the ``SOCK_SEQPACKET`` socket at ``path``, on which the switch listens.

    The switch holds back when a host does not read, so ``send`` reads while it waits: two ends that send at the same
    time never wait for each other.

    Attributes:
        name: name for messages.

    Raises:
        OfframpError: nothing listens at ``path``, or it is not such a port.
    """

    transport: ClassVar[str]

    def __init__(self, path: str | Path) -> None:
        self.name = f"{self.transport}:{check_path(path)}"
        self.stats = LinkStats()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        self._arrived: list[PacketBatch] = []
        self._gone = ""
        """The reason that nothing more can come; empty while the link is there."""
        try:
            self._socket.connect(str(path))
            self._connected()
        except OSError as error:
            self._socket.close()
            raise OfframpError(f"{self.name}: {error.strerror}; is the switch running?") from None
        except OfframpError:
            self._socket.close()
            raise

    @abstractmethod
    def _connected(self) -> None:
        """Begin the link on a socket that has just been connected."""

    @abstractmethod
    def send(self, batch: PacketBatch) -> None:
        """Send all frames, waiting while the switch is busy.

        Raises:
            OfframpError: the link is gone, or the switch takes nothing for :data:`STALL_S` seconds.
        """

    @abstractmethod
    def _drain(self) -> bool:
        """Take all frames that have arrived; returns whether there were any."""

    def receive(self, timeout_s: float) -> PacketBatch:
        """Frames that have arrived, at least one unless ``timeout_s`` seconds pass without any.

        Raises:
            OfframpError: the link is gone and all frames have been received.
        """
        deadline = time.monotonic() + timeout_s
        self._drain()
        while not self._arrived and not self._gone:
            left = deadline - time.monotonic()
            if left <= 0:
                break
            self._wait(select.POLLIN, left)
            self._drain()
        if not self._arrived and self._gone:
            raise OfframpError(f"{self.name}: {self._gone}")
        batch = PacketBatch.concatenate(self._arrived)
        self._arrived.clear()
        self.stats.received += len(batch)
        return batch

    def fileno(self) -> int:
        """The socket's descriptor, for code that moves frames by itself."""
        return self._socket.fileno()

    def close(self) -> None:
        """Release the link."""
        self._socket.close()

    def _wait(self, events: int, timeout_s: float) -> None:
        # A link whose other end is gone stays readable: waiting for it would spin.
        self._poll.modify(self._socket, events & ~select.POLLIN if self._gone else events)
        self._poll.poll(max(0.0, timeout_s) * 1000)

    def _check_stall(self, deadline: float) -> None:
        if time.monotonic() > deadline:
            raise OfframpError(f"{self.name}: {STALLED}")
