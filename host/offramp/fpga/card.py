# SPDX-License-Identifier: Apache-2.0
"""Registers of an FPGA card on Ethernet, one access after the other."""

from __future__ import annotations

import contextlib
import random
import secrets
import select
import socket
import struct
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from enum import IntEnum
from typing import TYPE_CHECKING, Final, Self, TypeVar

from offramp.device import Status
from offramp.fpga.packets import LINE, LINES, answer, control
from offramp.fpga.session import CardRefused, CardSession
from offramp.fpga.udp import PORT, ControlRequest, PacketTarget
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

SCHEME: Final = "fpga:udp="
"""Prefix of the name of a card that is reached over UDP."""
_MAGIC: Final = 0x4F46_5250
_ENTRIES: Final = 1 << 31
"""Bit of a place that selects an engine's entries; the bit below chooses between two tables."""
_TABLE_BIT: Final = 30
_BURST: Final = 64
"""Datagrams that are read before the clock is looked at again."""
_RETRY_S: Final = 0.5
_Control = TypeVar("_Control")
_Answer = TypeVar("_Answer")


class CardEngine(IntEnum):
    """Engine whose registers are accessed: bits 10:8 of a place; a card with none of the last three ignores bit 10."""

    KVS_LOOKUP = 0
    REDUCE = 1
    ALLREDUCE = 2
    SWITCHGNN = 3
    EBS_LOOKUP = 4
    EBS_LINES = 5
    """No engine: its only register has the lines of EBS_LOOKUP's tables."""
    QUANTPACK = 6


def connect(at: str) -> socket.socket:
    """A UDP socket that talks to a card, and never blocks.

    Args:
        at: ``HOST`` or ``HOST:PORT``.

    Raises:
        OfframpError: no such address.
    """
    host, colon, port = at.partition(":")
    if not host or (colon and not (port.isdecimal() and 0 < int(port) < 1 << 16)):
        raise OfframpError(f"device {SCHEME}{at}: expected HOST or HOST:PORT")
    line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        line.connect((host, int(port) if colon else PORT))
    except OSError as error:
        line.close()
        raise OfframpError(f"device {SCHEME}{at}: {error.strerror or error}") from None
    line.setblocking(False)
    return line


class CardRegisters:
    """Registers of one engine, for a host that holds the card as long as this is open; a context manager.

    Args:
        at: ``HOST`` or ``HOST:PORT``.
        engine: whose.
        version: required version of its register map.
        timeout_s: seconds that the card may be silent.

    Raises:
        OfframpError: no such address, no answer, another engine or version there.
        Refused: another host holds the card.
    """

    def __init__(self, at: str, engine: CardEngine, version: int, timeout_s: float = 5.0) -> None:
        self.name = f"device {SCHEME}{at}"
        self._engine, self._timeout_s = engine, timeout_s
        self._line = connect(at)
        self._silent = False  # the card has not answered
        self._session = CardSession(secrets.randbits(32), time.monotonic(), timeout_s / 4)
        try:
            self._until(lambda: self._session.opened)
            self._check(version)
        except BaseException:
            self.close()
            raise

    def read(self, offset: int) -> int:
        """The value at a byte offset.

        Raises:
            OfframpError: no answer, or one that is none.
        """
        value: int = struct.unpack_from("<I", self._ask(ControlRequest.GET, offset, b""))[0]
        return value

    def write(self, offset: int, value: int) -> None:
        """Write a register at a byte offset.

        Raises:
            OfframpError: as :meth:`read`.
        """
        self._ask(ControlRequest.SET, offset, struct.pack("<I", value))

    def write_entries(self, table: int, entries: npt.NDArray[np.uint32]) -> None:
        """Write the first entries of a table, ``(n, 4)`` words each; what follows up to a line's end is zero.

        Raises:
            OfframpError: no answer, or a table that has no room for them.
        """
        content = entries.astype("<u4").tobytes()
        content += bytes(-len(content) % LINE)
        for line in range(0, len(content) // LINE, LINES):
            part = content[line * LINE : (line + LINES) * LINE]
            self._request(
                control(ControlRequest.TABLE, _ENTRIES | table << _TABLE_BIT | line, part), f"entries of table {table}"
            )

    def close(self) -> None:
        """Give the card back."""
        if self._session.opened:
            give_back(self._session, self._line, 0.0 if self._silent else self._timeout_s)
        self._line.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check(self, version: int) -> None:
        magic, actual = self.read(0), self.read(4)
        if (magic, actual) != (_MAGIC, version):
            lacks = f"{self.name}: has no {self._engine.name.lower()} with registers of version {version:#x}"
            raise OfframpError(lacks + (f", but of {actual:#x}" if magic == _MAGIC else ""))

    def _ask(self, what: ControlRequest, offset: int, content: bytes) -> bytes:
        reply = self._request(control(what, self._engine << 8 | offset, content), f"register {offset:#04x}")
        if what == ControlRequest.GET and len(reply) < 4:
            raise OfframpError(f"{self.name}: refuses register {offset:#04x}")
        return reply

    def _request(self, packet: bytes, subject: str) -> bytes:
        replies: list[bytes] = []
        self._session.request(PacketTarget.CONTROL, packet, lambda _, reply: replies.append(reply))
        self._until(lambda: bool(replies))
        status = answer(replies[0])
        if status is None or status.status != Status.OK:
            raise OfframpError(f"{self.name}: refuses {subject}")
        return status.payload

    def _until(self, done: Callable[[], bool]) -> None:
        if not talk(self._session, self._line, done, self._timeout_s):
            self._silent = True
            raise OfframpError(f"{self.name}: no answer in {self._timeout_s:g} s")


def talk(session: CardSession, line: socket.socket, done: Callable[[], bool], timeout_s: float) -> bool:
    """Send what is due and take what comes until ``done``; returns whether that was in time. All is sent once at least.

    Raises:
        Refused: another host holds the card, or the card has given the session up.
    """
    begun = time.monotonic()
    while not done():
        for datagram in session.due(time.monotonic()):
            with contextlib.suppress(OSError):  # what is not sent is sent again
                line.send(datagram)
        left = begun + timeout_s - time.monotonic()
        if left <= 0:
            return False
        select.select([line], [], [], max(min(session.wakes_at() - time.monotonic(), left), 0))
        with contextlib.suppress(OSError):  # nothing there, or ICMP's word about an earlier datagram
            for _ in range(_BURST):
                session.heard(line.recv(2048), time.monotonic())
    return True


def give_back(session: CardSession, line: socket.socket, timeout_s: float) -> None:
    """Close a session, and see to it that the card knows, for ``timeout_s`` at most."""
    session.close()
    talk(session, line, lambda: session.closed, timeout_s)


def with_card(
    name: str,
    open_control: Callable[[], AbstractContextManager[_Control]],
    ask: Callable[[_Control], _Answer],
    timeout_s: float,
) -> _Answer:
    """Ask something of a card that another host may hold for a moment; ``ask`` may be called again from the start.

    Raises:
        OfframpError: the other host holds it as long as ``timeout_s``, or what the others raise.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            with open_control() as control:
                return ask(control)
        except CardRefused as error:
            if time.monotonic() > deadline:
                raise OfframpError(f"device {name}: {error}") from None
            time.sleep(random.uniform(0, _RETRY_S))
