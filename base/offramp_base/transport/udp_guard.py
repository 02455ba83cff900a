# SPDX-License-Identifier: Apache-2.0
"""The host at a UDP port: the one that was named, one that proves the token, or a process of this user."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from offramp_base.listening import Token
from offramp_base.listening.token import NONCE_BYTES, PROOF_BYTES
from offramp_base.transport.socket_owner import LocalSockets
from offramp_base.transport.udp_join import (
    ASK,
    ASK_BYTES,
    COOKIE,
    HAS_NO_TOKEN,
    JOIN,
    JOIN_BYTES,
    KIND_BYTES,
    LABELS,
    MAGIC,
    NEEDS_TOKEN,
    PROOF,
    PROOF_BYTES_ALL,
    REFUSED,
    TAKEN,
    WELCOME,
    say,
)

_COOKIE_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class GuardVerdict:
    """The guard's decision on a datagram.

    Attributes:
        frame: it is one, of the peer.
        meets: its sender is the peer from now on.
        reply: is sent back, if not empty; never longer than the datagram.
    """

    frame: bool = False
    meets: bool = False
    reply: bytes = b""

    @property
    def refuses(self) -> bool:
        """Whether the sender is neither the peer nor about to prove that it may be."""
        return not (self.frame or self.meets or self.reply.startswith(COOKIE))


_STRANGER: Final = GuardVerdict()


class DatagramGuard(Protocol):
    """Decides about datagrams of others than the peer, and about the peer's first one.

    Attributes:
        proved: whether the peer stays the peer when the network says that its socket is closed.
    """

    proved: bool

    def judge(self, sender: bytes, datagram: bytes, peer: bytes | None) -> GuardVerdict:
        """The decision on a datagram from ``sender``, a struct sockaddr; ``peer`` is the peer, if there is one."""


def is_join(datagram: bytes) -> bool:
    """Whether this is a join message rather than a frame."""
    return datagram.startswith(MAGIC) and len(datagram) in (JOIN_BYTES, ASK_BYTES, PROOF_BYTES_ALL)


class NamedPeerGuard:
    """The peer was named; on a network that lets others forge its address, they can pose as it."""

    proved = True

    def judge(self, sender: bytes, datagram: bytes, peer: bytes | None) -> GuardVerdict:
        """Frames of the peer alone."""
        if sender != peer:
            return _STRANGER
        return GuardVerdict(frame=not is_join(datagram), meets=True)


class First:
    """The first sender, until its socket is closed: for networks on which everyone is trusted."""

    proved = False

    def judge(self, sender: bytes, datagram: bytes, peer: bytes | None) -> GuardVerdict:
        """Frames of the first one."""
        met = peer in (None, sender)
        return GuardVerdict(frame=met and not is_join(datagram), meets=met)


class Local:
    """A process of this user, or of root, on this machine; the first one that joins, until its socket is closed.

    Args:
        trusted: whether the socket with an address is of such a process; None: there is no such socket.
    """

    proved = False

    def __init__(self, trusted: Callable[[bytes], bool | None] | None = None) -> None:
        self._trusted = trusted or LocalSockets().trusted
        self._joined: bytes | None = None

    def judge(self, sender: bytes, datagram: bytes, peer: bytes | None) -> GuardVerdict:
        """A host that joins takes precedence over one that only sends."""
        if not datagram.startswith(MAGIC) or not is_join(datagram):
            met = sender == peer or (peer is None and self._trusted(sender) is True)
            return GuardVerdict(frame=met, meets=met)
        if datagram.startswith(ASK):
            return GuardVerdict(reply=say(REFUSED, HAS_NO_TOKEN))
        if not datagram.startswith(JOIN) or self._trusted(sender) is not True:
            return _STRANGER
        taken = peer is not None and peer == self._joined and peer != sender
        if taken and self._trusted(peer or b"") is not None:
            return GuardVerdict(reply=say(REFUSED, TAKEN))
        self._joined = sender
        return GuardVerdict(meets=True)


class Proved:
    """The host that proved the token last."""

    proved = True

    def __init__(self, token: Token, clock: Callable[[], float] = time.monotonic) -> None:
        self._token, self._clock = token, clock
        self._key = secrets.token_bytes(32)
        self._last = (b"", b"")  # sender and proof

    def judge(self, sender: bytes, datagram: bytes, peer: bytes | None) -> GuardVerdict:
        """Answer questions and proofs; datagrams from others are not frames."""
        if not is_join(datagram):
            return GuardVerdict(frame=True) if sender == peer else _STRANGER
        if datagram.startswith(JOIN):
            return GuardVerdict(reply=say(REFUSED, NEEDS_TOKEN))
        nonce = datagram[KIND_BYTES : KIND_BYTES + NONCE_BYTES]
        if datagram.startswith(ASK) and len(datagram) == ASK_BYTES:
            return GuardVerdict(reply=say(COOKIE, self._cookie(sender, nonce, 0)))
        if not datagram.startswith(PROOF) or len(datagram) != PROOF_BYTES_ALL:
            return _STRANGER
        cookie, proof = datagram[KIND_BYTES + NONCE_BYTES : -PROOF_BYTES], datagram[-PROOF_BYTES:]
        repeated = self._last == (sender, datagram)  # the answer was lost
        fresh = any(hmac.compare_digest(cookie, self._cookie(sender, nonce, age)) for age in (0, 1))
        if not repeated and not (fresh and self._token.proves(proof, LABELS[0], nonce, cookie)):
            return _STRANGER
        if not repeated:
            self._key = secrets.token_bytes(32)  # no cookie serves twice
            self._last = (sender, datagram)
        return GuardVerdict(meets=True, reply=say(WELCOME, self._token.proof(LABELS[1], nonce, cookie)))

    def _cookie(self, sender: bytes, nonce: bytes, age: int) -> bytes:
        when = int(self._clock() / _COOKIE_S) - age
        return hmac.digest(self._key, b"%d:%b%b" % (when, sender, nonce), hashlib.sha256)
