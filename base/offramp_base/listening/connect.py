# SPDX-License-Identifier: Apache-2.0
"""A connection to a :class:`~offramp_base.listening.Listener`: prove the token, check the other side's, greet."""

from __future__ import annotations

import array
import logging
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from offramp_base.errors import OfframpError
from offramp_base.listening.address import Address, parse_address
from offramp_base.listening.handshake import CHALLENGE, LENGTH, VERDICT_BYTES, ClientHandshake, frame
from offramp_base.listening.objects import parse_object
from offramp_base.listening.token import Token

MOST_ANSWER: Final = 1 << 20
"""Largest answer of a server, in bytes."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.01, 0.5
_LOG = logging.getLogger(__name__)


def connect(
    address: str | Address,
    token: Token | None,
    protocol: str,
    greeting: Mapping[str, Any],
    *,
    timeout_s: float = 10.0,
    silent_s: float | None = None,
    redial: bool = False,
    prepare: Callable[[socket.socket], None] | None = None,
    descriptors: Sequence[int] = (),
) -> tuple[socket.socket, dict[str, Any]]:
    """Connect and greet; returns the socket, which blocks, and the server's answer.

    Args:
        address: ``HOST:PORT`` or ``unix:PATH``.
        token: token that both sides prove; None where the server asks for none.
        protocol: name and version of the protocol, the same as the server's.
        greeting: fields of the greeting, which is sent as a JSON object.
        timeout_s: timeout for all of it, seconds.
        silent_s: timeout for the server's first bytes, which it sends before it looks at anything; None: as for all.
        redial: dial again, with growing pauses, if the server closes the connection before it has answered.
        prepare: sets options on the socket, or binds it, before it is connected.
        descriptors: sent with the greeting over a Unix socket.

    Raises:
        OfframpError: the server refuses, has another token, or speaks something else.
        OSError: nothing listens there, or it does not answer in time.
    """
    place = parse_address(address) if isinstance(address, str) else address
    end = time.monotonic() + timeout_s
    pause = _FIRST_PAUSE_S
    while True:
        try:
            return _dial(place, token, protocol, greeting, end, silent_s, prepare, descriptors)
        except (ConnectionError, BlockingIOError) as error:
            left = end - time.monotonic()
            if not redial or left <= pause:
                raise
            _LOG.info("%s: %s; dialling again", place, error.strerror or error)
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)


def _dial(
    place: Address,
    token: Token | None,
    protocol: str,
    greeting: Mapping[str, Any],
    end: float,
    silent_s: float | None,
    prepare: Callable[[socket.socket], None] | None,
    descriptors: Sequence[int],
) -> tuple[socket.socket, dict[str, Any]]:
    sock = socket.socket(place.family, socket.SOCK_STREAM)
    try:
        if prepare is not None:
            prepare(sock)
        sock.settimeout(_left(end))
        sock.connect(place.where)
        handshake = ClientHandshake(token, protocol, _challenge(sock, end, silent_s))
        sock.sendall(handshake.answer)
        handshake.verify(_read(sock, VERDICT_BYTES, end))
        content = frame(greeting)
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
        sent = sock.sendmsg([content], rights)
        if sent < len(content):
            sock.sendall(content[sent:])
        answer = _answer(sock, end)
        sock.settimeout(None)
    except OfframpError as error:
        sock.close()
        raise OfframpError(f"{place}: {error}") from None
    except BaseException:
        sock.close()
        raise
    return sock, answer


def _challenge(sock: socket.socket, end: float, silent_s: float | None) -> bytes:
    if silent_s is None:
        return _read(sock, CHALLENGE.size, end)
    try:
        return _read(sock, CHALLENGE.size, min(end, time.monotonic() + silent_s))
    except TimeoutError:
        raise TimeoutError(f"it accepts connections, but has said nothing for {silent_s:g} s") from None


def _answer(sock: socket.socket, end: float) -> dict[str, Any]:
    (length,) = LENGTH.unpack(_read(sock, LENGTH.size, end))
    if not 0 < length <= MOST_ANSWER:
        raise OfframpError(f"an answer of {length} bytes, expected at most {MOST_ANSWER}")
    answer = parse_object(_read(sock, length, end), "answer")
    if "error" in answer:
        raise OfframpError(str(answer["error"])[:1000])
    return answer


def _left(end: float) -> float:
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError("no answer in time")
    return left


def _read(sock: socket.socket, length: int, end: float) -> bytes:
    parts = bytearray()
    while len(parts) < length:
        sock.settimeout(_left(end))
        part = sock.recv(length - len(parts))
        if not part:
            raise ConnectionResetError("it closed the connection before it answered")
        parts += part
    return bytes(parts)
