# SPDX-License-Identifier: Apache-2.0
"""Memory that processes share as a descriptor: a memfd whose size is sealed.

A file that a peer may still shrink kills whoever maps it (SIGBUS), and a path that a peer names may be anybody's file.
So memory goes over a Unix socket as a descriptor, and the receiver looks at what it was given before it maps it.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import stat
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp_base.errors import OfframpError

SEALS: Final = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


class SharedMemory:
    """Bytes that several processes see, zero at first; pages exist once they are used.

    Attributes:
        size: bytes, whole pages.
        fd: the descriptor that other processes are given; -1 once closed.
        view: the bytes.
    """

    def __init__(self, size: int, name: str = "offramp") -> None:
        """Raises: OfframpError: the kernel has no such memory left."""
        self.size = max(-(-size // mmap.PAGESIZE), 1) * mmap.PAGESIZE
        self.fd = -1
        try:
            self.fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            os.ftruncate(self.fd, self.size)
            fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, SEALS)
            self._map = mmap.mmap(self.fd, self.size)
        except (OSError, OverflowError, ValueError) as error:
            self._forget()
            raise OfframpError(f"shared memory of {size} bytes: {getattr(error, 'strerror', error)}") from None
        self.view = memoryview(self._map)

    @classmethod
    def attach(cls, fd: int, size: int, giver: str = "another process") -> SharedMemory:
        """Memory that another process made; takes ``fd`` over, also where it is refused.

        Args:
            fd: the descriptor that ``giver`` sent.
            size: bytes that it must have, rounded up to whole pages.
            giver: who is named in an error.

        Raises:
            OfframpError: not a memfd of this size whose size is sealed.
        """
        memory = cls.__new__(cls)
        memory.fd = fd
        memory.size = max(-(-size // mmap.PAGESIZE), 1) * mmap.PAGESIZE
        try:
            memory._check(giver)
            memory._map = mmap.mmap(fd, memory.size)
        except OSError as error:
            memory._forget()
            raise OfframpError(f"shared memory from {giver}: {error.strerror}") from None
        except OfframpError:
            memory._forget()
            raise
        memory.view = memoryview(memory._map)
        return memory

    def _check(self, giver: str) -> None:
        status = os.fstat(self.fd)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink:
            raise OfframpError(f"shared memory from {giver}: the descriptor is not anonymous memory")
        try:
            seals = fcntl.fcntl(self.fd, fcntl.F_GET_SEALS)
        except OSError:
            raise OfframpError(f"shared memory from {giver}: the descriptor cannot be sealed") from None
        if seals != SEALS:
            raise OfframpError(f"shared memory from {giver}: seals {seals:#x}, expected {SEALS:#x}")
        if status.st_size != self.size:
            raise OfframpError(f"shared memory from {giver}: {status.st_size} bytes, expected {self.size}")

    @property
    def words(self) -> npt.NDArray[np.int64]:
        """The bytes as 64-bit words."""
        return np.frombuffer(self.view, np.int64)

    def close(self) -> None:
        """Release it; NumPy views of it keep it alive until they are gone."""
        if self.fd < 0:
            return
        self._forget()
        with contextlib.suppress(BufferError):  # an array over it is still in use: its end unmaps
            self.view.release()
            self._map.close()

    def _forget(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1
