# SPDX-License-Identifier: Apache-2.0
"""A model of an FPGA card on Ethernet: the request layer, and engines in Python behind it, which may lie."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable
from typing import Self

import numpy as np

from offramp.device import Status
from offramp.fpga.card import CardEngine
from offramp.fpga.packets import BEAT
from offramp.fpga.udp import HEADER, MAGIC, ControlRequest, DatagramType, PacketTarget
from offramp.leo.functions import kvs, reduce
from quantpack_model import REGISTERS, dequantised, quantised

Engines = Callable[[int, bytes], bytes]
"""From the target and the packet of a request to the packet of its answer."""


class ModelCard:
    """Places that take only higher numbers.

    Attributes:
        executed: packets that went to the engines.
    """

    def __init__(self, window: int, engines: Engines, lines: int = 64, clock_hz: int = 25_000_000) -> None:
        self._window, self._engines = window, engines
        self._opened = {"window": window, "cycles": clock_hz, "lines": lines}
        self._places: dict[int, tuple[int, bytes]] = {}
        self.executed: list[bytes] = []

    def take(self, datagram: bytes) -> bytes | None:
        """The answer to a datagram, or None where the card says nothing."""
        head = HEADER.decode(datagram[: HEADER.size])
        reply = {"magic": MAGIC, "kind": head["kind"], "session": head["session"], "sequence": head["sequence"]}
        if head["kind"] == DatagramType.OPEN:
            return HEADER.encode(reply | self._opened)
        if head["kind"] == DatagramType.CLOSE:
            return HEADER.encode(reply)
        number, packet = head["sequence"], datagram[HEADER.size :]
        held = self._places.get(number % self._window)
        if held is None or 0 < (number - held[0]) & 0xFFFFFFFF < 1 << 31:
            self.executed.append(packet)
            self._places[number % self._window] = number, self._engines(head["target"], packet)
        elif held[0] != number:
            return None
        return HEADER.encode(reply | {"cycles": 100}) + self._places[number % self._window][1]


class HonestEngines:
    """``kvs_lookup``, ``reduce``, ``control_port`` and, if there, ``quantpack`` as their packets have them."""

    def __init__(self, lines: int = 64, *, quantpack: bool = False) -> None:
        self._registers = {CardEngine.QUANTPACK << 8 | at: value for at, value in REGISTERS.items() if quantpack}
        self._table = np.zeros((lines, kvs.LINE // 8), np.uint64)

    def __call__(self, target: int, packet: bytes) -> bytes:
        if target == PacketTarget.CONTROL:
            what, place = struct.unpack_from("<II", packet)
            if what == ControlRequest.TABLE:
                content = np.frombuffer(packet, np.uint64, offset=BEAT).reshape(-1, kvs.LINE // 8)
                self._table[place : place + len(content)] = content
            if what == ControlRequest.GET:
                return completed(struct.pack("<I", self._registers.get(place, 0)), 1)
            return completed(b"", 0)
        if target in (PacketTarget.QUANTISE, PacketTarget.DEQUANTISE):
            return quantised(packet) if target == PacketTarget.QUANTISE else dequantised(packet)
        if target == PacketTarget.KVS:
            count = struct.unpack_from("<I", packet, 4)[0]
            keys = np.frombuffer(packet, np.uint64, count, BEAT)
            return completed(kvs.lookup(self._table, keys).tobytes(), count)
        kind, vectors, _, count = struct.unpack_from("<BBHI", packet)
        dtype = reduce.DTYPE[kind]
        stride = -(-count * dtype.itemsize // BEAT) * BEAT
        rows = [np.frombuffer(packet, dtype, count, BEAT + stride * row) for row in range(vectors)]
        return completed(reduce.total(reduce.ElementType(kind), np.stack(rows)).tobytes(), count)


def completed(payload: bytes, elements: int, status: int = Status.OK) -> bytes:
    """An answer packet: the payload in whole beats, and the completion."""
    return payload.ljust(-(-len(payload) // BEAT) * BEAT, b"\0") + struct.pack("<B3xIQ", status, elements, 1)


class CardOnLoopback:
    """Serves a card at a UDP port of this machine from a thread, until the block ends.

    Attributes:
        at: ``HOST:PORT``.
    """

    def __init__(self, card: ModelCard) -> None:
        self._card = card
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.at = "{}:{}".format(*self._socket.getsockname())
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.sendto(b"", self._socket.getsockname())
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while True:
            datagram, host = self._socket.recvfrom(2048)
            if not datagram:
                return
            reply = self._card.take(datagram)
            if reply is not None:
                self._socket.sendto(reply, host)
