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
    """From ``low`` to ``high``, inclusive."""

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
    numbers = [getattr(match, name) for name in getattr(match, "__slots__", ()) if name != "prefix_len"]
    if any(not 0 <= n <= top for n in numbers):
        raise StateError("invalid", f"{where}: {max(numbers, key=abs)} does not fit {width} bits")
    if kind == "exact" and isinstance(match, Exact):
        return match
    if kind == "lpm" and isinstance(match, Lpm | Any):
        return _lpm(match, width, where)
    if kind == "ternary" and isinstance(match, Ternary | Any):
        if isinstance(match, Any) or match.mask == 0:
            return ANY
        return Ternary(match.value & match.mask, match.mask)
    if kind == "range" and isinstance(match, Range | Any):
        if isinstance(match, Range) and match.low > match.high:
            raise StateError("invalid", f"{where}: range from {match.low} to {match.high} is empty")
        return ANY if isinstance(match, Any) or (match.low, match.high) == (0, top) else match
    if kind == "optional" and isinstance(match, Optional | Any):
        return match
    raise StateError("invalid", f"{where}: {type(match).__name__} match given for a key of kind {kind}")


def _lpm(match: Lpm | Any, width: int, where: str) -> Match:
    if isinstance(match, Any):
        return ANY
    if not 0 <= match.prefix_len <= width:
        raise StateError("invalid", f"{where}: prefix length {match.prefix_len} is outside 0..{width}")
    if match.prefix_len == 0:
        return ANY
    return Lpm(match.value & prefix_mask(match.prefix_len, width), match.prefix_len)
