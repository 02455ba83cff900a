# SPDX-License-Identifier: Apache-2.0
"""Sizes and rates as people write them, parsed in this one place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_PREFIXES: Final = {"": 1} | {
    prefix + binary: base**power for power, prefix in enumerate("kmgt", 1) for binary, base in (("", 1000), ("i", 1024))
}
_MOST: Final = (1 << 63) - 1  # what a signed 64-bit number of a wire format holds


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit in which the number of a field counts.

    Attributes:
        name: as help and JSON Schema say it.
        suffix: what may follow the prefix, as a regular expression.
        example: example of a text, for errors.
        least: smallest value.
        symbol: symbol behind a default that help shows.
        bare: factor of a number without prefix and symbol.
    """

    name: str
    suffix: str
    example: str
    least: int
    symbol: str
    bare: int = 1

    def parse(self, text: str) -> int:
        """The number that ``text`` writes.

        Raises:
            ValueError: says what was expected.
        """
        from fractions import Fraction  # late: it takes long to import, and --help needs none

        number = r"[0-9]{1,15}(?:\.[0-9]{1,15})?"
        match = re.fullmatch(rf"({number})\s*([kmgt]?i?)({self.suffix})", text.strip().lower())
        value = -1
        if match and match[2] in _PREFIXES:
            value = int(Fraction(match[1]) * (_PREFIXES[match[2]] if match[2] or match[3] else self.bare))
        if not self.least <= value <= _MOST:
            raise ValueError(f"expected a {self.example}")
        return value

    def shown(self, value: float) -> str:
        """A number with the largest prefix that leaves a whole one."""
        for prefix in ("t", "g", "m", "k", "ti", "gi", "mi", "ki"):
            if value >= _PREFIXES[prefix] and value % _PREFIXES[prefix] == 0:
                return f"{value // _PREFIXES[prefix]:g}{prefix.upper().replace('I', 'i')}{self.symbol}"
        return f"{value:g}{self.symbol}"


BYTES: Final = Unit("bytes", "b?", "size such as 4MB, 512KiB or 4096", 0, "B")
MEBIBYTES: Final = Unit("MiB", "b?", "size such as 512MiB or 4GB, or a number of MiB", 0, "B", bare=1 << 20)
BITS_PER_SECOND: Final = Unit("bits per second", "(?:bit)?(?:/s)?", "rate such as 10mbit, 2.5gbit or 64000", 1, "bit")

_NANOSECONDS: Final = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


def nanoseconds(text: str) -> float:
    """A time in nanoseconds: ``5us``, ``0.7ms``.

    Raises:
        ValueError: says what was expected.
    """
    match = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,15})?)\s*(ns|us|ms|s)|0", text.strip().lower())
    if match is None:
        raise ValueError("expected a time such as 700ns, 5us or 1ms")
    return float(match[1]) * _NANOSECONDS[match[2]] if match[2] else 0.0


def nanoseconds_shown(value: float) -> str:
    """Nanoseconds with the largest unit that leaves a number of at least one."""
    unit = next((unit for unit in ("s", "ms", "us") if value >= _NANOSECONDS[unit]), "ns")
    return f"{value / _NANOSECONDS[unit]:.12g}{unit}"
