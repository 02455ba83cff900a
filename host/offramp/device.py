# SPDX-License-Identifier: Apache-2.0
"""The interface of every LEO device towards the host: memory, a submission queue and a completion queue.

The host never knows what is behind it: a CPU core, RTL in simulation, a board, the agent of a smartNIC.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, Final, NamedTuple, Protocol

Message = bytes | bytearray | memoryview
DEVICE_TIMEOUT_S: Final = 1.0
"""Seconds without a completion after which a device with work is reset; a device may have a ``timeout_s`` of its
own."""


class Status(IntEnum):
    """The outcome of a request."""

    OK = 0
    UNKNOWN_FUNCTION = 1
    BAD_LENGTH = 2  # the message is not a request of its function
    OUT_OF_BOUNDS = 3  # it names memory that is not there
    ABORTED = 4  # a reset came in between
    FAILED = 5  # the function itself cannot answer: data that do not decompress
    LOST = 6  # the device is gone; whether it did the work is not known


class Completion(NamedTuple):
    """An entry of the completion queue.

    Attributes:
        request: the number that the host gave.
        status: how it ended.
        message: the answer; empty unless ``status`` is OK.
        busy_ns: time that the device worked on it by its own clock.
    """

    request: int
    status: Status
    message: bytes
    busy_ns: int


class DeviceMemory(Protocol):
    """Memory that a function of a device reads, at byte offsets from 0; multi-byte numbers are little-endian.

    A write of one 64-byte line at a multiple of 64 is seen whole or not at all.
    """

    @property
    def size(self) -> int:
        """Bytes."""

    def write(self, offset: int, content: Message) -> None:
        """Put ``content`` there.

        Raises:
            OfframpError: it would not lie inside.
        """

    def read(self, offset: int, length: int) -> bytes:
        """Bytes ``offset`` to ``offset + length``, the latter excluded.

        Raises:
            OfframpError: it does not lie inside.
        """


class CompiledFunction(NamedTuple):
    """A function in machine code, as :mod:`offramp.leo.native.serve` calls it; changes but the device's tables.

    Attributes:
        address: address of the code.
        context: its words, which it finds at OWN.
        keep: what must live as long.
    """

    address: int
    context: Any
    keep: Any


class Device(Protocol):
    """A device with functions that turn a request's message into its answer's."""

    @property
    def name(self) -> str:
        """Name of this device, unique on a host."""

    @property
    def kind(self) -> str:
        """``cpu``, ``fpga``, ``nic``, ``gpu`` or ``switch``."""

    @property
    def functions(self) -> Sequence[str]:
        """Names of what it can do, as in :mod:`offramp.leo.functions`."""

    @property
    def depth(self) -> int:
        """Requests that may be unfinished at a time."""

    def memory(self, function: str) -> DeviceMemory:
        """The tables that ``function`` reads.

        Raises:
            OfframpError: it has no such function, or one without tables.
        """

    def submit(self, function: str, request: int, message: Message) -> bool:
        """Queue a request; False where the queue is full and nothing happened.

        Args:
            function: function to call.
            request: the host's number for it, 64 bits, returned in the completion.
            message: the message, whose memory may be reused as soon as this returns.

        Raises:
            OfframpError: the device is gone or closed.
        """

    def poll(self) -> list[Completion]:
        """Completions since the last call, in the order in which they came; does not wait.

        A device that is gone completes everything unfinished with LOST, once.
        """

    def reset(self) -> None:
        """Abort everything unfinished; its completions say ABORTED. Tables stay. A device that was gone is used again.

        Raises:
            OfframpError: it cannot be brought back.
        """

    def close(self) -> None:
        """Give back what it holds; twice does no harm."""


def compiled_function(device: Device | None, name: str) -> CompiledFunction | None:
    """A function of a device that compiled loops may call themselves, where it offers one by ``compiled(name)``."""
    offer = getattr(device, "compiled", None)
    function: CompiledFunction | None = None if offer is None else offer(name)
    return function
