"""TCP sockets that carry a priority: DSCP on the wire, SO_PRIORITY for the host's own queues."""

from __future__ import annotations

import socket
from typing import Final

from offramp.coflow.endhost.priorities import Mark
from offramp.coflow.endhost.tuning import Tuning
from offramp.errors import OfframpError

_BACKLOG: Final = 1024
_KEEPALIVES: Final = 4
Address = tuple[str, int]
"""Numeric IPv4 or IPv6 address, port."""


def family(host: str) -> socket.AddressFamily:
    """IPv4 or IPv6, by the address."""
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def set_mark(sock: socket.socket, mark: Mark) -> None:
    """Give a TCP socket a priority: IP_TOS or IPV6_TCLASS, then SO_PRIORITY, which IP_TOS changes too."""
    if sock.family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, mark.dscp << 2)
    else:
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, mark.dscp << 2)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, mark.so_priority)


def listen(host: str, mark: Mark, tuning: Tuning) -> socket.socket:
    """A socket that waits for connections on a free port; what it answers carries the mark.

    Raises:
        OfframpError: the address is not of this host, or the congestion control does not exist.
    """
    sock = socket.socket(family(host), socket.SOCK_STREAM)
    try:
        _tune(sock, tuning)
        set_mark(sock, mark)
        sock.bind((host, 0))
        sock.listen(_BACKLOG)
        sock.setblocking(False)
    except OSError as error:
        sock.close()
        raise OfframpError(f"endpoint: cannot listen on {host}: {error.strerror}") from None
    except OfframpError:
        sock.close()
        raise
    return sock


def dial(here: str, there: Address, mark: Mark, tuning: Tuning, hello: bytes) -> socket.socket:
    """A connection with a priority from its first packet on, from an address of this host; the greeting is said.

    Raises:
        OSError: nobody answers within ``dead_s``.
        OfframpError: the congestion control does not exist.
    """
    sock = socket.socket(family(there[0]), socket.SOCK_STREAM)
    try:
        _tune(sock, tuning)
        set_mark(sock, mark)
        sock.bind((here, 0))
        sock.settimeout(tuning.dead_s)
        sock.connect(there)
        sock.sendall(hello)
        sock.settimeout(None)
    except BaseException:
        sock.close()
        raise
    return sock


def keep_alive(sock: socket.socket, dead_s: float) -> None:
    """Have a connection fail when the other host is silent for ``dead_s``."""
    step = max(1, round(dead_s / (_KEEPALIVES + 1)))
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        (socket.TCP_KEEPIDLE, step),
        (socket.TCP_KEEPINTVL, step),
        (socket.TCP_KEEPCNT, _KEEPALIVES),
        (socket.TCP_USER_TIMEOUT, round(dead_s * 1000)),
    ):
        sock.setsockopt(socket.IPPROTO_TCP, option, value)


def _tune(sock: socket.socket, tuning: Tuning) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, tuning.unsent)
    if tuning.send_buffer is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, tuning.send_buffer)
    if tuning.receive_buffer is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, tuning.receive_buffer)
    if tuning.congestion is not None:
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, tuning.congestion.encode())
        except OSError as error:
            raise OfframpError(f"congestion control {tuning.congestion}: {error.strerror}") from None
