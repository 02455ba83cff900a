# SPDX-License-Identifier: Apache-2.0
"""``sylvie.quantise`` and ``sylvie.dequantise``: Sylvie's quantise-and-pack on rows of float32, and back.

Bits and rounding are those of :mod:`offramp.sylvie.model`: a row's codes depend only on its values, the seed and its
number.

``sylvie.quantise`` takes bits (1 byte: 1, 2, 4 or 8), compact (1), 2 bytes of zeros, rows (4), columns (4), 4 bytes of
zeros, seed (8), the number of each row (8 each), then the rows. It answers with the packed rows, the least value of
each row and the greatest value of each row (float32). It fails for rows with NaN or infinity, or whose range overflows
float32.

``sylvie.dequantise`` takes bits (1), 3 bytes of zeros, rows (4), columns (4), 4 bytes of zeros, then such an answer. It
answers with the rows.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.device import Message
from offramp.sylvie import model
from offramp_base.errors import OfframpError
from offramp_base.wire.structures import StructFormat

QUANTISE: Final = "sylvie.quantise"
DEQUANTISE: Final = "sylvie.dequantise"
BITS: Final = (1, 2, 4, 8)
HEADER: Final = StructFormat(
    "QuantiseHeader",
    "Numbers of the rows (8 bytes each) and their values follow.",
    bits="u8",
    compact="u8",
    zeros="u16",
    rows="u32",
    columns="u32",
    more_zeros="u32",
    seed="u64",
)
BACK_HEADER: Final = StructFormat(
    "DequantiseHeader",
    "Codes, least and greatest values of the rows follow.",
    bits="u8",
    zero="u8",
    zeros="u16",
    rows="u32",
    columns="u32",
    more_zeros="u32",
)
Rows = npt.NDArray[np.int64]


def quantise_request(x: model.Floats, numbers: Rows, bits: int, seed: int, *, compact: bool = False) -> bytes:
    """The message that asks for codes of the rows ``x``, whose numbers are ``numbers``."""
    header = HEADER.pack(bits, compact, 0, *x.shape, 0, seed)
    return header + numbers.astype("<u8").tobytes() + x.astype("<f4").tobytes()


def quantise(message: Message) -> bytes:
    """A device's answer to :func:`quantise_request`.

    Raises:
        OfframpError: the message is not a request, or its rows cannot be quantised.
    """
    if len(message) < HEADER.size:
        raise OfframpError(f"{QUANTISE}: a message of {len(message)} bytes, expected {HEADER.size} or more")
    bits, compact, zeros, rows, columns, more_zeros, seed = HEADER.unpack_from(message)
    expected = HEADER.size + rows * 8 + rows * columns * 4
    if bits not in BITS or compact > 1 or zeros or more_zeros or not columns or len(message) != expected:
        raise OfframpError(f"{QUANTISE}: {len(message)} bytes for {rows} rows of {columns} columns, {bits} bits")
    numbers = np.frombuffer(message, "<i8", rows, HEADER.size)
    x = np.frombuffer(message, "<f4", rows * columns, HEADER.size + 8 * rows).reshape(rows, columns)
    if not rows:
        return b""
    least, greatest, bad = model.bounds(x, bool(compact))
    if bad.any():
        raise OfframpError(f"{QUANTISE}: row {int(bad.argmax())} holds NaN or infinity, or its range is beyond float32")
    packed = model.pack(model.codes(x, numbers, bits, seed, least, greatest), bits)
    return packed.tobytes() + least.astype("<f4").tobytes() + greatest.astype("<f4").tobytes()


def dequantise_request(answer: Message, rows: int, columns: int, bits: int) -> bytes:
    """The message that asks for the rows encoded in an answer of :func:`quantise`."""
    return BACK_HEADER.pack(bits, 0, 0, rows, columns, 0) + bytes(answer)


def dequantise(message: Message) -> bytes:
    """A device's answer to :func:`dequantise_request`.

    Raises:
        OfframpError: the message is not a request.
    """
    if len(message) < BACK_HEADER.size:
        raise OfframpError(f"{DEQUANTISE}: a message of {len(message)} bytes, expected {BACK_HEADER.size} or more")
    bits, zero, zeros, rows, columns, more_zeros = BACK_HEADER.unpack_from(message)
    width = -(-columns * bits // 8)
    expected = BACK_HEADER.size + rows * (width + 8)
    if bits not in BITS or zero or zeros or more_zeros or not columns or len(message) != expected:
        raise OfframpError(f"{DEQUANTISE}: {len(message)} bytes for {rows} rows of {columns} columns, {bits} bits")
    packed = np.frombuffer(message, np.uint8, rows * width, BACK_HEADER.size).reshape(rows, width)
    least, greatest = np.frombuffer(message, "<f4", 2 * rows, BACK_HEADER.size + rows * width).reshape(2, rows)
    with np.errstate(all="ignore"):
        return model.values(model.unpack(packed, bits, columns), bits, least, greatest).astype("<f4").tobytes()
