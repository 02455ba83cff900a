# SPDX-License-Identifier: Apache-2.0
"""A stand-in for XRT's ``pyxrt``: the part of its names and behaviour that the drivers use, over a simulated card.

The card's bus connects to the Unix socket ``OFFRAMP_XRT_BUS``, its memory is the file ``OFFRAMP_XRT_DRAM``. An xclbin
is a file of JSON: of each kernel the arguments with offset, bits and memory port, as Vitis's metadata have them. A
buffer's bytes reach the card by ``sync`` alone, and a number is one that fits a C ``int``, as there.
"""

from __future__ import annotations

import json
import mmap
import os
import socket
import struct
import time
from enum import IntEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

from offramp_pynq.cores import DRAM_BASE, registers_at

REQUEST: Final = struct.Struct("<BQI")
_ALIGNMENT: Final = 4096
_POLL_S: Final = 0.0005
_CONTROL, _START, _DONE = 0, 1, 2
_PACKETS_GROUP: Final = 0


class xclBOSyncDirection(IntEnum):  # noqa: N801 — pyxrt's name
    """Which way bytes are copied."""

    XCL_BO_SYNC_BO_TO_DEVICE = 0
    XCL_BO_SYNC_BO_FROM_DEVICE = 1


class ert_cmd_state(IntEnum):  # noqa: N801 — pyxrt's name
    """State of a run."""

    ERT_CMD_STATE_NEW = 1
    ERT_CMD_STATE_RUNNING = 3
    ERT_CMD_STATE_COMPLETED = 4
    ERT_CMD_STATE_TIMEOUT = 9


class _Kernel(NamedTuple):
    name: str

    def get_name(self) -> str:
        """The kernel's name."""
        return self.name


class xclbin:  # noqa: N801 — pyxrt's name
    """The kernels that a file describes."""

    def __init__(self, path: str) -> None:
        try:
            self.kernels: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))["kernels"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RuntimeError(f"{path}: no xclbin: {error}") from None

    def get_kernels(self) -> list[_Kernel]:
        """Each kernel."""
        return [_Kernel(name) for name in self.kernels]


class device:  # noqa: N801 — pyxrt's name
    """The card; number 0 is the only one."""

    def __init__(self, index: int) -> None:
        if index or "OFFRAMP_XRT_BUS" not in os.environ:
            raise RuntimeError(f"No such device with index '{index}'")
        with open(os.environ["OFFRAMP_XRT_DRAM"], "r+b") as file:  # noqa: PTH123 — a path of the environment
            self.memory = mmap.mmap(file.fileno(), 0)
        self.used = 0
        self.content: xclbin | None = None
        with socket.socket(socket.AF_UNIX) as listener:
            os.fchmod(listener.fileno(), 0o600)  # Linux gives this mode to the file that bind makes
            listener.bind(os.environ["OFFRAMP_XRT_BUS"])
            listener.listen(1)
            print("listening", flush=True)  # noqa: T201
            self._line, _ = listener.accept()

    def load_xclbin(self, content: xclbin) -> str:
        """The identity of what is loaded; the simulated card has it from the start."""
        self.content = content
        return str(id(content))

    def access(self, operation: str, address: int, value: int = 0) -> int:
        """Read or write a word of a kernel's registers."""
        self._line.sendall(REQUEST.pack(ord(operation), address, value))
        received = b""
        while len(received) < 4:
            more = self._line.recv(4 - len(received))
            if not more:
                raise RuntimeError("the simulated card is gone")
            received += more
        return int.from_bytes(received, "little")


class bo:  # noqa: N801 — pyxrt's name
    """A buffer here, and its place on the card."""

    normal = 0

    def __init__(self, card: device, size: int, flags: int, group: int) -> None:
        start = card.used
        if size <= 0 or flags != bo.normal or start + size > len(card.memory):
            raise RuntimeError(f"bo of {size} bytes: Cannot allocate memory")
        card.used = -(-(start + size) // _ALIGNMENT) * _ALIGNMENT
        self.group, self._card, self._start = group, card, start
        self._bytes = bytearray(size)

    def map(self) -> memoryview:
        """The bytes here."""
        return memoryview(self._bytes)

    def address(self) -> int:
        """Where they lie on the card."""
        return int(DRAM_BASE) + self._start

    def sync(self, direction: xclBOSyncDirection, size: int, offset: int) -> None:
        """Copy ``size`` bytes from ``offset`` on."""
        if offset < 0 or size <= 0 or offset + size > len(self._bytes):
            raise RuntimeError("Invalid offset and size when syncing")
        here, there = slice(offset, offset + size), slice(self._start + offset, self._start + offset + size)
        if direction == xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE:
            self._card.memory[there] = bytes(self._bytes[here])
        else:
            self._bytes[here] = self._card.memory[there]


class kernel:  # noqa: N801 — pyxrt's name
    """A kernel of what is loaded."""

    def __init__(self, card: device, identity: str, name: str) -> None:
        if card.content is None or identity != str(id(card.content)) or name not in card.content.kernels:
            raise RuntimeError(f"No such kernel '{name}'")
        self.card, self.arguments = card, card.content.kernels[name]
        self.address = registers_at(name.removesuffix("_kernel"))

    def group_id(self, index: int) -> int:
        """The memory that an argument's port is joined to: all of a simulated card's ports reach all of it."""
        if not self.arguments[index]["port"]:
            raise RuntimeError(f"argument {index} is not a buffer")
        return _PACKETS_GROUP


class run:  # noqa: N801 — pyxrt's name
    """One run of a kernel."""

    def __init__(self, of: kernel) -> None:
        self._kernel = of

    def set_arg(self, index: int, value: int | bo) -> None:
        """Write an argument."""
        argument = self._kernel.arguments[index]
        if isinstance(value, bo) != bool(argument["port"]):
            raise TypeError(f"argument {index}: {type(value).__name__}")
        if isinstance(value, bo):
            word = value.address()
        elif -(1 << 31) <= value < 1 << 31:
            word = value
        else:
            raise TypeError(f"argument {index}: {value} is not a C int")
        for at in range(0, argument["bits"] // 8, 4):
            part = word >> 8 * at & 0xFFFFFFFF
            self._kernel.card.access("W", self._kernel.address + argument["offset"] + at, part)

    def start(self) -> None:
        """Begin."""
        self._kernel.card.access("W", self._kernel.address + _CONTROL, _START)

    def wait(self, timeout_ms: int) -> ert_cmd_state:
        """Until it has ended, or the time is over (0: never)."""
        until = time.monotonic() + timeout_ms / 1000
        while not self._kernel.card.access("R", self._kernel.address + _CONTROL) & _DONE:
            if timeout_ms and time.monotonic() > until:
                return ert_cmd_state.ERT_CMD_STATE_TIMEOUT
            time.sleep(_POLL_S)
        return ert_cmd_state.ERT_CMD_STATE_COMPLETED
