# SPDX-License-Identifier: Apache-2.0
"""A port that listens on a Unix socket of mode 0600 for :class:`offramp_base.transport.unix.UnixIO`."""

from __future__ import annotations

import logging
import select
import socket
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from offramp_base.errors import OfframpError
from offramp_base.listening import Access, Address
from offramp_base.listening.sockets import bind, remove, trusted_user, user_of
from offramp_base.transport.base import LinkStats
from offramp_base.transport.framing import MOST_FRAMES, FramedMessage, messages, unpack
from offramp_base.transport.unix import SOCKET_BUFFER, check_path, take_message
from offramp_base.wire.batch import PacketBatch

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

FAIR_SHARE = 4
"""Messages taken in one turn."""
HIGH_WATER = 8 << 20
"""Bytes kept for a host that is slow to read, beyond which the switch holds back."""
_WAITING = 1
STALL_S = 10.0
"""Seconds after which a host that reads nothing loses frames instead of holding back everyone."""

_LOG = logging.getLogger(__name__)


class UnixPort:
    """One link, lossless while its host reads: the switch holds back instead of dropping.

    Its host is a process of this user or of root; while one is connected, others wait.

    Raises:
        OfframpError: the socket cannot be made at ``path``.
    """

    transport: ClassVar[str] = "unix"

    def __init__(self, path: str | Path) -> None:
        self.name = f"{self.transport}:{check_path(path)}"
        self.stats = LinkStats()
        self._path = Path(path)
        self._host: socket.socket | None = None
        self._kept: deque[FramedMessage] = deque()
        self._kept_bytes = 0
        self._progress = 0.0
        self._open()

    def _open(self) -> None:
        refuse_others(self._path, self.name)
        self._listener = bind(Address(socket.AF_UNIX, str(self._path)), Access(), "port", socket.SOCK_SEQPACKET)
        self._listener.setblocking(False)
        self._listener.listen(_WAITING)

    def interest(self) -> list[tuple[int, int]]:
        """The listener while no host is connected, else the host."""
        if self._host is None:
            return [(self._listener.fileno(), select.POLLIN)]
        return [(self._host.fileno(), select.POLLIN | (select.POLLOUT if self._kept else 0))]

    def receive(self) -> list[PacketBatch]:
        """Some of the frames that have arrived, a batch for each message; accepts a host if there is none."""
        if self._host is None and not self._accept():
            return []
        parts: list[PacketBatch] = []
        rows = 0
        for _ in range(FAIR_SHARE):
            message = self._message() if rows <= MOST_FRAMES else None
            if message is None:
                break
            try:
                parts.append(unpack(message))
                rows += len(parts[-1])
            except OfframpError:
                self.stats.malformed += 1
        self.stats.received += rows
        return parts

    def send(self, batch: PacketBatch, rows: npt.NDArray[np.intp] | None = None) -> None:
        """Send frames; without a host they are dropped."""
        # A host counts from when it connected: what was received in this turn may be for one that is not taken in yet.
        if (self._host is None and not self._accept()) or self._stalled():
            self.stats.dropped += len(batch if rows is None else rows)
            return
        if not self._kept:
            self._progress = time.monotonic()
        before = len(self._kept)
        for message in messages(batch, rows):
            self._kept.append(message)
            self._kept_bytes += message.size
        added = len(self._kept) - before
        self.flush()
        for place in range(-min(added, len(self._kept)), 0):
            self._kept[place] = self._kept[place].apart()

    def flush(self) -> None:
        """Send the frames that were kept, as far as the host takes them."""
        while self._kept and self._host is not None:
            message = self._kept[0]
            try:
                self._host.sendmsg((message.head, *message.payload))
            except BlockingIOError:
                return
            except OSError:
                self._disconnect()
                return
            self._kept.popleft()
            self._kept_bytes -= message.size
            self._progress = time.monotonic()
            self.stats.sent += message.frames
            self.stats.sent_bytes += message.payload_bytes

    def rest(self) -> None:
        """Do nothing."""

    @property
    def congested(self) -> bool:
        """Whether the host is far behind, but still reading."""
        return self._kept_bytes > HIGH_WATER and not self._stalled()

    @property
    def busy(self) -> bool:
        """Frames are kept because the host takes no more now."""
        return bool(self._kept) and not self._stalled()

    @property
    def up(self) -> bool:
        """Always: a socket has no carrier."""
        return True

    def tick(self, now: float) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Close the link and remove the socket."""
        self._disconnect()
        remove(self._listener)

    def _stalled(self) -> bool:
        return bool(self._kept) and self._behind()

    def _behind(self) -> bool:
        return time.monotonic() - self._progress > STALL_S

    def _accept(self) -> bool:
        try:
            host, _ = self._listener.accept()
        except OSError:
            return False
        if not trusted_user(host):
            _LOG.warning("%s: a process of user %d is turned away", self.name, user_of(host))
            self.stats.strangers += 1
            host.close()
            return False
        self._connected(host)
        return True

    def _connected(self, host: socket.socket) -> None:
        host.setblocking(False)
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            host.setsockopt(socket.SOL_SOCKET, option, SOCKET_BUFFER)
        self._host = host
        _LOG.info("%s: connected", self.name)

    def _message(self) -> npt.NDArray[np.uint8] | None:
        message = None if self._host is None else take_message(self._host)
        if message is not None and not len(message):
            self._disconnect()
            return None
        return message

    def _disconnect(self) -> None:
        if self._host is None:
            return
        _LOG.info("%s: disconnected", self.name)
        self._host.close()
        self._host = None
        self.stats.dropped += sum(message.frames for message in self._kept)
        self._kept.clear()
        self._kept_bytes = 0


def refuse_others(path: Path, name: str) -> None:
    """Say what is there, where that is not a socket that nobody listens on any more; ``name`` is of the port.

    Raises:
        OfframpError: somebody does, or it is not a socket.
    """
    if not path.exists():
        return
    if not path.is_socket():
        raise OfframpError(f"{name}: the file exists and is not a socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return
        except OSError as error:
            raise OfframpError(f"{name}: {error.strerror}") from None
        raise OfframpError(f"{name}: another switch listens there")
