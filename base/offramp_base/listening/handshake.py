# SPDX-License-Identifier: Apache-2.0
"""The two sides of a connection prove to each other that they have the same token, before any other message.

The server sends a challenge: magic, whether a token is needed, 32 random bytes. The client answers with its own 32
random bytes and its proof, HMAC-SHA256 under the token over a label, the protocol and both nonces; the server says
whether it accepts that and sends its own proof under another label, so that no proof can be reflected to its maker.
The token is never sent. Without a token the proofs are zeros. Frames follow: a length of four bytes, big-endian, and
a JSON object.
"""

from __future__ import annotations

import json
import secrets
import struct
from collections.abc import Mapping
from typing import Any, Final

from offramp_base.errors import OfframpError
from offramp_base.listening.token import NONCE_BYTES, PROOF_BYTES, Token

_MAGIC: Final = b"OFL1"
CHALLENGE: Final = struct.Struct(f"!4sB{NONCE_BYTES}s")
ANSWER_BYTES: Final = NONCE_BYTES + PROOF_BYTES
VERDICT_BYTES: Final = 1 + PROOF_BYTES
REFUSAL: Final = bytes(VERDICT_BYTES)
_WELCOME: Final = b"\1"
LENGTH: Final = struct.Struct("!I")
_NO_PROOF: Final = bytes(PROOF_BYTES)


class ServerHandshake:
    """The server's side, without a socket.

    Attributes:
        challenge: the bytes to send to the client.
    """

    def __init__(self, token: Token | None, protocol: str) -> None:
        self._token, self._protocol = token, protocol.encode()
        self._nonce = secrets.token_bytes(NONCE_BYTES)
        self.challenge = CHALLENGE.pack(_MAGIC, token is not None, self._nonce)

    def accept(self, answer: bytes) -> bytes | None:
        """The verdict on a client's answer of ``ANSWER_BYTES``; None where it does not prove the token."""
        nonce, proof = answer[:NONCE_BYTES], answer[NONCE_BYTES:]
        if self._token is None:
            return _WELCOME + _NO_PROOF
        if not self._token.proves(proof, "client", self._protocol, self._nonce, nonce):
            return None
        return _WELCOME + self._token.proof("server", self._protocol, self._nonce, nonce)


class ClientHandshake:
    """The client's side, without a socket.

    Attributes:
        answer: the bytes to send to the server.

    Raises:
        OfframpError: the server speaks something else, or needs a token and there is none.
    """

    def __init__(self, token: Token | None, protocol: str, challenge: bytes) -> None:
        magic, needed, self._theirs = CHALLENGE.unpack(challenge)
        if magic != _MAGIC:
            raise OfframpError("it does not speak Offramp's handshake")
        if needed and token is None:
            raise OfframpError("it asks for a token; none was given")
        self._token, self._protocol = token, protocol.encode()
        self._nonce = secrets.token_bytes(NONCE_BYTES)
        proof = _NO_PROOF if token is None else token.proof("client", self._protocol, self._theirs, self._nonce)
        self.answer = self._nonce + proof

    def verify(self, verdict: bytes) -> None:
        """Check the server's verdict of ``VERDICT_BYTES``.

        Raises:
            OfframpError: the server does not accept the token, or does not prove that it has the same one.
        """
        if verdict == REFUSAL:
            raise OfframpError("it does not accept the token that was given")
        proof = verdict[1:]
        if self._token is not None and not self._token.proves(
            proof, "server", self._protocol, self._theirs, self._nonce
        ):
            raise OfframpError("it does not have the token that was given")


def frame(content: Mapping[str, Any]) -> bytes:
    """A frame that holds a JSON object."""
    text = json.dumps(content, allow_nan=False).encode()
    return LENGTH.pack(len(text)) + text
