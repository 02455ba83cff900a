# SPDX-License-Identifier: Apache-2.0
"""Intra-host job completion time and the header of a response (specification section 4, figures 6.6 and 6.7)."""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from offramp_base.errors import OfframpError

HEADER: Final = struct.Struct("<I")
MOST_DELAY: Final = 0xFFFFFFFF


class Stamps(NamedTuple):
    """Nanoseconds: t1, t2, t5 and t6 of the requester's clock, t3 and t4 of the responder's.

    Attributes:
        t1: the message is queued to the path.
        t2: it is queued to the requester's NIC.
        t3: the responder's NIC has it.
        t4: the response is queued to the responder's NIC.
        t5: the requester's NIC has the response.
        t6: the requester has handled it.
    """

    t1: int
    t2: int
    t3: int
    t4: int
    t5: int
    t6: int

    @property
    def remote_delay(self) -> int:
        """t4 - t3: what the responder puts into the response's header."""
        return self.t4 - self.t3

    @property
    def intra(self) -> int:
        """(t2 - t1) + (t4 - t3) + (t6 - t5): the network is left out, and no two hosts' clocks meet."""
        return self.t2 - self.t1 + self.remote_delay + self.t6 - self.t5

    @property
    def end_to_end(self) -> int:
        """t6 - t1."""
        return self.t6 - self.t1


def pack_delay(delay_ns: int) -> bytes:
    """The 4 bytes before a response: little-endian, at most 4.29 s; a clock that fell counts as no delay."""
    return HEADER.pack(min(max(delay_ns, 0), MOST_DELAY))


def unpack_delay(message: bytes | memoryview) -> int:
    """The delay in front of a response.

    Raises:
        OfframpError: it has no header.
    """
    if len(message) < HEADER.size:
        raise OfframpError(f"response of {len(message)} bytes: expected {HEADER.size} of header")
    return int(HEADER.unpack_from(message)[0])


def overhead(payload: int) -> float:
    """The header's share of a response's bytes (section 6.4.3: 5.9 % of 64 B values)."""
    return HEADER.size / (HEADER.size + payload)
