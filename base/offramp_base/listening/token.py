# SPDX-License-Identifier: Apache-2.0
"""A secret that the processes of one job share, and proofs of knowing it."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from typing import Final, Self

from offramp_base.errors import OfframpError

PROOF_BYTES: Final = 32
NONCE_BYTES: Final = 32
_LEAST, _MOST = 16, 4096  # bytes of a token
FILE_VARIABLE: Final = "OFFRAMP_TOKEN_FILE"


class Token:
    """A shared secret. It is never sent, printed or logged: peers prove that they have it."""

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        """Take a secret of 16 to 4096 bytes.

        Raises:
            OfframpError: it is shorter or longer.
        """
        if not _LEAST <= len(secret) <= _MOST:
            raise OfframpError(f"token of {len(secret)} bytes: expected {_LEAST} to {_MOST}")
        self._secret = secret

    def __repr__(self) -> str:
        return "Token(…)"

    def __reduce__(self) -> tuple[type[Token], tuple[bytes]]:
        return Token, (self._secret,)

    @classmethod
    def random(cls) -> Self:
        """Make a new one of 256 bits."""
        return cls(secrets.token_hex(32).encode())

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read the token that a file holds; white space around it does not count.

        Raises:
            OfframpError: there is no such regular file, it belongs to another user or others may read it, or what
                it holds is not a token.
        """
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
        except (OSError, ValueError) as error:
            raise OfframpError(f"token file {path}: {getattr(error, 'strerror', None) or error}") from None
        with os.fdopen(fd, "rb") as file:
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode):
                raise OfframpError(f"token file {path}: expected a regular file")
            if status.st_uid not in (os.geteuid(), 0) or status.st_mode & 0o077:
                raise OfframpError(f"token file {path}: expected a file of yours that nobody else may open (mode 0600)")
            text = file.read(_MOST + 2).strip()
        try:
            return cls(text)
        except OfframpError as error:
            raise OfframpError(f"token file {path}: {error}") from None

    @classmethod
    def from_environment(cls) -> Self | None:
        """Read the token file that ``OFFRAMP_TOKEN_FILE`` names; None where it names none.

        Raises:
            OfframpError: as :meth:`read`.
        """
        path = os.environ.get(FILE_VARIABLE)
        return cls.read(path) if path else None

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write it to a new file of mode 0600.

        Raises:
            OfframpError: the file exists, or cannot be written.
        """
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except (OSError, ValueError) as error:
            raise OfframpError(f"token file {path}: {getattr(error, 'strerror', None) or error}") from None
        with os.fdopen(fd, "wb") as file:
            file.write(self._secret + b"\n")

    def proof(self, label: str, *parts: bytes) -> bytes:
        """Return HMAC-SHA256 over a label and parts, 32 bytes; each part counts with its length."""
        return hmac.digest(self._secret, _joined(label, parts), hashlib.sha256)

    def proves(self, proof: bytes, label: str, *parts: bytes) -> bool:
        """Whether ``proof`` is :meth:`proof` of the same, compared in constant time."""
        return hmac.compare_digest(proof, self.proof(label, *parts))


def _joined(label: str, parts: tuple[bytes, ...]) -> bytes:
    return b"".join(len(part).to_bytes(4, "big") + part for part in (label.encode(), *parts))
