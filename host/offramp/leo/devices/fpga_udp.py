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
from offramp.fpga.card import Engine, connect, give_back
from offramp.fpga.packets import answer, control
from offramp.fpga.session import Answered, Refused, Session
from offramp.fpga.udp import Control, Counter, Target
from offramp.leo.devices import fpga_packets as packets
from offramp.leo.devices.fpga_link import ABORT, LOOKUP, REDUCE, TABLE, WRITE, Heard
from offramp.leo.devices.fpga_table import TableWrites
from offramp.leo.functions import reduce
from offramp_base.errors import OfframpError

ENGINES: Final = "kvs_lookup+reduce"
"""Engines of such a card."""

DEPTH: Final = 256
"""Vector bytes that a card's ``reduce`` holds at least."""

_MASK, _CONTROL = 0x18, 0x08  # registers of kvs_lookup, and of every engine
_KEY: Final = 8
_LOG: Final = logging.getLogger(__name__)


class UdpLink:
    """A connection to a card, which serves one host, over an ordinary UDP socket.

    Attributes:
        lines: lines of the card's table.
    """

    def __init__(self, at: str, timeout_s: float, heard: Heard, lost: Callable[[], None]) -> None:
        """Open a session with the card ``at`` HOST or HOST:PORT; a request without an answer for ``timeout_s`` is lost.

        Raises:
            OfframpError: no such address, no answer, or the card serves another host.
        """
        self._at, self._timeout_s = at, timeout_s
        self._heard, self._lost = heard, lost
        self._session = Session(secrets.randbits(32), time.monotonic(), timeout_s / 4)
        self._lock = threading.Condition()
        self._keys: deque[tuple[int, bytes]] = deque()  # look-ups that wait for a packet
        self._parts: deque[tuple[bytes, Answered]] = deque()  # of sums, that wait for the window
        self._lookups = self._writes = 0  # unanswered packets; writes wait for look-ups, and look-ups for writes
        self._sums_turn = False
        self._ends = self._gone = False
        self._asked_at = 0.0  # since when something is unanswered
        self._table = TableWrites(0)
        self._line = connect(at)
        self._bell, self._hears_bell = socket.socketpair()
        self._bell.setblocking(False)
        self._reader = threading.Thread(target=self._run, daemon=True)
        try:
            self._open()
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
            except Refused as error:
                raise OfframpError(f"device fpga:udp={self._at}: {error}") from None
        lines = self._session.lines
        if lines < 1 or lines & (lines - 1):
            raise OfframpError(f"device fpga:udp={self._at}: a table of {lines} lines: expected a power of two")

    def send(self, operation: int, serial: int, message: bytes) -> None:
        """Send a request; ``lost`` is called if the card is gone."""
        with self._lock:
            if self._idle:
                self._asked_at = time.monotonic()
            if operation == LOOKUP:
                if len(message) == _KEY:
                    self._keys.append((serial, message))
                else:
                    self._heard(serial, Status.BAD_LENGTH, 0, b"")
            elif operation == REDUCE:
                self._sum(serial, message)
            elif operation == TABLE:
                self._allocate(message)
            elif operation == WRITE:
                self._table.write(struct.unpack_from("<Q", message, 1)[0], message[9:])
            elif operation == ABORT:
                for engine in (Engine.KVS_LOOKUP, Engine.REDUCE):
                    self._control(control(Control.SET, engine << 8 | _CONTROL, struct.pack("<I", 1)))
            else:
                self._heard(serial, Status.UNKNOWN_FUNCTION, 0, b"")
        self._ring()

    def counters(self, timeout_s: float = 1.0) -> dict[Counter, int]:
        """Counters of the card since it was switched on, modulo 2^32.

        Raises:
            OfframpError: it does not answer in time.
        """
        found: list[bytes] = []
        came = threading.Event()

        def answered(_: int, packet: bytes) -> None:
            found.append(packet)
            came.set()

        with self._lock:
            self._session.request(Target.CONTROL, control(Control.COUNT), answered)
        self._ring()
        if not came.wait(timeout_s) or len(found[0]) < 4 * len(Counter):
            raise OfframpError(f"device fpga:udp={self._at}: no counters in {timeout_s:g} s")
        return dict(zip(Counter, struct.unpack_from(f"<{len(Counter)}I", found[0]), strict=True))

    def _allocate(self, message: bytes) -> None:
        """Allocate a table with all buckets free."""
        buckets = struct.unpack_from("<BI", message)[1]
        self._table = TableWrites(buckets)
        self._control(control(Control.SET, _MASK, struct.pack("<I", buckets - 1)))

    def _control(self, packet: bytes, done: Callable[[], None] = lambda: None) -> None:
        def answered(_: int, packet: bytes) -> None:
            found = answer(packet)
            self._writes -= 1
            if found is None or found.status != Status.OK:
                raise Refused("the card refuses its table")
            done()

        self._writes += 1
        self._session.request(Target.CONTROL, packet, answered)

    def _sum(self, serial: int, message: bytes) -> None:
        parts = packets.sums(message, DEPTH)
        if parts is None:
            self._heard(serial, Status.BAD_LENGTH, 0, b"")
            return
        size = reduce.DTYPE[message[0]].itemsize
        found: list[bytes] = [b""] * len(parts)
        left, worked, status = len(parts), 0, Status.OK

        def take(place: int, part: bytes, cycles: int, packet: bytes) -> None:
            nonlocal left, worked, status
            left, worked = left - 1, worked + self._ns(cycles)
            said, found[place] = packets.result(part, packet, size)
            status = said or status
            if not left:
                self._heard(serial, status, worked, b"" if status else b"".join(found))

        for place, part in enumerate(parts):
            self._parts.append((part, partial(take, place, part)))

    @property
    def _idle(self) -> bool:
        return self._session.idle and self._table.idle and not self._keys and not self._parts

    def _request(self) -> bool:
        """Request the next thing if the window has room: writes go first, look-ups and sums by turns."""
        if not self._session.room:
            return False
        if not self._lookups and (taken := self._table.take()):
            lines, content = taken  # in any order: no look-up is on its way that could meet half of a change
            self._control(control(Control.TABLE, lines.start, content), partial(self._table.written, lines))
            return True
        may_look_up = bool(self._keys) and not self._writes and self._table.idle
        if self._parts and (self._sums_turn or not may_look_up):
            self._session.request(Target.REDUCE, *self._parts.popleft())
        elif may_look_up:
            self._look_up()
        else:
            return False
        self._sums_turn = not self._sums_turn
        return True

    def _look_up(self) -> None:
        """Put waiting look-ups together into one packet."""
        asked = [self._keys.popleft() for _ in range(min(len(self._keys), packets.KEYS))]
        packet = packets.lookups([key for _, key in asked])

        def answered(cycles: int, reply: bytes) -> None:
            self._lookups -= 1
            (status, found), worked = packets.result(packet, reply, _KEY), self._ns(cycles)
            for place, (serial, _) in enumerate(asked):
                self._heard(serial, status, worked, found[_KEY * place : _KEY * (place + 1)])

        self._lookups += 1
        self._session.request(Target.KVS, packet, answered)

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
        except Refused as error:
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
