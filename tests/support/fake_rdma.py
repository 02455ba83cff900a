# SPDX-License-Identifier: Apache-2.0
"""RDMA between ports of one process, with the faces of RdmaPort and QueuePair.

Writes reach registered memory only, and an access with another key, beyond its end or after it was closed breaks the
queue pair, as on a device. Blind to time, to lost packets, and to libibverbs.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from offramp.hermod.endhost.priorities import CoflowPriority
from offramp.hermod.endhost.rdma.wire import QueuePairAddress, RemoteMemory


class FakeFabric:
    """All ports, their queue pairs and memory.

    Attributes:
        held: DSCPs whose writes wait until :meth:`let_go`.
        waiting: such writes, with their DSCP and bytes.
        classes: by number of a queue pair its traffic class, service level and MTU, when it was connected.
        registered: by key memory that can be accessed: address, bytes, whether peers may write it.
        ports: that were opened.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.pairs: dict[int, FakeQueuePair] = {}
        self.registered: dict[int, tuple[int, int, bool]] = {}
        self.classes: dict[int, tuple[int, int, int]] = {}
        self.held: set[int] = set()
        self.waiting: deque[tuple[int, int, Callable[[], None]]] = deque()
        self.ports: list[FakePort] = []
        self.keys = iter(range(0x1000, 1 << 24))

    def opener(self, mtu: int = 3, most: int = 1 << 30) -> Callable[[str], Any]:
        """What opens a port at an address."""

        def opened(_: str) -> FakePort:
            self.ports.append(FakePort(self, mtu, most))
            return self.ports[-1]

        return opened

    def let_go(self) -> None:
        with self.lock:
            self.held.clear()
            while self.waiting:
                self.waiting.popleft()[2]()

    def accessible(self, key: int, address: int, count: int, *, write: bool) -> bool:
        start, size, writable = self.registered.get(key, (0, 0, False))
        return start <= address and address + count <= start + size and (writable or not write)


class FakeMemory:
    def __init__(self, fabric: FakeFabric, view: memoryview, writable: bool) -> None:
        self._array, self._fabric = np.frombuffer(view, np.uint8), fabric
        self.address = int(self._array.ctypes.data)
        with fabric.lock:
            self.local_key = self.remote_key = next(fabric.keys)
            fabric.registered[self.local_key] = (self.address, len(self._array), writable)

    def close(self) -> None:
        with self._fabric.lock:
            self._fabric.registered.pop(self.local_key, None)


class FakePort:
    def __init__(self, fabric: FakeFabric, mtu: int, most: int) -> None:
        self.fabric, self.mtu, self.most, self.closed = fabric, mtu, most, False

    def register(self, view: memoryview, *, writable: bool) -> FakeMemory:
        return FakeMemory(self.fabric, view, writable)

    def queue_pair(self) -> FakeQueuePair:
        return FakeQueuePair(self.fabric)

    def close(self) -> None:
        self.closed = True


class FakeQueuePair:
    def __init__(self, fabric: FakeFabric) -> None:
        self._fabric, self._event = fabric, os.eventfd(0, os.EFD_NONBLOCK)
        self._received: deque[bytes] = deque()
        self._sent, self._error, self._flushed = 0, "", False
        self._other, self._dscp = -1, 0
        with fabric.lock:
            self.number = self.first = next(fabric.keys)
            fabric.pairs[self.number] = self

    def fileno(self) -> int:
        return self._event

    def address(self, mark: CoflowPriority) -> QueuePairAddress:
        return QueuePairAddress(self.number, self.first, mark.dscp, mark.queue)

    def connect(self, host: str, other: QueuePairAddress, mtu: int, dead_s: float) -> None:
        del host, dead_s
        self._other, self._dscp = other.number, other.dscp
        self._fabric.classes[self.number] = (other.mark.traffic_class, other.level, mtu)

    def write(self, memory: Any, start: int, count: int, remote: RemoteMemory, header: bytes) -> None:
        def go() -> None:
            fabric = self._fabric
            source, target = memory.address + start, remote.address + start
            if not fabric.accessible(memory.local_key, source, count, write=False):
                self._complete("local protection error")
            elif not fabric.accessible(remote.key, target, count, write=True):
                self._complete("remote access error")
                other = fabric.pairs[self._other]
                other._flushed = True
                os.eventfd_write(other._event, 1)
            else:
                ctypes.memmove(target, source, count)
                self._deliver(header)

        with self._fabric.lock:
            if self._dscp in self._fabric.held:
                self._fabric.waiting.append((self._dscp, count, go))
            else:
                go()

    def say(self, header: bytes) -> None:
        with self._fabric.lock:
            self._deliver(header)

    def completed(self) -> tuple[int, list[bytes]]:
        with self._fabric.lock:
            with contextlib.suppress(BlockingIOError):
                os.eventfd_read(self._event)
            if self._flushed:
                raise OSError(errno.ECONNABORTED, "Work Request Flushed Error")
            if self._error:
                raise OSError(errno.EIO, self._error)
            sent, received = self._sent, list(self._received)
            self._sent = 0
            self._received.clear()
            return sent, received

    def close(self) -> None:
        with self._fabric.lock:
            if self._fabric.pairs.pop(self.number, None) is not None:
                os.close(self._event)
                self._event = -1

    def _deliver(self, header: bytes) -> None:
        other = self._fabric.pairs.get(self._other)
        if other is None:
            self._complete("transport retry counter exceeded")
            return
        other._received.append(header)
        os.eventfd_write(other._event, 1)
        self._complete("")

    def _complete(self, error: str) -> None:
        self._error = self._error or error
        self._sent += not error
        if self._event >= 0:
            os.eventfd_write(self._event, 1)
