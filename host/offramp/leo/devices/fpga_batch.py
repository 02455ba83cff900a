# SPDX-License-Identifier: Apache-2.0
"""Requests to an FPGA card on Ethernet that share a packet to an engine, and the table in which the engine looks."""

from __future__ import annotations

import struct
from collections import deque
from dataclasses import dataclass
from typing import Final, NamedTuple

from offramp.device import Status
from offramp.fpga.packets import BEAT, HEADER
from offramp.fpga.udp import MOST_PACKET, PacketTarget
from offramp.leo.devices import fpga_packets as packets
from offramp.leo.devices.fpga_table import TableWrites
from offramp.leo.functions import ebs

_WORD: Final = 8


@dataclass(frozen=True)
class EngineFormat:
    """The format of an engine's requests and answers.

    Attributes:
        target: the engine.
        table: place of its table's first line at the card's control port.
        request: bytes of a request, a multiple of 8.
        answer: bytes of its answer, likewise, no more than ``request``.
        ordered: whether answers depend on earlier requests, so that packets must not overtake each other.
    """

    target: PacketTarget
    table: int
    request: int
    answer: int
    ordered: bool = False

    @property
    def most(self) -> int:
        """Requests of a packet."""
        return (MOST_PACKET - BEAT) // self.request


LOOKUPS: Final = EngineFormat(PacketTarget.KVS, 0, _WORD, _WORD)
READS: Final = EngineFormat(PacketTarget.EBS, 1 << 30, ebs.REQUEST.size, ebs.ANSWER.size, ordered=True)


class SentPacket(NamedTuple):
    """A packet, and the serial numbers of the requests in it."""

    packet: bytes
    serials: list[int]


class CardBatch:
    """Requests that wait for a packet; no packet is unanswered while a part of the table is.

    Attributes:
        format: sizes of requests and answers.
        table: as it has to become.
        unanswered: packets on their way.
    """

    def __init__(self, format_: EngineFormat) -> None:
        self.format = format_
        self.table = TableWrites(0)
        self.unanswered = 0
        self._waiting: deque[tuple[int, bytes]] = deque()

    @property
    def idle(self) -> bool:
        """Whether nothing waits; the table has what was written."""
        return not self._waiting and self.table.idle

    @property
    def ready(self) -> bool:
        """Whether a packet may leave."""
        return bool(self._waiting) and self.table.idle and not (self.format.ordered and self.unanswered)

    def put(self, serial: int, request: bytes) -> bool:
        """Take a request; False if it has a wrong length."""
        good = len(request) == self.format.request
        if good:
            self._waiting.append((serial, request))
        return good

    def take(self) -> SentPacket:
        """A packet of what waits; :meth:`answered` has to follow."""
        asked = [self._waiting.popleft() for _ in range(min(len(self._waiting), self.format.most))]
        self.unanswered += 1
        words = len(asked) * self.format.request // _WORD
        content = b"".join(request for _, request in asked)
        return SentPacket(HEADER.pack(struct.pack("<II", 0, words), 0) + content, [serial for serial, _ in asked])

    def answered(self, asked: SentPacket, reply: bytes) -> list[tuple[int, Status, bytes]]:
        """Serial number, status and answer of each request in a packet."""
        self.unanswered -= 1
        size, count = self.format.answer, len(asked.serials)
        status, content = packets.result(reply, count * size // _WORD, _WORD)
        return [(serial, status, content[size * k : size * (k + 1)]) for k, serial in enumerate(asked.serials)]
