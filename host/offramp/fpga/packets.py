# SPDX-License-Identifier: Apache-2.0
"""Packets of ``control_port`` and answers of all engines on a chip: beats of 16 bytes (``fpga/README.md``)."""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from offramp.device import Status
from offramp.fpga.udp import MOST_PACKET, ControlRequest

BEAT: Final = 16
HEADER: Final = struct.Struct("<8sQ")
"""Header of a packet: the request in eight bytes, and a number that its answer repeats."""
LINE: Final = 64
"""Bytes of a line of a table."""
LINES: Final = (MOST_PACKET - BEAT) // LINE
"""Lines of a table in a packet."""
_COMPLETION: Final = struct.Struct("<B3xIQ")


class Answer(NamedTuple):
    """The answer of an engine; ``payload`` is padded to whole beats."""

    status: Status
    elements: int
    payload: bytes


def answer(packet: bytes) -> Answer | None:
    """An answer packet taken apart; None if it is malformed."""
    if len(packet) < BEAT or len(packet) % BEAT:
        return None
    status, count, _ = _COMPLETION.unpack_from(packet, len(packet) - BEAT)
    try:
        return Answer(Status(status), count, packet[:-BEAT])
    except ValueError:
        return None


def control(what: ControlRequest, place: int = 0, content: bytes = b"") -> bytes:
    """A packet to ``control_port``: lines of the table, a register's value, or nothing."""
    return HEADER.pack(struct.pack("<II", what, place), 0) + content
