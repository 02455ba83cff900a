# SPDX-License-Identifier: Apache-2.0
"""The store as a server: sockets and proofs here, everything else in libofframp (docs/store.md)."""

from __future__ import annotations

import contextlib
import ctypes
import secrets
import socket
import threading
from dataclasses import replace
from typing import Any, Final, NamedTuple, Self

from offramp.leo.store.library import ServerSettings, library, reason, said
from offramp.leo.store.settings import EVICTION, SYNC, StoreSettings
from offramp_base.errors import OfframpError
from offramp_base.listening import Access, Address, ConnectionLimits, Listener, Token, parse_address
from offramp_base.listening.sockets import BACKLOG, bind

PROTOCOL: Final = "LEO store"
"""Name of the protocol that follows the handshake: the redis protocol."""
_RESP, _MEMCACHED = 0, 1
_LOOK_S: Final = 1.0
_CLUSTER_BYTES: Final = 16


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
    """A store that serves in threads of this process, one for each shard, without Python's lock; a context manager.

    Args:
        settings: addresses at which it listens, and what it keeps.
        token: token that clients prove; None: clients of this machine need no proof.

    Attributes:
        addresses: addresses at which it listens, by ``listen``, ``resp``, ``memcached``, ``resp-1`` (a shard's).
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
            for name, address in _plain(settings):
                sockets.append((stack.enter_context(_listening(address, access, name)), name))
                self.addresses[name] = _address(sockets[-1][0])
            self._listener = None
            if settings.listen:
                self._listener = Listener(settings.listen, access, PROTOCOL, ConnectionLimits(greeting_bytes=1024))
                stack.callback(self._listener.close)
                self.addresses["listen"] = self._listener.address
            self._servers: list[ctypes.c_void_p] = []
            for shard in range(settings.shards):
                self._servers.append(ctypes.c_void_p(_open(self._lib, _part(settings, shard), token)))
                stack.callback(self._lib.offramp_server_close, self._servers[-1])
            self._join()
            if settings.follow:
                self._follow(settings.follow)
            for shard, (sock, name) in enumerate(sockets):
                server = self._servers[shard if settings.shards > 1 else 0]
                protocol = _MEMCACHED if name == "memcached" else _RESP
                self._lib.offramp_server_listen(server, sock.detach(), protocol)
            self._undo = stack.pop_all()
        self.recovered = StoreContents(*map(sum, zip(*map(self._contents, self._servers), strict=True)))
        run = self._lib.offramp_server_run
        self._threads = [threading.Thread(target=run, args=(server,), daemon=True) for server in self._servers]
        self._stopping = threading.Event()

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def _join(self) -> None:
        """Make the servers shards of one cluster, if they are several."""
        count = len(self._servers)
        if count == 1:
            return
        ports = (ctypes.c_uint16 * count)(*(_port(address) for address in self.addresses.values()))
        cluster = secrets.token_hex(_CLUSTER_BYTES).encode()
        for shard, server in enumerate(self._servers):
            self._lib.offramp_server_join(server, shard, count, ports, cluster)

    def _follow(self, leader: str) -> None:
        address = parse_address(leader)
        if address.family == socket.AF_UNIX:
            raise OfframpError(f"follow {leader}: expected HOST:PORT")
        host, port = address.where[:2]
        own = _port(self.addresses["resp"]) if "resp" in self.addresses else 0
        message = reason()
        if self._lib.offramp_server_follow(self._servers[0], host.encode(), port, own, message):
            raise OfframpError(f"follow {leader}: {said(message)}")

    def _contents(self, server: ctypes.c_void_p) -> tuple[int, ...]:
        counts = [ctypes.c_uint64() for _ in range(3)]
        self._lib.offramp_server_recovered(server, *map(ctypes.byref, counts))
        return tuple(count.value for count in counts)

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
                    self._lib.offramp_server_adopt(self._servers[0], greeting.accept({}).detach(), _RESP)

    def stop(self) -> None:
        """Make :meth:`welcome` return."""
        self._stopping.set()

    def close(self) -> None:
        """Stop the store; everything acknowledged is on disk."""
        self.stop()
        for server in self._servers:
            self._lib.offramp_server_stop(server)
        for thread in self._threads:
            if thread.is_alive():
                thread.join()
        self._undo.close()
        for address in self.addresses.values():
            if address.startswith("unix:"):
                with contextlib.suppress(OSError):
                    _unlink(address)


def _plain(settings: StoreSettings) -> list[tuple[str, str]]:
    """Addresses of clients without a token, by their names; shards have ports one behind the other."""
    if settings.shards == 1:
        return [(name, address) for name in ("resp", "memcached") if (address := getattr(settings, name))]
    host, _, port = settings.resp.rpartition(":")
    first = int(port) if port.isdecimal() else 0  # what is no port, the first shard's address says
    return [("resp", settings.resp)] + [
        (f"resp-{shard}", f"{host}:{first + shard if first else 0}") for shard in range(1, settings.shards)
    ]


def _part(settings: StoreSettings, shard: int) -> StoreSettings:
    """Settings of a shard: its part of the memory and of the connections, a folder of its own."""
    if settings.shards == 1:
        return settings
    folder = settings.folder
    if folder is not None:
        folder.mkdir(mode=0o700, exist_ok=True)
        folder /= f"shard-{shard}-of-{settings.shards}"
    return replace(settings, folder=folder, memory=-(-settings.memory // settings.shards))


def _port(address: str) -> int:
    port = address.rpartition(":")[2]
    return int(port) if port.isdecimal() else 0


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
        eviction=list(EVICTION).index(settings.policy) - 1,
    )
    server = lib.offramp_server_open(ctypes.byref(given), message)
    if not server:
        raise OfframpError(said(message))
    return int(server)
