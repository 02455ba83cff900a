# SPDX-License-Identifier: Apache-2.0
"""Serves LEO's ``fpga`` device: requests from a socket through the drivers into the engines, and their answers back.

On a board: ``python -m offramp_pynq.agent --bitfile engines.bit --listen 0.0.0.0:7000 --token-file job.token``; the
host, with the same token in OFFRAMP_TOKEN_FILE, then has the device ``fpga:at=BOARD:7000``. In simulation
:mod:`offramp_sim.rtl.card` starts it.
"""

from __future__ import annotations

import argparse
import os
import socket
import struct
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from offramp_pynq.cores import USUAL
from offramp_pynq.listening import Listener, Refused, read_token

REQUEST = struct.Struct("<BQI")
"""Operation, number, bytes of the message that follows."""

ANSWER = struct.Struct("<BBQQI")
"""Operation, status, number, nanoseconds that the engine worked, bytes of the message that follows."""

TABLE, LOOKUP, REDUCE, WRITE, ABORT, EBS, COPY, READ, QUANTISE, DEQUANTISE = range(10)
KVS_TABLE, EBS_TABLES, MEMORIES = range(3)
"""Memories that the host fills and reads."""

MOST = 1 << 26
"""Bytes of a message."""

OK, UNKNOWN, BAD_LENGTH, OUT_OF_BOUNDS = 0, 1, 2, 3
CLOCK_NS = 4
SIZES = struct.Struct("<BIII")
"""Payload of TABLE: the memory, and its sizes in the order of its driver's parameters."""

PLACE = struct.Struct("<BQ")
"""Start of the payload of WRITE and READ: the memory, and the byte offset in it; READ has a length behind it."""

LENGTH = struct.Struct("<I")
HEADER = struct.Struct("<BBHI")
COMPLETION = struct.Struct("<B3xIQ")
ROWS = struct.Struct("<BBHIIIQ")
CODES = struct.Struct("<BBHIII")
"""Headers of messages to the quantiser."""


class Agent:
    """The engines, and the memories that they read."""

    def __init__(self, engines: Any, cycles: Any) -> None:
        self._engines, self._cycles = engines, cycles
        self._memories: dict[int, list[Any]] = {}
        kvs, ebs = engines.kvs, engines.ebs
        # Requests that share a packet: their bytes, those of an answer, the most of them, and what asks the engine.
        self._shared: dict[int, tuple[int, int, int, Any]] = {}
        if kvs is not None:
            self._shared[LOOKUP] = 8, 8, 1024, lambda joined, number: kvs.lookup(np.frombuffer(joined, "<u8"), number)
        if ebs is not None:
            self._shared[EBS] = 24, 16, 512, ebs.lookup

    def answer(self, requests: list[tuple[int, int, bytes]]) -> list[tuple[int, int, int, int, bytes]]:
        """Answers in order; look-ups that follow each other share a packet."""
        answers, place = [], 0
        while place < len(requests):
            operation, number, message = requests[place]
            length, _, most, _ = self._shared.get(operation, (-1, 0, 0, None))
            if len(message) == length:
                end = place + 1
                while end < min(len(requests), place + most) and requests[end][0] == operation:
                    if len(requests[end][2]) != length:
                        break
                    end += 1
                answers += self._together(requests[place:end])
                place = end
                continue
            begun = self._cycles()
            status, payload = self._call(operation, message)
            answers.append((operation, status, number, self._since(begun), payload))
            place += 1
        return answers

    def _since(self, begun: int) -> int:
        return ((self._cycles() - begun) & 0xFFFFFFFF) * CLOCK_NS

    def _together(self, requests: list[tuple[int, int, bytes]]) -> list[tuple[int, int, int, int, bytes]]:
        operation = requests[0][0]
        _, size, _, ask = self._shared[operation]
        begun = self._cycles()
        reply = ask(b"".join(message for _, _, message in requests), requests[0][1])
        worked = self._since(begun)
        return [
            (
                operation,
                reply.status,
                number,
                worked,
                b"" if reply.status else reply.payload[size * at : size * (at + 1)],
            )
            for at, (_, number, _) in enumerate(requests)
        ]

    def _call(self, operation: int, message: bytes) -> tuple[int, bytes]:
        if operation == TABLE and len(message) == SIZES.size:
            return self._allocate(*SIZES.unpack(message))
        if operation == REDUCE:
            return self._reduce(message) if self._engines.sums is not None else (UNKNOWN, b"")
        if operation == COPY:
            return self._copy(message) if self._engines.copies is not None else (UNKNOWN, b"")
        if operation in (QUANTISE, DEQUANTISE):
            if self._engines.quantiser is None:
                return UNKNOWN, b""
            return self._quantise(message) if operation == QUANTISE else self._dequantise(message)
        if operation == WRITE and len(message) >= PLACE.size:
            return self._write(*PLACE.unpack_from(message), message[PLACE.size :])
        if operation == READ and len(message) == PLACE.size + LENGTH.size:
            return self._read(*PLACE.unpack_from(message), *LENGTH.unpack_from(message, PLACE.size))
        if operation == ABORT:
            engines = self._engines
            for engine in (engines.kvs, engines.sums, engines.ebs, engines.copies, engines.quantiser):
                if engine is not None:
                    engine.abort()
            return OK, b""
        return BAD_LENGTH, b""

    def _allocate(self, memory: int, *sizes: int) -> tuple[int, bytes]:
        try:
            return self._allocated(memory, *sizes)
        except (MemoryError, ValueError, RuntimeError):  # PYNQ has no such buffer
            return OUT_OF_BOUNDS, b""

    def _allocated(self, memory: int, *sizes: int) -> tuple[int, bytes]:
        engines = self._engines
        if memory == KVS_TABLE and engines.kvs is not None:
            self._memories[memory] = [engines.kvs.allocate_table(sizes[0])]
        elif memory == EBS_TABLES and engines.ebs is not None:
            self._memories[memory] = [engines.ebs.allocate_tables(*sizes)]
        elif memory == MEMORIES and engines.copies is not None:
            self._memories[memory] = engines.copies.allocate_memories(sizes[0])
        else:
            return UNKNOWN, b""
        return OK, b""

    def _pieces(self, memory: int, at: int, length: int) -> list[tuple[Any, int, int]] | None:
        """Buffers that hold these bytes, and from where to where in each; None where there are no such bytes."""
        buffers = self._memories.get(memory, [])
        if at + length > sum(map(len, buffers)):
            return None
        pieces = []
        for buffer in buffers:
            if length and at < len(buffer):
                end = min(at + length, len(buffer))
                pieces.append((buffer, at, end))
                length -= end - at
                at = end
            at -= len(buffer)
        return pieces

    def _write(self, memory: int, at: int, content: bytes) -> tuple[int, bytes]:
        pieces = self._pieces(memory, at, len(content))
        for buffer, start, end in pieces or ():
            buffer[start:end] = np.frombuffer(content[: end - start], np.uint8)
            buffer.flush()
            content = content[end - start :]
        return (OUT_OF_BOUNDS if pieces is None else OK), b""

    def _read(self, memory: int, at: int, length: int) -> tuple[int, bytes]:
        pieces = self._pieces(memory, at, length) if length <= MOST else None
        if pieces is None:
            return OUT_OF_BOUNDS, b""
        for buffer, _, _ in pieces:
            buffer.invalidate()
        return OK, b"".join(buffer[start:end].tobytes() for buffer, start, end in pieces)

    def _copy(self, descriptor: bytes) -> tuple[int, bytes]:
        if len(descriptor) != 32:
            return BAD_LENGTH, b""
        completion = self._engines.copies.copy(descriptor)
        return completion.status, b"" if completion.status else COMPLETION.pack(*completion[:3])

    def _quantise(self, message: bytes) -> tuple[int, bytes]:
        """Header, the rows' numbers, the rows; answered with codes, least and greatest values."""
        if len(message) < ROWS.size:
            return BAD_LENGTH, b""
        bits, compact, zeros, rows, columns, more, seed = ROWS.unpack_from(message)
        expected = ROWS.size + rows * (8 + 4 * columns)
        if bits not in (1, 2, 4, 8) or compact > 1 or zeros or more or not columns or len(message) != expected:
            return BAD_LENGTH, b""
        if columns > self._engines.quantiser.columns:
            return OUT_OF_BOUNDS, b""
        numbers = np.frombuffer(message, "<u8", rows, ROWS.size)
        x = np.frombuffer(message, "<f4", rows * columns, ROWS.size + 8 * rows).reshape(rows, columns)
        codes = self._engines.quantiser.quantise(x, numbers, bits, seed, compact=bool(compact))
        return codes.status, b"" if codes.status else codes.packed.tobytes() + codes.bounds.T.tobytes()

    def _dequantise(self, message: bytes) -> tuple[int, bytes]:
        """Header and what :meth:`_quantise` answered."""
        if len(message) < CODES.size:
            return BAD_LENGTH, b""
        bits, zero, zeros, rows, columns, more = CODES.unpack_from(message)
        width = -(-columns * bits // 8)
        good = bits in (1, 2, 4, 8) and columns and not (zero or zeros or more)
        if not good or len(message) != CODES.size + rows * (width + 8):
            return BAD_LENGTH, b""
        if columns > self._engines.quantiser.columns:
            return OUT_OF_BOUNDS, b""
        packed = np.frombuffer(message, np.uint8, rows * width, CODES.size).reshape(rows, width)
        bounds = np.frombuffer(message, "<f4", 2 * rows, CODES.size + rows * width).reshape(2, rows)
        status, values = self._engines.quantiser.dequantise(packed, bounds.T, bits, columns)
        return status, b"" if status else values.tobytes()

    def _reduce(self, message: bytes) -> tuple[int, bytes]:
        if len(message) < HEADER.size:
            return BAD_LENGTH, b""
        kind, number, zeros, count = HEADER.unpack_from(message)
        size = count * (2 if kind == 3 else 4)
        if kind > 3 or zeros or not 1 <= number <= 8 or len(message) != HEADER.size + number * size:
            return BAD_LENGTH, b""
        vectors = [message[HEADER.size + size * at :][:size] for at in range(number)]
        total = self._engines.sums.total(kind, vectors)
        return total.status, b"" if total.status else total.payload


def serve(agent: Agent, line: socket.socket) -> None:
    """Answer requests until the other end closes.

    Raises:
        Refused: it announces a request longer than there are.
    """
    received = bytearray()
    while True:
        requests, at = [], 0
        while len(received) - at >= REQUEST.size:
            operation, number, length = REQUEST.unpack_from(received, at)
            if length > MOST:
                raise Refused(f"the host announces a request of {length} bytes, expected at most {MOST}")
            if len(received) - at < REQUEST.size + length:
                break
            at += REQUEST.size
            requests.append((operation, number, bytes(received[at : at + length])))
            at += length
        del received[:at]
        for operation, status, number, worked, payload in agent.answer(requests):
            line.sendall(ANSWER.pack(operation, status, number, worked, len(payload)) + payload)
        more = line.recv(1 << 16)
        if not more:
            return
        received += more


def serve_hosts(agent: Agent, listener: Listener) -> None:
    """Serve one host after another; while one is there, others are turned away, and strangers hold up nobody."""
    serving: threading.Thread | None = None
    while True:
        line = listener.wait(busy=serving is not None and serving.is_alive())
        if line is None:
            continue
        serving = threading.Thread(target=_serve_host, args=(agent, line), daemon=True)
        serving.start()


def _serve_host(agent: Agent, line: socket.socket) -> None:
    line.setblocking(True)
    if line.family != socket.AF_UNIX:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for option, value in ((socket.TCP_KEEPIDLE, 5), (socket.TCP_KEEPINTVL, 5), (socket.TCP_KEEPCNT, 3)):
            line.setsockopt(socket.IPPROTO_TCP, option, value)  # a host that lost its power makes room for another
        line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    with line:
        try:
            serve(agent, line)
        except (Refused, OSError) as error:
            print(f"host: {error}", file=sys.stderr, flush=True)  # noqa: T201


def _simulated(bus: str, dram: str, names: list[str]) -> tuple[Any, Any]:
    """The overlay on a simulated board, which connects once it has been told that somebody listens."""
    from offramp_pynq.overlay import Engines
    from offramp_pynq.simulated import SimulatedDevice

    with socket.socket(socket.AF_UNIX) as listener:
        os.fchmod(listener.fileno(), 0o600)  # Linux gives this mode to the file that bind makes
        listener.bind(bus)
        listener.listen(1)
        print("listening", flush=True)  # noqa: T201
        line, _ = listener.accept()
    device = SimulatedDevice(line, Path(dram), names)
    bitfile = Path(dram).with_name("engines.bit")
    bitfile.touch()  # PYNQ wants a file; what it would hold is already in the simulator
    return Engines(str(bitfile), device=device), device.cycles


def _xrt(xclbin: str) -> tuple[Any, Any]:
    from offramp_pynq.xrt import Engines

    engines = Engines(xclbin)
    return engines, lambda: engines.cycles


def _real(bitfile: str) -> tuple[Any, Any]:
    from offramp_pynq.overlay import Engines

    return Engines(bitfile), lambda: time.monotonic_ns() // CLOCK_NS


def main() -> int:
    """Run until the host that it was started for goes, or, listening, until it is ended."""
    parser = argparse.ArgumentParser(description="Offramp's FPGA engines for LEO.")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--listen", help="HOST:PORT or unix:PATH to wait on for hosts")
    where.add_argument("--connect", help="Unix socket of the host")
    token = os.environ.get("OFFRAMP_TOKEN_FILE")
    parser.add_argument("--token-file", default=token, help="holds the token that hosts prove (offramp token)")
    parser.add_argument("--insecure", action="store_true", help="no token, whoever reaches the address")
    parser.add_argument("--bitfile", default="engines.bit", help="overlay, with its .hwh beside it")
    parser.add_argument("--xclbin", help="of an Alveo card, by XRT, in place of an overlay")
    parser.add_argument("--bus", help="Unix socket for a simulated board")
    parser.add_argument("--dram", help="file with a simulated board's memory")
    parser.add_argument("--engines", default=",".join(USUAL), help="of a simulated board")
    chosen = parser.parse_args()
    try:
        listener = None
        if chosen.listen:
            listener = Listener(chosen.listen, read_token(chosen.token_file), insecure=chosen.insecure)
    except Refused as error:
        parser.error(str(error))
    if chosen.bus:
        agent = Agent(*_simulated(chosen.bus, chosen.dram, chosen.engines.split(",")))
    else:
        agent = Agent(*(_xrt(chosen.xclbin) if chosen.xclbin else _real(chosen.bitfile)))
    if listener is not None:
        serve_hosts(agent, listener)
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(chosen.connect)
        serve(agent, line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
