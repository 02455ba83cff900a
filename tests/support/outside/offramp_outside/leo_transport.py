# SPDX-License-Identifier: Apache-2.0
"""A LEO transport: TCP that counts how often bytes were moved."""

from __future__ import annotations

from offramp.leo.transports.tcp import TcpLink


class CountedLink(TcpLink):
    """Connects and answers as TCP does."""

    pumps = 0

    def pump(self) -> bool:
        """Move bytes, and count."""
        type(self).pumps += 1
        return super().pump()
