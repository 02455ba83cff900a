# SPDX-License-Identifier: Apache-2.0
"""Names of many hosts in one word, as Slurm writes them: ``gpu[1-4,7]``, ``r[01-02]n[1-8]``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Final

from offramp_base.errors import OfframpError

MOST: Final = 65536
_SHOWN: Final = 4
_PART: Final = re.compile(r"\[([^\[\]]*)\]|([^\[\],]+)")
_RANGE: Final = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")


def expand(text: str) -> list[str]:
    """All names that ``text`` stands for, in order; commas between words too.

    Raises:
        OfframpError: brackets that are not closed, a range that runs down, or more than :data:`MOST` names.
    """
    names: list[str] = []
    for word in re.findall(r"(?:[^,\[\]]|\[[^\[\]]*\])+", text):
        parts: list[list[str]] = []
        count = 1
        for match in _PART.finditer(word):
            parts.append(_choices(match[1]) if match[2] is None else [match[2]])
            count *= len(parts[-1])
            if len(names) + count > MOST:  # before the next part: a text of a megabyte may name 100,000 long ranges
                raise OfframpError(f"{text[:60]}: stands for more than {MOST} names")
        names += ["".join(each) for each in product(*parts)]
    if text.count("[") != text.count("]") or not names:
        raise OfframpError(f"{text[:60]}: expected names such as gpu[1-4,7]")
    return names


def _choices(ranges: str) -> list[str]:
    choices: list[str] = []
    for part in ranges.split(","):
        match = _RANGE.fullmatch(part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if match is None or not first <= last < first + MOST - len(choices):
            raise OfframpError(f"[{ranges[:60]}]: expected ranges such as 1-4,7")
        choices += [str(n).zfill(len(match[1])) for n in range(first, last + 1)]
    return choices


def join(names: Sequence[str]) -> str:
    """The shortest usual writing of names: those that differ in a last number become one word."""
    groups: dict[tuple[str, int], list[int]] = {}
    for name in names:
        match = re.fullmatch(r"(.*?)(\d{1,9})", name)
        key = (name, -1) if match is None else (match[1], len(match[2]) if match[2][0] == "0" else 0)
        groups.setdefault(key, []).append(int(match[2]) if match else 0)
    return ",".join(head if width < 0 else head + _joined(sorted(ns), width) for (head, width), ns in groups.items())


def _joined(numbers: list[int], width: int) -> str:
    spans: list[list[int]] = []
    for n in numbers:
        if spans and n == spans[-1][1] + 1:
            spans[-1][1] = n
        else:
            spans.append([n, n])
    parts = [str(a).zfill(width) + (f"-{str(b).zfill(width)}" if b > a else "") for a, b in spans]
    return parts[0] if len(numbers) == 1 else f"[{','.join(parts)}]"


def some(things: Iterable[object], most: int = _SHOWN) -> str:
    """The first few names, for a message, and the number of the others."""
    rows = [str(each) for each in things]
    rest = len(rows) - most
    return ", ".join(rows) if rest <= 1 else f"{', '.join(rows[:most])} and {rest} more"
