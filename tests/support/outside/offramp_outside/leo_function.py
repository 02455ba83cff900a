# SPDX-License-Identifier: Apache-2.0
"""A LEO function: the bytes of a message in reverse order."""

from __future__ import annotations

from offramp.device import Message
from offramp.leo.functions.registry import Function


def answer(message: Message) -> bytes:
    """The last byte first."""
    return bytes(message)[::-1]


reverse = Function(answer)
