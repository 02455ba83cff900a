# SPDX-License-Identifier: Apache-2.0
"""Packets between hosts and a switch that computes: Ethernet, IPv4 and a header of the protocol's own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt

from offramp_base.wire.batch import PacketBatch
from offramp_base.wire.ethernet import ETHER_TYPE_IPV4, ETHERNET, IPV4, ipv4_frame_prefix
from offramp_base.wire.fields import Bytes, HeaderFormat

PREFIX_BYTES: Final = ETHERNET.size + IPV4.size
SWITCH_MAC: Final = 0x0200_0000_FFFE
SWITCH_IP: Final = 0x0A00_FFFE
_WORD_BITS: Final = 32
_TYPE_AT: Final = ETHERNET.by_name["ether_type"].first
_IPV4_AT: Final = {name: ETHERNET.size + field.first for name, field in IPV4.by_name.items()}


def host_mac(host: int) -> int:
    """Locally administered MAC address of a worker or rank."""
    return 0x0200_0000_0000 + host + 1


def host_ip(host: int) -> int:
    """IP address of a worker or rank in 10.0.0.0/16."""
    return 0x0A00_0001 + host


class SwitchProtocol:
    """A protocol number of IPv4, and the header behind it.

    Args:
        number: IPv4's protocol number.
        header: the header's fields, none of which spans two 32-bit words.

    Attributes:
        places: word, shift and mask of each field.
    """

    def __init__(self, number: int, header: HeaderFormat) -> None:
        self.number, self.header_end = number, PREFIX_BYTES + header.size
        self.places = {
            f.name: (f.offset // _WORD_BITS, _WORD_BITS - f.offset % _WORD_BITS - f.width, f.mask)
            for f in header.fields
        }
        tells = {  # bytes that tell a packet of the protocol: which bits, and their value
            _TYPE_AT: (0xFF, ETHER_TYPE_IPV4 >> 8),
            _TYPE_AT + 1: (0xFF, ETHER_TYPE_IPV4 & 0xFF),
            _IPV4_AT["version"]: (0xFF, 0x45),
            _IPV4_AT["frag_offset"]: (0x1F, 0),
            _IPV4_AT["frag_offset"] + 1: (0xFF, 0),
            _IPV4_AT["protocol"]: (0xFF, number),
        }
        self._at = np.array(list(tells))
        self._bits, self._values = np.array(list(tells.values()), np.uint8).T

    def prefix(self, host: int, behind: int) -> Bytes:
        """``(34,)`` Ethernet and IPv4 headers of a host's frames with ``behind`` bytes behind them, read-only."""
        return ipv4_frame_prefix(SWITCH_MAC, host_mac(host), host_ip(host), SWITCH_IP, self.number, behind)

    def recognised(self, data: Bytes) -> npt.NDArray[np.bool_]:
        """``(n,)`` whether each row of ``data``, ``(n, >= 34)``, begins with this protocol's Ethernet and IPv4 headers.

        A frame cut inside its IPv4 header has zeros there, and is not recognised: nothing in it says otherwise.
        """
        ours: npt.NDArray[np.bool_] = (data[:, self._at] & self._bits == self._values).all(axis=1)
        return ours


@dataclass(frozen=True)
class SwitchPackets:
    """Whole packets of one protocol.

    Attributes:
        frames: ``(n, bytes)`` uint8.
        foreign: number of frames of the batch that belong to something else.
    """

    protocol: ClassVar[SwitchProtocol]
    frames: Bytes
    foreign: int

    def __len__(self) -> int:
        return len(self.frames)

    def field(self, name: str) -> npt.NDArray[np.int64]:
        """``(n,)`` values of a field of the header."""
        word, shift, mask = self.protocol.places[name]
        values: npt.NDArray[np.int64] = self._words[:, word] >> shift & mask
        return values

    @cached_property
    def _words(self) -> npt.NDArray[np.int64]:
        """``(n, words)`` header as 32-bit words."""
        headers = np.ascontiguousarray(self.frames[:, PREFIX_BYTES : self.protocol.header_end])
        return headers.view(">u4").astype(np.int64)


def at_least(batch: PacketBatch, width: int) -> Bytes:
    """The frames of a batch in rows of at least ``width`` bytes, zero-padded."""
    if batch.data.shape[1] >= width:
        return batch.data
    data = np.zeros((len(batch), width), np.uint8)
    data[:, : batch.data.shape[1]] = batch.data
    return data
