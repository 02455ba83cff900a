# SPDX-License-Identifier: Apache-2.0
"""Functions of software devices: computed by the models, or in machine code where Python would be too slow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from offramp.device import CompiledFunction, Message, Status
from offramp.leo.functions import ebs, kvs
from offramp.leo.functions.registry import FUNCTIONS, Function
from offramp.leo.memory import HostMemory
from offramp.leo.native import ebs as native_ebs
from offramp.leo.native import functions as native_functions
from offramp.leo.native.call import Arguments
from offramp_base.errors import OfframpError
from offramp_base.native.records import offset

DEFAULT_BYTES: Final = 1 << 20
EBS_LAYOUT: Final = (64, 2048, 2048)
"""Volumes, entries of the block table, segments."""


class Software:
    """Functions with their tables.

    Attributes:
        names: names of the functions.
    """

    def __init__(self, table_bytes: int = DEFAULT_BYTES) -> None:
        """``table_bytes``: size of the memory of ``kvs.lookup``, which holds as many buckets as fit, a power of two."""
        buckets = 1 << (max(table_bytes // kvs.LINE, 1).bit_length() - 1)
        layout = ebs.TableLayout(*EBS_LAYOUT)
        self._index, self._volumes = HostMemory(buckets * kvs.LINE), HostMemory(layout.size)
        ebs_tables = ebs.EbsTables(self._volumes, layout)
        index = np.frombuffer(self._index.view, np.int64)
        volumes = np.frombuffer(self._volumes.view, np.int64)
        self._contexts = {
            kvs.NAME: native_functions.kvs_context(index, buckets, 0),
            ebs.NAME: native_ebs.context(volumes, layout),
        }
        with_tables = {kvs.NAME: Function(_Lookup(index, buckets)), ebs.NAME: Function(ebs_tables.lookup)}
        self._functions = with_tables | {name: FUNCTIONS.get(name) for name in FUNCTIONS.names()}
        self.names = tuple(self._functions)

    def memory(self, function: str) -> HostMemory:
        """The tables of a function.

        Raises:
            OfframpError: there is no such function, or it has no tables.
        """
        tables = {kvs.NAME: self._index, ebs.NAME: self._volumes}
        if function not in tables:
            raise OfframpError(f"function {function}: it has no tables")
        return tables[function]

    def compiled(self, function: str) -> CompiledFunction | None:
        """The function in machine code; None if it is not compiled."""
        if function not in self._contexts:
            return None
        address, keep = native_functions.addresses()[function]
        return CompiledFunction(address, self._contexts[function], (keep, self._index, self._volumes))

    def call(self, function: str, message: Message) -> tuple[Status, bytes]:
        """Status and answer of a function's request."""
        implementation = self._functions.get(function)
        if implementation is None:
            return Status.UNKNOWN_FUNCTION, b""
        try:
            return Status.OK, implementation.answer(message)
        except OfframpError:
            return implementation.refusal, b""


class SoftwareDevice:
    """Common base of devices that compute in software.

    Attributes:
        name: name of the device.
        depth: requests that may be outstanding.
        closed: whether it takes no more requests.
    """

    def __init__(self, name: str, depth: int, table_bytes: int) -> None:
        self.name, self.depth, self.closed = name, depth, False
        self._software = Software(table_bytes)

    @property
    def functions(self) -> Sequence[str]:
        """Names of its functions."""
        return self._software.names

    def memory(self, function: str) -> HostMemory:
        """The tables of a function."""
        return self._software.memory(function)

    def compiled(self, function: str) -> CompiledFunction | None:
        """The function in machine code; None if it is not compiled."""
        return self._software.compiled(function)

    def call(self, function: str, message: Message) -> tuple[Status, bytes]:
        """Status and answer of a function's request."""
        return self._software.call(function, message)

    def _expect_open(self) -> None:
        if self.closed:
            raise OfframpError(f"device {self.name} is closed")


class _Lookup:
    """``kvs.lookup`` in machine code, one key at a time."""

    def __init__(self, index: np.ndarray[tuple[int], np.dtype[np.int64]], buckets: int) -> None:
        self._context = native_functions.kvs_context(index, buckets, 0)
        self._function = native_functions.addresses()[kvs.NAME][1]
        self._index = index

    def __call__(self, message: Message) -> bytes:
        words = np.zeros(Arguments.WORDS + 2, np.int64)
        if len(message) == 8:
            words[-2] = np.frombuffer(message, np.int64)[0]
        words[[offset(Arguments.message), Arguments.message_bytes]] = words[-2:].ctypes.data, len(message)
        words[[offset(Arguments.reply), Arguments.reply_bytes]] = words[-1:].ctypes.data, 8
        words[offset(Arguments.own)] = self._context.ctypes.data
        if self._function(words) != Status.OK:
            raise OfframpError(f"kvs: a request of {len(message)} bytes, expected 8")
        return words[-1:].tobytes()
