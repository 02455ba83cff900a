# SPDX-License-Identifier: Apache-2.0
"""Hashes that do not tell two fields apart: ``@symmetric("hdr.ip.src", "hdr.ip.dst")`` on a ``Hash`` or a selector.

As in p4c's Tofino back end, both fields of a pair stand at the place of the later one in the hash's data, and zeros
at the place of the earlier one. A CRC is linear, so it sees their exclusive or.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from offramp_p4 import constructor, ir
from offramp_p4.engine import bits
from offramp_p4.engine.packing import fields_of
from offramp_p4.names import place
from offramp_p4.source import P4Error, Pos, Unsupported
from offramp_p4.types import Annotation, Structure, Type, strip

_CRCS = ("CRC8", "CRC16", "CRC32", "CRC64", "CUSTOM")


@dataclass(frozen=True, slots=True)
class FieldPair:
    """Two fields of equal width in the data of a hash; both are counted from the lowest bit."""

    earlier: int
    later: int
    width: int


def fold(number: int, pairs: Iterable[FieldPair]) -> int:
    """The data of a hash with the fields of each pair at one place."""
    for pair in pairs:
        field = number >> pair.earlier & (1 << pair.width) - 1
        number ^= field << pair.earlier ^ field << pair.later
    return number


def pairs_of(function: ir.ExternInstance, data: ir.Expr, *owners: ir.ExternInstance) -> tuple[FieldPair, ...]:
    """The pairs among the fields of ``data`` that a ``Hash``, or another of its owners, has annotated.

    Raises:
        P4Error: a field is not there, is in two pairs, or has another width than the other.
        Unsupported: the hash is not a CRC.
    """
    annotated = [each for owner in (function, *owners) for each in _annotations(owner)]
    if not annotated:
        return ()
    if constructor.member(function, "algo") not in _CRCS:
        raise Unsupported(function.pos, f"@symmetric on Hash {function.name}, which is not a CRC")
    places = _places(data)
    names: set[str] = set()
    return tuple(_pair(annotation, places, names, data.pos) for annotation in annotated)


def _annotations(owner: ir.ExternInstance) -> Iterator[Annotation]:
    last = owner.annotations.get("symmetric")
    if last is not None:
        yield from (*last.others, last)


def _pair(annotation: Annotation, places: dict[str, tuple[int, int]], seen: set[str], pos: Pos) -> FieldPair:
    names = [str(name) for name in annotation.args]
    if len(names) != 2 or not all(isinstance(name, str) for name in annotation.args):
        raise P4Error(pos, "@symmetric needs the names of two fields")
    for name in names:
        if name not in places:
            raise P4Error(pos, f"@symmetric: {name} is not one of the fields that are hashed")
        if name in seen:
            raise P4Error(pos, f"@symmetric: {name} is in more than one pair, or twice in one")
        seen.add(name)
    (one, width), (other, as_wide) = (places[name] for name in names)
    if width != as_wide:
        raise P4Error(pos, f"@symmetric: {names[0]} has {width} bits, {names[1]} has {as_wide}")
    return FieldPair(max(one, other), min(one, other), width)


def _places(data: ir.Expr) -> dict[str, tuple[int, int]]:
    """The lowest bit and the width of each field that has a name, by that; the first field is in the highest bits."""
    leaves = list(_leaves(data))
    places, at = {}, sum(width for _, width in leaves)
    for name, width in leaves:
        at -= width
        places[name] = at, width
    return places


def _leaves(data: ir.Expr) -> Iterator[tuple[str, int]]:
    for part in fields_of(data):
        if isinstance(part, ir.Compose):
            yield from _leaves(part)
        else:
            yield from _named(place(part), part.type)


def _named(name: str, t: Type) -> Iterator[tuple[str, int]]:
    t = strip(t)
    if not isinstance(t, Structure):
        yield name, bits.width(t)
        return
    for field in t.fields:
        yield from _named(f"{name}.{field.name}", field.type)
