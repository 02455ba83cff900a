# SPDX-License-Identifier: Apache-2.0
"""Sizes as people write them."""

from __future__ import annotations

import re

from offramp_base.errors import OfframpError

_UNITS = {
    "": 1, "B": 1,
    "KB": 10**3, "MB": 10**6, "GB": 10**9,
    "KIB": 2**10, "MIB": 2**20, "GIB": 2**30,
}  # fmt: skip


def parse_size(text: str, flag: str) -> int:
    """Bytes in ``text``: ``4MB`` is 4,000,000, ``4MiB`` 4,194,304.

    Raises:
        OfframpError: not a size; names ``flag``.
    """
    match = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,15})?)\s*([A-Za-z]*)", text.strip())
    if match is None or match[2].upper() not in _UNITS:
        raise OfframpError(f"{flag} {text}: expected a size such as 4MB, 512KiB or 4096")
    return int(float(match[1]) * _UNITS[match[2].upper()])
