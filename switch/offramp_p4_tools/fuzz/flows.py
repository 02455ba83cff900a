# SPDX-License-Identifier: Apache-2.0
"""Random tables of PNA programs to which packets add entries, and calls on the timers of entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from offramp_p4.types import Bits
from offramp_p4_tools.fuzz.expressions import condition, expression
from offramp_p4_tools.fuzz.externs import Lines
from offramp_p4_tools.fuzz.scope import Operand, ReachableNames
from offramp_p4_tools.fuzz.statements import StatementGenerator

_TIMEOUTS: Final = ("NO_TIMEOUT", "NOTIFY_CONTROL", "AUTO_DELETE", "AUTO_DELETE")


def timer_calls(scope: ReachableNames) -> list[Callable[[], str]]:
    """Calls on the timer of the entry hit last, if any."""
    return [
        lambda: "restart_expire_timer();",
        lambda: f"set_entry_expire_time({_profile(scope)});",
        lambda: f"set_entry_expire_time_if({condition(scope, 1)}, {_profile(scope)});",
        lambda: f"update_expire_info({condition(scope, 1)}, {condition(scope, 1)}, {_profile(scope)});",
    ]


def _profile(scope: ReachableNames) -> str:
    number = f"{scope.rng.randrange(3)}" if scope.chance(0.7) else f"{expression(scope, Bits(8), 1)}"
    return f"(ExpireTimeProfileId_t)(ExpireTimeProfileIdUint_t)({number})"


def write_flow_table(statements: StatementGenerator, scope: ReachableNames, success: str) -> Lines:
    """A table with the action of a hit and the one of a miss; it is added to what the scope may apply.

    ``success`` is what ``add_entry`` returns when it has added an entry.
    """
    rng, name = scope.rng, statements.name("flows")
    hit, miss = f"{name}_hit", f"{name}_miss"
    types = [scope.bits() for _ in range(rng.randint(0, 3))]
    counter = statements.name("dc") if rng.random() < 0.5 else ""
    lines = [statements.externs.direct_counter(counter)] if counter else []
    inner = scope.inner()
    inner.operands += [Operand(f"d{i}", t, writable=False) for i, t in enumerate(types)]
    inner.in_action, inner.actions = True, []
    lines.append(f"action {hit}({', '.join(f'{t} d{i}' for i, t in enumerate(types))}) {{")
    lines += [f"{counter}.count();"] if counter and rng.random() < 0.8 else []
    lines += [rng.choice(timer_calls(inner))()] if rng.random() < 0.7 else []
    lines += [*statements.block(inner, 3, 1), "}"]
    lines += _miss(statements, scope, (miss, hit), types, success)
    small = [Bits(rng.choice((2, 3, 8, 70))) for _ in range(rng.randint(1, 2))]
    keys = (f'({expression(scope, t, 1)}) & 3 : exact @name("k{i}");' for i, t in enumerate(small))
    lines += [f"table {name} {{", "key = {", *keys, "}"]
    lines += [f"actions = {{ {hit}; {miss}; }}", f"default_action = {miss};", "add_on_miss = true;"]
    if rng.random() < 0.8:
        lines.append(f"pna_idle_timeout = PNA_IdleTimeout_t.{rng.choice(_TIMEOUTS)};")
    lines.append(f"size = {rng.choice((2, 8, 64))};")
    lines += [f"counters = {counter};"] if counter else []
    scope.tables.append((name, [hit, miss]))
    return [*lines, "}"]


def _miss(
    statements: StatementGenerator, scope: ReachableNames, names: tuple[str, str], types: list[Bits], success: str
) -> Lines:
    miss, hit = names
    inner = scope.inner()
    inner.in_action, inner.actions = True, []
    rng = scope.rng
    if len(types) == 1 and rng.random() < 0.5:
        data = expression(inner, types[0], 1)
    else:
        data = "{" + ", ".join(expression(inner, t, 1) for t in types) + "}"
    given = f'"{rng.choice((hit, hit, hit, miss, "nobody"))}", {data}, {_profile(inner)}'
    call = f"add_entry({given})" if rng.random() < 0.6 else f"add_entry_if({condition(inner, 1)}, {given})"
    return [
        f"action {miss}() {{",
        f"meta.link = {call} == {success} ? 16w1 : 16w2;",
        *statements.block(inner, 2, 1),
        "}",
    ]
