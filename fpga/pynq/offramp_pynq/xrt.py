# SPDX-License-Identifier: Apache-2.0
"""The engines on an Alveo card by ``pyxrt``, which comes with XRT: every access is a run of an engine's kernel.

What a run does and what it leaves behind, ``fpga/rtl/vitis/kernel_shell.sv`` says.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pyxrt

from offramp_pynq.drivers import Drivers
from offramp_pynq.engine import MOST

KERNEL = "_kernel"
"""The end of kernels' names."""

EXCHANGE, WRITE, READ = range(3)
TO, BACK, TABLES = 4, 5, 6
"""Arguments of a run that are buffers; before them stand operation, place, value and room."""

RESULT = struct.Struct("<IIII")
"""The register's value or the answer's bytes, the worst of memory's responses, cycles, bytes of a beat."""

LINE = 64
"""Bytes that are read after a run, no fewer than any engine's beat."""

TIMEOUT_MS = 60_000


class XrtError(RuntimeError):
    """The card does not answer, or its memory refused."""


class Buffer:
    """Bytes on the card, as a copy here that :meth:`flush` and :meth:`invalidate` carry there and back."""

    def __init__(self, bo: Any) -> None:
        """Wrap a ``pyxrt.bo``."""
        self.bo = bo
        self._bytes = np.frombuffer(bo.map(), np.uint8)
        self._written: list[tuple[int, int]] = []
        self.physical_address = int(bo.address())

    def __len__(self) -> int:
        return len(self._bytes)

    def __getitem__(self, which: slice) -> Any:
        return self._bytes[which]

    def __setitem__(self, which: slice, content: Any) -> None:
        self._bytes[which] = content
        start, end, _ = which.indices(len(self))
        if end > start:
            self._written.append((start, end))

    def flush(self) -> None:
        """Carry what was set to the card, and nothing else: engines write there too."""
        for start, end in self._written:
            self.bo.sync(pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE, end - start, start)
        self._written.clear()

    def invalidate(self, size: int | None = None) -> None:
        """Fetch the first ``size`` bytes, or all, from the card."""
        self.bo.sync(pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_FROM_DEVICE, len(self) if size is None else size, 0)


class XrtCore:
    """See :class:`offramp_pynq.engine.Core`. One run at a time: a register waits for the answer to a packet."""

    def __init__(self, card: Engines, kernel: Any, name: str) -> None:
        """Take an engine's kernel on an opened card."""
        self._card, self._kernel, self._name = card, kernel, name
        self._to = self._buffer(MOST, TO)
        self._back = self._buffer(MOST + LINE, BACK)
        self._running: Any = None
        self._room = 0
        self.beat = LINE
        self.beat = self._run(READ, 0)[3]

    def read(self, offset: int) -> int:
        """A register."""
        return self._run(READ, offset)[0]

    def write(self, offset: int, value: int) -> None:
        """Set a register."""
        self._run(WRITE, offset, value)

    def allocate(self, size: int) -> Buffer:
        """A buffer that the engine's memory ports reach.

        Raises:
            MemoryError: the card has no more.
        """
        return self._buffer(size, TABLES)

    def begin(self, packet: bytes, room: int, way: int) -> None:
        """Start a run that carries a packet, and later its answer."""
        self._to[: len(packet)] = np.frombuffer(packet, np.uint8)
        self._to.flush()
        self._room = -(-room // self.beat) * self.beat
        self._start(EXCHANGE, way, len(packet), self._room)

    def finish(self, _: int) -> bytes:
        """Wait for the end; returns what came back.

        Raises:
            XrtError: nothing, or more than there was room for, or memory refused.
        """
        length, response, cycles, _ = self._ended()
        if response or length > self._room:
            raise XrtError(f"{self._name}: response {response} of memory, an answer of {length} bytes")
        self._card.cycles = (self._card.cycles + cycles) & 0xFFFFFFFF
        self._back.invalidate(self.beat + length)
        return bytes(self._back[self.beat : self.beat + length].tobytes())

    def _buffer(self, size: int, argument: int) -> Buffer:
        try:
            bo = pyxrt.bo(self._card.device, size, pyxrt.bo.normal, self._kernel.group_id(argument))
        except RuntimeError as error:  # as XRT says that memory is short
            raise MemoryError(f"{size} bytes on the card: {error}") from None
        return Buffer(bo)

    def _run(self, operation: int, place: int, value: int = 0) -> tuple[int, ...]:
        self._start(operation, place, value, 0)
        return self._ended()

    def _start(self, operation: int, place: int, value: int, room: int) -> None:
        run = pyxrt.run(self._kernel)
        for at, word in enumerate((operation, place, value, room)):
            run.set_arg(at, word - (1 << 32) if word >> 31 else word)  # pyxrt takes C's int
        run.set_arg(TO, self._to.bo)
        run.set_arg(BACK, self._back.bo)
        run.start()
        self._running = run

    def _ended(self) -> tuple[int, ...]:
        state = self._running.wait(TIMEOUT_MS)
        if state != pyxrt.ert_cmd_state.ERT_CMD_STATE_COMPLETED:
            raise XrtError(f"{self._name}: no answer in {TIMEOUT_MS} ms ({state})")
        self._back.invalidate(LINE)
        return RESULT.unpack_from(self._back[:LINE].tobytes())


class Engines(Drivers):
    """The engines of an xclbin.

    Attributes:
        device: a ``pyxrt.device``.
        cycles: that engines had packets, modulo 2^32.
    """

    def __init__(self, xclbin: str, index: int = 0) -> None:
        """Load it into the card of this number.

        Raises:
            WrongRegisterMap: an engine in it is of another version.
            RuntimeError: there is no such card, or the file is none for it.
        """
        self.device, self.cycles = pyxrt.device(index), 0
        content = pyxrt.xclbin(xclbin)
        identity = self.device.load_xclbin(content)
        kernels = [kernel.get_name() for kernel in content.get_kernels()]
        names = [kernel.removesuffix(KERNEL) for kernel in kernels if kernel.endswith(KERNEL)]
        self.bind(names, lambda name: XrtCore(self, pyxrt.kernel(self.device, identity, f"{name}{KERNEL}"), name))
