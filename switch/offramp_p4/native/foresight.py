# SPDX-License-Identifier: Apache-2.0
"""Look-ups of packets that are still to come: their slots and rows are brought into the cache meanwhile.

A hint has no effect but on time, so it may be wrong. A header's field is taken to stand where the first way through the
parser that extracts the header finds it; what else a key has is taken to be 0, as metadata are at first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from offramp_base.native.llvm import PTR, Value, const, i64, ll
from offramp_p4 import ir
from offramp_p4.native.codec import leaves, load_bytes
from offramp_p4.native.emitter import Emitter
from offramp_p4.native.lookup import key_room, store_key
from offramp_p4.native.runtime.foresight import hint_prefix, hint_root, hint_row, hint_slot
from offramp_p4.native.table_plan import TablePlan
from offramp_p4.types import Header, strip

_MOST_STEPS: Final = 256
"""States that are looked at: ways through a parser may be many."""


@dataclass(frozen=True, slots=True)
class _FrameField:
    """The place of a field in a frame, in bits."""

    bit: int
    width: int

    @property
    def end(self) -> int:
        """The byte behind it."""
        return (self.bit + self.width + 7) // 8


def fields_of(g: Emitter, parser: ir.ParserInstance) -> dict[int, _FrameField]:
    """The fields of headers by their offsets in a packet's memory."""
    fields: dict[int, _FrameField] = {}
    todo, steps = [("start", 0)], 0
    seen: set[tuple[str, int]] = set()
    while todo and steps < _MOST_STEPS:
        name, bit = todo.pop(0)
        state = parser.states.get(name)
        if state is None or (name, bit) in seen:
            continue
        seen.add((name, bit))
        steps += 1
        end = _extracted(g, state, bit, fields)
        if end is not None:
            todo += [(case.target, end) for case in state.cases]
    return fields


def _extracted(g: Emitter, state: ir.ParserState, bit: int, fields: dict[int, _FrameField]) -> int | None:
    """Record the fields that a state extracts from ``bit`` on; returns the next bit, None if only known at run time."""
    for stmt in state.body:
        call = stmt.expr if isinstance(stmt, ir.Eval) else None
        if not isinstance(call, ir.ExternCall) or call.extern != "packet_in":
            continue
        place = call.args[0].expr if call.args else None
        header = None if place is None else strip(place.type)
        if call.method != "extract" or len(call.args) != 1 or not isinstance(header, Header) or place is None:
            return None
        base = g.layout.static(place)
        for leaf in leaves(header):
            if base is not None and leaf.width:
                fields.setdefault(base + leaf.offset, _FrameField(bit, leaf.width))
            bit += leaf.width
    return bit


_Hinted = tuple[TablePlan, list[_FrameField | None]]
"""A table whose keys are known, and where they stand in a frame."""


class Foresight:
    """Hints for the look-ups of a program's tables.

    Attributes:
        counted: those with keys of one word that end in something else than a field of a header: a packet that comes
            again may count there.
    """

    def __init__(self, g: Emitter, tables: Sequence[ir.MatchTable], parser: ir.ParserInstance) -> None:
        known = fields_of(g, parser)
        self._exact: list[_Hinted] = []
        self._prefixes: list[_Hinted] = []
        counted = set()
        for table in tables:
            plan: TablePlan = g.target.table(table)
            # what selects a member is hashed, and no part of the key
            places = [g.layout.static(key.expr) for key in table.keys if key.match_kind != "selector"]
            keys = [None if place is None else known.get(place) for place in places]
            if plan.key.search == "exact" and any(keys):
                self._exact.append((plan, keys))
                if plan.key.words == 1 and keys[-1] is None:
                    counted.add(table)
            elif plan.key.search == "prefix" and not plan.key.exact and keys[0] is not None:
                self._prefixes.append((plan, keys))
        self.counted = frozenset(counted)

    def write(self, g: Emitter) -> dict[str, Value]:
        """Write ``foresee_roots``, ``foresee_slots``, ``foresee_rows`` of :mod:`offramp_p4.native.runtime.program`."""

        def roots(plan: TablePlan, words: Value) -> None:
            g.call(hint_root, g.word_address(plan.words), words, plan.key.widths[0], plan.key.root_bits)

        def slots(plan: TablePlan, words: Value) -> None:
            key, table = plan.key, g.word_address(plan.words)
            if key.search == "exact":
                g.call(hint_slot, table, words, key.words)
            else:
                shape = (key.words, key.widths[0], key.root_bits, key.extra_at)
                g.call(hint_prefix, table, words, key_room(g, plan), *shape)

        def rows(plan: TablePlan, words: Value) -> None:
            g.call(hint_row, g.word_address(plan.words), words, plan.key.words, plan.row_size)

        return {
            "foresee_roots": _function(g, "foresee_roots", self._prefixes, roots),
            "foresee_slots": _function(g, "foresee_slots", self._exact + self._prefixes, slots),
            "foresee_rows": _function(g, "foresee_rows", self._exact, rows),
        }


def _function(g: Emitter, name: str, hinted: list[_Hinted], hint: Callable[[TablePlan, Value], None]) -> Value:
    """Write a function that gives hints for the keys in a frame, as far as that has them."""
    with g.plain_function(name, ll.FunctionType(ll.VoidType(), [PTR, PTR, ll.IntType(64)])) as function:
        _, frame, length = function.args
        for plan, keys in hinted:
            end = max(key.end for key in keys if key)
            with g.when(g.b.icmp_unsigned(">=", length, i64(end)), likely=True):
                hint(plan, _key(g, plan, keys, frame))
    return function


def _key(g: Emitter, plan: TablePlan, keys: Sequence[_FrameField | None], frame: Value) -> Value:
    """The address of the words of a key."""
    values = []
    for field, width in zip(keys, plan.key.widths, strict=True):
        if field is None or field.width != width:
            values.append(const(ll.IntType(max(width, 1)), 0))
            continue
        first = field.bit // 8
        whole = load_bytes(g, g.at(frame, first), field.end - first)
        below = 8 * field.end - field.bit - width
        number = g.b.lshr(whole, const(whole.type, below)) if below else whole
        values.append(g.resize(number, width))
    words = key_room(g, plan)
    store_key(g, plan, values, words)
    return words
