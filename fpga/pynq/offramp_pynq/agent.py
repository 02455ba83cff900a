"""Serves LEO's ``fpga`` device: requests from a socket through the drivers into the engines, and their answers back.

On a board: ``python -m offramp_pynq.agent --bitfile engines.bit --listen 0.0.0.0:7000``; the host then has the device
``fpga:at=BOARD:7000``. In simulation :mod:`offramp_sim.rtl.card` starts it.
"""

from __future__ import annotations

import argparse
import socket
import struct
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

REQUEST = struct.Struct("<BQI")
"""Operation, number, bytes of the message that follows."""

ANSWER = struct.Struct("<BBQQI")
"""Operation, status, number, nanoseconds that the engine worked, bytes of the message that follows."""

TABLE, LOOKUP, REDUCE, WRITE, ABORT = range(5)
OK, BAD_LENGTH, OUT_OF_BOUNDS = 0, 2, 3
CLOCK_NS = 4
U64 = struct.Struct("<Q")
HEADER = struct.Struct("<BBHI")


class Agent:
    """The engines and a table for look-ups."""

    def __init__(self, engines: Any, cycles: Any) -> None:
        self._engines, self._cycles = engines, cycles
        self._table: Any = None

    def answer(self, requests: list[tuple[int, int, bytes]]) -> list[tuple[int, int, int, int, bytes]]:
        """Answers in order; look-ups that follow each other share a packet."""
        found, place = [], 0
        while place < len(requests):
            operation, number, message = requests[place]
            if operation == LOOKUP and len(message) == 8:
                end = place + 1
                while end < len(requests) and end - place < 1024 and requests[end][0] == LOOKUP:
                    if len(requests[end][2]) != 8:
                        break
                    end += 1
                found += self._lookup(requests[place:end])
                place = end
                continue
            begun = self._cycles()
            status, payload = self._call(operation, message)
            found.append((operation, status, number, self._since(begun), payload))
            place += 1
        return found

    def _since(self, begun: int) -> int:
        return ((self._cycles() - begun) & 0xFFFFFFFF) * CLOCK_NS

    def _lookup(self, requests: list[tuple[int, int, bytes]]) -> list[tuple[int, int, int, int, bytes]]:
        begun = self._cycles()
        keys = np.frombuffer(b"".join(message for _, _, message in requests), "<u8")
        found = self._engines.kvs.lookup(keys, requests[0][1])
        worked = self._since(begun)
        return [
            (LOOKUP, found.status, number, worked, b"" if found.status else found.payload[8 * at : 8 * at + 8])
            for at, (_, number, _) in enumerate(requests)
        ]

    def _call(self, operation: int, message: bytes) -> tuple[int, bytes]:
        if operation == TABLE and len(message) == U64.size:
            self._table = self._engines.kvs.allocate_table(U64.unpack(message)[0])
            return OK, b""
        if operation == REDUCE:
            return self._reduce(message)
        if operation == WRITE and len(message) >= U64.size:
            (at,), content = U64.unpack_from(message), np.frombuffer(message[U64.size :], np.uint8)
            if self._table is None or at + len(content) > len(self._table):
                return OUT_OF_BOUNDS, b""
            self._table[at : at + len(content)] = content
            self._table.flush()
            return OK, b""
        if operation == ABORT:
            self._engines.kvs.abort()
            self._engines.sums.abort()
            return OK, b""
        return BAD_LENGTH, b""

    def _reduce(self, message: bytes) -> tuple[int, bytes]:
        if len(message) < HEADER.size:
            return BAD_LENGTH, b""
        kind, number, zeros, count = HEADER.unpack_from(message)
        size = count * (2 if kind == 3 else 4)
        if kind > 3 or zeros or not 1 <= number <= 8 or len(message) != HEADER.size + number * size:
            return BAD_LENGTH, b""
        vectors = [message[HEADER.size + size * at :][:size] for at in range(number)]
        found = self._engines.sums.total(kind, vectors)
        return found.status, b"" if found.status else found.payload


def serve(agent: Agent, line: socket.socket) -> None:
    """Answer requests until the other end closes."""
    received = b""
    while True:
        requests = []
        while len(received) >= REQUEST.size:
            operation, number, length = REQUEST.unpack_from(received)
            if len(received) < REQUEST.size + length:
                break
            requests.append((operation, number, received[REQUEST.size : REQUEST.size + length]))
            received = received[REQUEST.size + length :]
        answers = [
            ANSWER.pack(operation, status, number, worked, len(payload)) + payload
            for operation, status, number, worked, payload in agent.answer(requests)
        ]
        line.sendall(b"".join(answers))
        more = line.recv(1 << 16)
        if not more:
            return
        received += more


def _simulated(bus: str, dram: str) -> tuple[Any, Any]:
    """The overlay on a simulated board, which connects once it has been told that somebody listens."""
    from offramp_pynq.overlay import Engines
    from offramp_pynq.simulated import SimulatedDevice

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(bus)
        listener.listen(1)
        print("listening", flush=True)  # noqa: T201
        line, _ = listener.accept()
    device = SimulatedDevice(line, Path(dram))
    bitfile = Path(dram).with_name("engines.bit")
    bitfile.touch()  # PYNQ wants a file; what it would hold is already in the simulator
    return Engines(str(bitfile), device=device), device.cycles


def _real(bitfile: str) -> tuple[Any, Any]:
    from offramp_pynq.overlay import Engines

    return Engines(bitfile), lambda: time.monotonic_ns() // CLOCK_NS


def _line(connect: str | None, listen: str | None) -> socket.socket:
    if connect:
        line = socket.socket(socket.AF_UNIX)
        line.connect(connect)
        return line
    host, _, port = (listen or "").rpartition(":")
    with socket.create_server((host, int(port))) as listener:
        line, _ = listener.accept()
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return line


def main() -> int:
    """Run until the host goes."""
    parser = argparse.ArgumentParser(description="Offramp's FPGA engines for LEO.")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--listen", help="HOST:PORT to wait on for the host")
    where.add_argument("--connect", help="Unix socket of the host")
    parser.add_argument("--bitfile", default="engines.bit", help="overlay, with its .hwh beside it")
    parser.add_argument("--bus", help="Unix socket for a simulated board")
    parser.add_argument("--dram", help="file with a simulated board's memory")
    chosen = parser.parse_args()
    engines, cycles = _simulated(chosen.bus, chosen.dram) if chosen.bus else _real(chosen.bitfile)
    with _line(chosen.connect, chosen.listen) as line:
        serve(Agent(engines, cycles), line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
