# SPDX-License-Identifier: Apache-2.0
"""Keys of a store that are served elsewhere as well; whoever serves them learns of each change and acknowledges it.

No answer of the store that may reflect a change leaves before :meth:`KeyGuard.release`, so that nobody reads an older
value elsewhere than somebody has read here (docs/store.md).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple, Self

from offramp.leo.store.server import PROTOCOL
from offramp_base.errors import OfframpError
from offramp_base.listening import Token, connect

_ROOM: Final = 1 << 16
_Item = int | bytes | None | OfframpError | list["_Item"]


class Guarded(NamedTuple):
    """A key that is guarded from now on, with its value; without a value, it cannot be guarded."""

    key: bytes
    version: int
    value: bytes | None


class Changed(NamedTuple):
    """A change of a guarded key.

    Attributes:
        number: argument for :meth:`KeyGuard.release`.
        key: the key; None: every key is gone.
        version: version of the value.
        value: the value; None if the key is gone or can no longer be served elsewhere.
    """

    number: int
    key: bytes | None
    version: int
    value: bytes | None


class KeyGuard:
    """A connection that guards keys; belongs to one thread. When it closes, nothing waits for it any more.

    Args:
        address: address of the store's ``--listen``.
        token: token that both sides prove.

    Raises:
        OfframpError: the store cannot be reached or, later, is gone or refuses.
    """

    def __init__(self, address: str, token: Token | None = None) -> None:
        try:
            self._socket, _ = connect(address, token, PROTOCOL, {"store": 1})
        except OSError as error:
            raise OfframpError(f"{address}: {error.strerror or error}") from None
        self._socket.setblocking(False)
        self.address = address
        self._in = self._out = b""
        self._asked: deque[bytes | None] = deque()  # keys of GUARD; None for other commands

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, keys: Iterable[bytes]) -> None:
        """Guard these keys; :meth:`poll` gives a :class:`Guarded` for each."""
        self._send([(b"GUARD", key) for key in keys])

    def remove(self, keys: Iterable[bytes]) -> None:
        """Stop guarding these keys; changes that were reported must still be released."""
        self._send([(b"UNGUARD", key) for key in keys])

    def release(self, number: int) -> None:
        """Acknowledge that all changes up to this one are served."""
        self._send([(b"RELEASE", b"%d" % number)])

    def poll(self) -> list[Guarded | Changed]:
        """Guards and changes that have arrived, in order, without waiting.

        Raises:
            OfframpError: the store is gone, or refuses to guard a key.
        """
        self._flush()
        self._receive()
        events: list[Guarded | Changed] = []
        at = 0
        while (step := _parse(self._in, at)) is not None:
            item, at, pushed = step
            if (event := self._event(item, pushed)) is not None:
                events.append(event)
        self._in = self._in[at:]
        return events

    def fileno(self) -> int:
        """Descriptor of the socket, for ``select``."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close the connection; nothing waits for this guard any more."""
        self._socket.close()

    def _send(self, commands: list[tuple[bytes, bytes]]) -> None:
        self._asked.extend(word if name == b"GUARD" else None for name, word in commands)
        text = b"".join(b"*2\r\n$%d\r\n%b\r\n$%d\r\n%b\r\n" % (len(n), n, len(w), w) for n, w in commands)
        self._out += text
        self._flush()

    def _flush(self) -> None:
        """Send what the connection accepts now; the rest follows with the next call."""
        while self._out:
            try:
                self._out = self._out[self._socket.send(self._out) :]
            except BlockingIOError:
                return
            except OSError as error:
                raise OfframpError(f"{self.address}: {error.strerror or error}") from None

    def _receive(self) -> None:
        came = bytes(_ROOM)
        while len(came) == _ROOM:
            try:
                came = self._socket.recv(_ROOM)
            except BlockingIOError:
                return
            except OSError as error:
                raise OfframpError(f"{self.address}: {error.strerror or error}") from None
            if not came:
                raise OfframpError(f"{self.address}: the store is gone")
            self._in += came

    def _event(self, item: _Item, pushed: bool) -> Guarded | Changed | None:
        if pushed:
            assert isinstance(item, list)
            _, number, key, version, value = item
            assert isinstance(number, int)
            return Changed(number, _bytes(key), version if isinstance(version, int) else 0, _bytes(value))
        key = self._asked.popleft()
        if isinstance(item, OfframpError):
            raise OfframpError(f"{self.address}: {item}")
        if key is None:
            return None
        if not isinstance(item, list):
            return Guarded(key, 0, None)
        version, value = item
        assert isinstance(version, int)
        return Guarded(key, version, _bytes(value))


def _bytes(item: _Item) -> bytes | None:
    return item if isinstance(item, bytes) else None


def _parse(text: bytes, at: int) -> tuple[_Item, int, bool] | None:
    """Parse the redis-protocol item at ``at``: item, offset of the next, whether it is a push; None if incomplete."""
    end = text.find(b"\r\n", at)
    if end < 0:
        return None
    kind, word, at = text[at : at + 1], text[at + 1 : end], end + 2
    if kind == b":":
        return int(word), at, False
    if kind == b"+":
        return word, at, False
    if kind == b"-":
        return OfframpError(word.decode(errors="replace")), at, False
    count = int(word)
    if count < 0:
        return None if kind not in b"$*" else (None, at, False)
    if kind == b"$":
        return (text[at : at + count], at + count + 2, False) if len(text) >= at + count + 2 else None
    items: list[_Item] = []
    for _ in range(count):
        if (step := _parse(text, at)) is None:
            return None
        items.append(step[0])
        at = step[1]
    return items, at, kind == b">"
