# SPDX-License-Identifier: Apache-2.0
"""Rings whose bytes smartNIC agents carry: each side hands cells to its own agent; ports and switches do the rest.

``OFFRAMP_LEO_PORT`` names the agent's port of a side, ``nic:SOCKET#PORT``, or ``nic:SOCKET#PORT,MAC,IPV4`` with the
addresses by which switches know it. Requester and responder greet each other as over TCP, on whatever network connects
them; the rings' bytes then travel in messages of one frame between the agents (:mod:`offramp.nic.coflows`), which
retransmit lost ones. A side starts with a fixed number of cells, and returns a cell once its ring had room for it:
neither side can send more than the other takes.
"""

from __future__ import annotations

import os
from collections import deque
from typing import Final, Self

import numpy as np

from offramp.leo.hops import recorder
from offramp.leo.native.clock import Clock
from offramp.leo.transports.greeting import parse_place
from offramp.leo.transports.link import (
    TRANSPORTS,
    Fields,
    GreetingSocket,
    Guest,
    LinkDown,
    RequesterGreeting,
    check_ends,
)
from offramp.nic.coflows import CELL, CoflowPort, PendingCoflow, RankAddress
from offramp_base.errors import OfframpError
from offramp_base.native.ring import RingEnd
from offramp_base.native.ring_end import RingSide, Words, make_end

PORT: Final = "OFFRAMP_LEO_PORT"
_WINDOW: Final = 32
_HEAD: Final = 4
_CHECKED: Final = 256
_RETRY_S: Final = 0.02
_MEMORY: Final = 1 << 20
_REQUESTER, _RESPONDER = 1, 0
_WAYS: Final = 2
"""Number of ranks, the parties of a conversation; messages of one are even, those of the other odd."""
_NUMBERS: Final = 1 << 32


def port_of(rank: int) -> tuple[str, RankAddress]:
    """The port that the environment names, and its addresses.

    Raises:
        OfframpError: it names none, or its value is invalid.
    """
    text = os.environ.get(PORT, "")
    link, *address = text.split(",")
    if not link.startswith("nic:") or len(address) not in (0, 2):
        raise OfframpError(f"transport nic: {PORT}={text!r}: expected nic:SOCKET#PORT or nic:SOCKET#PORT,MAC,IPV4")
    if not address:
        return link, RankAddress.of_rank(rank)
    try:
        return link, parse_place({"mac": address[0].replace(":", ""), "ip": address[1]})
    except ValueError as error:
        raise OfframpError(f"transport nic: {PORT}={text!r}: expected {error}") from None


@TRANSPORTS.register("nic")
class NicLink:
    """See the module; a :class:`offramp.leo.transports.link.Link`."""

    shared = False
    mover: Words | None = None

    def __init__(
        self,
        control: GreetingSocket | None,
        link: str,
        hosts: list[RankAddress],
        rank: int,
        ring_bytes: int,
        longest: int | None,
    ) -> None:
        """``hosts``: those of responder and requester; ``longest``: most bytes of a message that this side accepts."""
        self._control = control
        self.sent, self.received = make_end(ring_bytes), make_end(ring_bytes, longest=longest)
        self._peer, self._rank, self._calls = 1 - rank, rank, 0
        self._clock = Clock()
        self._recorder = recorder()
        names = {_RESPONDER: "responder", _REQUESTER: "requester"}
        self._here, self._agent = names[rank], f"agent of {names[rank]}"
        try:
            self._port = CoflowPort(link, rank, hosts, memory=_MEMORY, retry_s=_RETRY_S)
        except OfframpError:
            if control is not None:
                control.close()
            raise
        self._next_out, self._next_in = rank, 1 - rank
        self._outgoing: deque[PendingCoflow] = deque()
        self._incoming: deque[PendingCoflow] = deque()
        for _ in range(_WINDOW):
            self._expect()

    @classmethod
    def connect(cls, call: RequesterGreeting) -> tuple[Self, Fields]:
        """Exchange the addresses of ports with the greeting."""
        link, host = port_of(_REQUESTER)
        control, answer = call.dial(nic=_said(host))
        try:
            there = parse_place(answer.get("nic"))
        except ValueError as error:
            control.close()
            raise OfframpError(f"responder at {call.address}: its answer's field nic: expected {error}") from None
        return cls(control, link, [there, host], _REQUESTER, call.ring_bytes, None), answer

    @classmethod
    def accept(cls, guest: Guest) -> Self:
        """Take the port before the requester learns of it.

        Raises:
            OfframpError: this side has no port, or another requester has it.
        """
        link, host = port_of(_RESPONDER)
        assert guest.hello.nic is not None
        hosts, sizes = [host, guest.hello.nic], (guest.hello.ring_bytes, guest.hello.longest)
        transport = cls(None, link, hosts, _RESPONDER, *sizes)
        try:
            transport._control = guest.welcome(nic=_said(host))
        except BaseException:
            transport.close()
            raise
        return transport

    def pump(self) -> bool:
        """Hand over what is to be sent, and take what has arrived.

        Raises:
            LinkDown: the agent or the peer is gone, or the peer has written invalid data.
        """
        check_ends(self.sent, self.received)
        self._calls += 1
        if self._calls % _CHECKED == 0 and not (self._control and self._control.alive()):
            raise LinkDown("the peer has ended")
        try:
            self._port.poll()
            took = self._take()
            return self._give() or took
        except OfframpError as error:
            raise LinkDown(str(error)) from None

    def close(self) -> None:
        """Release port and socket."""
        self._port.close()
        if self._control is not None:
            self._control.close()

    def _expect(self) -> None:
        self._incoming.append(self._port.exchange(self._next_in, {}, {self._peer: CELL}))
        self._next_in = (self._next_in + _WAYS) % _NUMBERS

    def _take(self) -> bool:
        """Take cells in the order in which they were sent, as long as the ring has room."""
        took = False
        while self._incoming and self._incoming[0].done:
            cell = self._incoming[0].received[self._peer]
            count = int.from_bytes(cell[:_HEAD], "little")
            if count > CELL - _HEAD:
                raise LinkDown(f"the peer has written a cell of {count} bytes")
            end = self.received
            if count > end.size - int(end.head[0] - end.tail[0]):
                return took
            if self._recorder is not None:
                self._recorder.note(self._here, bytes=count, message=self._incoming[0].message)
            _write(end, cell[_HEAD : _HEAD + count])
            end.words[RingEnd.arrived] = self._clock.now()
            end.head[0] += count
            self._incoming.popleft()
            self._expect()
            took = True
        return took

    def _give(self) -> bool:
        gave = False
        while self._outgoing and self._outgoing[0].done:
            self._outgoing.popleft()
        end = self.sent
        while len(self._outgoing) < _WINDOW and (left := int(end.head[0] - end.tail[0])) > 0:
            count = min(left, CELL - _HEAD)
            cell = count.to_bytes(_HEAD, "little") + _read(end, count) + bytes(CELL - _HEAD - count)
            if self._recorder is not None:
                self._recorder.note(self._agent, bytes=count, message=self._next_out)
            self._outgoing.append(self._port.exchange(self._next_out, {self._peer: cell}, {}))
            self._next_out = (self._next_out + _WAYS) % _NUMBERS
            end.tail[0] += count
            gave = True
        return gave


def _said(host: RankAddress) -> dict[str, str]:
    return {"mac": host.mac.hex(), "ip": host.ip}


def _write(end: RingSide, content: bytes) -> None:
    """Write behind the published bytes, wrapping around the end of the ring if necessary."""
    place, ring = int(end.head[0]) & (end.size - 1), end.content.view(np.uint8)
    first = min(len(content), end.size - place)
    ring[place : place + first] = np.frombuffer(content[:first], np.uint8)
    ring[: len(content) - first] = np.frombuffer(content[first:], np.uint8)


def _read(end: RingSide, count: int) -> bytes:
    place, ring = int(end.tail[0]) & (end.size - 1), end.content.view(np.uint8)
    first = min(count, end.size - place)
    return ring[place : place + first].tobytes() + ring[: count - first].tobytes()
