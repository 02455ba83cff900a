# SPDX-License-Identifier: Apache-2.0
"""Sizes and rates as people write them, parsed in this one place."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from offramp_base.settings.error import SettingsError

_PREFIXES: Final = {"": 1} | {
    prefix + binary: base**power for power, prefix in enumerate("kmgt", 1) for binary, base in (("", 1000), ("i", 1024))
}
_MOST: Final = (1 << 63) - 1  # what a signed 64-bit number of a wire format holds


@dataclass(frozen=True, slots=True)
class Unit:
    """What the number of a field counts.

    Attributes:
        name: as help and JSON Schema say it.
        suffix: what may follow the prefix, as a regular expression.
        example: of a text, for errors.
        least: smallest value.
        symbol: behind a default that help shows.
    """

    name: str
    suffix: str
    example: str
    least: int
    symbol: str

    def parse(self, text: str) -> int:
        """The number that ``text`` writes.

        Raises:
            ValueError: says what was expected.
        """
        match = re.fullmatch(rf"([0-9]{{1,15}}(?:\.[0-9]{{1,15}})?)\s*([kmgt]?i?){self.suffix}", text.strip().lower())
        value = int(Fraction(match[1]) * _PREFIXES[match[2]]) if match and match[2] in _PREFIXES else -1
        if not self.least <= value <= _MOST:
            raise ValueError(f"expected a {self.example}")
        return value

    def shown(self, value: float) -> str:
        """A number with the largest prefix that leaves a whole one."""
        for prefix in "tgmk":
            if value >= _PREFIXES[prefix] and value % _PREFIXES[prefix] == 0:
                return f"{value // _PREFIXES[prefix]:g}{prefix.upper()}{self.symbol}"
        return f"{value:g}{self.symbol}"


BYTES: Final = Unit("bytes", "b?", "size such as 4MB, 512KiB or 4096", 0, "B")
BITS_PER_SECOND: Final = Unit("bits per second", "(?:bit)?(?:/s)?", "rate such as 10mbit, 2.5gbit or 64000", 1, "bit")


def parse_size(text: str, field: str) -> int:
    """Bytes in ``text``: ``4MB`` is 4,000,000, ``4MiB`` 4,194,304.

    Raises:
        SettingsError: not a size.
    """
    return _parsed(BYTES.parse, text, field)


def parse_rate(text: str, field: str) -> int:
    """Bits per second in ``text``: ``10mbit`` is 10,000,000, as for tc(8).

    Raises:
        SettingsError: not a rate of 1 bit/s up.
    """
    return _parsed(BITS_PER_SECOND.parse, text, field)


def _parsed(parse: Callable[[str], int], text: str, field: str) -> int:
    try:
        return parse(text)
    except ValueError as error:
        raise SettingsError(field, str(error), text) from None
