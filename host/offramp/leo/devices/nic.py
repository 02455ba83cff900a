# SPDX-License-Identifier: Apache-2.0
"""The agent of a smartNIC as a LEO device (``docs/smartnic.md``)."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from offramp.device import Completion, Message, Status
from offramp.leo.functions import compress, ebs, features, kvs, reduce, sylvie
from offramp.leo.functions.echo import ECHO
from offramp.leo.memory import check_inside
from offramp.nic import wire
from offramp.nic.client import QueueClient, QueueReply
from offramp_base.errors import OfframpError
from offramp_base.sealed_memory import SharedMemory

FUNCTIONS: Final = {
    kvs.NAME: wire.NicFunction.KVS_LOOKUP,
    ebs.NAME: wire.NicFunction.EBS_LOOKUP,
    reduce.NAME: wire.NicFunction.REDUCE,
    compress.COMPRESS: wire.NicFunction.COMPRESS,
    compress.DECOMPRESS: wire.NicFunction.DECOMPRESS,
    sylvie.QUANTISE: wire.NicFunction.QUANTISE,
    sylvie.DEQUANTISE: wire.NicFunction.DEQUANTISE,
    features.NAME: wire.NicFunction.FEATURES_SELECT,
    ECHO: wire.NicFunction.ECHO,
}
MEMORY_S: Final = 10.0
_STATUSES: Final = frozenset(map(int, Status))
_PIECE: Final = 1 << 20


class NicMemory:
    """A function's tables on the card; the agent that looks up writes them too, so it never sees half of a line."""

    def __init__(self, device: NicDevice, function: wire.NicFunction, shared: SharedMemory, size: int) -> None:
        self._device = device
        self._function = function
        self._shared = shared
        self.size = size

    def write(self, offset: int, content: Message) -> None:
        """Write ``content`` at ``offset``.

        Raises:
            OfframpError: it does not fit, or the agent is gone.
        """
        check_inside(self.size, offset, len(content))
        view = memoryview(content)
        for start in range(0, len(content), _PIECE):
            part = view[start : start + _PIECE]
            header = wire.MEMORY.pack(self._function, 0, offset + start, len(part))
            self._device.call(wire.NicFunction.MEMORY_WRITE, header + bytes(part), 0)

    def read(self, offset: int, length: int) -> bytes:
        """Read ``length`` bytes at ``offset``.

        Raises:
            OfframpError: it does not lie inside, or the agent is gone.
        """
        check_inside(self.size, offset, length)
        if self._function == wire.NicFunction.KVS_LOOKUP:  # which only the host writes
            return bytes(self._shared.view[offset : offset + length])
        parts = []
        for start in range(offset, offset + length, _PIECE):
            size = min(_PIECE, offset + length - start)
            message = wire.MEMORY.pack(self._function, 0, start, size)
            parts.append(self._device.call(wire.NicFunction.MEMORY_READ, message, size))
        return b"".join(parts)


class NicDevice:
    """The agent behind a control socket, with a queue and tables of its own.

    Tables lie in memory of this process, so they outlive an agent that dies.

    Args:
        path: path of the agent's control socket.
        name: name of this device.
        depth: most outstanding requests, a power of two.
        memory: bytes for messages and answers.
        kvs_buckets: buckets of the index, a power of two; 0: no index.
        ebs_layout: layout of the block tables; None: no tables.
        feature_shape: rows and columns of the feature matrix; None: no matrix.

    Raises:
        OfframpError: no agent, no permission, or it refuses.
    """

    kind = "nic"

    def __init__(
        self,
        path: str | Path,
        name: str = "nic",
        *,
        depth: int = 64,
        memory: int = 64 << 20,
        kvs_buckets: int = 0,
        ebs_layout: ebs.TableLayout | None = None,
        feature_shape: tuple[int, int] | None = None,
    ) -> None:
        if kvs_buckets < 0 or kvs_buckets & kvs_buckets - 1:
            raise OfframpError(f"kvs index of {kvs_buckets} buckets: expected a power of two")
        if depth < 1 or depth & depth - 1:
            raise OfframpError(f"{name}: depth {depth}: expected a power of two")
        self.name = name
        self.depth = depth
        self._client: QueueClient | None = None
        self._client = client = QueueClient(path, 2 * depth, memory)  # half of them for what the device itself asks
        self.functions: Sequence[str] = tuple(f for f in FUNCTIONS if f in client.connection.functions)
        self._columns = 0
        self._numbers: dict[int, int] = {}  # of requests on the queue: the host's
        self._next = 0
        self._done: list[Completion] = []
        self._memories: dict[str, NicMemory] = {}
        self._shared: list[SharedMemory] = []
        try:
            if kvs_buckets:
                size = kvs_buckets * kvs.LINE
                self._add_tables(kvs.NAME, size, kvs_buckets & 0xFFFFFFFF, kvs_buckets >> 32)
            if ebs_layout is not None:
                sizes = ebs_layout.volumes, ebs_layout.entries, ebs_layout.segments
                self._add_tables(ebs.NAME, ebs_layout.size, *sizes)
            if feature_shape is not None:
                self._columns = feature_shape[1]
                self._add_tables(features.NAME, 4 * math.prod(feature_shape), *feature_shape)
        except OfframpError:
            self.close()
            raise

    def memory(self, function: str) -> NicMemory:
        """The tables that ``function`` reads.

        Raises:
            OfframpError: it has no such function, or one without tables.
        """
        if function not in self._memories:
            raise OfframpError(f"{self.name}: {function} has no tables here; NicDevice makes them where asked to")
        return self._memories[function]

    def submit(self, function: str, request: int, message: Message) -> bool:
        """Queue a request; False where the queue is full and nothing happened.

        Raises:
            OfframpError: the device is gone or closed.
        """
        client = self._alive()
        if len(self._numbers) >= self.depth:
            return False
        if function not in self.functions:
            self._done.append(Completion(request, Status.UNKNOWN_FUNCTION, b"", 0))
            return True
        room, most = _room(function, message, self._columns)
        if not client.submit(FUNCTIONS[function], self._next, message, room, most):
            return False
        self._numbers[self._next] = request
        self._next += 1
        return True

    def poll(self) -> list[Completion]:
        """Completions since the last call, without waiting; requests of an agent that is gone are LOST, once."""
        client = self._client
        if client is not None:
            replies = client.replies()
            if not replies and self._numbers and not client.gone:
                client.rings.wait(0)
                replies = client.replies()
            self._take(replies)
            if client.gone:
                client.abandon()
                self._end(Status.LOST)
        done, self._done = self._done, []
        return done

    def wait(self, timeout_s: float) -> None:
        """Wait until there is something to poll, or the time is over."""
        if not self._done and self._numbers:
            self._take(self._alive().wait(timeout_s))

    def reset(self) -> None:
        """Abort everything outstanding, and reconnect to an agent that has come back.

        Raises:
            OfframpError: no agent is there.
        """
        client = self._client
        if client is None:
            raise OfframpError(f"{self.name}: is closed")
        self._take(client.replies())
        client.abandon()
        self._end(Status.LOST if client.gone else Status.ABORTED)
        client.reconnect()

    def close(self) -> None:
        """Disconnect from the agent; a second call does nothing."""
        if self._client is not None:
            self._client.close()
            self._client = None
        for shared in self._shared:
            shared.close()
        self._shared = []

    def call(self, function: wire.NicFunction, message: bytes, room: int) -> bytes:
        """Send a request of the device's own and return the answer.

        Raises:
            OfframpError: the agent is gone or refuses.
        """
        client = self._alive()
        deadline = time.monotonic() + MEMORY_S
        number = self._next
        self._next += 1
        while not client.submit(function, number, message, room):
            self._take(client.wait(0.1))
            if time.monotonic() > deadline:
                raise OfframpError(f"{self.name}: takes no request for {MEMORY_S:g} s")
        answers: list[QueueReply] = []
        while not answers and time.monotonic() < deadline and not client.gone:
            replies = client.wait(0.1)
            answers = [reply for reply in replies if reply.request == number]
            self._take(replies)
        if not answers:
            raise OfframpError(f"{self.name}: gave no answer; is the agent gone?")
        if answers[0].status != Status.OK:
            raise OfframpError(f"{self.name}: {function.name}: status {answers[0].status}")
        return answers[0].message

    def _alive(self) -> QueueClient:
        if self._client is None or self._client.gone:
            raise OfframpError(f"{self.name}: is {'closed' if self._client is None else 'gone'}")
        return self._client

    def _take(self, replies: list[QueueReply]) -> None:
        for number, status, message, busy_ns in replies:
            if number in self._numbers:
                known = Status(status) if status in _STATUSES else Status.FAILED
                content = message if known is Status.OK else b""
                self._done.append(Completion(self._numbers.pop(number), known, content, busy_ns))

    def _end(self, status: Status) -> None:
        self._done += [Completion(request, status, b"", 0) for request in self._numbers.values()]
        self._numbers.clear()

    def _add_tables(self, name: str, size: int, *parameters: int) -> None:
        shared = SharedMemory(size, f"offramp-{name}")
        self._shared.append(shared)
        self._alive().set_tables(FUNCTIONS[name], shared, *parameters, size)
        self._memories[name] = NicMemory(self, FUNCTIONS[name], shared, size)


def _room(function: str, message: Message, columns: int) -> tuple[int, int]:
    """Bytes for an answer, and the most to which they may grow; ``columns`` of the feature matrix."""
    length = len(message)
    if function == kvs.NAME:
        return 8, 0
    if function == ebs.NAME:
        return ebs.ANSWER.size, 0
    if function == compress.COMPRESS:
        return length + length // 8 + 1024 + 64, 0
    if function == compress.DECOMPRESS:
        return min(4 * length + 4096, compress.MOST), compress.MOST
    if function == sylvie.DEQUANTISE:
        return 32 * length + 64, 0  # from one bit to 32
    if function == features.NAME and length >= features.HEADER.size:
        rows, chosen = features.HEADER.unpack_from(message)
        return 4 * min(rows, length // 4) * (min(chosen, length // 4) or columns), 0
    return length, 0
