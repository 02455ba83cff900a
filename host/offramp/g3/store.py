# SPDX-License-Identifier: Apache-2.0
"""Where the tensors of a whole worker live: in memory, or in mapped files from which bins are streamed (section 4.4.2).

A file has no name and ends with its tensor. The kernel writes its pages out under pressure, so that they do not count
against a limit on memory as a program's own do.
"""

from __future__ import annotations

import mmap
import tempfile
import weakref
from math import prod
from typing import TYPE_CHECKING, Final

import numpy as np
import torch

if TYPE_CHECKING:
    from collections.abc import Sequence


LEAST_WAITING: Final = 4 << 20
"""Bytes that may always wait to be written to files."""


class TensorStore:
    """Tensors in memory, or in that of a device.

    Attributes:
        streams: whether only bins may be in memory: graphs and activations are then computed again on the way back.
    """

    streams = False

    def __init__(self, dtype: torch.dtype, device: torch.device | None = None) -> None:
        self._dtype, self._device = dtype, device

    def empty(self, *shape: int) -> torch.Tensor:
        """A tensor of any content."""
        return torch.empty(shape, dtype=self._dtype, device=self._device)

    def zeros(self, *shape: int) -> torch.Tensor:
        """A tensor of zeros."""
        return torch.zeros(shape, dtype=self._dtype, device=self._device)

    def kept(self, tensor: torch.Tensor) -> torch.Tensor:
        """The tensor, to be read later."""
        return tensor

    def wrote(self, part: torch.Tensor) -> None:
        """Note that rows of this size have been written to a tensor of the store."""

    def stacked(self, parts: Sequence[object]) -> object:
        """Arrays one after the other, dense or sparse like the first."""
        from offramp.models.neighbourhood import stacked

        own, received = parts
        return stacked(own, received)


class MappedStore(TensorStore):
    """Tensors in mapped files, in the folder for temporary files."""

    streams = True

    def __init__(self, dtype: torch.dtype, waiting: int = LEAST_WAITING) -> None:
        """Args: dtype: of the tensors; waiting: bytes that may wait to be written to files."""
        super().__init__(dtype)
        self._files: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()
        self._dirty, self._waiting = 0, max(LEAST_WAITING, waiting)

    def empty(self, *shape: int) -> torch.Tensor:
        """Zeros, which take no space before they are written."""
        return mapped(self._dtype, *shape, files=self._files)

    def zeros(self, *shape: int) -> torch.Tensor:
        """Zeros, which take no space before they are written."""
        return mapped(self._dtype, *shape, files=self._files)

    def kept(self, tensor: torch.Tensor) -> torch.Tensor:
        """A copy in a file of its own."""
        copy = mapped(tensor.dtype, *tensor.shape, files=self._files)
        copy.copy_(tensor)
        self.wrote(tensor)
        return copy

    def wrote(self, part: torch.Tensor) -> None:
        """Write pages to their files from time to time: the kernel can give back only what is written."""
        self._dirty += part.nbytes
        if self._dirty >= self._waiting:
            self._dirty = 0
            for file in list(self._files):
                file.flush()

    def stacked(self, parts: Sequence[object]) -> object:
        """A tensor of dense arrays one after the other, copied by some rows at a time."""
        arrays = [np.asarray(part) for part in parts]
        whole = self.empty(sum(len(array) for array in arrays), arrays[0].shape[1])
        first = 0
        for array in arrays:
            for start in range(0, len(array), _ROWS):
                rows = torch.from_numpy(array[start : start + _ROWS])
                whole[first + start : first + start + len(rows)] = rows
                self.wrote(rows)
            first += len(array)
        return whole


_ROWS: Final = 1024


def mapped(dtype: torch.dtype, *shape: int, files: weakref.WeakSet[mmap.mmap] | None = None) -> torch.Tensor:
    """A tensor of zeros in a file without a name, whose mapping joins ``files``."""
    count = prod(shape)
    if not count:
        return torch.zeros(shape, dtype=dtype)
    size = count * dtype.itemsize
    with tempfile.TemporaryFile() as file:
        file.truncate(size)
        content = mmap.mmap(file.fileno(), size)
    if files is not None:
        files.add(content)
    return torch.frombuffer(content, dtype=dtype).view(shape)
