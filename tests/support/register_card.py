# SPDX-License-Identifier: Apache-2.0
"""A card in Python that speaks the request layer on loopback and has the registers and entries of one engine."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from offramp.device import Status
from offramp.fpga.card import CardEngine
from offramp.fpga.packets import LINE
from offramp.fpga.udp import HEADER, MAGIC, ControlRequest, DatagramStatus, DatagramType

_ENTRIES = 1 << 31


class RegisterCard:
    """Registers behind a UDP socket of this machine.

    Attributes:
        registers: values by offset.
        written: ``(offset, value)`` of what was written, in order.
        lines: lines of entries, by their places.
        room: lines of each table.
        silent, busy: whether it answers, and whether another host has it.
    """

    def __init__(self, line: socket.socket, engine: CardEngine, registers: dict[int, int]) -> None:
        self.line, self.engine, self.registers = line, engine, registers
        self.written: list[tuple[int, int]] = []
        self.lines: dict[int, bytes] = {}
        self.room = 1 << 30
        self.silent = self.busy = False

    def run(self) -> None:
        """Answer until the socket is closed."""
        while True:
            try:
                datagram, peer = self.line.recvfrom(2048)
            except OSError:
                return
            if not datagram:
                return
            if not self.silent:
                self._answer(HEADER.decode(datagram[: HEADER.size]), datagram[HEADER.size :], peer)

    def _answer(self, head: dict[str, int], packet: bytes, peer: object) -> None:
        assert head["magic"] == MAGIC
        reply, content = DatagramStatus.DONE, b""
        if head["kind"] == DatagramType.OPEN:
            reply = DatagramStatus.BUSY if self.busy else reply
        elif head["kind"] == DatagramType.REQUEST:
            content = self._request(packet)
        values = {**head, "outcome": reply, "window": 8, "cycles": 25_000_000, "lines": 0}
        self.line.sendto(HEADER.encode(values) + content, peer)  # type: ignore[arg-type]

    def _request(self, packet: bytes) -> bytes:
        what, place = struct.unpack_from("<II", packet)
        if what == ControlRequest.TABLE:
            return self._enter(place, packet[16:])
        assert place >> 8 == self.engine
        offset = place & 0xFF
        if what == ControlRequest.SET:
            value = struct.unpack_from("<I", packet, 16)[0]
            self.written.append((offset, value))
            self.registers[offset] = value
            return completion(0)
        return struct.pack("<I12x", self.registers.get(offset, 0)) + completion(1)

    def _enter(self, place: int, content: bytes) -> bytes:
        assert place & _ENTRIES
        assert len(content) % LINE == 0
        for number in range(len(content) // LINE):
            if (place & ~(3 << 30)) + number >= self.room:
                return completion(number, Status.OUT_OF_BOUNDS)
            self.lines[(place & ~_ENTRIES) + number] = content[number * LINE : (number + 1) * LINE]
        return completion(len(content) // LINE)


def completion(count: int, status: Status = Status.OK) -> bytes:
    """The beat that ends an answer."""
    return struct.pack("<B3xIQ", status, count, 0)


@contextmanager
def register_card(engine: CardEngine, registers: dict[int, int]) -> Iterator[tuple[RegisterCard, str]]:
    """Such a card, and its name as a device."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.bind(("127.0.0.1", 0))
        there = RegisterCard(line, engine, {0x00: 0x4F465250} | registers)
        thread = threading.Thread(target=there.run)
        thread.start()
        try:
            yield there, f"fpga:udp=127.0.0.1:{line.getsockname()[1]}"
        finally:
            line.sendto(b"", line.getsockname())
            thread.join()
