# SPDX-License-Identifier: Apache-2.0
"""``store:ADDRESS``: LEO's key-value store (:mod:`offramp.leo.store`) as a device; others may use it at the same time.

``store.read`` takes 8 bytes with the supposed address of a copy, which the store ignores, and the key; it answers with
the value and fails if there is none. ``store.write`` takes 8 bytes of a key and the value, and answers 1;
``store.delete`` takes a key, and answers whether it was there; both in 4 bytes.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from offramp.device import Completion, Message, Status
from offramp.leo.devices.options import parse
from offramp.leo.memory import HostMemory
from offramp.leo.store.client import Answer, StoreConnection, encode_delete, encode_get, encode_set
from offramp_base.errors import OfframpError
from offramp_base.listening import Token

READ: Final = "store.read"
WRITE: Final = "store.write"
DELETE: Final = "store.delete"
KEY_BYTES: Final = 8
_PLACE_BYTES: Final = 8
_SHORTEST: Final = {READ: _PLACE_BYTES + 1, WRITE: KEY_BYTES, DELETE: 1}
_OK, _MISSING = 0, 1


@dataclass(frozen=True)
class StoreDeviceOptions:
    """``address`` of the store's ``--listen``, and the most requests under way at a time."""

    address: str = "127.0.0.1:7878"
    depth: int = 1024


def open_device(options: str, name: str) -> StoreDevice:
    """The store at an address; the first option may be ``address`` alone. The token comes from the environment."""
    return StoreDevice(
        parse(StoreDeviceOptions, options, f"store:{options}", "address"), name, Token.from_environment()
    )


class StoreDevice:
    """See the module; a :class:`offramp.device.Device`.

    Attributes:
        address, token: address and token of the store.
        asked: reads of each key since the counter was last cleared.
        timeout_s: seconds that the store may take: changes wait for whoever serves their keys elsewhere.
    """

    kind = "cpu"
    functions: Sequence[str] = (READ, WRITE, DELETE)
    timeout_s = 10.0

    def __init__(self, options: StoreDeviceOptions, name: str = "store", token: Token | None = None) -> None:
        self.name, self.depth, self.address, self.token = name, options.depth, options.address, token
        self.asked: Counter[bytes] = Counter()
        self._queued: list[bytes] = []
        self._open: deque[tuple[int, str, int]] = deque()  # host's number, function, when; in the order of answers
        self._done: list[Completion] = []
        self._closed = False
        self._connection: StoreConnection | None = StoreConnection(self.address, token)

    def memory(self, function: str) -> HostMemory:
        """Raise an error: the store's functions have no tables."""
        raise OfframpError(f"function {function}: it has no tables")

    def submit(self, function: str, request: int, message: Message) -> bool:
        """Queue a request; False where as many as allowed are under way.

        Raises:
            OfframpError: the store is gone, or the device is closed.
        """
        if self._connection is None:
            raise OfframpError(f"device {self.name}: {'is closed' if self._closed else f'{self.address} is gone'}")
        if len(self._open) >= self.depth:
            return False
        if function not in _SHORTEST or len(message) < _SHORTEST[function]:
            status = Status.BAD_LENGTH if function in _SHORTEST else Status.UNKNOWN_FUNCTION
            self._done.append(Completion(request, status, b"", 0))
            return True
        content = bytes(message)
        if function == READ:
            key = content[_PLACE_BYTES:]
            self.asked[key] += 1
            self._queued.append(encode_get([key]))
        elif function == WRITE:
            self._queued.append(encode_set([(content[:KEY_BYTES], content[KEY_BYTES:])], 0))
        else:
            self._queued.append(encode_delete([content]))
        self._open.append((request, function, time.monotonic_ns()))
        return True

    def poll(self) -> list[Completion]:
        """Send what was queued and return the store's answers, without waiting; if the store is gone, LOST, once."""
        if self._connection is not None and self._open:
            try:
                if self._queued:
                    queued, self._queued = self._queued, []
                    self._connection.submit(b"".join(queued), len(queued))
                for answer in self._connection.poll():
                    self._take(answer)
            except OfframpError:
                self._leave(Status.LOST)
        done, self._done = self._done, []
        return done

    def reset(self) -> None:
        """Abort everything outstanding and connect again; whether an aborted write was made is unknown.

        Raises:
            OfframpError: the device is closed, or the store is not there.
        """
        if self._closed:
            raise OfframpError(f"device {self.name}: is closed")
        self._leave(Status.ABORTED)
        self._connection = StoreConnection(self.address, self.token)

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        self._closed = True
        self._leave(Status.ABORTED)

    def _take(self, answer: Answer) -> None:
        status, number, value = answer
        request, function, since = self._open.popleft()
        took = time.monotonic_ns() - since
        if function == READ:
            known = status == _OK
            self._done.append(Completion(request, Status.OK if known else Status.FAILED, value, took))
        elif status in (_OK, _MISSING):
            count = 1 if function == WRITE else number
            self._done.append(Completion(request, Status.OK, count.to_bytes(4, "little"), took))
        else:
            self._done.append(Completion(request, Status.FAILED, b"", took))

    def _leave(self, of_reads: Status) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        for request, function, _ in self._open:
            self._done.append(Completion(request, of_reads if function == READ else Status.LOST, b"", 0))
        self._open.clear()
        self._queued.clear()
