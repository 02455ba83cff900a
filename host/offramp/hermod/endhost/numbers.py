# SPDX-License-Identifier: Apache-2.0
"""Numbers of messages: who uses an endpoint in the upper 32 bits, which of the user's messages in the lower ones."""

from __future__ import annotations

import zlib
from typing import Final

from offramp_base.errors import OfframpError

_FLAG: Final = 1 << 63
"""Tells tagged messages from channels."""
_TAGS: Final = 1 << 31


def channel(name: str) -> int:
    """The first number of a user with a name."""
    return zlib.crc32(name.encode()) % _TAGS << 32


def tagged(tag: int) -> int:
    """The first number of point-to-point messages with a tag.

    Raises:
        OfframpError: not a tag.
    """
    if not 0 <= tag < _TAGS:
        raise OfframpError(f"tag {tag}: expected 0 to {_TAGS - 1}")
    return _FLAG | tag << 32
