# SPDX-License-Identifier: Apache-2.0
"""The request layer between a host and an FPGA card over UDP: its header, and what the card counts.

A datagram is this header and, in a request or its answer, one packet of an engine (``fpga/README.md``). Frames have 64
bytes before that packet, which are four whole beats. Numbers are big-endian, as in the headers before.

A host opens a session by a number of its choice. Sequence number ``s`` of a session may be sent when the answer to
``s - window`` is there, and is sent again until it is answered; the card carries out each once, since in each of its
``window`` places numbers only grow, and answers a number that it has carried out from what it kept.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from offramp_base.wire.fields import HeaderFormat

MAGIC: Final = 0x4F46
VERSION: Final = 1
PORT: Final = 0x4F46
"""UDP port of a card."""

HEADER: Final = HeaderFormat(
    "card",
    {
        "magic": 16,
        "kind": 8,
        "target": 8,
        "session": 32,
        "sequence": 32,
        "outcome": 8,
        "window": 8,
        "cycles": 32,  # from a request's first beat to its answer's last; of OPEN, the clock in Hz
        "lines": 32,  # of OPEN: of the table
    },
)

MOST_PACKET: Final = 1440
"""Bytes of an engine's packet in a datagram: 90 beats, a frame of 1,504 bytes without its check sequence."""


class DatagramType(IntEnum):
    """The kind of a datagram: a request and its answer have the same."""

    OPEN = 1
    CLOSE = 2
    REQUEST = 3


class PacketTarget(IntEnum):
    """The destination of a request's packet on the card."""

    KVS = 0
    REDUCE = 1
    CONTROL = 2
    EBS = 3
    QUANTISE = 4
    DEQUANTISE = 5


class DatagramStatus(IntEnum):
    """Outcome of a datagram."""

    DONE = 0
    BUSY = 1
    """OPEN: the card serves another host."""
    NO_SESSION = 2
    """REQUEST or CLOSE: the session is not this one, or of another host. OPEN: it was closed before."""


class ControlRequest(IntEnum):
    """Requests to ``control_port.sv``."""

    TABLE = 0
    SET = 1
    GET = 2
    COUNT = 3
    LINE = 4
    """Read a line of the tables of ``ebs_lookup``."""


class Counter(IntEnum):
    """The card's counters, in the order in which it reports them, modulo 2^32."""

    ACCEPTED = 0
    """Frames that were for the card and whole."""
    CORRUPT = 1
    RUNT = 2
    JUMBO = 3
    OVERFLOW = 4
    MISADDRESSED = 5
    """Frames to another MAC or IP address, or another port."""
    UNKNOWN = 6
    """Frames of a protocol that the card does not speak."""
    FRAGMENT = 7
    BAD_HEADER = 8
    """Frames whose IPv4 or UDP header is wrong: version, options, lengths, header checksum."""
    BAD_CHECKSUM = 9
    """Frames whose ICMP or UDP checksum is wrong, or missing in UDP."""
    MALFORMED = 10
    """Datagrams that are no message of the request layer."""
    STRANGER = 11
    """Messages of no session, or of another one."""
    EXECUTED = 12
    """Requests that went to an engine."""
    DUPLICATE = 13
    """Requests that were answered again from what was kept, or whose answer is not there yet."""
    STALE = 14
    """Requests older than what their place in the window holds, or too early."""
    REPLIED = 15
    """Frames that were sent."""
