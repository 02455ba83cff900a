# SPDX-License-Identifier: Apache-2.0
"""The registers of a packet's next pass are brought into the cache during this one.

A packet that recirculates with a key that counts will find the entry of the next key; where that entry's action sets a
place that the program indexes registers by, their rows are known a pass before they are used. As everywhere in
:mod:`.foresight`, this affects time alone: what does not follow from the entry and this pass's headers is left to wait.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from offramp_base.native.llvm import I32, I64, Value, const, i64
from offramp_p4 import ir
from offramp_p4.engine import walk
from offramp_p4.engine.core import argument
from offramp_p4.native.runtime.foresight import hint_line, next_row
from offramp_p4.native.shape import bits_of

if TYPE_CHECKING:
    from offramp_p4.native.emitter import Emitter
    from offramp_p4.native.plan import Column
    from offramp_p4.native.table_plan import TablePlan

_LINE: Final = 64
_MOST_LINES: Final = 16
"""Cache lines prefetched for one entry; more would not arrive in time."""
_MOST_BITS: Final = 64
_INDEX: Final = {"read": 1, "write": 0}
"""The argument of a register's methods that is the index."""

Places = Mapping[int, tuple["Column", ...]]
"""Rows of registers by the offset of the place that they are indexed by; each row once."""


@dataclass(frozen=True, slots=True)
class Reach:
    """The rows that an entry with this action leads to, at an index."""

    choice: ir.TableAction
    index: ir.Expr
    columns: tuple[Column, ...]


def indexed_places(g: Emitter, columns: Mapping[ir.ExternInstance, Column]) -> Places:
    """The places by which a program's registers are indexed, as far as they are known before run time."""
    columns_at: dict[int, dict[int, Column]] = {}
    for block in walk.blocks(g.program.main):
        for node in walk.nodes(block, into_declarations=True):
            if not isinstance(node, ir.ExternCall) or node.extern != "register" or node.method not in _INDEX:
                continue
            place = g.layout.static(argument(node, _INDEX[node.method]))
            if place is not None and isinstance(node.target, ir.ExternInstance):
                column = columns[node.target]
                columns_at.setdefault(place, {})[column.word] = column
    return {place: tuple(rows.values()) for place, rows in columns_at.items()}


def reaches(g: Emitter, table: ir.MatchTable, places: Places) -> tuple[Reach, ...]:
    """The rows that a table's entries lead to."""
    return tuple(
        Reach(choice, stmt.value, places[place])
        for choice in table.actions
        for stmt in choice.action.body.body
        if isinstance(stmt, ir.Assign) and (place := g.layout.static(stmt.place)) in places and place is not None
        if _follows(g, stmt.value, set(choice.data_params))
    )


def write_hints(g: Emitter, plan: TablePlan, words: Value, spare: Value, known: tuple[Reach, ...]) -> None:
    """Prefetch the rows that the next entry leads to; its key is behind the one at ``words``, ``spare`` holds a key."""
    at = g.call(next_row, g.word_address(plan.words), words, spare, plan.row_size)
    with g.when(g.b.icmp_unsigned("!=", at, i64(0)), likely=True):
        row = g.b.inttoptr(at, g.memory.type)
        number = g.tags.mark(g.b.load(row, typ=I32), "Rows")
        for reach in known:
            same = const(I32, g.target.actions[reach.choice.action.name].number)
            with g.when(g.b.icmp_unsigned("==", number, same)):
                _hint(g, reach, row)


def _hint(g: Emitter, reach: Reach, row: Value) -> None:
    index = g.resize(_value(g, reach.index, reach.choice, row), 64)
    for column, within in _lines(reach.columns):
        start = g.at(g.pointer(column.word), g.b.mul(index, i64(column.stride)))
        g.call(hint_line, g.b.add(g.b.ptrtoint(start, I64), i64(within)))


def _lines(columns: tuple[Column, ...]) -> list[tuple[Column, int]]:
    return [(column, within) for column in columns for within in range(0, column.stride, _LINE)][:_MOST_LINES]


def _follows(g: Emitter, e: ir.Expr, data: set[ir.Var]) -> bool:
    """Whether :func:`_value` knows an expression, which is made of an entry's data and fields of headers."""
    bits = bits_of(e.type)
    if bits is None or bits.signed or bits.width > _MOST_BITS:
        return False
    if isinstance(e, ir.VarRef):
        return e.var in data
    if isinstance(e, ir.Cast):
        return _follows(g, e.operand, data)
    if isinstance(e, ir.Binary):
        return e.op == "+" and _follows(g, e.left, data) and _follows(g, e.right, data)
    return isinstance(e, ir.Const) or (isinstance(e, ir.Member) and g.layout.static(e) is not None)


def _value(g: Emitter, e: ir.Expr, choice: ir.TableAction, row: Value) -> Value:
    """The value of an expression with the data of a row; fields have their values in this pass."""
    bits = bits_of(e.type)
    assert bits is not None
    if isinstance(e, ir.VarRef):
        at, width = g.target.actions[choice.action.name].cells[choice.data_params.index(e.var)]
        return g.load_number(g.at(row, at), width, "Rows")
    if isinstance(e, ir.Cast):
        return g.resize(_value(g, e.operand, choice, row), bits.width)
    if isinstance(e, ir.Binary):
        return g.b.add(*(_value(g, side, choice, row) for side in (e.left, e.right)))
    return g.value(e)
