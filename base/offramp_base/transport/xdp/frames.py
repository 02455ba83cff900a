# SPDX-License-Identifier: Apache-2.0
"""Frames on their way into the memory of an AF_XDP socket."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp_base.wire.batch import PacketBatch

_TAG: Final = 4
_TAGGED: Final = (0x81, 0x00)


@dataclass(frozen=True, slots=True)
class FrameRows:
    """``rows`` of ``data``, each as long as ``lengths`` says."""

    data: npt.NDArray[np.uint8]
    lengths: npt.NDArray[np.int32]
    rows: npt.NDArray[np.intp] | None

    @classmethod
    def of(cls, batch: PacketBatch, rows: npt.NDArray[np.intp] | None) -> FrameRows:
        """These rows of a batch, or all."""
        return cls(batch.data, batch.lengths if rows is None else batch.lengths[rows], rows)

    def __len__(self) -> int:
        return len(self.lengths)

    def part(self, start: int, end: int) -> FrameRows:
        """The frames from number ``start`` to before ``end``."""
        if self.rows is None:
            return FrameRows(self.data[start:end], self.lengths[start:end], None)
        return FrameRows(self.data, self.lengths[start:end], self.rows[start:end])

    def fitting(self, start: int, count: int, longest: int) -> int:
        """Number of frames, of ``count`` from ``start`` on, before the first that is longer than ``longest`` bytes.

        As on a packet socket (packet(7)), four more bytes are allowed to a frame with a VLAN tag.
        """
        lengths = self.lengths[start : start + count]
        if not len(lengths) or int(lengths.max()) <= longest:
            return count
        tags = self._source(start, count)[:, 12:14]
        tagged = (tags == np.array(_TAGGED, np.uint8)).all(axis=1)
        fits = lengths <= longest + _TAG * tagged
        return count if fits.all() else int(fits.argmin())

    def copy_to(self, chunks: npt.NDArray[np.uint8], which: npt.NDArray[np.intp], start: int) -> npt.NDArray[np.int32]:
        """Copy frames into the chunks that ``which`` names, one each; returns their lengths."""
        count = len(which)
        lengths = self.lengths[start : start + count]
        width = int(lengths.max())
        source = self._source(start, count)[:, :width]
        first = int(which[0])
        if int(which[-1]) - first == count - 1 and bool((np.diff(which) == 1).all()):
            chunks[first : first + count, :width] = source
        else:
            chunks[which, :width] = source
        return lengths

    def _source(self, start: int, count: int) -> npt.NDArray[np.uint8]:
        if self.rows is None:
            return self.data[start : start + count]
        return self.data[self.rows[start : start + count]]
