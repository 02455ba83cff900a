# SPDX-License-Identifier: Apache-2.0
"""Names that the control plane would know twice (P4-16 specification, section 18.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from offramp_p4 import ir
from offramp_p4.frontend.check.typing import Collected
from offramp_p4.source import P4Error

T = TypeVar("T", ir.MatchTable, ir.ExternInstance, ir.ValueSet)
_Named = ir.MatchTable | ir.ExternInstance | ir.ValueSet | ir.Action


def settle_names(out: Collected, namespace: Callable[[ir.Action], str]) -> None:
    """Let each name stand for one thing.

    A table that is never applied gives way, as p4c drops it. Actions may share a name, as ``@name(".nop")`` of
    several controls, if an entry has the same data for each. What nobody named, such as both instances that
    ``C.apply()`` makes in one control, is numbered.

    Raises:
        P4Error: two ``@name`` are one.
    """
    out.tables = [t for t in out.tables if t in out.applied or not _taken(t, out.applied)]
    _number(out.tables, lambda t: t.name)
    _number(out.externs, lambda e: (e.extern, e.name))
    _number(out.value_sets, lambda v: v.name)
    first: dict[tuple[str, str], ir.Action] = {}
    for action in out.actions:
        other = first.setdefault((namespace(action), action.name), action)
        if [v.type for v in other.params] != [v.type for v in action.params]:
            raise _clash(action, other)


def _taken(table: ir.MatchTable, applied: Iterable[ir.MatchTable]) -> bool:
    return any(other.name == table.name for other in applied)


def _number(things: list[T], key: Callable[[T], object]) -> None:
    seen: dict[object, T] = {}
    for thing in things:
        if key(thing) in seen:
            other = seen[key(thing)]
            if _given(thing) and _given(other) and (thing.pos != other.pos or _given(thing).startswith(".")):
                raise _clash(thing, other)
            name, number = thing.name, 0
            while key(thing) in seen:
                thing.name, number = f"{name}_{number}", number + 1
        seen[key(thing)] = thing


def _given(thing: _Named) -> str:
    """The name that ``@name`` gives; empty if there is none."""
    note = thing.annotations.get("name")
    return str(note.args[0]) if note is not None and note.args else ""


def _clash(thing: _Named, other: _Named) -> P4Error:
    return P4Error(thing.pos, f"the control plane knows '{thing.name}' already, from {other.pos}; give one a @name")
