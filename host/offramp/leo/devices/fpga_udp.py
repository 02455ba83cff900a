# SPDX-License-Identifier: Apache-2.0
"""The connection to an FPGA card on Ethernet: the device's messages as requests over UDP (``offramp.fpga.udp``)."""

from __future__ import annotations

import contextlib
import logging
import secrets
import select
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final

from offramp.device import Status
from offramp.fpga.card import CardEngine, connect, give_back, talk
from offramp.fpga.packets import LINE, answer, control
from offramp.fpga.session import Answered, CardRefused, CardSession
from offramp.fpga.udp import ControlRequest, Counter, PacketTarget
from offramp.leo.devices import fpga_packets as packets
from offramp.leo.devices import fpga_rows
from offramp.leo.devices.fpga_batch import LOOKUPS, READS, CardBatch
from offramp.leo.devices.fpga_link import (
    ABORT,
    DEQUANTISE,
    EBS,
    LOOKUP,
    QUANTISE,
    READ,
    REDUCE,
    TABLE,
    WRITE,
    Heard,
)
from offramp.leo.devices.fpga_memory import EBS as EBS_TABLES
from offramp.leo.devices.fpga_memory import KVS
from offramp.leo.devices.fpga_table import TableWrites
from offramp.leo.devices.software import EBS_LAYOUT
from offramp.leo.functions import ebs
from offramp_base.errors import OfframpError

ENGINES: Final = "kvs_lookup+reduce"
"""Engines of every such card."""

DEPTH: Final = 256
"""Least number of bytes of a vector that a card's ``reduce`` can hold."""

_VERSION, _CONTROL = 0x04, 0x08  # registers of every engine
_MASK: Final = 0x18
"""Register of kvs_lookup."""
_EBS_VERSION: Final = 0x4542_0001
_COLUMNS, _LANES = 0x10, 0x14
"""Registers of quantpack: values that a row may have, bytes of a beat."""
_QUANTPACK_VERSION: Final = 0x5150_0001
_BASE_LOW: Final = 0x10
"""First of six registers of ebs_lookup in a row: the address of its tables, two words, and the numbers of a layout."""
_OPERATIONS: Final = {KVS: LOOKUP, EBS_TABLES: EBS}
"""The operation that looks up in a memory, by memory."""
_LOG: Final = logging.getLogger(__name__)


class UdpLink:
    """A connection to a card, which serves one host, over an ordinary UDP socket.

    Attributes:
        lines: lines of the card's table.
        ebs_lines: lines of the tables of ``ebs_lookup``, 0 without that engine.
        columns: values that a row of ``quantpack`` may have, 0 without that engine.
    """

    def __init__(self, at: str, timeout_s: float, heard: Heard, lost: Callable[[], None]) -> None:
        """Open a session with the card ``at`` HOST or HOST:PORT; a request without an answer for ``timeout_s`` is lost.

        Raises:
            OfframpError: no such address, no answer, or the card serves another host.
        """
        self._at, self._timeout_s = at, timeout_s
        self._heard, self._lost = heard, lost
        self._session = CardSession(secrets.randbits(32), time.monotonic(), timeout_s / 4)
        self._lock = threading.Condition()
        self._batches = {LOOKUP: CardBatch(LOOKUPS), EBS: CardBatch(READS)}
        self._turns = list(self._batches.values())  # the one that has waited longest first
        self._fetches: deque[tuple[int, int, int]] = deque()  # serial number, place, length of reads of the tables
        self._parts: deque[tuple[PacketTarget, bytes, Answered]] = deque()  # sums and rows, waiting for the window
        self._settings = 0  # unanswered writes of registers, for which look-ups wait
        self._parts_turn = False
        self._ends = self._gone = False
        self._asked_at = 0.0  # since when something is unanswered
        self._line = connect(at)
        self._bell, self._hears_bell = socket.socketpair()
        self._bell.setblocking(False)
        self._reader = threading.Thread(target=self._run, daemon=True)
        try:
            self._open()
            self.ebs_lines = self._find_ebs()
            self.columns = self._find_quantpack()
        except BaseException:
            self._close_sockets()
            raise
        self.lines = self._session.lines
        self._reader.start()

    def _open(self) -> None:
        begun = time.monotonic()
        while not self._session.opened:
            now = time.monotonic()
            if now - begun >= self._timeout_s:
                raise OfframpError(f"device fpga:udp={self._at}: no answer in {self._timeout_s:g} s")
            try:
                self._send_due(now)
                self._wait(min(self._session.wakes_at(), begun + self._timeout_s))
                self._receive()
            except CardRefused as error:
                raise OfframpError(f"device fpga:udp={self._at}: {error}") from None
        lines = self._session.lines
        if lines < 1 or lines & (lines - 1):
            raise OfframpError(f"device fpga:udp={self._at}: a table of {lines} lines: expected a power of two")

    @property
    def engines(self) -> str:
        """Engines of the card for LEO's functions."""
        engines = ENGINES
        if self.ebs_lines >= ebs.TableLayout(*EBS_LAYOUT).size // LINE:
            engines += "+ebs_lookup"
        return f"{engines}+quantpack" if self.columns else engines

    def send(self, operation: int, serial: int, message: bytes) -> None:
        """Send a request; ``lost`` is called if the card is gone."""
        with self._lock:
            if self._idle:
                self._asked_at = time.monotonic()
            if operation in self._batches:
                if not self._batches[operation].put(serial, message):
                    self._heard(serial, Status.BAD_LENGTH, 0, b"")
            elif operation == REDUCE:
                self._in_parts(serial, PacketTarget.REDUCE, packets.sums(message, DEPTH))
            elif operation == QUANTISE:
                self._in_parts(serial, PacketTarget.QUANTISE, fpga_rows.quantise(message, self.columns))
            elif operation == DEQUANTISE:
                self._in_parts(serial, PacketTarget.DEQUANTISE, fpga_rows.dequantise(message, self.columns))
            elif operation == TABLE:
                self._allocate(message)
            elif operation == WRITE:
                memory, at = struct.unpack_from("<BQ", message)
                self._batches[_OPERATIONS[memory]].table.write(at, message[9:])
            elif operation == READ:
                self._fetches.append((serial, *struct.unpack_from("<QI", message, 1)))
            elif operation == ABORT:
                further = {CardEngine.EBS_LOOKUP: self.ebs_lines, CardEngine.QUANTPACK: self.columns}
                for engine in (CardEngine.KVS_LOOKUP, CardEngine.REDUCE, *(each for each in further if further[each])):
                    self._set(engine, _CONTROL, 1)
            else:
                self._heard(serial, Status.UNKNOWN_FUNCTION, 0, b"")
        self._ring()

    def counters(self, timeout_s: float = 1.0) -> dict[Counter, int]:
        """Counters of the card since it was switched on, modulo 2^32.

        Raises:
            OfframpError: it does not answer in time.
        """
        replies: list[bytes] = []
        came = threading.Event()

        def answered(_: int, packet: bytes) -> None:
            replies.append(packet)
            came.set()

        with self._lock:
            self._session.request(PacketTarget.CONTROL, control(ControlRequest.COUNT), answered)
        self._ring()
        if not came.wait(timeout_s) or len(replies[0]) < 4 * len(Counter):
            raise OfframpError(f"device fpga:udp={self._at}: no counters in {timeout_s:g} s")
        return dict(zip(Counter, struct.unpack_from(f"<{len(Counter)}I", replies[0]), strict=True))

    def _find_ebs(self) -> int:
        """Lines of the tables of ``ebs_lookup``; 0 where the card lacks the engine, or a register that tells them."""
        version, lines = (
            self._register(place) for place in (CardEngine.EBS_LOOKUP << 8 | _VERSION, CardEngine.EBS_LINES << 8)
        )
        return lines if version == _EBS_VERSION else 0

    def _find_quantpack(self) -> int:
        """Values of the longest row of ``quantpack``; 0 where the card lacks it."""
        place = CardEngine.QUANTPACK << 8
        if self._register(place | _VERSION) != _QUANTPACK_VERSION:
            return 0
        columns, lanes = (self._register(place | offset) for offset in (_COLUMNS, _LANES))
        return columns if lanes == fpga_rows.BEAT else 0

    def _register(self, place: int) -> int:
        """A register before the reader has begun, 0 where there is none."""
        replies: list[bytes] = []
        self._session.request(
            PacketTarget.CONTROL, control(ControlRequest.GET, place), lambda _, reply: replies.append(reply)
        )
        try:
            came = talk(self._session, self._line, lambda: bool(replies), self._timeout_s)
        except CardRefused as error:
            raise OfframpError(f"device fpga:udp={self._at}: {error}") from None
        if not came:
            raise OfframpError(f"device fpga:udp={self._at}: no answer in {self._timeout_s:g} s")
        said = answer(replies[0])
        return struct.unpack_from("<I", said.payload)[0] if said and len(said.payload) >= 4 else 0

    def _allocate(self, message: bytes) -> None:
        """Allocate an empty table."""
        memory, *sizes = struct.unpack_from("<BIII", message)
        if memory == KVS:
            lines = sizes[0]
            self._set(CardEngine.KVS_LOOKUP, _MASK, lines - 1)
        else:
            layout = ebs.TableLayout(*sizes)
            lines = layout.size // LINE
            values = (0, 0, layout.volumes, layout.blocks_at, layout.addresses_at, layout.segments)
            for place, value in enumerate(values):
                self._set(CardEngine.EBS_LOOKUP, _BASE_LOW + 4 * place, value)
        self._batches[_OPERATIONS[memory]].table = TableWrites(lines)

    def _set(self, engine: CardEngine, offset: int, value: int) -> None:
        """Write a register."""

        def answered(_: int, reply: bytes) -> None:
            self._settings -= 1
            _expect_ok(reply)

        self._settings += 1
        packet = control(ControlRequest.SET, engine << 8 | offset, struct.pack("<I", value))
        self._session.request(PacketTarget.CONTROL, packet, answered)

    def _write_lines(self, batch: CardBatch, lines: range, content: bytes) -> None:
        def answered(_: int, reply: bytes) -> None:
            _expect_ok(reply)
            batch.table.written(lines)

        packet = control(ControlRequest.TABLE, batch.format.table | lines.start, content)
        self._session.request(PacketTarget.CONTROL, packet, answered)

    def _fetch(self, serial: int, at: int, length: int) -> None:
        """Read bytes of the tables of ``ebs_lookup``."""
        lines = range(at // LINE, -(-(at + length) // LINE))
        line_content: dict[int, bytes] = {}

        def answered(line: int, _: int, reply: bytes) -> None:
            line_content[line] = _expect_ok(reply)[:LINE]
            if len(line_content) == len(lines):
                content = b"".join(line_content[each] for each in lines)
                self._heard(serial, Status.OK, 0, content[at - lines.start * LINE :][:length])

        for line in lines:
            packet = control(ControlRequest.LINE, READS.table | line)
            self._session.request(PacketTarget.CONTROL, packet, partial(answered, line))

    def _in_parts(self, serial: int, target: PacketTarget, parts: list[packets.RequestPart] | Status) -> None:
        """Queue the packets of a request, which is answered when all of them are, or at once with a status."""
        if isinstance(parts, Status):
            self._heard(serial, parts, 0, b"")
            return
        contents: list[tuple[bytes, ...]] = [()] * len(parts)
        left, worked, status = len(parts), 0, Status.OK

        def take(place: int, part: packets.RequestPart, cycles: int, packet: bytes) -> None:
            nonlocal left, worked, status
            left, worked = left - 1, worked + self._ns(cycles)
            said, contents[place] = part.result(packet)
            status = said or status
            if not left:
                content = b"" if status else b"".join(map(b"".join, zip(*contents, strict=True)))
                self._heard(serial, status, worked, content)

        for place, part in enumerate(parts):
            self._parts.append((target, part.packet, partial(take, place, part)))

    @property
    def _idle(self) -> bool:
        waits = self._parts or self._fetches or not all(batch.idle for batch in self._batches.values())
        return self._session.idle and not waits

    def _request(self) -> bool:
        """Send the next request if the window has room: writes go first, look-ups and parts take turns."""
        if not self._session.room:
            return False
        for batch in self._batches.values():
            if not batch.unanswered and (taken := batch.table.take()):
                self._write_lines(batch, *taken)  # in any order: no look-up that is on its way sees half of a change
                return True
        if self._fetches and self._batches[EBS].table.idle:
            self._fetch(*self._fetches.popleft())
            return True
        ready = None if self._settings else next((batch for batch in self._turns if batch.ready), None)
        if self._parts and (self._parts_turn or ready is None):
            self._session.request(*self._parts.popleft())
        elif ready is not None:
            self._turns.remove(ready)
            self._turns.append(ready)
            self._look_up(ready)
        else:
            return False
        self._parts_turn = not self._parts_turn
        return True

    def _look_up(self, batch: CardBatch) -> None:
        asked = batch.take()

        def answered(cycles: int, reply: bytes) -> None:
            worked = self._ns(cycles)
            for serial, status, content in batch.answered(asked, reply):
                self._heard(serial, status, worked, content)

        self._session.request(batch.format.target, asked.packet, answered)

    def _ns(self, cycles: int) -> int:
        return cycles * 1_000_000_000 // self._session.clock_hz

    def _run(self) -> None:
        try:
            while True:
                with self._lock:
                    now = time.monotonic()
                    if self._ends or (
                        not self._idle and now - max(self._asked_at, self._session.heard_at) > self._timeout_s
                    ):
                        break
                    self._send_due(now)
                    wakes = self._session.wakes_at()
                self._wait(wakes)
                with self._lock:
                    self._receive()
        except CardRefused as error:
            _LOG.warning("device fpga:udp=%s: %s", self._at, error)
        except Exception:
            _LOG.exception("device fpga:udp=%s: its line has failed", self._at)
        finally:  # whatever ended this thread: nobody waits for answers that it does not read
            if not self._ends:
                self._gone = True
                self._lost()

    def _send_due(self, now: float) -> None:
        while True:
            requested = self._request()
            for datagram in self._session.due(now):
                with contextlib.suppress(OSError):  # what is not sent is sent again
                    self._line.send(datagram)
            if not requested:
                return

    def _wait(self, until: float) -> None:
        ready, _, _ = select.select([self._line, self._hears_bell], [], [], max(until - time.monotonic(), 0))
        if self._hears_bell in ready:
            self._hears_bell.recv(4096)

    def _receive(self) -> None:
        while True:
            try:
                datagram = self._line.recv(2048)
            except BlockingIOError:
                return
            except OSError:
                continue  # an ICMP message about an earlier one: the port or the host is not there, yet
            self._session.heard(datagram, time.monotonic())

    def _ring(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._bell.send(b"!")

    def close(self) -> None:
        """Release the card."""
        with self._lock:
            self._ends = True
        self._ring()
        self._reader.join()
        give_back(self._session, self._line, 0.0 if self._gone else self._timeout_s)
        self._close_sockets()

    def _close_sockets(self) -> None:
        for each in (self._line, self._bell, self._hears_bell):
            each.close()


def _expect_ok(reply: bytes) -> bytes:
    """The payload of an answer of the card's control port.

    Raises:
        Refused: it is not an answer, or its status is not OK.
    """
    parsed = answer(reply)
    if parsed is None or parsed.status != Status.OK:
        raise CardRefused("the card refuses its table")
    return parsed.payload
