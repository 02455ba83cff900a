# SPDX-License-Identifier: Apache-2.0
"""Many entries of a table at once, in columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offramp_p4.state.match import ANY, Exact, Lpm, Match, StateError

Column = npt.NDArray[Any]
_WORD: Final = 64


@dataclass(frozen=True)
class EntryBatch:
    """Entries of exact keys and at most one lpm key that run the same action.

    A column of numbers up to 64 bits has shape ``(n,)`` and a type of unsigned or signed integers, whose bits count;
    one of wider numbers has shape ``(n, words)`` of 64 bits, the lowest first (:func:`column` makes either).

    Attributes:
        keys: a column for each key of the table; what an lpm value has behind its prefix does not count.
        action: its name.
        args: a column for each of its arguments.
        lengths: lengths of the prefixes, of shape ``(n,)``; None for a table without lpm key.
    """

    keys: tuple[Column, ...]
    action: str
    args: tuple[Column, ...] = ()
    lengths: Column | None = None

    def __len__(self) -> int:
        return len(self.keys[0]) if self.keys else 0

    def check(self, kinds: Sequence[str], widths: Sequence[int], arg_widths: Sequence[int], where: str) -> None:
        """Check that the columns are those of a table and of equal length, and that their values fit.

        Raises:
            StateError: they are not; what and where.
        """
        if not set(kinds) <= {"exact", "lpm"}:
            raise StateError("invalid", f"{where}: batches have exact and lpm keys only")
        if len(self.keys) != len(kinds) or ("lpm" in kinds) != (self.lengths is not None):
            raise StateError("invalid", f"{where}: the batch has other keys than the table")
        if len(self.args) != len(arg_widths):
            message = f"action {self.action} takes {len(arg_widths)} arguments, not {len(self.args)}"
            raise StateError("invalid", f"{where}: {message}")
        for number, (values, width) in enumerate(zip((*self.keys, *self.args), (*widths, *arg_widths), strict=True)):
            what = f"key {number}" if number < len(widths) else f"argument {number - len(widths)}"
            _check_column(values, width, len(self), f"{where}, {what}")
        if self.lengths is not None:
            width = widths[list(kinds).index("lpm")]
            wrong = (self.lengths < 0) | (self.lengths > width)
            if self.lengths.shape != (len(self),) or wrong.any():
                raise StateError("invalid", f"{where}: a prefix length is outside 0..{width}, or one is missing")

    def rows(self, kinds: Sequence[str]) -> Iterator[tuple[tuple[Match, ...], tuple[int, ...]]]:
        """Keys and arguments of each entry; a prefix has what is behind it, too."""
        lengths = [0] * len(self) if self.lengths is None else self.lengths.tolist()
        keys, args = ([numbers(c) for c in columns] for columns in (self.keys, self.args))
        for i, length in enumerate(lengths):
            matches = (
                Exact(k[i]) if kind == "exact" else Lpm(k[i], length) if length else ANY
                for kind, k in zip(kinds, keys, strict=True)
            )
            yield tuple(matches), tuple(a[i] for a in args)


def column(values: Sequence[int], width: int) -> Column:
    """Numbers of ``width`` bits as a column."""
    if width <= _WORD:
        return np.array(values, np.uint64)
    size = (width + _WORD - 1) // _WORD * 8
    raw = b"".join([n.to_bytes(size, "little") for n in values])
    return np.frombuffer(raw, np.uint64).reshape(-1, size // 8)


def numbers(values: Column) -> list[int]:
    """The values of a column as unsigned integers."""
    if values.ndim == 1:
        return [int(n) for n in as_unsigned(values).tolist()]
    return [int.from_bytes(row.tobytes(), "little") for row in as_unsigned(values)]


def as_unsigned(values: Column) -> Column:
    """The bits of a column as unsigned words."""
    if values.dtype.kind == "i":
        values = values.astype(np.int64).view(np.uint64)
    return values.astype(np.uint64, copy=False)


def _check_column(values: Column, width: int, count: int, where: str) -> None:
    words = (width + _WORD - 1) // _WORD
    shape = (count,) if words <= 1 else (count, words)
    if values.shape != shape or values.dtype.kind not in "ui":
        raise StateError("invalid", f"{where}: expected integers of shape {shape}, got {values.dtype} {values.shape}")
    top = as_unsigned(values if values.ndim == 1 else values[:, -1])
    used = width - (words - 1) * _WORD
    if used < _WORD and len(top) and int(top.max()) >> used:
        raise StateError("invalid", f"{where}: a number does not fit {width} bits")
