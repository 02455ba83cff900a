# SPDX-License-Identifier: Apache-2.0
"""The context's memory: its words, the buffers that grow, and addresses of arrays that must outlive it."""

from __future__ import annotations

import ctypes
import math
import os
import sys
import traceback
import weakref
from collections.abc import Callable
from random import Random
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offramp_base.native.arrays import address
from offramp_base.native.records import offset
from offramp_p4.limits import MAX_STEPS
from offramp_p4.native.runtime import context as at

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.int64]

_FIRST_SIZE: Final = 1 << 16
_POOL: Final = 4  # buffers that have been taken and may come back
LINE: Final = 64
"""Bytes of a line of the cache."""
_LEVELS: Final = 96  # copies of copies that may be under way at once


def line_zeros(shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Zeros aligned to a cache line: fields that are read together share one."""
    size = math.prod((shape,) if isinstance(shape, int) else shape) * np.dtype(dtype).itemsize
    raw = np.zeros(size + LINE, np.uint8)
    skip = -address(raw) % LINE
    return raw[skip : skip + size].view(dtype).reshape(shape)


class SwitchContext:
    """One switch's context.

    Attributes:
        words: the words; see :class:`offramp_p4.native.runtime.context.SwitchMemory`.
        pointer: their address.
    """

    def __init__(
        self,
        size: int,
        memory_size: int,
        *,
        seed: int,
        drop_port: int,
        max_passes: int,
        max_steps: int = MAX_STEPS,
    ) -> None:
        self.words: Words = np.zeros(size, np.int64)
        self.pointer = address(self.words)
        self._held: dict[int, Any] = {}
        self._buffers: dict[int, Bytes] = {}
        self._taken: dict[int, list[Bytes]] = {}
        for buffer in at.BUFFERS:
            self._set(buffer, np.empty(_FIRST_SIZE, np.uint8))
        self.hold_function(at.SwitchMemory.grow, or_abort(self._enlarge))
        memories = line_zeros((_LEVELS + 1) * memory_size, np.uint8)
        first = address(memories)
        self.hold(at.SwitchMemory.top, memories)
        fields = at.SwitchMemory(self.words)
        fields.top, fields.stride, fields.limit = first, memory_size, first + _LEVELS * memory_size
        fields.kept = fields.limit
        fields.max_passes, fields.max_steps, fields.drop_port = max_passes, max_steps, drop_port
        self._seed(seed)
        self.hold(offset(at.SwitchMemory.crc16), _crc_table(0xA001))
        self.hold(offset(at.SwitchMemory.crc32), _crc_table(0xEDB88320))

    def hold(self, word: int, array: npt.NDArray[Any]) -> None:
        """Set a word to the address of an array, which is kept alive as long as it stands there."""
        self._held[word] = array
        self.words[word] = address(array)

    def held(self, word: int) -> Any:
        """The array whose address a word has; None if it has none."""
        return self._held.get(word)

    def hold_function(self, word: int, function: Callable[[int, int], object]) -> None:
        """Set a word to the address of a C function that calls ``function``; it must not raise."""
        callback = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)(function)
        self._held[word] = callback
        self._hold_number(word, ctypes.cast(callback, ctypes.c_void_p).value)

    def buffer(self, buffer: object) -> Bytes:
        """The used part of a buffer."""
        first = offset(buffer)
        return self._buffers[first][: self.words[first + at.Buffer.used]]

    def take(self, buffer: object) -> Bytes:
        """The used part of a buffer, which goes on with other memory.

        Memory that was taken and is no longer referred to is used again: its pages are there already.
        """
        used, first = self.buffer(buffer), offset(buffer)
        whole = self._buffers[first]
        size = len(whole)
        taken = self._taken.setdefault(first, [])
        free = next((i for i in range(len(taken)) if len(taken[i]) == size and sys.getrefcount(taken[i]) == 2), None)
        self._set(first, np.empty(size, np.uint8) if free is None else taken.pop(free))
        self._taken[first] = [*taken[1 - _POOL :], whole]
        self.empty(buffer)
        return used

    def empty(self, buffer: object) -> None:
        """Empty a buffer."""
        first = offset(buffer)
        self.words[first + at.Buffer.used] = self.words[first + at.Buffer.start] = 0

    def _set(self, buffer: int, memory: Bytes) -> None:
        self._buffers[buffer] = memory
        self.words[buffer + at.Buffer.data], self.words[buffer + at.Buffer.size] = address(memory), len(memory)

    def _enlarge(self, buffer: int, size: int) -> None:
        old = self._buffers[buffer]
        first = address(old)
        self._set(buffer, np.empty(max(2 * len(old), size + size // 2), np.uint8))
        self._buffers[buffer][: len(old)] = old
        frame = int(self.words[at.SwitchMemory.frame])
        if buffer == offset(at.SwitchMemory.queue) and first <= frame <= first + len(old):
            self.words[at.SwitchMemory.frame] = frame - first + address(self._buffers[buffer])

    def _seed(self, seed: int) -> None:
        _, state, _ = Random(seed).getstate()
        generator = np.random.MT19937()
        key = np.array(state[:-1], np.uint32)
        generator.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": state[-1]}}
        interface = generator.ctypes
        self._held[at.SwitchMemory.random_state] = generator
        self._hold_number(at.SwitchMemory.random_state, interface.state_address)
        self._hold_number(at.SwitchMemory.random_next, ctypes.cast(interface.next_uint32, ctypes.c_void_p).value)

    def _hold_number(self, word: int, value: int | None) -> None:
        assert value
        self.words[word] = value


def or_abort(method: Callable[[int, int], object]) -> Callable[[int, int], None]:
    """A callback of a method, whose object it does not keep alive, that ends the process if it fails.

    ctypes drops exceptions of a callback, and machine code would go on without the memory that it asked for.
    """
    weak = weakref.WeakMethod(method)

    def call(first: int, second: int) -> None:
        try:
            alive = weak()
            assert alive is not None
            alive(first, second)
        except BaseException:
            sys.stderr.write(f"no memory for packets: {traceback.format_exc()}")
            sys.stderr.flush()
            os.abort()

    return call


def _crc_table(polynomial: int) -> Words:
    table = np.arange(256, dtype=np.int64)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ polynomial, table >> 1)
    return table
