# SPDX-License-Identifier: Apache-2.0
"""Memory that a process shares with those it starts, and that the kernel takes back from the last of them."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from multiprocessing import reduction

from offramp_base.errors import OfframpError


class AnonymousMemory:
    """Shared memory without a name (memfd_create(2)), so that no kill can leave it behind.

    It can be an argument of a process of :mod:`multiprocessing`, which gets a file descriptor of its own.
    """

    def __init__(self) -> None:
        self._descriptor = os.memfd_create("offramp", os.MFD_CLOEXEC)

    def map(self, size: int) -> mmap.mmap:
        """Map ``size`` bytes of it, zero at first; they stay while anything refers to them.

        Raises:
            OfframpError: there is not so much memory.
        """
        size = max(size, 1)
        try:
            if os.fstat(self._descriptor).st_size < size:
                os.ftruncate(self._descriptor, size)
            return mmap.mmap(self._descriptor, size)
        except OSError as error:
            raise OfframpError(f"shared memory of {size} bytes: {error.strerror}") from None

    def close(self) -> None:
        """Release the descriptor; mappings of the block stay valid."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __reduce__(self) -> tuple[Callable[..., AnonymousMemory], tuple[object]]:
        return _received, (reduction.DupFd(self._descriptor),)


def _received(descriptor: object) -> AnonymousMemory:
    block = AnonymousMemory.__new__(AnonymousMemory)
    block._descriptor = descriptor.detach()  # type: ignore[attr-defined]
    return block
