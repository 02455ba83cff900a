# SPDX-License-Identifier: Apache-2.0
"""The store as a server: sockets and proofs here, everything else in libofframp (docs/store.md)."""

from __future__ import annotations

import contextlib
import ctypes
import socket
import threading
from typing import Any, Final, NamedTuple, Self

from offramp.leo.store.library import ServerSettings, library, reason, said
from offramp.leo.store.settings import SYNC, StoreSettings
from offramp_base.errors import OfframpError
from offramp_base.listening import Access, Address, ConnectionLimits, Listener, Token, parse_address
from offramp_base.listening.sockets import BACKLOG, bind

PROTOCOL: Final = "LEO store"
"""Name of the protocol that follows the handshake: the redis protocol."""
_RESP, _MEMCACHED = 0, 1
_LOOK_S: Final = 1.0


def password_of(token: Token) -> str:
    """Password for clients of the redis and memcached protocols: derived from the token, which it does not reveal."""
    return token.proof("client", b"LEO store's password").hex()


class StoreContents(NamedTuple):
    """Contents of a store when it was opened.

    Attributes:
        keys: number of keys in the store.
        records: number of records read from snapshot and logs.
        torn: bytes at the end of the log that a crash had left incomplete, and that were cut off.
    """

    keys: int
    records: int
    torn: int


class StoreServer:
    """A store that serves in a thread of this process, without Python's lock; a context manager.

    Args:
        settings: addresses at which it listens, and what it keeps.
        token: token that clients prove; None: clients of this machine need no proof.

    Attributes:
        addresses: addresses at which it listens, by ``listen``, ``resp``, ``memcached``.
        recovered: contents when it was opened.

    Raises:
        OfframpError: an address is not available or must not be served, or the folder is damaged or in use.
    """

    def __init__(self, settings: StoreSettings, token: Token | None = None) -> None:
        self._lib = library()
        access = Access(token, insecure=settings.insecure)
        self.addresses: dict[str, str] = {}
        with contextlib.ExitStack() as stack:
            sockets = []
            for name, address in (("resp", settings.resp), ("memcached", settings.memcached)):
                if address:
                    sockets.append((stack.enter_context(_listening(address, access, name)), name))
                    self.addresses[name] = _address(sockets[-1][0])
            self._listener = None
            if settings.listen:
                self._listener = Listener(settings.listen, access, PROTOCOL, ConnectionLimits(greeting_bytes=1024))
                stack.callback(self._listener.close)
                self.addresses["listen"] = self._listener.address
            self._server = ctypes.c_void_p(_open(self._lib, settings, token))
            for sock, name in sockets:
                self._lib.offramp_server_listen(self._server, sock.detach(), _RESP if name == "resp" else _MEMCACHED)
            self._undo = stack.pop_all()
        counts = [ctypes.c_uint64() for _ in range(3)]
        self._lib.offramp_server_recovered(self._server, *map(ctypes.byref, counts))
        self.recovered = StoreContents(*(count.value for count in counts))
        self._thread = threading.Thread(target=self._lib.offramp_server_run, args=(self._server,), daemon=True)
        self._stopping = threading.Event()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def welcome(self) -> None:
        """Hand connections whose peers prove the token to the server, until another thread calls :meth:`stop`."""
        while not self._stopping.is_set():
            if self._listener is None:
                self._stopping.wait(_LOOK_S)
                continue
            for greeting in self._listener.poll(_LOOK_S):
                with contextlib.suppress(OSError):
                    self._lib.offramp_server_adopt(self._server, greeting.accept({}).detach(), _RESP)

    def stop(self) -> None:
        """Make :meth:`welcome` return."""
        self._stopping.set()

    def close(self) -> None:
        """Stop the store; everything acknowledged is on disk."""
        self.stop()
        self._lib.offramp_server_stop(self._server)
        if self._thread.is_alive():
            self._thread.join()
        self._lib.offramp_server_close(self._server)
        self._undo.close()
        for address in self.addresses.values():
            if address.startswith("unix:"):
                with contextlib.suppress(OSError):
                    _unlink(address)


def _unlink(address: str) -> None:
    from pathlib import Path

    Path(address.removeprefix("unix:")).unlink()


def _listening(address: str, access: Access, what: str) -> socket.socket:
    sock = bind(parse_address(address), access, what)
    sock.listen(BACKLOG)
    return sock


def _address(sock: socket.socket) -> str:
    return str(Address(sock.family, sock.getsockname()))


def _open(lib: Any, settings: StoreSettings, token: Token | None) -> int:
    message = reason()
    given = ServerSettings(
        size=ctypes.sizeof(ServerSettings),
        sync=list(SYNC).index(settings.sync),
        folder=None if settings.folder is None else str(settings.folder).encode(),
        password=None if token is None else password_of(token).encode(),
        memory=settings.memory,
        value_bytes=settings.value_bytes,
        connections=settings.connections,
        spin_us=settings.spin_us,
        cut=settings.cut,
    )
    server = lib.offramp_server_open(ctypes.byref(given), message)
    if not server:
        raise OfframpError(said(message))
    return int(server)
