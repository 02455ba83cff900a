# SPDX-License-Identifier: Apache-2.0
"""Keys of entries as bmv2's run-time services carry them: octets as many as the field has, with a kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from offramp_p4.state import ANY, Exact, Lpm, Match, Optional, Range, Ternary
from offramp_p4_tools.dropin.thrift.services import RequestRefused, TableCode

if TYPE_CHECKING:
    from offramp_p4.state import TableState

EXACT, LPM, TERNARY, VALID, RANGE = range(5)


def matches(table: TableState, params: list[Any]) -> tuple[Match, ...]:
    """The keys of an entry from the parameters of a request.

    Raises:
        RequestRefused: with ``BAD_MATCH_KEY``; another number, kind or length than the table has.
    """
    if len(params) != len(table.kinds):
        raise RequestRefused(TableCode.KEY, f"table {table.name} has {len(table.kinds)} keys, not {len(params)}")
    return tuple(_match(p, kind, width) for p, kind, width in zip(params, table.kinds, table.widths, strict=True))


def _match(param: Any, kind: str, width: int) -> Match:
    inner = next((param[name] for name in ("exact", "lpm", "ternary", "valid", "range") if param.get(name)), None)
    if inner is None:
        raise RequestRefused(TableCode.KEY, "a key without a value")
    top, size = (1 << width) - 1, (width + 7) // 8

    def value(name: str) -> int:
        octets = inner.get(name, b"")
        if len(octets) != size:
            raise RequestRefused(TableCode.KEY, f"{len(octets)} octets for {width} bits: expected {size}")
        number = int.from_bytes(octets, "big")
        if number > top:
            raise RequestRefused(TableCode.KEY, f"{number:#x} is longer than {width} bits")
        return number

    if param["type"] == VALID:
        return Exact(int(inner.get("key", False)))
    if param["type"] == LPM and kind == "lpm":
        length = inner.get("prefix_length", 0)
        if not 0 <= length <= width:
            raise RequestRefused(TableCode.KEY, f"prefix length {length} is outside 0..{width}")
        return Lpm(value("key"), length)
    if param["type"] == RANGE and kind == "range":
        low, high = value("start"), value("end_")
        if low > high:
            raise RequestRefused(TableCode.KEY, f"range from {low} to {high} is empty")
        return Range(low, high)
    if param["type"] == TERNARY and kind in {"ternary", "optional"}:
        number, mask = value("key"), value("mask")
        if not mask:
            return ANY
        return Optional(number) if kind == "optional" and mask == top else Ternary(number & mask, mask)
    if param["type"] == EXACT and kind == "exact":
        return Exact(value("key"))
    raise RequestRefused(TableCode.KEY, f"a key of another kind than {kind}")


def match_param(match: Match, kind: str, width: int) -> dict[str, Any]:
    """A key of an entry as the parameter of an answer."""
    size, top = (width + 7) // 8, (1 << width) - 1

    def octets(value: int) -> bytes:
        return value.to_bytes(size, "big")

    if isinstance(match, Exact):
        return {"type": EXACT, "exact": {"key": octets(match.value)}}
    if kind == "lpm":
        value, length = (match.value, match.prefix_len) if isinstance(match, Lpm) else (0, 0)
        return {"type": LPM, "lpm": {"key": octets(value), "prefix_length": length}}
    if kind == "range":
        low, high = (match.low, match.high) if isinstance(match, Range) else (0, top)
        return {"type": RANGE, "range": {"start": octets(low), "end_": octets(high)}}
    value, mask = 0, 0
    if isinstance(match, Ternary):
        value, mask = match.value, match.mask
    elif isinstance(match, Optional):
        value, mask = match.value, top
    return {"type": TERNARY, "ternary": {"key": octets(value), "mask": octets(mask)}}
