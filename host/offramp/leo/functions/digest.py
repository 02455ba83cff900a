# SPDX-License-Identifier: Apache-2.0
"""``digest``: SHA-512 (FIPS 180-4) of the request; ``scrub``: SHA-512 of the decompressed request.

A store that scrubs its disks asks for the latter for compressed chunks. A digest has 64 bytes; OpenSSL computes it
without holding Python's lock.
"""

from __future__ import annotations

import hashlib
from typing import Final

from offramp.device import Message, Status
from offramp.leo.functions.compress import compressed_chunk, decompress
from offramp.leo.functions.registry import FUNCTIONS, Function

DIGEST: Final = "digest"
SCRUB: Final = "scrub"


def digest(message: Message) -> bytes:
    """The message's digest, 64 bytes."""
    return hashlib.sha512(message).digest()


def scrub(message: Message) -> bytes:
    """The digest of the decompressed message.

    Raises:
        OfframpError: it does not decompress.
    """
    return digest(decompress(message))


FUNCTIONS.register(DIGEST)(Function(digest))
FUNCTIONS.register(SCRUB)(Function(scrub, compressed_chunk, Status.FAILED))
