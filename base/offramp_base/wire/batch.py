# SPDX-License-Identifier: Apache-2.0
"""A batch of packets with their ports: the type that every packet path of Offramp takes and returns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

_SMALL: Final = 128 << 10
"""Bytes up to which batches are put together: then copying costs less than one batch more."""


@dataclass(slots=True)
class PacketBatch:
    """``n`` Ethernet frames (without preamble and FCS) in one array.

    Attributes:
        ports: ``(n,)`` int32, the port each frame enters or leaves by (0 where a path has one port only).
        lengths: ``(n,)`` int32, bytes of each frame.
        data: ``(n, width)`` uint8, frames padded with zeros to the longest one.
    """

    ports: npt.NDArray[np.int32]
    lengths: npt.NDArray[np.int32]
    data: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.lengths)

    @classmethod
    def empty(cls) -> PacketBatch:
        """No packets."""
        return cls(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros((0, 0), np.uint8))

    @classmethod
    def of(cls, packets: Iterable[tuple[int, bytes]]) -> PacketBatch:
        """A batch of ``(port, frame)`` pairs, in their order."""
        pairs = list(packets)
        frames = [frame for _, frame in pairs]
        lengths = list(map(len, frames))
        width = max(lengths, default=0)
        if min(lengths, default=0) < width:
            frames = [frame.ljust(width, b"\0") for frame in frames]
        return cls(
            np.array([port for port, _ in pairs], np.int32),
            np.array(lengths, np.int32),
            np.frombuffer(b"".join(frames), np.uint8).reshape(len(pairs), width).copy(),
        )

    @classmethod
    def concatenate(cls, batches: Iterable[PacketBatch]) -> PacketBatch:
        """All packets of several batches, in order."""
        parts = [b for b in batches if len(b)]
        if not parts:
            return cls.empty()
        if len(parts) == 1:
            return parts[0]
        widths = {b.data.shape[1] for b in parts}
        if len(widths) == 1:
            data = np.concatenate([b.data for b in parts])
        else:
            data = np.zeros((sum(map(len, parts)), max(widths)), np.uint8)
            at = 0
            for b in parts:
                data[at : at + len(b), : b.data.shape[1]] = b.data
                at += len(b)
        return cls(np.concatenate([b.ports for b in parts]), np.concatenate([b.lengths for b in parts]), data)

    @classmethod
    def groups(cls, batches: Iterable[PacketBatch], most_bytes: int) -> Iterator[list[PacketBatch]]:
        """All packets of several batches, in order, in lists that take no more memory than that each.

        Small neighbours are put together, where their rows, as wide as the longest packet of any, do not take more
        memory than that: one batch of short packets and one of a long packet may take far more together than apart. A
        batch that takes more by itself is left alone.
        """
        group: list[PacketBatch] = []
        taken = 0
        for batch in cls._neighbours(batches, min(most_bytes, _SMALL)):
            if group and taken + batch.data.size > most_bytes:
                yield group
                group, taken = [], 0
            group.append(batch)
            taken += batch.data.size
        if group:
            yield group

    @classmethod
    def _neighbours(cls, batches: Iterable[PacketBatch], most_bytes: int) -> Iterator[PacketBatch]:
        """All packets of several batches, in order, in as few as take no more memory than that each."""
        near: list[PacketBatch] = []
        rows, width = 0, 0
        for batch in batches:
            if not len(batch):
                continue
            wide = max(width, batch.data.shape[1])
            if near and (rows + len(batch)) * wide > most_bytes:
                yield cls.concatenate(near)
                near, rows, wide = [], 0, batch.data.shape[1]
            near.append(batch)
            rows, width = rows + len(batch), wide
        if near:
            yield cls.concatenate(near)

    def select(self, which: npt.NDArray[np.bool_] | npt.NDArray[np.intp] | slice) -> PacketBatch:
        """The packets that a mask, an index array or a slice picks."""
        return PacketBatch(self.ports[which], self.lengths[which], self.data[which])

    def frames(self) -> Iterator[bytes]:
        """Each frame as bytes."""
        for row, length in zip(self.data, self.lengths.tolist(), strict=True):
            yield row[:length].tobytes()

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        return zip(self.ports.tolist(), self.frames(), strict=True)
