# SPDX-License-Identifier: Apache-2.0
"""The case that a worker is at, in memory that outlives it: a crash loses neither the case nor its seed."""

from __future__ import annotations

import mmap
import struct
import time
from dataclasses import dataclass
from pathlib import Path

_LAYOUT = struct.Struct("<QddQ")  # the case twice: while both differ, what is between them is half written
SIZE = _LAYOUT.size
_LOOKS, _PAUSE_S = 1000, 0.001


@dataclass(frozen=True, slots=True)
class At:
    """A case under way: its number, and when it began, by the clock and in the process's processor time (s)."""

    case: int
    began_s: float
    cpu_s: float


class Progress:
    """A mapped file with the case under way; one process writes, another reads."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(SIZE))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), SIZE)

    def begin(self, case: int) -> None:
        """A case begins in this process, now."""
        _LAYOUT.pack_into(self._memory, 0, case, time.monotonic(), time.process_time(), case)

    def read(self) -> At:
        """The case under way; ``began_s`` is 0 before the first."""
        for _ in range(_LOOKS):  # a writer may have been interrupted between its fields, or have died there
            case, began_s, cpu_s, again = _LAYOUT.unpack_from(self._memory, 0)
            if case == again:
                break
            time.sleep(_PAUSE_S)
        return At(case, began_s, cpu_s)

    def close(self) -> None:
        """Unmap."""
        self._memory.close()
