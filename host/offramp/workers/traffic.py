# SPDX-License-Identifier: Apache-2.0
"""Traffic of one worker's link, and where the time went."""

from __future__ import annotations

import time
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass
from typing import TYPE_CHECKING

from offramp_base.wire.objects import sendable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HOST_PAYLOAD_BYTES = 1024
"""Payload bytes of a host-based packet (specification section 10)."""

HOST_OVERHEAD_BYTES = 82
"""Bytes that a host-based packet adds on the wire."""


@sendable
@dataclass
class Traffic:
    """Totals of one link: bytes and packets from the worker (up) and to it (down).

    Payload bytes are the features. Wire bytes add the zeros that fill a packet for the switch to 128 bytes,
    every header, the frame check sequence, preamble and inter-frame gap, and the packets that carry no features.
    ``lost`` frames did not arrive at this end of the link, as far as it knows.
    """

    payload_up: int = 0
    payload_down: int = 0
    wire_up: int = 0
    wire_down: int = 0
    packets_up: int = 0
    packets_down: int = 0
    lost: int = 0

    def __add__(self, other: Traffic) -> Traffic:
        """The traffic of both links together."""
        return Traffic(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def as_dict(self) -> dict[str, int]:
        """Field names and values."""
        return asdict(self)


class Timers:
    """Seconds spent under each name since the last :meth:`reset`."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Add the time until the block ends to ``name``."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] += time.perf_counter() - start

    def reset(self) -> None:
        """Reset all names to zero."""
        self.seconds.clear()


def count_messages(traffic: Traffic, up: Sequence[int] = (), down: Sequence[int] = ()) -> None:
    """Add messages of the given sizes in bytes to ``traffic``."""
    payload, packets = sum(up), _packets(up)
    traffic.payload_up += payload
    traffic.packets_up += packets
    traffic.wire_up += payload + packets * HOST_OVERHEAD_BYTES
    payload, packets = sum(down), _packets(down)
    traffic.payload_down += payload
    traffic.packets_down += packets
    traffic.wire_down += payload + packets * HOST_OVERHEAD_BYTES


def _packets(messages: Sequence[int]) -> int:
    return sum(-(-length // HOST_PAYLOAD_BYTES) for length in messages)
