# SPDX-License-Identifier: Apache-2.0
"""Limits on the resources that unauthenticated peers can take from a listener."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ConnectionLimits:
    """Bounds on connections whose greeting is not complete.

    Attributes:
        pending: most greetings that may be pending; beyond that, the one that has said least for longest makes room.
        per_host: most of them that one other machine may have; beyond that, one of its own makes room.
        greeting_s: seconds that a greeting may take.
        greeting_bytes: most bytes of a greeting, once the peer has proved its token.
        descriptors: file descriptors that may come with it over a Unix socket.
        accepts: connections that one :meth:`~offramp_base.listening.Listener.poll` takes at most.
    """

    pending: int = 256
    per_host: int = 64
    greeting_s: float = 5.0
    greeting_bytes: int = 1 << 16
    descriptors: int = 0
    accepts: int = 16
