# SPDX-License-Identifier: Apache-2.0
"""Tuning of an endpoint's connections by the user."""

from __future__ import annotations

import math
from dataclasses import dataclass

from offramp_base.errors import OfframpError


@dataclass(frozen=True, slots=True)
class Tuning:
    """Sizes in bytes, times in seconds; None leaves what the system does.

    Attributes:
        chunk: after which a more urgent coflow takes over.
        unsent: what a connection may keep in the kernel beyond what is on its way (TCP_NOTSENT_LOWAT): bytes there can
            no longer be overtaken at this host.
        send_buffer, receive_buffer: sizes of the sockets' buffers, in bytes.
        congestion: TCP's congestion control.
        rate_bps: most that the network card sends, in chunks: emulates one that many ranks of a machine do not have.
        timeout_s: after which an operation fails that is not over.
        dead_s: after which a silent host counts as dead.

    Raises:
        OfframpError: a value that is not positive.
    """

    chunk: int = 1 << 20
    unsent: int = 1 << 18
    send_buffer: int | None = None
    receive_buffer: int | None = None
    congestion: str | None = None
    rate_bps: float | None = None
    timeout_s: float = 300.0
    dead_s: float = 20.0

    def __post_init__(self) -> None:
        for name in ("chunk", "unsent", "send_buffer", "receive_buffer", "rate_bps", "timeout_s", "dead_s"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise OfframpError(f"tuning: {name} {value}: expected more than 0")
        if self.chunk >= 1 << 32:
            raise OfframpError(f"tuning: chunk {self.chunk}: expected less than 4 GiB")
