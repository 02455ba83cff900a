# SPDX-License-Identifier: Apache-2.0
"""Arrays of numbers that machine code works on, as the sequences of ints that the control plane expects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableSequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from offramp_p4.types import Bits


class Numbers(MutableSequence[int]):
    """Cells of ``bits`` in the bytes of each row of ``raw``; of fixed length."""

    def __init__(self, raw: npt.NDArray[np.uint8], bits: Bits) -> None:
        self._raw, self._bits = raw, bits
        size = raw.shape[1]
        self._cells: npt.NDArray[Any] | None = raw.view(f"<u{size}")[:, 0] if size <= 8 else None

    def __len__(self) -> int:
        return len(self._raw)

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> MutableSequence[int]: ...
    def __getitem__(self, index: int | slice) -> int | MutableSequence[int]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if self._cells is not None:
            return self._bits.wrap(int(self._cells[index]))
        return self._bits.wrap(int.from_bytes(self._raw[index].tobytes(), "little"))

    @overload
    def __setitem__(self, index: int, value: int) -> None: ...
    @overload
    def __setitem__(self, index: slice, value: Iterable[int]) -> None: ...
    def __setitem__(self, index: int | slice, value: int | Iterable[int]) -> None:
        if isinstance(index, slice):
            assert not isinstance(value, int)
            for i, v in zip(range(*index.indices(len(self))), value, strict=True):
                self[i] = v
            return
        assert isinstance(value, int)
        pattern = value & self._bits.mask
        if self._cells is not None:
            self._cells[index] = pattern
        else:
            self._raw[index] = np.frombuffer(pattern.to_bytes(self._raw.shape[1], "little"), np.uint8)

    def __iter__(self) -> Iterator[int]:
        return (self[i] for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, list | tuple | Numbers) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))

    def __delitem__(self, index: int | slice) -> None:
        raise TypeError("an array of cells keeps its length")

    def insert(self, index: int, value: int) -> None:
        """Refuse to insert: the array's length is fixed."""
        del index, value
        raise TypeError("an array of cells keeps its length")

    def fill(self, value: int = 0) -> None:
        """Set all cells to a number."""
        pattern = (value & self._bits.mask).to_bytes(self._raw.shape[1], "little")
        self._raw[:] = np.frombuffer(pattern, np.uint8)


def signed_word(word: int) -> int:
    """An unsigned word as NumPy's int64 has it."""
    return word - (1 << 64) if word >> 63 else word
