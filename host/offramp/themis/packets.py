# SPDX-License-Identifier: Apache-2.0
"""Packets and their headers: what a message takes on the wire (section 6.3: goodput falls with small chunks)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from offramp_base.errors import OfframpError

_FORM: Final = re.compile(r"([0-9]{1,9})\+([0-9]{1,6})", re.ASCII)


@dataclass(frozen=True, slots=True)
class PacketFormat:
    """Packets of a dimension: at most ``payload`` bytes of data behind ``header`` bytes.

    Raises:
        OfframpError: a payload of nothing, or a header of less than nothing.
    """

    payload: int
    header: int

    def __post_init__(self) -> None:
        if self.payload < 1 or self.header < 0:
            raise OfframpError(f"packets {self}: expected a payload of at least 1 byte, a header of at least 0")

    def __str__(self) -> str:
        return f"{self.payload}+{self.header}"

    def headers(self, messages: Iterable[tuple[int, float]]) -> float:
        """Bytes of headers of messages: how many of them, and bytes of each."""
        return sum(count * -(-length // self.payload) * self.header for count, length in messages if length > 0)


NVLINK: Final = PacketFormat(256, 16)
"""NVLink: up to 16 flits of 16 bytes behind one of header and address."""
INFINIBAND: Final = PacketFormat(4096, 26)
"""InfiniBand's RDMA write (RC): LRH 8, BTH 12, ICRC 4 and VCRC 2 bytes at an MTU of 4,096; RETH counts once."""


def usual_packets(dimensions: int) -> list[PacketFormat]:
    """Packets of a network's dimensions: InfiniBand on the last of several, which leaves the machine; else NVLink."""
    return [INFINIBAND if k and k == dimensions - 1 else NVLINK for k in range(dimensions)]


def parse_packets(text: str) -> tuple[PacketFormat, ...]:
    """``4096+26`` for all dimensions, or one for each, such as ``256+16,4096+26``.

    Raises:
        ValueError: something else.
    """
    matches = [_FORM.fullmatch(part.strip()) for part in text.split(",")]
    known = [match for match in matches if match is not None]
    if len(known) < len(matches):
        raise ValueError("expected bytes of payload and header such as 4096+26, for all dimensions or for each")
    try:
        return tuple(PacketFormat(int(match[1]), int(match[2])) for match in known)
    except OfframpError as error:
        raise ValueError(str(error)) from None


def spread(formats: Sequence[PacketFormat], dimensions: int) -> list[PacketFormat]:
    """A format for each dimension, of one for all or of one for each.

    Raises:
        OfframpError: another number of them.
    """
    if len(formats) not in (1, dimensions):
        raise OfframpError(f"{len(formats)} formats of packets: expected 1, or one for each of {dimensions} dimensions")
    return list(formats) * dimensions if len(formats) == 1 else list(formats)
