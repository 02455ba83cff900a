# SPDX-License-Identifier: Apache-2.0
"""``table.apply()``: key, look-up, action."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from offramp_base.native.llvm import I32, I64, Value, const, i64
from offramp_base.native.records import offset
from offramp_p4 import ir
from offramp_p4.native import actions as rows
from offramp_p4.native.calls import action, copy_in, ends, run
from offramp_p4.native.emitter import Emitter, value
from offramp_p4.native.lookup import key_room, lookup
from offramp_p4.native.next_pass import write_hints
from offramp_p4.native.runtime.context import TableRecord
from offramp_p4.native.runtime.foresight import hint_next
from offramp_p4.native.runtime.member_status import count_up, member_up
from offramp_p4.native.runtime.program import DONE
from offramp_p4.native.runtime.randomness import draw_between
from offramp_p4.native.shape import is_scalar
from offramp_p4.native.table_plan import MemberBits, TablePlan
from offramp_p4.source import Unsupported


@dataclass(frozen=True, slots=True)
class Applied:
    """The result of ``apply()``: whether an entry matched, and the number of the action that ran (or none)."""

    hit: Value
    ran: Value


@value(ir.TableApply)
def _apply_in_expression(g: Emitter, e: ir.TableApply) -> Value:
    hit = call(g, e.table).hit
    return hit if e.want == "hit" else g.b.not_(hit)


def apply(g: Emitter, table: ir.MatchTable) -> None:
    """Write ``table.apply()`` as a statement."""
    call(g, table)


def call(g: Emitter, table: ir.MatchTable) -> Applied:
    """Write ``table.apply()``."""
    if table not in g.memo:
        with g.function(table.name, params=3) as function:
            _write(g, table, function.args[2])
        g.memo[table] = function
    result = g.allocate(I64)
    how = ends(g, table)
    code = g.b.call(g.memo[table], [g.context, g.memory, result])
    if how:
        g.leave_if(g.b.icmp_unsigned("!=", code, const(I32, DONE)), code)
    packed = g.b.load(result, typ=I64)
    hit = g.b.icmp_unsigned("!=", g.b.and_(packed, i64(1)), i64(0))
    return Applied(hit, g.b.trunc(g.b.lshr(packed, i64(32)), I32))


def _write(g: Emitter, table: ir.MatchTable, result: Value) -> None:
    plan: TablePlan = g.target.table(table)
    searched = plan.key.search != "none"
    log = g.log
    if log is not None:
        log.table(g, table)
    words = key_room(g, plan) if searched else i64(0)
    entry = _find(g, plan, [k.expr for k in table.keys if k.match_kind != "selector"], words)
    if table in g.counted:
        g.call(hint_next, g.word_address(plan.words), words, entry, plan.row_size)
        if g.counted[table]:
            write_hints(g, plan, words, key_room(g, plan), g.counted[table])
    row, hit_cell = g.allocate(I64), g.allocate(I64)
    hit = g.b.icmp_unsigned("!=", entry, i64(0))

    def matched() -> None:
        if log is not None:
            log.outcome(g, table, entry)
        count(g, plan.words + TableRecord.hits)
        at = g.b.add(g.word(plan.words + offset(TableRecord.rows)), g.b.mul(g.b.sub(entry, i64(1)), i64(plan.row_size)))
        g.b.store(at if plan.profile is None else _resolve(g, table, plan, at), row)
        g.b.store(i64(1), hit_cell)
        g.target.on_hit(g, table, entry)

    def missed() -> None:
        if log is not None:
            log.outcome(g, table, None)
        if searched:
            count(g, plan.words + TableRecord.misses)
            g.target.on_miss(g, table, words)
        g.b.store(g.word(plan.words + TableRecord.default), row)
        g.b.store(i64(0), hit_cell)

    if searched:
        g.choose(hit, matched, missed)
    else:
        missed()
    flag = g.b.load(hit_cell, typ=I64)
    _run(g, table, g.b.inttoptr(g.b.load(row, typ=I64), g.memory.type), flag, result)


def count(g: Emitter, word: int) -> None:
    """Add 1 to a word of the context."""
    address = g.word_address(word)
    g.tags.mark(g.b.store(g.b.add(g.word(word), i64(1)), address), "Words")


def _find(g: Emitter, plan: TablePlan, keys: Sequence[ir.Expr], words: Value) -> Value:
    values = []
    for key in keys:
        if not is_scalar(key.type):
            raise Unsupported(key.pos, f"a table key of type {key.type}")
        values.append(g.value(key))
    for i in plan.key.ranges:
        if plan.key.widths[i] > 64:
            raise Unsupported(keys[i].pos, "a range key of more than 64 bits")
    return lookup(g, plan, values, words) if plan.key.search != "none" else i64(0)


def _resolve(g: Emitter, table: ir.MatchTable, plan: TablePlan, row: Value) -> Value:
    """The address of the member's row that an entry's row stands for."""
    assert plan.profile is not None
    at = g.b.inttoptr(row, g.memory.type)
    kind, index = (g.tags.mark(g.b.load(g.at(at, o), typ=I32), "Rows") for o in (0, 4))
    index = g.resize(index, 64)
    hashed = g.target.selector_hash(g, table)
    rows_at, groups_at = plan.profile, plan.profile + 1

    def of_group_with_status(bits: MemberBits) -> Value:
        group = g.at(g.pointer(groups_at), g.b.mul(index, i64(24)))
        row = [g.tags.mark(g.b.load(g.at(group, o), typ=I64), "Rows") for o in (0, 8, 16)]
        members, size, places = g.b.inttoptr(row[0], g.memory.type), row[1], g.b.inttoptr(row[2], g.memory.type)
        column = g.at(g.pointer(bits.word), i64(bits.offset))
        up = g.call(count_up, places, size, column, i64(bits.stride))
        none = g.b.icmp_unsigned("==", up, i64(0))
        which = g.b.urem(hashed, g.b.select(none, i64(1), up))
        return g.call(member_up, members, places, size, column, i64(bits.stride), which)

    def of_group() -> Value:
        if plan.status is not None:
            return of_group_with_status(plan.status)
        group = g.at(g.pointer(groups_at), g.b.mul(index, i64(16)))
        members, size = (g.tags.mark(g.b.load(g.at(group, o), typ=I64), "Rows") for o in (0, 8))

        def drawn() -> Value:
            return g.call(draw_between, g.context, i64(0), g.b.sub(i64(-1), size))

        def hashed_member() -> Value:
            empty = g.b.icmp_unsigned("==", size, i64(0))
            return g.b.urem(hashed, g.b.select(empty, i64(1), size))

        which = g.pick(g.b.icmp_signed("<", size, i64(0)), drawn, hashed_member, I64)
        member = g.b.load(g.at(g.b.inttoptr(members, g.memory.type), g.b.mul(which, i64(8))), typ=I64)
        return g.tags.mark(member, "Rows")

    is_group = g.b.icmp_unsigned("==", kind, const(I32, rows.GROUP))
    member = g.pick(is_group, of_group, lambda: index, I64)
    return g.b.add(g.word(rows_at), g.b.mul(member, i64(plan.member_size)))


def _run(g: Emitter, table: ir.MatchTable, row: Value, hit: Value, result: Value) -> None:
    """Run the action of a row, and say what was run."""
    number = g.tags.mark(g.b.load(row, typ=I32), "Rows")
    packed = g.b.or_(g.b.shl(g.resize(number, 64), i64(32)), hit)
    g.b.store(packed, result)
    end = g.block("end")
    switch = g.b.switch(number, end)
    for name, choice in rows.choices(table).items():
        case = g.block("action")
        switch.add_case(const(I32, g.target.actions[name].number), case)
        g.b.position_at_end(case)
        _run_action(g, choice, row)
        g.jump(end)
    g.b.position_at_end(end)


def _run_action(g: Emitter, choice: ir.TableAction, row: Value) -> None:
    out = copy_in(g, choice.action.params[: len(choice.bound)], choice.bound)
    cells = g.target.actions[choice.action.name].cells
    for param, (at, width) in zip(choice.data_params, cells, strict=True):
        datum = g.load_number(g.at(row, at), width, "Rows")
        g.store(datum, g.cell(g.layout.base(param)), param.type)
    if g.log is not None:
        g.log.entry(g, choice)
    run(g, action(g, choice.action), out, ends(g, choice.action))
