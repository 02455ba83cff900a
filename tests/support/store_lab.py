# SPDX-License-Identifier: Apache-2.0
"""Stores for tests, and the plainest clients of their protocols."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Self

import pytest

from offramp.leo.store.build import missing
from offramp.leo.store.process import StoreProcess
from offramp.leo.store.server import password_of
from offramp.leo.store.settings import StoreSettings
from offramp_base.listening import Token
from offramp_base.listening.token import FILE_VARIABLE

TIMEOUT_S: Final = 30.0
LOCAL: Final = {"listen": "", "resp": "127.0.0.1:0", "memcached": "127.0.0.1:0"}


class ErrorAnswer(str):
    """An error of redis' protocol."""

    __slots__ = ()


class Nothing:
    """A missing value."""

    def __repr__(self) -> str:
        return "Nothing"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Nothing)

    __hash__ = object.__hash__


def needs_compiler() -> None:
    """Skip where the library cannot be built."""
    if lacking := missing():
        pytest.skip(f"libofframp needs {', '.join(lacking)}")


@contextmanager
def a_token() -> Iterator[Token]:
    """A token that stores and clients in this block prove to have, by OFFRAMP_TOKEN_FILE."""
    token = Token.random()
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        token.write(Path(folder) / "token")
        patch.setenv(FILE_VARIABLE, f"{folder}/token")
        yield token


@contextmanager
def a_store(**settings: Any) -> Iterator[StoreProcess]:
    """A store in a process of its own."""
    needs_compiler()
    with StoreProcess(StoreSettings(**{**LOCAL, **settings}), Token.from_environment()) as store:
        yield store


def dial(address: str) -> socket.socket:
    """A connection to HOST:PORT or unix:PATH."""
    if address.startswith("unix:"):
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(TIMEOUT_S)
        sock.connect(address.removeprefix("unix:"))
        return sock
    host, _, port = address.rpartition(":")
    sock = socket.create_connection((host, int(port)), TIMEOUT_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def encoded(*words: bytes | str | int) -> bytes:
    """A command of redis' protocol."""
    parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%b\r\n" % (len(part), part) for part in parts)


class Resp:
    """A client of redis' protocol; a context manager."""

    def __init__(self, address: str) -> None:
        self.sock = dial(address)
        self._file = self.sock.makefile("rb")
        if token := Token.from_environment():
            assert self("AUTH", password_of(token)) == "OK"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()
        self.sock.close()

    def send(self, *words: bytes | str | int) -> None:
        self.sock.sendall(encoded(*words))

    def __call__(self, *words: bytes | str | int) -> Any:
        self.send(*words)
        return self.answer()

    def answer(self) -> Any:
        """The next answer.

        Raises:
            ConnectionError: there is none any more.
        """
        line = self._file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the connection is closed")
        kind, rest = line[:1], line[1:-2]
        if kind == b"+":
            return rest.decode()
        if kind == b"-":
            return ErrorAnswer(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"_" or rest == b"-1":
            return Nothing()
        if kind in b"$=":
            content = self._file.read(int(rest) + 2)
            assert content.endswith(b"\r\n"), content
            return content[:-2]
        if kind in b"*~":
            return [self.answer() for _ in range(int(rest))]
        if kind == b"%":
            return {self.answer(): self.answer() for _ in range(int(rest))}
        raise AssertionError(line)


class Text:
    """A client of memcached's text protocol that reads until a line that ends an answer; a context manager."""

    def __init__(self, address: str) -> None:
        self.sock = dial(address)
        self._file = self.sock.makefile("rb")
        if token := Token.from_environment():
            shown = f"user {password_of(token)}"
            assert self(f"set auth 0 0 {len(shown)}\r\n{shown}\r\n".encode()) == b"STORED\r\n"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()
        self.sock.close()

    def __call__(self, request: bytes, lines: int = 1) -> bytes:
        """Answers: so many lines, each with its data."""
        self.sock.sendall(request)
        text = b""
        for _ in range(lines):
            while True:
                line = self._file.readline()
                text += line
                words = line.split()
                if words[:1] == [b"VALUE"]:  # others follow, and an end
                    text += self._file.read(int(words[3]) + 2)
                    continue
                if words[:1] == [b"VA"]:
                    text += self._file.read(int(words[1]) + 2)
                break
        return text
