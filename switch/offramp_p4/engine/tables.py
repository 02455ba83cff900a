# SPDX-License-Identifier: Apache-2.0
"""``table.apply()``: key, look-up, action."""

from __future__ import annotations

from typing import Any, Literal

from offramp_p4 import ir
from offramp_p4.engine import lvalues
from offramp_p4.engine.calls import table_action
from offramp_p4.engine.generator import Generator, condition, is_scalar
from offramp_p4.source import Unsupported

Want = Literal["", "hit", "miss", "action_run"]


@condition(ir.TableApply)
def _apply_in_expression(g: Generator, e: ir.TableApply) -> str:
    return call(g, e.table, e.want)


def apply(g: Generator, table: ir.MatchTable) -> None:
    """Write ``table.apply()`` as a statement."""
    if table in g.exiting:
        with g.indented(f"if {call(g, table, '')}:"):
            g.line("return 1")
    else:
        g.line(call(g, table, ""))


def call(g: Generator, table: ir.MatchTable, want: Want) -> str:
    """Text that applies ``table``.

    Its value is 1 for an ``exit`` (``want`` ""), else whether it hit or missed or the name of the action that
    ran; then an ``exit`` raises ExitSignal.
    """
    key = (table, want)
    if key not in g.memo:
        g.memo[key] = g.name(f"table_{want}")
        with g.function(g.memo[key]):
            g.reached(table)
            _write(g, table, want)
    return f"{g.memo[key]}(m)"


def _write(g: Generator, table: ir.MatchTable, want: Want) -> None:
    state = g.target.tables[table]
    name = g.bind(state, "state")
    _find(g, table, name)
    run = f"{_actions(g, table)}[action.action](m, action.args)"
    if state.profile is not None:
        # An empty group, or a member that has gone, does nothing.
        with g.indented("if action is None:"):
            g.line({"": "return 0", "hit": "return 1", "miss": "return 0", "action_run": "return ''"}[want])
    if not want:
        g.line(f"return {run}" if table in g.exiting else run)
        return
    if table in g.exiting:
        with g.indented(f"if {run}:"):
            g.line("raise ExitSignal")
    else:
        g.line(run)
    hit = {"hit": "entry is not None", "miss": "entry is None", "action_run": "action.action"}[want]
    g.line(f"return {hit}")


def _find(g: Generator, table: ir.MatchTable, state: str) -> None:
    """Bind ``key``, ``entry`` and ``action``."""
    values = key_values(g, table)
    if not values:
        g.line("entry = None")
        g.line(f"action = {state}.default")
        return
    g.line(f"entry = {state}.lookup(key := ({', '.join(values)},))")
    with g.indented("if entry is None:"):
        g.line(f"{state}.misses += 1")
        g.line(f"action = {state}.default")
        g.target.on_miss(g, table, state)
    with g.indented("else:"):
        g.line(f"{state}.hits += 1")
        profile = g.target.tables[table].profile
        if profile is None:
            g.line("action = entry.action")
        else:
            pick, draw = g.target.selector_hash(g, table), g.bind(g.target.random, "random")
            g.line(f"action = {g.bind(profile, 'profile')}.resolve(entry.action, {pick}, {draw})")
        g.target.on_hit(g, table)


def key_values(g: Generator, table: ir.MatchTable) -> list[str]:
    """Texts of the values that ``table`` looks up, as unsigned numbers."""
    return [_key(g, key) for key in table.keys if key.match_kind != "selector"]


def _key(g: Generator, key: ir.TableKey) -> str:
    if not is_scalar(key.expr.type):
        raise Unsupported(key.expr.pos, f"a table key of type {key.expr.type}")
    return lvalues.pattern(g.value(key.expr), key.expr.type)


def _actions(g: Generator, table: ir.MatchTable) -> str:
    """The name of the table from action name to generated function."""
    key = (table, "actions")
    if key not in g.memo:
        functions: dict[str, Any] = {}
        g.memo[key] = g.bind(functions, "actions")
        for choice in [table.default.action, *table.actions]:
            g.bind_late(functions, choice.action.name, table_action(g, choice))
    return g.memo[key]
