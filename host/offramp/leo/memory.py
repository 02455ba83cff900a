# SPDX-License-Identifier: Apache-2.0
"""Memory of the host itself as a device's memory."""

from __future__ import annotations

from offramp.device import Message
from offramp_base.errors import OfframpError


class HostMemory:
    """Bytes of this process, zero at first; may use a buffer shared with others."""

    def __init__(self, size: int, shared: memoryview | None = None) -> None:
        """``size`` bytes of its own, or those of ``shared``."""
        self.view = memoryview(bytearray(size)) if shared is None else shared.cast("B")
        self.size = len(self.view)

    def write(self, offset: int, content: Message) -> None:
        """Write ``content`` at ``offset``.

        Raises:
            OfframpError: it does not fit.
        """
        check_inside(self.size, offset, len(content))
        self.view[offset : offset + len(content)] = content

    def read(self, offset: int, length: int) -> bytes:
        """Read ``length`` bytes at ``offset``.

        Raises:
            OfframpError: they do not lie inside.
        """
        check_inside(self.size, offset, length)
        return bytes(self.view[offset : offset + length])


def check_inside(size: int, offset: int, length: int) -> None:
    """Refuse a range of bytes that a memory of ``size`` does not have.

    Raises:
        OfframpError: they do not lie inside.
    """
    if not 0 <= offset <= size - length or length < 0:
        raise OfframpError(f"memory of {size} bytes: no {length} bytes at {offset}")
