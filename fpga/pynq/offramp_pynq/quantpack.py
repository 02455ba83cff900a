# SPDX-License-Identifier: Apache-2.0
"""Driver of ``quantpack``: rows of float32 as codes of 1, 2, 4 or 8 bits, and back."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np

from offramp_pynq.engine import MOST, Core, Engine
from offramp_pynq.registers import QUANTPACK_REGS, QUANTPACK_REGS_VERSION

HEADER = struct.Struct("<BBHIQQ")
"""Bits, compact, columns, rows, number of the request, seed."""

OK = 0


class Codes(NamedTuple):
    """Packed rows, ``(rows, bytes)``, and least and greatest of each, ``(rows, 2)``; empty unless ``status`` is OK."""

    status: int
    packed: Any
    bounds: Any


class QuantPack(Engine):
    """Binds to the engine in an overlay."""

    REGISTERS = QUANTPACK_REGS
    VERSION = QUANTPACK_REGS_VERSION

    def __init__(self, core: Core) -> None:
        """Bind, and ask what fits."""
        super().__init__(core)
        self.BEAT = self.read_register("LANES")
        self.columns = self.read_register("COLUMNS")
        """Values that a row may have."""

    def quantise(self, x: Any, numbers: Any, bits: int, seed: int, *, compact: bool = False) -> Codes:
        """Codes of the rows of ``x``, ``(rows, columns)`` float32, whose numbers decide how they are rounded.

        Raises:
            ValueError: the rows have no columns, or more than fit.
        """
        x, numbers = np.ascontiguousarray(x, "<f4"), np.ascontiguousarray(numbers, "<u8")
        step = self._step(x.shape[1])
        width = -(-x.shape[1] * bits // 8)
        packed, bounds = [np.zeros((0, width), np.uint8)], [np.zeros((0, 2), "<f4")]
        for at in range(0, len(x), step):
            rows = x[at : at + step]
            head = HEADER.pack(bits, compact, x.shape[1], len(rows), at, seed)
            room = len(rows) * self._whole(width) + self._groups(len(rows)) * self.BEAT + self.BEAT
            answer = self.exchange(self._packet(head, numbers[at : at + step], rows), room)
            if answer.status != OK:
                return Codes(answer.status, packed[0], bounds[0])
            part = np.frombuffer(answer.payload, np.uint8)
            for group in range(0, len(rows), self._size):
                count = min(self._size, len(rows) - group)
                length = count * self._whole(width)
                packed.append(part[:length].reshape(count, -1)[:, :width])
                bounds.append(part[length:][: 8 * count].view("<f4").reshape(count, 2))
                part = part[length + self.BEAT :]
        return Codes(OK, np.concatenate(packed), np.concatenate(bounds))

    def dequantise(self, packed: Any, bounds: Any, bits: int, columns: int) -> tuple[int, Any]:
        """Status, and the rows, ``(rows, columns)`` float32, that codes and bounds mean.

        Raises:
            ValueError: the rows have no columns, or more than fit.
        """
        packed, bounds = np.ascontiguousarray(packed, np.uint8), np.ascontiguousarray(bounds, "<f4")
        step = self._step(columns)
        values = [np.zeros((0, columns), "<f4")]
        for at in range(0, len(packed), step):
            rows = packed[at : at + step]
            head = HEADER.pack(bits, 0, columns, len(rows), at, 0)
            whole = self._whole(4 * columns)
            answer = self.exchange(self._packet(head, bounds[at : at + step], rows), len(rows) * whole + self.BEAT, 1)
            if answer.status != OK:
                return answer.status, values[0]
            words = np.frombuffer(answer.payload, "<f4", len(rows) * whole // 4)
            values.append(words.reshape(len(rows), -1)[:, :columns])
        return OK, np.concatenate(values)

    @property
    def _size(self) -> int:
        """Rows of a group: as many as 64-bit words fit a beat."""
        return self.BEAT // 8

    def _whole(self, length: int) -> int:
        return -(-length // self.BEAT) * self.BEAT

    def _groups(self, rows: int) -> int:
        return -(-rows // self._size)

    def _step(self, columns: int) -> int:
        """Rows whose packet and answer fit the buffers."""
        if not 0 < columns <= self.columns:
            raise ValueError(f"rows of {columns} columns: expected 1 to {self.columns}")
        return max((MOST - 2 * self.BEAT) // (self._whole(4 * columns) + self.BEAT), 1)

    def _packet(self, head: bytes, words: Any, rows: Any) -> bytes:
        """A header, then groups: a beat of words, and rows from a beat of their own each, the last one cut off."""
        parts = [head.ljust(self.BEAT, b"\0")]
        for at in range(0, len(rows), self._size):
            group = rows[at : at + self._size]
            parts.append(words[at : at + self._size].tobytes().ljust(self.BEAT, b"\0"))
            parts += [row.tobytes().ljust(self._whole(row.nbytes), b"\0") for row in group]
        return b"".join([*parts[:-1], parts[-1][: rows[-1].nbytes]])
