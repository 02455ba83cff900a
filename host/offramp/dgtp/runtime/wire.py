# SPDX-License-Identifier: Apache-2.0
"""What processes of a run say to each other: orders and reports, flows, and requests for neighbours.

Every connection begins with a greeting that says what it is for. A connection of control carries frames of one size. A
connection of a pair of tasks carries flows, each a header and its bytes. Requests of a sampler to a store, and the
answers, are records of :mod:`offramp.dgs.wire` behind their length.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from offramp.workers.mailbox import PeerLostError
from offramp_base.errors import OfframpError
from offramp_base.listening.objects import check_object, choice, integer

PROTOCOL: Final = "dgtp 1"
"""Name and version; what is proved for another protocol proves nothing here."""
CONTROL, FLOW, STRUCTURE = "control", "flow", "structure"
_FRAME: Final = struct.Struct("!B3xIIQ")
FRAME_BYTES: Final = _FRAME.size
_FLOW: Final = struct.Struct("!IQ")
FLOW_HEADER_BYTES: Final = _FLOW.size
_LENGTH: Final = struct.Struct("!Q")
MOST_BYTES: Final = 1 << 32
"""Largest flow, and largest message about neighbours."""
_MOST_NUMBER: Final = (1 << 32) - 1


class FrameKind(IntEnum):
    """Kind of a control frame."""

    START_TASK = 1  # subject: task
    TASK_DONE = 2  # amount: nanoseconds in which it waited for what no edge brings
    START_FLOW = 3  # subject: edge; amount: bytes per second
    RATE = 4  # of the flow that the edge has under way
    FLOW_DONE = 5  # amount: bytes that have arrived
    END = 6  # all tasks have done all iterations


class ControlFrame(NamedTuple):
    """An order of the scheduler, or a report to it."""

    kind: FrameKind
    subject: int = 0
    iteration: int = 0
    amount: int = 0

    def pack(self) -> bytes:
        """The frame's bytes."""
        return _FRAME.pack(*self)

    @classmethod
    def unpack(cls, raw: bytes | bytearray | memoryview) -> ControlFrame:
        """Read a frame.

        Raises:
            OfframpError: there is no such kind.
        """
        kind, *rest = _FRAME.unpack(raw)
        if kind not in FrameKind.__members__.values():
            raise OfframpError(f"control: a frame of kind {kind}")
        return cls(FrameKind(kind), *rest)


class ConnectionPurpose(NamedTuple):
    """What a connection is for.

    Attributes:
        kind: ``control`` of a rank, ``flow`` of an edge, or ``structure``: a sampler's requests to a store.
        number: the rank, the edge, or the sampler.
    """

    kind: str
    number: int

    def greeting(self, session: str) -> dict[str, object]:
        """The fields of a greeting."""
        return {"session": session, **self._asdict()}

    @classmethod
    def check(cls, greeting: Mapping[str, object], session: str) -> ConnectionPurpose:
        """Check a greeting to a process of a session.

        Raises:
            OfframpError: something else, or of another session.
        """
        kinds = choice(CONTROL, FLOW, STRUCTURE)
        fields = {"session": choice(session), "kind": kinds, "number": integer(0, _MOST_NUMBER)}
        checked = check_object(greeting, fields, "greeting")
        return cls(checked["kind"], checked["number"])


def read_exactly(sock: socket.socket, count: int, who: str) -> bytearray:
    """The next ``count`` bytes.

    Raises:
        PeerLostError: the connection has ended.
    """
    data = bytearray(count)
    view = memoryview(data)
    while view:
        try:
            got = sock.recv_into(view)
        except OSError as error:
            raise PeerLostError(f"{who} is gone: {error.strerror}") from None
        if not got:
            raise PeerLostError(f"{who} is gone")
        view = view[got:]
    return data


def send_all(sock: socket.socket, data: bytes | bytearray | memoryview, who: str) -> None:
    """Send all bytes.

    Raises:
        PeerLostError: the connection has ended.
    """
    try:
        sock.sendall(data)
    except OSError as error:
        raise PeerLostError(f"{who} is gone: {error.strerror}") from None


def flow_header(iteration: int, length: int) -> bytes:
    """What goes before the bytes of a flow."""
    return _FLOW.pack(iteration, length)


def read_flow(sock: socket.socket, who: str) -> tuple[int, bytearray]:
    """The iteration and the bytes of the next flow.

    Raises:
        PeerLostError: the connection has ended.
        OfframpError: a flow of more than 4 GiB is announced.
    """
    iteration, length = _FLOW.unpack(read_exactly(sock, _FLOW.size, who))
    return iteration, read_exactly(sock, _expected(length, who), who)


def send_message(sock: socket.socket, message: bytes, who: str) -> None:
    """Send a message behind its length.

    Raises:
        PeerLostError: the connection has ended.
    """
    send_all(sock, _LENGTH.pack(len(message)) + message, who)


def read_message(sock: socket.socket, who: str) -> bytes:
    """The next message.

    Raises:
        PeerLostError: the connection has ended.
        OfframpError: more than 4 GiB are announced.
    """
    (length,) = _LENGTH.unpack(read_exactly(sock, _LENGTH.size, who))
    return bytes(read_exactly(sock, _expected(length, who), who))


def _expected(length: int, who: str) -> int:
    if length > MOST_BYTES:
        raise OfframpError(f"{who} announces {length} bytes: expected at most {MOST_BYTES}")
    return length
