# SPDX-License-Identifier: Apache-2.0
"""Datagrams by which a host becomes the peer of a UDP port: they are no frames, and short.

Where both have a token, the host asks (37 bytes), the port answers with a cookie that it need not remember (37), the
host proves the token over its nonce and the cookie (101), and the port proves it too (37): who forges a source address
never sees the cookie, and no answer is longer than its question. Without a token, on one machine, the host says that it
is there (13 bytes, shorter than any Ethernet header).
"""

from __future__ import annotations

import select
import socket
import time
from typing import Final

from offramp_base.errors import OfframpError
from offramp_base.listening import Token
from offramp_base.listening.token import NONCE_BYTES, PROOF_BYTES

MAGIC: Final = b"OFu1"
JOIN, ASK, COOKIE, PROOF, WELCOME, REFUSED = (MAGIC + bytes([kind]) for kind in range(6))
KIND_BYTES: Final = len(JOIN)
JOIN_BYTES: Final = 13
ASK_BYTES: Final = KIND_BYTES + NONCE_BYTES
PROOF_BYTES_ALL: Final = KIND_BYTES + NONCE_BYTES + 2 * PROOF_BYTES
LABELS: Final = ("udp port: host", "udp port: switch")

TAKEN, NEEDS_TOKEN, HAS_NO_TOKEN = b"\1", b"\2", b"\3"
_REASONS: Final = {
    TAKEN: "another host is at the port",
    NEEDS_TOKEN: "the port asks for a token; none was given (OFFRAMP_TOKEN_FILE)",
    HAS_NO_TOKEN: "the port does not have the token that was given",
}
_AGAIN_S: Final = 0.2
_MOST: Final = 256


def say(kind: bytes, *parts: bytes) -> bytes:
    """A join datagram of this kind."""
    return kind + b"".join(parts)


JOINING: Final = say(JOIN, bytes(JOIN_BYTES - KIND_BYTES))


def refusal(datagram: bytes) -> str | None:
    """The reason that a port gives for refusing, for people; None if the datagram is something else."""
    if len(datagram) != KIND_BYTES + 1 or not datagram.startswith(REFUSED):
        return None
    return _REASONS.get(datagram[KIND_BYTES:], "the port refuses")


def prove(sock: socket.socket, token: Token, name: str, nonce: bytes, timeout_s: float) -> None:
    """Become the peer of the port that a socket is connected to; what else arrives meanwhile is dropped.

    Raises:
        OfframpError: the port refuses, has another token, or says nothing in time.
    """
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    end = time.monotonic() + timeout_s
    fault = "the port does not answer, or does not accept the token that was given"
    question, again = say(ASK, nonce), 0.0
    cookie = b""
    while (now := time.monotonic()) < end:
        try:
            if now >= again:
                sock.send(say(ASK, nonce))
                again = now + _AGAIN_S
            poll.poll(max(0.0, min(again, end) - now) * 1000)
            datagram = sock.recv(_MOST, socket.MSG_DONTWAIT)
            if (reason := refusal(datagram)) is not None:
                raise OfframpError(f"{name}: {reason}")
            if len(datagram) != len(question):
                continue
            if datagram.startswith(COOKIE):
                cookie = datagram[KIND_BYTES:]
                sock.send(say(PROOF, nonce, cookie, token.proof(LABELS[0], nonce, cookie)))
            elif datagram.startswith(WELCOME) and token.proves(datagram[KIND_BYTES:], LABELS[1], nonce, cookie):
                return
        except BlockingIOError:
            continue
        except OSError as error:  # nobody is there yet
            fault = error.strerror or str(error)
            time.sleep(min(_AGAIN_S, max(0.0, end - time.monotonic())))
    raise OfframpError(f"{name}: {fault}")
