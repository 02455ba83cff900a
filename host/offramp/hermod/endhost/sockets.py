# SPDX-License-Identifier: Apache-2.0
"""TCP sockets that carry a priority: DSCP on the wire, SO_PRIORITY for the host's own queues."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from typing import Any, Final

from offramp.hermod.endhost.priorities import CoflowPriority
from offramp.hermod.endhost.tuning import Tuning
from offramp.hermod.endhost.wire import PROTOCOL
from offramp_base.errors import OfframpError
from offramp_base.listening import Access, ConnectionLimits, Listener, Token, connect, parse_address
from offramp_base.listening import Address as Place

_MOST_GREETING: Final = 512
_GREETING_S: Final = 10.0
_KEEPALIVES: Final = 4
Address = tuple[str, int]
"""Numeric IPv4 or IPv6 address, port."""


def set_mark(sock: socket.socket, mark: CoflowPriority) -> None:
    """Give a TCP socket a priority: IP_TOS or IPV6_TCLASS, then SO_PRIORITY, which IP_TOS changes too."""
    if sock.family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, mark.dscp << 2)
    else:
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, mark.dscp << 2)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, mark.so_priority)


def listen(host: str, access: Access, mark: CoflowPriority, tuning: Tuning) -> Listener:
    """A listener on a free port, whose answers carry the mark.

    Raises:
        OfframpError: the address is not of this host or needs a token, or the congestion control does not exist.
    """
    listener = Listener(
        _at(host, 0), access, PROTOCOL, ConnectionLimits(greeting_bytes=_MOST_GREETING, greeting_s=_GREETING_S)
    )
    try:
        _tune(listener.sock, tuning)
        set_mark(listener.sock, mark)
    except BaseException:
        listener.close()
        raise
    return listener


def dial(
    here: str,
    there: Address,
    mark: CoflowPriority,
    tuning: Tuning,
    token: Token | None,
    hello: Mapping[str, Any],
    dialled: Callable[[], None],
) -> socket.socket:
    """A connection with a priority from its first packet on, from an address of this host, when the peer has accepted.

    A peer that turns it away before it has answered, as one does that has too many strangers, is dialled again.

    Args:
        here: this host's address.
        there: the peer's.
        mark: mark of the packets.
        tuning: tuning of the connection.
        token: token that both sides prove.
        hello: the greeting.
        dialled: called before each attempt.

    Raises:
        OSError: there is no answer within ``dead_s``.
        OfframpError: the peer refuses, or has another token; or the congestion control does not exist.
    """

    def prepare(sock: socket.socket) -> None:
        dialled()
        _tune(sock, tuning)
        set_mark(sock, mark)
        sock.bind((here, 0))

    sock, _ = connect(_at(*there), token, PROTOCOL, hello, timeout_s=tuning.dead_s, redial=True, prepare=prepare)
    return sock


def _at(host: str, port: int) -> Place:
    return parse_address(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")


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
