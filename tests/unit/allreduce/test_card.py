# SPDX-License-Identifier: Apache-2.0
"""Admission to an FPGA card by registers, on a card in Python that speaks the request layer.

Blind spot: the RTL, which ``tests/fpga`` has behind the same control.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from offramp.allreduce import card
from offramp.allreduce.control import segments_of, with_control
from offramp.allreduce.entries import leaf, star
from offramp.allreduce.verdict import PacketVerdict
from offramp.fpga.card import Engine
from offramp.fpga.registers import register_map
from offramp.fpga.udp import HEADER, MAGIC, Control, Kind, Reply
from offramp.switchgnn.leaf_spine import LeafSpine
from offramp_base.errors import OfframpError

SIZE = 4


class Card:
    """Registers behind a UDP socket of this machine."""

    def __init__(self, line: socket.socket) -> None:
        self.line, self.registers, self.cleared = line, {0x00: 0x4F465250, 0x04: card.VERSION, 0x10: SIZE}, []
        self.session: int | None = None
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
        reply, content = Reply.DONE, b""
        if head["kind"] == Kind.OPEN:
            reply = Reply.BUSY if self.busy else reply
        elif head["kind"] == Kind.REQUEST:
            content = self._request(packet)
        values = {**head, "outcome": reply, "window": 8, "cycles": 25_000_000, "lines": 0}
        self.line.sendto(HEADER.encode(values) + content, peer)  # type: ignore[arg-type]

    def _request(self, packet: bytes) -> bytes:
        what, place = struct.unpack_from("<II", packet)
        assert place >> 8 == Engine.ALLREDUCE
        offset = place & 0xFF
        if what == Control.SET:
            value = struct.unpack_from("<I", packet, 16)[0]
            if offset == card.REGISTERS["CLEAR"]:
                assert value & 0x100
                self.cleared.append(value & 0xFF)
            self.registers[offset] = value
            return struct.pack("<B3xIQ", 0, 0, 0)
        return struct.pack("<I12x", self.registers.get(offset, 0)) + struct.pack("<B3xIQ", 0, 1, 0)


@contextmanager
def simulated() -> Iterator[tuple[Card, str]]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.bind(("127.0.0.1", 0))
        there = Card(line)
        thread = threading.Thread(target=there.run)
        thread.start()
        try:
            yield there, f"fpga:udp=127.0.0.1:{line.getsockname()[1]}"
        finally:
            line.sendto(b"", line.getsockname())
            thread.join()


def test_offsets_are_those_of_the_register_map() -> None:
    described = register_map("allreduce_regs")
    offsets = {register.name: register.offset for register in described.registers}
    assert described.version == card.VERSION
    assert {name: offsets[name] for name in card.REGISTERS} == card.REGISTERS
    assert {verdict: offsets[verdict.name] for verdict in card.COUNTS} == card.COUNTS
    for job in range(card.JOBS):
        assert offsets[f"RANKS{job}"] == card.REGISTERS["RANKS0"] + job * card.JOB_BYTES
    assert PacketVerdict.DESCENDED not in card.COUNTS


def test_jobs_get_pages_of_their_own_and_give_them_back() -> None:
    with simulated() as (there, name):
        assert segments_of(name, 5) == 1
        assert with_control(name, lambda control: control.admit(7, star([0, 1, 2]), 2), 5) == [0, 1]
        assert there.cleared == [0, 1]
        assert with_control(name, lambda control: control.admit(8, star([0, 1]), 1), 5) == [2]
        assert (there.registers[0x20], there.registers[0x24], there.registers[0x28]) == (7, 0b111, 0x200)
        assert (there.registers[0x30], there.registers[0x34], there.registers[0x38]) == (8, 0b11, 0x102)
        with pytest.raises(OfframpError, match=r"job 9: needs 2 pages .* has 1 of 4 left beside 2 other jobs"):
            with_control(name, lambda control: control.admit(9, star([0]), 2), 5)
        with_control(name, lambda control: control.release(7), 5)
        assert there.registers[0x24] == 0
        assert with_control(name, lambda control: control.admit(9, star([0]), 2), 5) == [0, 1]
        assert with_control(name, lambda control: control.admit(9, star([0]), 2), 5) == [0, 1]  # again
        for job in (10, 11, 12):
            if job < 11:
                with_control(name, lambda control, job=job: control.admit(job, star([0]), 1), 5)
        with pytest.raises(OfframpError, match="needs 1 pages"):
            with_control(name, lambda control: control.admit(12, star([0]), 1), 5)
        counts = with_control(name, lambda control: control.outcomes(), 5)
        assert counts["completed"] == 0


def test_what_registers_cannot_hold_and_a_page_that_stays_are_one_line() -> None:
    with simulated() as (there, name):
        for job, pages in ((1 << 32, 1), (7, 0), (7, 256)):
            with pytest.raises(OfframpError, match="expected a number of 32 bits, and 1 to 255 pages"):
                with_control(name, lambda control, job=job, pages=pages: control.admit(job, star([0]), pages), 5)
        there.registers[card.REGISTERS["STATUS"]] = 1
        with pytest.raises(OfframpError, match="does not empty page 0"):
            with_control(name, lambda control: control.admit(7, star([0])), 5)


def test_roles_among_several_switches_are_refused() -> None:
    network = LeafSpine((0, 0, 1))
    with simulated() as (_, name), pytest.raises(OfframpError, match="not as one of several switches"):
        with_control(name, lambda control: control.admit(7, leaf(network, 0)), 5)


def test_what_is_no_such_card_is_one_line() -> None:
    with simulated() as (there, name):
        there.registers[0x04] = 5
        with pytest.raises(OfframpError, match="no allreduce with registers of version 0x41520001, but of 0x5"):
            with_control(name, lambda control: control.pages, 5)
        there.registers[0x00] = 0
        with pytest.raises(OfframpError, match=r"no allreduce with registers of version 0x41520001$"):
            with_control(name, lambda control: control.pages, 5)
        there.busy = True
        with pytest.raises(OfframpError, match="the card serves another host"):
            with_control(name, lambda control: control.pages, 0.5)
        there.silent = True
        with pytest.raises(OfframpError, match=r"no answer in 0\.5 s"):
            with_control(name, lambda control: control.pages, 0.5)
    with pytest.raises(OfframpError, match="expected HOST or HOST:PORT"):
        with_control("fpga:udp=", lambda control: control.pages, 0.5)
