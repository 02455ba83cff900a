# SPDX-License-Identifier: Apache-2.0
"""``tests/p4/portable/psa.p4``: what a packet may ask of it, and what it writes down."""

from __future__ import annotations

DROP, RESUBMIT, CLONE, EGRESS_DROP, EGRESS_CLONE = 1, 2, 4, 8, 16
NORMAL, UNICAST, MULTICAST, CLONE_I2E, CLONE_E2E, AGAIN, AROUND = range(7)
RECIRCULATE, CPU = 0xFFFFFFFA, 0xFFFFFFFD


def order(flags: int = 0, port: int = 3, group: int = 0, session: int = 0, cos: int = 0) -> bytes:
    """Requests of a packet."""
    return bytes([flags, cos]) + b"".join(n.to_bytes(2, "big") for n in (port, group, session))


def note(path: int, brought: int, port: int, instance: int = 0, cos: int = 0, error: int = 0) -> bytes:
    """Records that ingress or egress writes."""
    return bytes([path, brought]) + port.to_bytes(4, "big") + instance.to_bytes(2, "big") + bytes([cos, error])
