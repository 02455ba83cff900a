# SPDX-License-Identifier: Apache-2.0
"""Writes the calls of PNA's flow cache, as in :mod:`offramp_p4.portable.flows`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.native.llvm import I64, Value, i64
from offramp_p4 import ir
from offramp_p4.engine.core import argument
from offramp_p4.native.emitter import Builder, Emitter
from offramp_p4.native.portable.plan import AddEntry
from offramp_p4.native.record_writing import layout_of
from offramp_p4.native.runtime.portable.flows import add_flow, change_life, give_flow_id, restart_timer
from offramp_p4.native.shape import is_scalar, value_type
from offramp_p4.portable.flows import check_learning, has_timers, learns
from offramp_p4.source import Unsupported
from offramp_p4.types import BOOL, Structure, Tuple, strip

if TYPE_CHECKING:
    from offramp_p4.native.portable.plan import PortablePlan
    from offramp_p4.native.portable.target import NativePortableTarget


class NativeFlowCacheCalls:
    """Calls on the last hit and the last miss, which are words of the packet's memory, 0 at first."""

    def __init__(self, target: NativePortableTarget, program: ir.Program, plan: PortablePlan) -> None:
        self._target, self._plan = target, plan
        self._numbers = {table: number for number, table in enumerate(program.tables, 1)}
        learning = [table for table in program.tables if learns(table)]
        for table in learning:
            check_learning(table)
        layout = target.layout
        self._hit, self._missed = (layout.reserve(8) for _ in range(2))
        self._key = layout.reserve(8 * max((plan.tables[table].key.words for table in learning), default=0))

    def builders(self) -> dict[tuple[str, str], Builder]:
        """The builders of PNA's functions on entries."""
        return {
            ("", "add_entry"): lambda g, e: self._add(g, e, 0),
            ("", "add_entry_if"): lambda g, e: self._add(g, e, 1),
            ("", "allocate_flow_id"): self._allocate,
            ("", "restart_expire_timer"): lambda g, _: self._restart(g),
            ("", "set_entry_expire_time"): lambda g, e: self._set(g, argument(e, 0)),
            ("", "set_entry_expire_time_if"): self._set_if,
            ("", "update_expire_info"): self._update,
        }

    def on_hit(self, g: Emitter, table: ir.MatchTable, entry: Value) -> None:
        """Keep the entry, whose timer its action may restart."""
        if has_timers(table):
            words = i64(self._plan.tables[table].words << 32)
            g.store_number(g.b.or_(words, entry), g.cell(self._hit), 64)

    def on_miss(self, g: Emitter, table: ir.MatchTable, key: Value) -> None:
        """Keep the key, for which the default action may add an entry."""
        if learns(table):
            g.store_number(i64(self._numbers[table]), g.cell(self._missed), 64)
            g.copy(g.cell(self._key), key, 8 * self._plan.tables[table].key.words)

    def _add(self, g: Emitter, e: ir.ExternCall, first: int) -> Value:
        name, data = argument(e, first), argument(e, first + 1)
        if not isinstance(name, ir.Const) or not isinstance(name.value, str):
            raise Unsupported(e.pos, f"{e.method} of an action whose name is not a constant")
        _check_data(e, data)
        room = g.temporary(data)
        profile = g.word_of(argument(e, first + 2))
        site = len(self._plan.sites)
        self._plan.sites.append(AddEntry(name.value, layout_of(data.type)))

        def add() -> Value:
            missed = g.load_number(g.cell(self._missed), 64)
            return g.call(add_flow, g.context, site, missed, _address(g, g.cell(self._key)), _address(g, room), profile)

        added = g.pick(g.value(argument(e, 0)), add, lambda: i64(0), I64) if first else add()
        number = g.resize(added, value_type(e.type).width)
        return number if strip(e.type) == BOOL else g.b.not_(number)  # ADD_ENTRY_SUCCESS is 0

    def _allocate(self, g: Emitter, e: ir.ExternCall) -> Value:
        self._plan.gives_flow_ids = True
        return g.resize(g.call(give_flow_id, g.context), value_type(e.type).width)

    def _restart(self, g: Emitter) -> Value:
        g.call(restart_timer, g.context, g.load_number(g.cell(self._hit), 64))
        return None

    def _set(self, g: Emitter, profile: ir.Expr) -> Value:
        g.call(change_life, g.context, g.load_number(g.cell(self._hit), 64), g.word_of(profile))
        return None

    def _set_if(self, g: Emitter, e: ir.ExternCall) -> Value:
        with g.when(g.value(argument(e, 0))):
            self._set(g, argument(e, 1))
        return None

    def _update(self, g: Emitter, e: ir.ExternCall) -> Value:
        with g.when(g.value(argument(e, 0))):
            g.choose(
                g.value(argument(e, 1)),
                lambda: self._set(g, argument(e, 2)),
                lambda: self._restart(g),
            )
        return None


def _address(g: Emitter, place: Value) -> Value:
    return g.b.ptrtoint(place, I64)


def _check_data(e: ir.ExternCall, data: ir.Expr) -> None:
    t = strip(data.type)
    if is_scalar(t):
        return
    if not isinstance(t, Structure | Tuple):
        raise Unsupported(e.pos, f"{e.method} with arguments of type {t}, which is not a struct")
    kinds = [f.type for f in t.fields] if isinstance(t, Structure) else list(t.types)
    if not all(is_scalar(kind) for kind in kinds):
        raise Unsupported(e.pos, f"{e.method} with arguments that are not all numbers")
