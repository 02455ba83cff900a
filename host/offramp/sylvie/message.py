# SPDX-License-Identifier: Apache-2.0
"""Messages of boundary rows: their layout, encoding and decoding (specification section 1.6, wire layout).

Both ends derive the same :class:`MessageLayout` from the widths of the rows, so no row carries its index or width. The
label tells which table of widths applies to a message, even if the base width has changed in transit (S16).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from offramp.sylvie.model import Bytes, Floats
from offramp.sylvie.quantiser import Codes, Rows, check_array, dequantise, quantise, row_bytes
from offramp.sylvie.widths import Widths, candidates
from offramp.sylvie.wire import BACKWARD, COUNT, FORWARD, MAGIC, PLAIN, SYLVIE
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from collections.abc import Sequence

FLOAT: Final = np.dtype("<f4")
"""Type of numbers on the wire, outside the header."""


class Label(NamedTuple):
    """Identification of a message.

    Attributes:
        epoch: epoch, counted from 0.
        layer: layer, counted from 1.
        direction: ``wire.sylvie.FORWARD`` for features, ``BACKWARD`` for gradients.
        src: rank that sends.
        dst: rank that receives.
    """

    epoch: int
    layer: int
    direction: int
    src: int
    dst: int

    def __str__(self) -> str:
        what = "gradients" if self.direction == BACKWARD else "features"
        return f"{what} of layer {self.layer}, epoch {self.epoch}, from rank {self.src} to rank {self.dst}"


@dataclass(frozen=True, slots=True)
class WidthGroup:
    """Rows of one width: their positions among all rows, and those of their bounds and codes."""

    bits: int
    places: Rows
    bounds: slice
    codes: slice


class MessageLayout:
    """Layout of a message between two workers with one base width.

    Attributes:
        base: the epoch's width; widths are among ``candidates(base)``.
        counts: rows of each candidate width.
        size: bytes of the message, including the header (S18).
        groups: rows by width; none is empty.

    Args:
        widths: ``(n,)`` bits of each row, in the order that both ends share.
        columns: number of columns of a row.
        compact: whether bounds are bfloat16, 4 bytes per row, instead of float32, 8 bytes.

    Raises:
        OfframpError: a width does not go with the base, or there are too many columns.
    """

    def __init__(self, widths: Widths, columns: int, base: int, *, compact: bool = False) -> None:
        self.base, self.columns, self.compact = base, columns, compact
        self.rows = len(widths)
        allowed = candidates(base)
        if not 1 <= columns <= SYLVIE.by_name["columns"].mask:
            raise OfframpError(f"columns {columns}: expected 1 to {SYLVIE.by_name['columns'].mask}")
        strange = np.setdiff1d(widths, allowed)
        if len(strange):
            raise OfframpError(f"width {strange[0]}: expected one of {', '.join(map(str, allowed))} with base {base}")
        members = [np.flatnonzero(np.asarray(widths) == bits) for bits in allowed]
        self.counts = tuple(map(len, members))
        self.header = SYLVIE.size + COUNT.size * len(allowed)
        at, starts = self.header, []
        each = 0 if base == PLAIN else 2 * (2 if compact else FLOAT.itemsize)
        for count in self.counts:
            starts.append(at)
            at += count * each
        groups = []
        for bits, places, start in zip(allowed, members, starts, strict=True):
            codes = slice(at, at + len(places) * row_bytes(columns, bits))
            groups.append(WidthGroup(bits, places, slice(start, start + len(places) * each), codes))
            at = codes.stop
        self.size = at
        self.groups = tuple(group for group in groups if len(group.places))

    def encode(self, x: Floats, rows: Rows | None, label: Label, seed: int, *, threads: int = 1) -> Bytes:
        """The message ``(size,)`` that carries ``x[rows]``; ``rows`` None for all.

        Args:
            x: float32 rows.
            rows: ``(n,)`` rows to send, in the order that both ends share.
            label: identification of the message.
            seed: seed of the rounding, unique to this label (:func:`~offramp.sylvie.streams.stream`).
            threads: number of threads that share the rows.

        Raises:
            OfframpError: rows cannot be quantised, or their number or that of columns differs.
        """
        check_array("x", x)
        chosen = self.chosen("x", x.shape, rows)
        message = np.empty(self.size, np.uint8)
        message[: self.header] = np.frombuffer(self.head(label), np.uint8)
        for group in self.groups:
            codes = message[group.codes].reshape(len(group.places), -1)
            if group.bits == PLAIN:
                codes.view(FLOAT)[:] = x[chosen[group.places]]
                continue
            out = quantise(x, chosen[group.places], group.bits, seed, compact=self.compact, into=codes, threads=threads)
            message[group.bounds] = _to_wire(np.stack([out.least, out.greatest], axis=1), compact=self.compact)
        return message

    def decode(
        self, message: Bytes, label: Label, out: Floats, rows: Rows | None, *, add: bool = False, threads: int = 1
    ) -> None:
        """Write the rows that a message carries to ``out[rows]``, or add them to it.

        Raises:
            OfframpError: the message is not the one that ``label`` and this layout describe; ``out`` is unchanged.
        """
        check_array("out", out)
        chosen = self.chosen("out", out.shape, rows)
        for group, bound in zip(self.groups, self.bounds(message, label), strict=True):
            codes = message[group.codes].reshape(len(group.places), -1)
            if group.bits == PLAIN:
                values = codes.view(FLOAT)
                out[chosen] = out[chosen] + values if add else values
                continue
            quantised = Codes(codes, bound[:, 0], bound[:, 1])
            dequantise(quantised, group.bits, out, chosen[group.places], add=add, threads=threads)

    def bounds(self, message: Bytes, label: Label) -> list[Floats]:
        """``(n, 2)`` least and greatest values of the rows of each group.

        Raises:
            OfframpError: the message is not the one that ``label`` and this layout describe.
        """
        self._check(message, label)
        bounds = [_from_wire(message[g.bounds], compact=self.compact) for g in self.groups]
        if not all(np.isfinite(each).all() for each in bounds):
            raise OfframpError(f"{label}: damaged message: bounds that are not numbers")
        return bounds

    def chosen(self, name: str, shape: Sequence[int], rows: Rows | None) -> Rows:
        """``rows`` of an array of ``shape``, after checks; None means all.

        Raises:
            OfframpError: the numbers of rows or columns differ from the message's (the array is named), or rows are out
                of range.
        """
        chosen = np.arange(shape[0]) if rows is None else np.ascontiguousarray(rows, np.int64)
        if len(chosen) != self.rows or shape[1] != self.columns:
            raise OfframpError(
                f"{name}: expected {self.rows} rows of {self.columns} columns, got {len(chosen)} of {shape[1]}"
            )
        if len(chosen) and not 0 <= chosen.min() <= chosen.max() < shape[0]:
            raise OfframpError(f"rows: expected numbers from 0 to {shape[0] - 1}")
        return chosen

    def head(self, label: Label) -> bytes:
        """Header of a message with this ``label``."""
        fields = label._asdict() | {"magic": MAGIC, "base": self.base, "columns": self.columns}
        head = SYLVIE.encode(fields | {"compact": int(self.compact)})
        return head + b"".join(COUNT.encode({"rows": count}) for count in self.counts)

    def _check(self, message: Bytes, label: Label) -> None:
        label_read, base = read_label(message)
        if label_read != label:
            raise OfframpError(f"expected {label}, got {label_read}")
        if base != self.base:
            raise OfframpError(f"{label}: expected base width {self.base}, got {base}")
        if message[: self.header].tobytes() != self.head(label):
            raise OfframpError(f"{label}: its widths, columns or bounds are not those of the receiver's table")
        if len(message) != self.size:
            raise OfframpError(f"{label}: expected {self.size} bytes, got {len(message)}")


def read_label(message: Bytes) -> tuple[Label, int]:
    """Identification of a message, and its base width, which selects the table of widths.

    Raises:
        OfframpError: this is not a message of Sylvie, or it ends within its header.
    """
    if message.ndim != 1 or message.dtype != np.uint8:
        raise OfframpError(f"message: expected bytes, got {message.dtype} of shape {message.shape}")
    if len(message) < SYLVIE.size:
        raise OfframpError(f"message: expected a header of {SYLVIE.size} bytes, got {len(message)} bytes")
    fields = SYLVIE.decode(message[: SYLVIE.size].tobytes())
    if fields["magic"] != MAGIC or fields["direction"] not in {FORWARD, BACKWARD}:
        raise OfframpError("message: not one of Sylvie's boundary rows")
    base = fields["base"]
    if len(message) < SYLVIE.size + COUNT.size * len(candidates(base)):
        raise OfframpError(f"message: cut off in its header, after {len(message)} bytes")
    return Label(*(fields[name] for name in Label._fields)), base


def message_bytes(counts: npt.ArrayLike, columns: int, base: int, *, compact: bool = False) -> int:
    """Bytes of a message with ``counts[i]`` rows of the i-th candidate width (S18)."""
    widths = candidates(base)
    each = 0 if base == PLAIN else 4 if compact else 8
    rows = sum(
        int(count) * (each + row_bytes(columns, bits)) for count, bits in zip(np.asarray(counts), widths, strict=True)
    )
    return SYLVIE.size + COUNT.size * len(widths) + rows


def _to_wire(bounds: Floats, *, compact: bool) -> Bytes:
    """Bounds ``(n, 2)`` as bytes, least and greatest value of each row in turn."""
    if compact:
        return (bounds.view(np.uint32) >> np.uint32(16)).astype("<u2").view(np.uint8).reshape(-1)
    return bounds.astype(FLOAT, copy=False).view(np.uint8).reshape(-1)


def _from_wire(data: Bytes, *, compact: bool) -> Floats:
    if compact:
        halves = data.view("<u2").astype(np.uint32) << np.uint32(16)
        return halves.view(np.float32).reshape(-1, 2)
    return data.view(FLOAT).astype(np.float32).reshape(-1, 2)
