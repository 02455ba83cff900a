# SPDX-License-Identifier: Apache-2.0
"""Waits for the one host that may use a board: it proves a token, or is on this machine.

The board's Python is older than the host library's, so this is the server's side of ``offramp_base.listening`` once
more, with the same bytes, which a test holds against it: a challenge, the host's proof, ours, and a greeting, an object
of JSON behind its length. Neither side ever sends the token. Nobody waits for a silent stranger.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import os
import secrets
import selectors
import socket
import stat
import struct
import time

MAGIC = b"OFL1"
PROTOCOL = b"fpga 1"
NONCE, PROOF = 32, 32
LENGTH = struct.Struct("!I")
CREDENTIALS = struct.Struct("3i")
MOST_GREETING = 4096
GREETING_S = 5.0
PENDING = 64
LEAST_TOKEN, MOST_TOKEN = 16, 4096


class Refused(Exception):
    """The reason for refusing something, in one line."""


def read_token(path: str | None) -> bytes | None:
    """The token in a file of this user that nobody else may open; None without a path."""
    if not path:
        return None
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_mode & 0o077 or status.st_uid not in (os.geteuid(), 0):
                raise Refused(f"token file {path}: expected a file of yours that nobody else may open (mode 0600)")
            secret = file.read(MOST_TOKEN + 2).strip()
    except OSError as error:
        raise Refused(f"token file {path}: {error.strerror}") from None
    if not LEAST_TOKEN <= len(secret) <= MOST_TOKEN:
        raise Refused(f"token file {path}: expected {LEAST_TOKEN} to {MOST_TOKEN} bytes")
    return secret


def proof(secret: bytes, label: bytes, *parts: bytes) -> bytes:
    """HMAC-SHA256 over a label and parts, each with its length."""
    joined = b"".join(len(part).to_bytes(4, "big") + part for part in (label, *parts))
    return hmac.new(secret, joined, hashlib.sha256).digest()


class Listener:
    """Listens at ``HOST:PORT`` or ``unix:PATH``; :meth:`wait` returns a connection that has greeted.

    Attributes:
        address: where it listens.
        refused: connections that were turned away.
    """

    def __init__(self, address: str, secret: bytes | None, *, insecure: bool = False) -> None:
        self._secret = secret
        self.refused = 0
        self._path = address[len("unix:") :] if address.startswith("unix:") else None
        try:
            self._socket = self._open_unix(self._path) if self._path else self._open_tcp(address, secret, insecure)
            self._socket.listen(PENDING)
        except OSError as error:
            raise Refused(f"--listen {address}: {error.strerror or error}") from None
        self._socket.setblocking(False)
        self.address = self._socket.getsockname()
        self._strangers: dict[socket.socket, Stranger] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._socket, selectors.EVENT_READ)

    def _open_unix(self, path: str) -> socket.socket:
        sock = socket.socket(socket.AF_UNIX)
        os.fchmod(sock.fileno(), 0o600)  # Linux gives this mode to the file that bind makes
        sock.bind(path)
        return sock

    @staticmethod
    def _open_tcp(address: str, secret: bytes | None, insecure: bool) -> socket.socket:
        host, colon, port = address.rpartition(":")
        if not colon or not host or not port.isdigit() or int(port) > 0xFFFF:
            raise Refused(f"--listen {address}: expected HOST:PORT or unix:PATH")
        family, _, _, _, where = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)[0]
        local = ipaddress.ip_address(where[0].partition("%")[0]).is_loopback
        if not (local or secret or insecure):
            raise Refused(
                f"--listen {address}: other machines reach this address; it needs --token-file, or --insecure where "
                "every machine that reaches it is trusted"
            )
        sock = socket.socket(family)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(where)
        return sock

    def wait(self, timeout_s: float = 1.0, *, busy: bool = False) -> socket.socket | None:
        """A connection that has proved the token and greeted, or None; while ``busy`` it is told so."""
        for key, _ in self._selector.select(timeout_s):
            if key.fileobj is self._socket:
                self._accept()
            elif key.fileobj in self._strangers:
                client = self._read_greeting(key.fileobj, busy=busy)
                if client is not None:
                    return client
        for sock in [s for s, stranger in self._strangers.items() if stranger.end < time.monotonic()]:
            self._refuse(sock)
        return None

    def close(self) -> None:
        """Stop listening."""
        for sock in list(self._strangers):
            self._refuse(sock)
        self._selector.close()
        self._socket.close()
        if self._path:
            os.unlink(self._path)  # noqa: PTH108

    def _accept(self) -> None:
        try:
            sock, _ = self._socket.accept()
        except OSError:
            return
        sock.setblocking(False)
        if self._path:
            user = CREDENTIALS.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size))[1]
            if user not in (os.geteuid(), 0):
                self.refused += 1
                sock.close()
                return
        if len(self._strangers) >= PENDING:  # the one that has said nothing for longest makes room
            silent = [s for s, stranger in self._strangers.items() if not stranger.got and not stranger.proved]
            self._refuse((silent or list(self._strangers))[0])
        stranger = Stranger(self._secret)
        self._strangers[sock] = stranger
        self._selector.register(sock, selectors.EVENT_READ)
        self._send(sock, stranger.challenge)

    def _read_greeting(self, sock: socket.socket, *, busy: bool) -> socket.socket | None:
        stranger = self._strangers[sock]
        try:
            while stranger.read(sock):
                answer = stranger.step(busy=busy)
                if answer and not self._send(sock, answer):
                    return None
                if stranger.refused:
                    self._refuse(sock)
                    return None
                if stranger.done:
                    del self._strangers[sock]
                    self._selector.unregister(sock)
                    return sock
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            self._refuse(sock)
        return None

    def _send(self, sock: socket.socket, data: bytes) -> bool:
        try:
            if sock.send(data) == len(data):
                return True
        except OSError:
            pass
        self._refuse(sock)
        return False

    def _refuse(self, sock: socket.socket) -> None:
        self.refused += 1
        del self._strangers[sock]
        self._selector.unregister(sock)
        sock.close()


class Stranger:
    """A connection whose greeting is not complete."""

    def __init__(self, secret: bytes | None) -> None:
        self._secret, self._nonce = secret, secrets.token_bytes(NONCE)
        self.challenge = MAGIC + bytes([secret is not None]) + self._nonce
        self.end = time.monotonic() + GREETING_S
        self.proved = self.done = self.refused = self._measured = False
        self.got, self._want = b"", NONCE + PROOF

    def read(self, sock: socket.socket) -> bool:
        """Take what has come; whether what is wanted is complete."""
        data = sock.recv(self._want - len(self.got))
        if not data:
            raise ConnectionError
        self.got += data
        return len(self.got) == self._want

    def step(self, *, busy: bool) -> bytes:
        """Answer what is complete; returns the bytes to send."""
        got, self.got = self.got, b""
        if not self.proved:
            theirs, answer = got[:NONCE], got[NONCE:]
            verdict = bytes(PROOF)
            if self._secret is not None:
                parts = (PROTOCOL, self._nonce, theirs)
                if not hmac.compare_digest(answer, proof(self._secret, b"client", *parts)):
                    self.refused = True
                    return bytes(1 + PROOF)
                verdict = proof(self._secret, b"server", *parts)
            self.proved, self._want = True, LENGTH.size
            return b"\1" + verdict
        if not self._measured:
            (length,) = LENGTH.unpack(got)
            self.refused = not 0 < length <= MOST_GREETING
            self._measured, self._want = True, length
            return b""
        try:
            greeting = json.loads(got.decode())
        except (ValueError, RecursionError):
            greeting = None
        self.refused = busy or greeting != {}
        self.done = not self.refused
        return frame(
            {} if self.done else {"error": "the board serves another host" if busy else "greeting: expected {}"}
        )


def frame(content: dict[str, object]) -> bytes:
    """An object of JSON behind its length."""
    text = json.dumps(content).encode()
    return LENGTH.pack(len(text)) + text
