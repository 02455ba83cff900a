# SPDX-License-Identifier: Apache-2.0
"""Sockets that listen: Unix sockets of mode 0600, TCP sockets on a checked address."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from offramp_base.errors import OfframpError
from offramp_base.listening.access import Access
from offramp_base.listening.address import Address

_CREDENTIALS: Final = struct.Struct("3i")  # struct ucred: process, user, group
BACKLOG: Final = 1024


def bind(address: Address, access: Access, what: str, kind: socket.SocketKind = socket.SOCK_STREAM) -> socket.socket:
    """Return a bound socket, close-on-exec; port 0 takes a free one, a Unix socket gets mode 0600.

    Raises:
        OfframpError: ``access`` forbids the address, or it cannot be had.
    """
    access.check(address, what)
    sock = socket.socket(address.family, kind)
    try:
        if address.family == socket.AF_UNIX:
            _make_way(address.where, kind)
            os.fchmod(sock.fileno(), 0o600)  # Linux gives this mode to the file that bind makes
        elif kind == socket.SOCK_STREAM:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address.where)
    except OSError as error:
        sock.close()
        raise OfframpError(f"{what} {address}: {error.strerror or error}") from None
    except BaseException:
        sock.close()
        raise
    return sock


def _make_way(path: str, kind: socket.SocketKind) -> None:
    """Remove the file of a socket of ours on which nothing listens any more."""
    try:
        status = os.lstat(path)
    except OSError:
        return
    if not stat.S_ISSOCK(status.st_mode) or status.st_uid != os.geteuid():
        return  # bind will say that the address is in use
    with socket.socket(socket.AF_UNIX, kind) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            with contextlib.suppress(OSError):
                Path(path).unlink()
        except OSError:
            return


def remove(sock: socket.socket) -> None:
    """Close a listening socket, and remove its file if the file is still its own."""
    path = None
    if sock.fileno() >= 0 and sock.family == socket.AF_UNIX:
        path = sock.getsockname()
    sock.close()
    if path:
        with contextlib.suppress(OSError):
            Path(path).unlink()


def user_of(sock: socket.socket) -> int:
    """The user of the process that connected a Unix socket."""
    raw = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(raw)[1])


def trusted_user(sock: socket.socket) -> bool:
    """Whether a connection over a Unix socket comes from this user or from root."""
    return user_of(sock) in (os.geteuid(), 0)


@contextlib.contextmanager
def private_files() -> Iterator[None]:
    """Files made in this block are for this user alone; for libraries that bind by themselves.

    The mask belongs to the whole process: use it before threads run.
    """
    before = os.umask(0o177)
    try:
        yield
    finally:
        os.umask(before)
