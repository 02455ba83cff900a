# SPDX-License-Identifier: Apache-2.0
"""Clients of a store, over libofframp: with threads (:class:`StoreClient`) or asyncio (:class:`AsyncClient`).

All methods take many keys at once: a batch is sent together in one call of the library. Keys and values are
bytes.
"""

from __future__ import annotations

import asyncio
import ctypes
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Self, TypeVar

import numpy as np

from offramp.leo.store.library import library, reason, said
from offramp.leo.store.server import PROTOCOL
from offramp_base.errors import OfframpError
from offramp_base.listening import Token, connect
from offramp_base.unreachable import UnreachableError

_ANSWER: Final = np.dtype(
    [("tag", "<u8"), ("status", "<i4"), ("reserved", "<i4"), ("number", "<i8"), ("value", "<u8"), ("length", "<u8")]
)
"""Record layout of ``offramp_answer``."""
_MISSING, _ERROR, _ARRAY = 1, 3, 4
_ROOM: Final = 1024
Answer = tuple[int, int, bytes]
"""Status, number, value."""
T = TypeVar("T")


class StoreError(OfframpError):
    """The store's refusal of a request, in its own words."""


class StoreConnection:
    """A connection on which commands are sent unchanged, and their answers received; belongs to one thread.

    Args:
        address: address of the store's ``--listen``.
        token: token that both sides prove.

    Raises:
        UnreachableError: the store cannot be reached.
        OfframpError: later: it is gone.
    """

    def __init__(self, address: str, token: Token | None) -> None:
        self._lib = library()
        try:
            sock, _ = connect(address, token, PROTOCOL, {"store": 1})
        except OSError as error:
            problem = f"store {address}: {error.strerror or error}; is `offramp leo serve` running?"
            raise UnreachableError(problem) from None
        self._client = ctypes.c_void_p(self._lib.offramp_client_of(sock.detach(), address.encode()))
        self._reason = reason()
        self._room = np.zeros(_ROOM, _ANSWER)
        self._at = ctypes.c_void_p(self._room.ctypes.data)

    def submit(self, commands: bytes, count: int) -> None:
        """Send ``count`` commands of the redis protocol."""
        if self._lib.offramp_submit_encoded(self._client, commands, len(commands), count, 0, self._reason) != 0:
            raise OfframpError(said(self._reason))

    def poll(self) -> list[Answer]:
        """Answers that have arrived."""
        count = self._lib.offramp_poll(self._client, self._at, _ROOM, self._reason)
        if count < 0:
            raise OfframpError(said(self._reason))
        answers = self._room[:count]
        string_at = ctypes.string_at
        return [
            (status, number, string_at(value, length) if length else b"")
            for status, number, value, length in zip(
                answers["status"].tolist(),
                answers["number"].tolist(),
                answers["value"].tolist(),
                answers["length"].tolist(),
                strict=True,
            )
        ]

    def wait(self, timeout_ms: int) -> bool:
        """Wait for answers; returns whether any came in time."""
        arrived = self._lib.offramp_wait(self._client, timeout_ms, self._reason)
        if arrived < 0:
            raise OfframpError(said(self._reason))
        return bool(arrived)

    @property
    def descriptor(self) -> int:
        """File descriptor for an event loop."""
        return int(self._lib.offramp_descriptor(self._client))

    @property
    def open(self) -> bool:
        """Whether it is open."""
        return bool(self._client)

    @property
    def unsent(self) -> bool:
        """Whether commands wait for room to be sent."""
        return bool(self._lib.offramp_unsent(self._client))

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        if self._client:
            self._lib.offramp_close(self._client)
            self._client = ctypes.c_void_p()


def encode_get(keys: Sequence[bytes]) -> bytes:
    """A GET for each key."""
    return b"".join([b"*2\r\n$3\r\nGET\r\n$%d\r\n%b\r\n" % (len(key), key) for key in keys])


def encode_set(items: Iterable[tuple[bytes, bytes]], expiry_ms: int) -> bytes:
    """A SET for each key and value; an expiry of 0 means never."""
    if expiry_ms:
        end = b"$2\r\nPX\r\n$%d\r\n%d\r\n" % (len(str(expiry_ms)), expiry_ms)
        return b"".join(
            [b"*5\r\n$3\r\nSET\r\n$%d\r\n%b\r\n$%d\r\n%b\r\n%b" % (len(k), k, len(v), v, end) for k, v in items]
        )
    return b"".join([b"*3\r\n$3\r\nSET\r\n$%d\r\n%b\r\n$%d\r\n%b\r\n" % (len(k), k, len(v), v) for k, v in items])


def encode_delete(keys: Sequence[bytes]) -> bytes:
    """A DEL for each key."""
    return b"".join([b"*2\r\n$3\r\nDEL\r\n$%d\r\n%b\r\n" % (len(key), key) for key in keys])


def encode_versioned(key: bytes, value: bytes | None = None) -> bytes:
    """A GETVER, or with a value a SETVER, of a key; :func:`versioned` reads the answer."""
    if value is None:
        return b"*2\r\n$6\r\nGETVER\r\n$%d\r\n%b\r\n" % (len(key), key)
    return b"*3\r\n$6\r\nSETVER\r\n$%d\r\n%b\r\n$%d\r\n%b\r\n" % (len(key), key, len(value), value)


def encode_info() -> bytes:
    """An INFO command."""
    return b"*1\r\n$4\r\nINFO\r\n"


def versioned(answer: Answer) -> tuple[int, bytes | None]:
    """Version and value of a GETVER, the value None if there is no such key; for a SETVER, the new version.

    Raises:
        StoreError: the store refuses.
    """
    status, number, text = _checked([answer])[0]
    if status != _ARRAY:
        return number, None
    _, version, _, value = text.split(b"\r\n", 3)
    return int(version[1:]), value[:-2]


def _add(keys: Sequence[bytes], amount: int) -> bytes:
    more = b"$%d\r\n%d\r\n" % (len(str(amount)), amount)
    return b"".join([b"*3\r\n$6\r\nINCRBY\r\n$%d\r\n%b\r\n%b" % (len(key), key, more) for key in keys])


def _compare_and_set(items: Iterable[tuple[bytes, bytes, bytes]]) -> bytes:
    return b"".join(
        [
            b"*4\r\n$3\r\nCAS\r\n$%d\r\n%b\r\n$%d\r\n%b\r\n$%d\r\n%b\r\n" % (len(k), k, len(old), old, len(new), new)
            for k, old, new in items
        ]
    )


def _checked(answers: list[Answer]) -> list[Answer]:
    for status, _, text in answers:
        if status == _ERROR:
            raise StoreError(text.decode(errors="replace"))
    return answers


def _values(answers: list[Answer]) -> list[bytes | None]:
    return [None if status == _MISSING else value for status, _, value in _checked(answers)]


def _nothing(answers: list[Answer]) -> None:
    _checked(answers)


def _numbers(answers: list[Answer]) -> list[int]:
    return [number for _, number, _ in _checked(answers)]


def _done(answers: list[Answer]) -> list[bool]:
    return [number == 1 for _, number, _ in _checked(answers)]


class StoreClient:
    """A connection of one thread; a context manager.

    Args:
        address: address of the store's ``--listen``: ``HOST:PORT`` or ``unix:PATH``.
        token: token that both sides prove; None if the store asks for none.
        timeout_s: seconds that answers may take.

    Raises:
        OfframpError: the store cannot be reached, has another token or, later, is gone; the message says how many
            requests have no answer. When a method raises :exc:`StoreError`, those of its requests that the store did
            not refuse are done.
    """

    def __init__(self, address: str, token: Token | None = None, *, timeout_s: float = 10.0) -> None:
        self._link = StoreConnection(address, token)
        self._address, self._timeout_ms = address, int(timeout_s * 1000)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The value of each key; None where there is none."""
        return _values(self._ask(encode_get(keys), len(keys)))

    def set(self, items: Mapping[bytes, bytes], expiry_ms: int = 0) -> None:
        """Give each key its value, for ``expiry_ms`` milliseconds or, with 0, forever."""
        _nothing(self._ask(encode_set(items.items(), expiry_ms), len(items)))

    def delete(self, keys: Sequence[bytes]) -> list[bool]:
        """Delete the keys; returns whether each was there."""
        return _done(self._ask(encode_delete(keys), len(keys)))

    def add(self, keys: Sequence[bytes], amount: int = 1) -> list[int]:
        """Add to the number at each key, 0 where there is none; returns the sums."""
        return _numbers(self._ask(_add(keys, amount), len(keys)))

    def compare_and_set(self, items: Sequence[tuple[bytes, bytes, bytes]]) -> list[bool]:
        """Replace each key's value if it is the expected one (key, expected, new); returns whether it was replaced."""
        return _done(self._ask(_compare_and_set(items), len(items)))

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        self._link.close()

    def _ask(self, commands: bytes, count: int) -> list[Answer]:
        link = self._link
        link.submit(commands, count)
        answers = link.poll()
        while len(answers) < count:
            if not link.wait(self._timeout_ms):
                raise OfframpError(f"{self._address}: no answer in {self._timeout_ms / 1000:g} s")
            answers += link.poll()
        return answers


class AsyncClient:
    """The same client for asyncio: any number of tasks may have batches under way; created by :meth:`open`."""

    def __init__(self, link: StoreConnection, loop: asyncio.AbstractEventLoop) -> None:
        self._link, self._loop = link, loop
        self._waiting: deque[tuple[int, list[Answer], asyncio.Future[list[Answer]]]] = deque()
        self._writing = False
        loop.add_reader(link.descriptor, self._read)

    @classmethod
    async def open(cls, address: str, token: Token | None = None) -> Self:
        """Connect; see :class:`StoreClient`.

        Raises:
            OfframpError: as there.
        """
        loop = asyncio.get_running_loop()
        return cls(await loop.run_in_executor(None, StoreConnection, address, token), loop)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    async def get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """See :meth:`StoreClient.get`."""
        return await self._ask(encode_get(keys), len(keys), _values)

    async def set(self, items: Mapping[bytes, bytes], expiry_ms: int = 0) -> None:
        """See :meth:`StoreClient.set`."""
        await self._ask(encode_set(items.items(), expiry_ms), len(items), _nothing)

    async def delete(self, keys: Sequence[bytes]) -> list[bool]:
        """See :meth:`StoreClient.delete`."""
        return await self._ask(encode_delete(keys), len(keys), _done)

    async def add(self, keys: Sequence[bytes], amount: int = 1) -> list[int]:
        """See :meth:`StoreClient.add`."""
        return await self._ask(_add(keys, amount), len(keys), _numbers)

    async def compare_and_set(self, items: Sequence[tuple[bytes, bytes, bytes]]) -> list[bool]:
        """See :meth:`StoreClient.compare_and_set`."""
        return await self._ask(_compare_and_set(items), len(items), _done)

    def close(self) -> None:
        """Close the connection; waiting tasks get an error."""
        self._fail(OfframpError("the connection was closed"))

    async def _ask(self, commands: bytes, count: int, read: Callable[[list[Answer]], T]) -> T:
        if count == 0:
            return read([])
        self._link.submit(commands, count)
        future: asyncio.Future[list[Answer]] = self._loop.create_future()
        self._waiting.append((count, [], future))
        self._watch_writing()
        return read(await future)

    def _read(self) -> None:
        try:
            answers = self._link.poll()
            while len(answers) % _ROOM == 0 and (more := self._link.poll()):
                answers += more  # which were received already: the socket will not tell of them
        except OfframpError as error:
            self._fail(error)
            return
        while answers:
            count, got, future = self._waiting[0]
            missing = count - len(got)
            got += answers[:missing]
            answers = answers[missing:]
            if len(got) < count:
                break
            self._waiting.popleft()
            if not future.done():  # a task may have been cancelled
                future.set_result(got)
        self._watch_writing()

    def _watch_writing(self) -> None:
        """Watch for room to send while there is something to be sent."""
        if self._link.unsent != self._writing:
            self._writing = not self._writing
            if self._writing:
                self._loop.add_writer(self._link.descriptor, self._read)
            else:
                self._loop.remove_writer(self._link.descriptor)

    def _fail(self, error: OfframpError) -> None:
        if self._link.open:
            self._loop.remove_reader(self._link.descriptor)
            self._loop.remove_writer(self._link.descriptor)
            self._link.close()
        while self._waiting:
            _, _, future = self._waiting.popleft()
            if not future.done():
                future.set_exception(error)
