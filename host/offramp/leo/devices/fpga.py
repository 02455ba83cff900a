# SPDX-License-Identifier: Apache-2.0
"""``fpga:``: the FPGA engines as a device: behind an agent on a board, or as RTL in simulation.

``fpga:at=HOST:PORT`` is a board on which ``offramp_pynq.agent`` listens, ``fpga:udp=HOST`` one that is attached to
Ethernet directly, ``fpga:xclbin=FILE`` an Alveo card in this machine. Without any of them a simulated card is started:
the same drivers over the RTL (``docs/fpga.md``). ``busy_ns`` is computed from the cycles between a packet and its
answer, at 250 MHz or at the clock that a board on Ethernet reports.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Final

from offramp.device import DEVICE_TIMEOUT_S, Completion, Message, Status
from offramp.leo import dma
from offramp.leo.devices.fpga_link import (
    ABORT,
    COPY,
    DEQUANTISE,
    EBS,
    LOOKUP,
    QUANTISE,
    REDUCE,
    CardLink,
    programmed,
    simulated,
)
from offramp.leo.devices.fpga_memory import COPIES, KVS, CardMemory
from offramp.leo.devices.fpga_memory import EBS as EBS_TABLES
from offramp.leo.devices.fpga_udp import ENGINES as UDP_ENGINES
from offramp.leo.devices.fpga_udp import UdpLink
from offramp.leo.devices.options import parse
from offramp.leo.devices.software import EBS_LAYOUT
from offramp.leo.functions import ebs, kvs, reduce, sylvie
from offramp_base.errors import OfframpError

_ENGINES: Final = {
    "kvs_lookup": {kvs.NAME: LOOKUP},
    "reduce": {reduce.NAME: REDUCE},
    "ebs_lookup": {ebs.NAME: EBS},
    "p2p_dma": {dma.NAME: COPY},
    "quantpack": {sylvie.QUANTISE: QUANTISE, sylvie.DEQUANTISE: DEQUANTISE},
}
"""Functions and operations of each engine; ``path_router`` is not a function for hosts."""

USUAL: Final = "kvs_lookup+reduce+ebs_lookup"
_COPY_UNIT: Final = 4096
SIMULATED_S: Final = 60.0
"""Timeout of requests to simulated RTL, which takes a millisecond per 4 ns cycle, more on a busy machine."""


@dataclass(frozen=True)
class FpgaOptions:
    """A card: an agent's address ``at``, an Ethernet address ``udp``, ``xclbin`` for a card here, else a ``simulator``.

    ``shell`` surrounds the engines of a simulated card: ``pynq`` or ``xrt``. ``engines`` are separated by ``+``;
    ``timeout_s`` is how long a card on Ethernet may be silent.
    """

    at: str = ""
    udp: str = ""
    xclbin: str = ""
    shell: str = "pynq"
    timeout_s: float = DEVICE_TIMEOUT_S
    simulator: str = "icarus"
    depth: int = 256
    table_bytes: int = 1 << 22
    copy_bytes: int = 1 << 16
    engines: str = USUAL


def _known(engines: str) -> list[str]:
    return [engine for engine in engines.split("+") if engine in _ENGINES]


def open_device(options: str, name: str) -> FpgaDevice:
    """The device of these options; the first may be ``at`` alone."""
    return FpgaDevice(_options(options), name)


def timeout_s(options: str) -> float:
    """Seconds that a request may take: those of a simulated card, or 0, the general default."""
    return _timeout_s(_options(options))


def _timeout_s(options: FpgaOptions) -> float:
    real = options.at or options.xclbin
    return options.timeout_s if options.udp else DEVICE_TIMEOUT_S if real else SIMULATED_S


def _options(text: str) -> FpgaOptions:
    return parse(FpgaOptions, text, f"fpga:{text}", "at")


class FpgaDevice:
    """See the module; a :class:`offramp.device.Device`."""

    kind = "fpga"

    def __init__(self, options: FpgaOptions, name: str = "fpga") -> None:
        if options.depth < 1 or options.table_bytes < kvs.LINE:
            raise OfframpError(
                f"device {name}: expected a depth of at least 1 and a table of at least {kvs.LINE} bytes"
            )
        self.name, self.options, self.depth = name, options, options.depth
        if bool(options.at) + bool(options.udp) + bool(options.xclbin) > 1:
            raise OfframpError(f"device {name}: expected one of at=, udp= and xclbin=")
        if options.udp and options.engines not in (USUAL, UDP_ENGINES):
            raise OfframpError(f"device {name}: udp={options.udp}: a card on Ethernet has no agent, and {UDP_ENGINES}")
        if not options.udp and not _known(options.engines):
            raise OfframpError(f"device {name}: engines {options.engines}: expected some of {', '.join(_ENGINES)}")
        self.timeout_s = _timeout_s(options)
        self._lock, self._sending = threading.Lock(), threading.Lock()
        self._open: dict[int, int] = {}  # requests by their serial number on the line
        self._done: list[Completion] = []
        self._serial = 0
        self._gone = self._closed = False
        self._asked: dict[int, SimpleQueue[tuple[int, bytes] | None]] = {}
        self._link = self._start()
        engines = _known(self._link.engines if isinstance(self._link, UdpLink) else options.engines)
        self._operations = {name: operation for engine in engines for name, operation in _ENGINES[engine].items()}
        self.functions: Sequence[str] = tuple(self._operations)
        self._memories = self._allocate()
        for memory in self._memories.values():
            memory.restore()

    def _start(self) -> CardLink | UdpLink:
        if self.options.udp:
            return UdpLink(self.options.udp, self.options.timeout_s, self._heard, self._lost)
        if self.options.xclbin:
            agent = programmed(self.options.xclbin)
        else:
            options = {name: getattr(self.options, name) for name in ("simulator", "engines", "shell")}
            agent = simulated([word for name, value in options.items() for word in (f"--{name}", value)])
        return CardLink(self.options.at, agent, self._heard, self._lost)

    def _allocate(self) -> dict[str, CardMemory]:
        buckets = 1 << ((self.options.table_bytes // kvs.LINE).bit_length() - 1)
        if isinstance(self._link, UdpLink):
            buckets = min(buckets, self._link.lines)
        layout = ebs.TableLayout(*EBS_LAYOUT)
        piece = max(-(-self.options.copy_bytes // _COPY_UNIT) * _COPY_UNIT, _COPY_UNIT)
        known = {
            kvs.NAME: CardMemory(self, KVS, buckets * kvs.LINE, (buckets,)),
            ebs.NAME: CardMemory(self, EBS_TABLES, layout.size, EBS_LAYOUT),
            dma.NAME: CardMemory(self, COPIES, len(dma.MemoryRegion) * piece, (piece,)),
        }
        return {name: memory for name, memory in known.items() if name in self.functions}

    def memory(self, function: str) -> CardMemory:
        """Tables of a function; for ``p2p.copy``, the host's, accelerator's and NIC's memory one after the other.

        Raises:
            OfframpError: the function has no tables.
        """
        if function not in self._memories:
            raise OfframpError(f"function {function}: it has no tables")
        return self._memories[function]

    def submit(self, function: str, request: int, message: Message) -> bool:
        """Queue a request; False where the queue is full."""
        with self._lock:
            self._expect_open()
            if len(self._open) >= self.depth:
                return False
            if function not in self._operations:
                self._done.append(Completion(request, Status.UNKNOWN_FUNCTION, b"", 0))
                return True
            serial = self._next()
            self._open[serial] = request
        self._send(self._operations[function], serial, bytes(message))
        return True

    def post(self, operation: int, message: bytes) -> None:
        """Send a message that needs no answer.

        Raises:
            OfframpError: the device is gone or closed.
        """
        with self._lock:
            self._expect_open()
            serial = self._next()
        self._send(operation, serial, message)

    def ask(self, operation: int, message: bytes) -> bytes:
        """Send a request of the device's own and return the answer.

        Raises:
            OfframpError: the device is gone or closed, or refuses.
        """
        answers: SimpleQueue[tuple[int, bytes] | None] = SimpleQueue()
        with self._lock:
            self._expect_open()
            serial = self._next()
            self._asked[serial] = answers
        self._send(operation, serial, message)
        try:
            reply = answers.get(timeout=self.timeout_s)
        except Empty:
            raise OfframpError(f"device {self.name}: no answer in {self.timeout_s:g} s") from None
        if reply is None or reply[0] != Status.OK:
            raise OfframpError(f"device {self.name} {'is gone' if reply is None else 'refuses'}")
        return reply[1]

    def poll(self) -> list[Completion]:
        """Completions since the last call."""
        with self._lock:
            completions, self._done = self._done, []
        return completions

    def reset(self) -> None:
        """Abort everything outstanding; a card that is gone is started again."""
        with self._lock:
            if self._closed:
                raise OfframpError(f"device {self.name} is closed")
            self._done += [Completion(request, Status.ABORTED, b"", 0) for request in self._open.values()]
            self._open.clear()
            gone, serial = self._gone, self._next()
        if not gone:
            self._send(ABORT, serial, b"")
        else:
            self._link.close()
            self._link = self._start()
            self._gone = False
            for memory in self._memories.values():
                memory.restore()

    def close(self) -> None:
        """Close the link and end a simulated card."""
        with self._lock:
            closed, self._closed = self._closed, True
        if not closed:
            self._link.close()

    def _expect_open(self) -> None:
        if self._closed or self._gone:
            raise OfframpError(f"device {self.name} is {'closed' if self._closed else 'gone'}")

    def _next(self) -> int:
        """The next serial number."""
        self._serial += 1
        return self._serial

    def _send(self, operation: int, serial: int, message: bytes) -> None:
        """Send a message; answers are read meanwhile, since a card that cannot deliver any accepts no more requests."""
        with self._sending:
            self._link.send(operation, serial, message)

    def _heard(self, serial: int, status: int, worked: int, message: bytes) -> None:
        with self._lock:
            asked = self._asked.pop(serial, None)
            if asked is not None:
                asked.put((status, message))
            request = self._open.pop(serial, None)
            if request is not None:
                self._done.append(Completion(request, Status(status), message, worked))

    def _lost(self) -> None:
        with self._lock:
            self._gone = True
            for asked in self._asked.values():
                asked.put(None)
            self._asked.clear()
            self._done += [Completion(request, Status.LOST, b"", 0) for request in self._open.values()]
            self._open.clear()
