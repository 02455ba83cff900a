# SPDX-License-Identifier: Apache-2.0
"""Matches: what one key of a table entry, or of a value set's member, accepts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from offramp_base.errors import OfframpError
from offramp_p4.types import BOOL, Bits, Enum, Type, strip

ErrorKind = Literal["not_found", "already_exists", "invalid", "exhausted", "permission_denied"]


class StateError(OfframpError):
    """A request of the control plane that cannot be done; nothing has changed. ``kind`` says why."""

    def __init__(self, kind: ErrorKind, message: str) -> None:
        self.kind = kind
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Exact:
    """Equal to ``value``."""

    value: int


@dataclass(frozen=True, slots=True)
class Lpm:
    """The first ``prefix_len`` bits equal those of ``value``."""

    value: int
    prefix_len: int


@dataclass(frozen=True, slots=True)
class Ternary:
    """Equal to ``value`` where ``mask`` is 1."""

    value: int
    mask: int


@dataclass(frozen=True, slots=True)
class Range:
    """A range from ``low`` to ``high``, inclusive."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Optional:
    """Equal to ``value``; match kind ``optional``, whose other form is :data:`ANY`."""

    value: int


@dataclass(frozen=True, slots=True)
class Any:
    """Every value: the don't-care of lpm, ternary, range and optional keys."""


ANY: Final = Any()
Match = Exact | Lpm | Ternary | Range | Optional | Any


def key_width(t: Type) -> int:
    """Bits of a key or action parameter (an enum or error counts 32, as in bmv2)."""
    t = strip(t)
    if isinstance(t, Bits):
        return t.width
    if isinstance(t, Enum) and t.base is not None:
        return t.base.width
    return 1 if t == BOOL else 32


def prefix_mask(length: int, width: int) -> int:
    """The mask of a prefix of ``length`` bits."""
    return ((1 << length) - 1) << (width - length)


def matches(match: Match, value: int, width: int) -> bool:
    """Whether ``value`` of ``width`` bits satisfies ``match``."""
    if isinstance(match, Exact | Optional):
        return value == match.value
    if isinstance(match, Lpm):
        return (value ^ match.value) & prefix_mask(match.prefix_len, width) == 0
    if isinstance(match, Ternary):
        return (value ^ match.value) & match.mask == 0
    if isinstance(match, Range):
        return match.low <= value <= match.high
    return True


def normalise(match: Match, kind: str, width: int, where: str) -> Match:
    """The canonical form of ``match`` for a key of ``kind``: masked value, don't-care as :data:`ANY`.

    Raises:
        StateError: the match does not suit the kind, or a value does not fit ``width`` bits.
    """
    top = (1 << width) - 1
    form = type(match)  # compared in place of isinstance: this is most of what an insertion costs
    if form is Ternary and kind == "ternary":
        value, mask = match.value, match.mask  # type: ignore[union-attr]
        if 0 <= value | mask <= top:
            if not mask:
                return ANY
            return match if value & mask == value else Ternary(value & mask, mask)
    elif form is Any and kind != "exact":
        return ANY
    numbers = [getattr(match, name) for name in getattr(match, "__slots__", ()) if name != "prefix_len"]
    if any(not 0 <= n <= top for n in numbers):
        raise StateError("invalid", f"{where}: {max(numbers, key=abs)} does not fit {width} bits")
    if kind == "exact" and isinstance(match, Exact):
        return match
    if kind == "lpm" and isinstance(match, Lpm):
        return _lpm(match, width, where)
    if kind == "range" and isinstance(match, Range):
        if match.low > match.high:
            raise StateError("invalid", f"{where}: range from {match.low} to {match.high} is empty")
        return ANY if (match.low, match.high) == (0, top) else match
    if kind == "optional" and isinstance(match, Optional):
        return match
    raise StateError("invalid", f"{where}: {type(match).__name__} match given for a key of kind {kind}")


def _lpm(match: Lpm, width: int, where: str) -> Match:
    if not 0 <= match.prefix_len <= width:
        raise StateError("invalid", f"{where}: prefix length {match.prefix_len} is outside 0..{width}")
    if match.prefix_len == 0:
        return ANY
    value = match.value & prefix_mask(match.prefix_len, width)
    return match if value == match.value else Lpm(value, match.prefix_len)
