# SPDX-License-Identifier: Apache-2.0
"""Entries of tables in the source: keys that fit their match kinds, priorities (P4-16 section 14.2.1.4)."""

from __future__ import annotations

from itertools import pairwise

from offramp_p4 import ir
from offramp_p4.frontend.check.conversions import is_constant
from offramp_p4.source import P4Error, Pos
from offramp_p4.types import Bits

_ORDERED = ("ternary", "range", "optional")


def check_entry_key(key: ir.Key, t: ir.TableKey, pos: Pos) -> None:
    """Check that an entry's key is allowed for its match kind."""
    if isinstance(key, ir.KeyValue) and not is_constant(key.value):
        raise P4Error(pos, "the keys of an entry must be known at compile time")
    if isinstance(key, ir.KeyMask):
        if t.match_kind == "exact" or t.match_kind == "optional":
            raise P4Error(pos, f"a mask cannot match an {t.match_kind} key")
        if t.match_kind == "lpm" and isinstance(key.mask, ir.Const) and isinstance(t.expr.type, Bits):
            mask = int(key.mask.value)
            inverse = ~mask & t.expr.type.mask
            if inverse & (inverse + 1):
                raise P4Error(pos, f"mask {mask:#x} is not a prefix")
    if isinstance(key, ir.KeyRange) and t.match_kind != "range":
        raise P4Error(pos, f"a range cannot match a key of kind '{t.match_kind}'")
    if isinstance(key, ir.KeyAny) and t.match_kind == "exact":
        raise P4Error(pos, "'_' cannot match an exact key")


def check_entries(table: ir.MatchTable) -> None:
    """Give every entry its priority if one has any; no entry of a table without priorities comes twice."""
    if any(k.match_kind in _ORDERED for k in table.keys):
        _fill_priorities(table)
    else:
        _check_unordered(table)


def _fill_priorities(table: ir.MatchTable) -> None:
    """An entry without a priority follows the one before it by ``priority_delta``."""
    if all(e.priority is None for e in table.entries):
        return
    if table.entries[0].priority is None:
        raise P4Error(table.entries[0].pos, "the first entry needs a priority, as a later one has it")
    step = -table.priority_delta if table.largest_priority_wins else table.priority_delta
    for before, entry in pairwise(table.entries):
        if entry.priority is None:
            assert before.priority is not None
            entry.priority = before.priority + step
            if entry.priority < 0:
                raise P4Error(entry.pos, f"this entry would have the priority {entry.priority}; give it one")


def _check_unordered(table: ir.MatchTable) -> None:
    seen: dict[tuple[object, ...], Pos] = {}
    for entry in table.entries:
        if entry.priority is not None:
            what = f"the entries of table '{table.name}' have no priorities"
            raise P4Error(entry.pos, f"{what}: its keys are exact or lpm")
        key = tuple(_identity(k) for k in entry.keys)
        if None not in key and key in seen:
            raise P4Error(entry.pos, f"another entry has these keys, at {seen[key]}")
        seen[key] = entry.pos


def _identity(key: ir.Key) -> object:
    if isinstance(key, ir.KeyValue):
        return key.value.value if isinstance(key.value, ir.Const) else None
    if isinstance(key, ir.KeyMask) and isinstance(key.value, ir.Const) and isinstance(key.mask, ir.Const):
        value, mask = int(key.value.value), int(key.mask.value)
        return value & mask, mask
    return "_" if isinstance(key, ir.KeyAny) else None
