# SPDX-License-Identifier: Apache-2.0
"""Amounts as people write them in YAML files: ``48GB``, ``10Gbps``, plain numbers."""

from __future__ import annotations

import re
from typing import Final

from offramp_base.documents import is_number
from offramp_base.errors import OfframpError

_SCALES: Final = {
    "": 1.0,
    "k": 1e3,
    "K": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "Ki": 2.0**10,
    "Mi": 2.0**20,
    "Gi": 2.0**30,
}
_MOST_COUNT: Final = 1 << 53  # arithmetic with floats is exact up to here


def amount(value: object, where: str, unit: str = "") -> float:
    """A number from 0 to 1e24, with a decimal or binary prefix and ``unit`` if it is text.

    Raises:
        OfframpError: the value is not a quantity; names ``where`` it stands.
    """
    example = f"a number or text such as 1.5G{unit}" if unit else "a number of at least 0"
    if isinstance(value, str):
        match = re.fullmatch(rf"\s*(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*([kKMGT]i?)?(?:{re.escape(unit)})?\s*", value)
        if match is None or (match[2] or "") not in _SCALES:
            raise OfframpError(f"{where}: {value}: expected {example}")
        value = float(match[1]) * _SCALES[match[2] or ""]
    if not is_number(value) or value < 0:
        raise OfframpError(f"{where}: {value}: expected {example}")
    return float(value)


def count(value: object, where: str, least: int = 0) -> int:
    """A whole number of at least ``least``, and at most 2^53.

    Raises:
        OfframpError: the value is not such a number.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _MOST_COUNT:
        raise OfframpError(f"{where}: {value}: expected a whole number of at least {least}")
    return value
