"""Memory that the agent maps: a memfd that nobody can shrink any more."""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
from bisect import insort
from typing import Final

from offramp.errors import OfframpError

_SEALS: Final = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
LINE: Final = 64


class SharedMemory:
    """Bytes that this process and the agent see, zero at first; pages exist once they are used."""

    def __init__(self, size: int, name: str = "offramp-nic") -> None:
        """Raises: OfframpError: the kernel has no such memory left."""
        self.size = max(-(-size // mmap.PAGESIZE), 1) * mmap.PAGESIZE
        try:
            self.fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            os.ftruncate(self.fd, self.size)
            fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, _SEALS)
            self._map = mmap.mmap(self.fd, self.size)
        except OSError as error:
            raise OfframpError(f"shared memory of {self.size} bytes: {error.strerror}") from None
        self.view = memoryview(self._map)

    def close(self) -> None:
        """Give it back; what NumPy still looks at lives on until nobody does."""
        if self.fd < 0:
            return
        os.close(self.fd)
        self.fd = -1
        self.view.release()
        with contextlib.suppress(BufferError):  # an array over it is still in use: its end unmaps
            self._map.close()


class Arena:
    """Pieces of a stretch of memory, each at a multiple of 64: first fit, joined again when they are given back."""

    def __init__(self, start: int, end: int) -> None:
        self._free = [(start, end)]
        self.size = end - start

    def take(self, length: int) -> int | None:
        """Offset of a piece of so many bytes; None where no hole is so long."""
        length = max(-(-length // LINE), 1) * LINE
        for place, (start, end) in enumerate(self._free):
            if end - start >= length:
                self._free[place : place + 1] = [(start + length, end)] if end - start > length else []
                return start
        return None

    def give(self, start: int, length: int) -> None:
        """Give a piece back that :meth:`take` gave."""
        end = start + max(-(-length // LINE), 1) * LINE
        insort(self._free, (start, end))
        place = self._free.index((start, end))
        for left in (place, place - 1):
            if 0 <= left < len(self._free) - 1 and self._free[left][1] == self._free[left + 1][0]:
                self._free[left : left + 2] = [(self._free[left][0], self._free[left + 1][1])]
