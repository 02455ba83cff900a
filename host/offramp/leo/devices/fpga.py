"""``fpga:``: the FPGA engines as a device: behind an agent on a board, or as RTL in simulation.

``fpga:at=HOST:PORT`` is a board on which ``offramp_pynq.agent`` listens. Without ``at`` a simulated card is started:
the same drivers over the RTL (``docs/fpga.md``). ``busy_ns`` are the cycles from a packet to its answer, at 250 MHz.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from offramp.errors import OfframpError
from offramp.leo.device import Completion, Message, Status
from offramp.leo.devices.fpga_link import ABORT, LOOKUP, REDUCE, TABLE, WRITE, Link
from offramp.leo.devices.options import parse
from offramp.leo.functions import kvs, reduce
from offramp.leo.memory import HostMemory
from offramp.leo.runtime.station import HANG_S

_OPERATIONS: Final = {kvs.NAME: LOOKUP, reduce.NAME: REDUCE}
_PIECE: Final = 1 << 16
SIMULATED_S: Final = 60.0
"""RTL in simulation takes a millisecond for a cycle of 4 ns, on a busy machine more."""


@dataclass(frozen=True)
class Options:
    """Of an FPGA: ``at`` an agent's address, else a card in ``simulator``."""

    at: str = ""
    simulator: str = "icarus"
    depth: int = 256
    table_bytes: int = 1 << 22


def open_device(options: str, name: str) -> FpgaDevice:
    """The device of these options; the first may be ``at`` alone."""
    return FpgaDevice(_options(options), name)


def patience_s(options: str) -> float:
    """Seconds that a request may take: a simulated card's, or those of any device."""
    return HANG_S if _options(options).at else SIMULATED_S


def _options(text: str) -> Options:
    return parse(Options, text, f"fpga:{text}", "at")


class CardMemory:
    """The index of ``kvs.lookup`` on the card, with a copy here that reads are served from.

    Attributes:
        size: bytes; a power of two of buckets.
    """

    def __init__(self, device: FpgaDevice, size: int) -> None:
        self.size = size
        self._device = device
        self._copy = HostMemory(size)

    def write(self, offset: int, content: Message) -> None:
        """Put ``content`` there; look-ups submitted later see it.

        Raises:
            OfframpError: it would not lie inside, or the device is gone.
        """
        self._copy.write(offset, content)
        self._device.post(WRITE, offset.to_bytes(8, "little") + bytes(content))

    def read(self, offset: int, length: int) -> bytes:
        """What is there.

        Raises:
            OfframpError: it does not lie inside.
        """
        return self._copy.read(offset, length)

    def restore(self) -> None:
        """Give a card that was started again its table."""
        self._device.post(TABLE, (self.size // kvs.LINE).to_bytes(8, "little"))
        for at in range(0, self.size, _PIECE):
            piece = self._copy.read(at, min(_PIECE, self.size - at))
            if any(piece):
                self._device.post(WRITE, at.to_bytes(8, "little") + piece)


class FpgaDevice:
    """See the module; a :class:`offramp.leo.device.Device`."""

    kind = "fpga"
    functions: Sequence[str] = tuple(_OPERATIONS)

    def __init__(self, options: Options, name: str = "fpga") -> None:
        if options.depth < 1 or options.table_bytes < kvs.LINE:
            raise OfframpError(
                f"device {name}: expected a depth of at least 1 and a table of at least {kvs.LINE} bytes"
            )
        self.name, self.options, self.depth = name, options, options.depth
        self.patience_s = HANG_S if options.at else SIMULATED_S
        self._lock = threading.Lock()
        self._open: dict[int, int] = {}  # requests by their serial number on the line
        self._done: list[Completion] = []
        self._serial = 0
        self._gone = self._closed = False
        self._link = Link(options.at, options.simulator, self._heard, self._lost)
        self._memory = CardMemory(self, (1 << ((options.table_bytes // kvs.LINE).bit_length() - 1)) * kvs.LINE)
        self._memory.restore()

    def memory(self, function: str) -> CardMemory:
        """The index of ``kvs.lookup``.

        Raises:
            OfframpError: the function has no tables.
        """
        if function != kvs.NAME:
            raise OfframpError(f"function {function}: it has no tables")
        return self._memory

    def submit(self, function: str, request: int, message: Message) -> bool:
        """Queue a request; False where the queue is full."""
        with self._lock:
            self._expect_open()
            if len(self._open) >= self.depth:
                return False
            if function not in _OPERATIONS:
                self._done.append(Completion(request, Status.UNKNOWN_FUNCTION, b"", 0))
                return True
            self._open[self._serial] = request
            self._post(_OPERATIONS[function], bytes(message))
        return True

    def post(self, operation: int, message: bytes) -> None:
        """Send what needs no answer.

        Raises:
            OfframpError: the device is gone or closed.
        """
        with self._lock:
            self._expect_open()
            self._post(operation, message)

    def poll(self) -> list[Completion]:
        """What is finished by now."""
        with self._lock:
            found, self._done = self._done, []
        return found

    def reset(self) -> None:
        """Abort everything unfinished; a card that is gone is started again."""
        with self._lock:
            if self._closed:
                raise OfframpError(f"device {self.name} is closed")
            self._done += [Completion(request, Status.ABORTED, b"", 0) for request in self._open.values()]
            self._open.clear()
            gone = self._gone
            if not gone:
                self._post(ABORT, b"")
        if gone:
            self._link.close()
            self._link = Link(self.options.at, self.options.simulator, self._heard, self._lost)
            self._gone = False
            self._memory.restore()

    def close(self) -> None:
        """End the card."""
        with self._lock:
            closed, self._closed = self._closed, True
        if not closed:
            self._link.close()

    def _expect_open(self) -> None:
        if self._closed or self._gone:
            raise OfframpError(f"device {self.name} is {'closed' if self._closed else 'gone'}")

    def _post(self, operation: int, message: bytes) -> None:
        serial, self._serial = self._serial, self._serial + 1
        self._link.send(operation, serial, message)

    def _heard(self, serial: int, status: int, worked: int, message: bytes) -> None:
        with self._lock:
            request = self._open.pop(serial, None)
            if request is not None:
                self._done.append(Completion(request, Status(status), message, worked))

    def _lost(self) -> None:
        with self._lock:
            self._gone = True
            self._done += [Completion(request, Status.LOST, b"", 0) for request in self._open.values()]
            self._open.clear()
