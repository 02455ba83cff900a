# SPDX-License-Identifier: Apache-2.0
"""``features.select``: chosen columns of chosen rows of a feature matrix in a device's memory, as DGS pulls them.

The table is ``(n, F)`` float32, row after row. Request: rows, columns (4 bytes each), the number of each row (4 each),
the number of each column (4 each); no columns stand for all. Answer: ``(rows, columns)`` float32. It is what
:func:`offramp.dgs.selection.select` computes at the owner of the rows.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.device import Message
from offramp_base.errors import OfframpError
from offramp_base.wire.structures import StructFormat

NAME: Final = "features.select"
HEADER: Final = StructFormat(
    "SelectHeader", "Numbers of rows and of columns follow, 4 bytes each.", rows="u32", columns="u32"
)
Numbers = npt.NDArray[np.integer]


def request(rows: Numbers, columns: Numbers | None = None) -> bytes:
    """The message that asks for ``columns`` of ``rows``; None for all columns."""
    chosen = np.zeros(0, "<u4") if columns is None else columns.astype("<u4")
    return HEADER.pack(len(rows), len(chosen)) + rows.astype("<u4").tobytes() + chosen.tobytes()


def answer(table: npt.NDArray[np.float32], message: Message) -> bytes:
    """The answer of a device.

    Args:
        table: ``(n, F)``.
        message: a message of :func:`request`.

    Raises:
        OfframpError: the message is not a request, or names a row or a column that does not exist.
    """
    if len(message) < HEADER.size:
        raise OfframpError(f"{NAME}: a message of {len(message)} bytes, expected {HEADER.size} or more")
    rows, columns = HEADER.unpack_from(message)
    if len(message) != HEADER.size + 4 * (rows + columns):
        raise OfframpError(f"{NAME}: {len(message)} bytes for {rows} rows and {columns} columns")
    numbers = np.frombuffer(message, "<u4", offset=HEADER.size)
    chosen = numbers[rows:] if columns else np.arange(table.shape[1])
    if (numbers[:rows] >= len(table)).any() or (chosen >= table.shape[1]).any():
        raise OfframpError(f"{NAME}: a row or column beyond {len(table)} x {table.shape[1]}")
    content: bytes = table[numbers[:rows]][:, chosen].astype("<f4").tobytes()
    return content
