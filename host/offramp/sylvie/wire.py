# SPDX-License-Identifier: Apache-2.0
"""Sylvie's message: a header, counts of rows by width, bounds of each row, packed rows (specification section 1.6)."""

from __future__ import annotations

from typing import Final

from offramp_base.wire.fields import HeaderFormat

SYLVIE: Final = HeaderFormat(
    "sylvie",
    {
        "magic": 32,
        "epoch": 32,
        "layer": 16,
        "direction": 8,
        "base": 8,
        "src": 16,
        "dst": 16,
        "columns": 24,
        "compact": 8,
    },
)
"""``base`` is the epoch's width in bits, ``direction`` 0 for features and 1 for gradients.

One ``COUNT`` follows for each width that goes with ``base``, in ascending order.
"""

COUNT: Final = HeaderFormat("sylvie_count", {"rows": 32})
MAGIC: Final = 0x53594C56  # "SYLV"
FORWARD: Final = 0
BACKWARD: Final = 1
PLAIN: Final = 32
"""Width of rows that are sent as float32."""
