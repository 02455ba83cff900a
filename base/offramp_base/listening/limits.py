# SPDX-License-Identifier: Apache-2.0
"""Limits on the resources that unauthenticated peers can take from a listener."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Bounds on connections whose greeting is not complete.

    Attributes:
        pending: how many there may be; beyond, the one that has said least for longest makes room.
        per_host: how many one other machine may have; beyond, one of its own makes room.
        greeting_s: how long a greeting may take, seconds.
        greeting_bytes: how long it may be, once the peer has proved its token.
        descriptors: file descriptors that may come with it over a Unix socket.
        accepts: connections that one :meth:`~offramp_base.listening.Listener.poll` takes at most.
    """

    pending: int = 256
    per_host: int = 64
    greeting_s: float = 5.0
    greeting_bytes: int = 1 << 16
    descriptors: int = 0
    accepts: int = 16
