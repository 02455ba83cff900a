# SPDX-License-Identifier: Apache-2.0
"""Registers and the stateful ALUs that work on them: one read, one computation, one write back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from offramp_p4 import ir
from offramp_p4.engine import calls, lvalues
from offramp_p4.engine.core import argument, instance
from offramp_p4.source import Unsupported
from offramp_p4.state import ActionProfileState
from offramp_p4.tna.math_unit import math_unit
from offramp_p4.tna.register_of import register_of
from offramp_p4.types import Bits, Struct, strip

if TYPE_CHECKING:
    from offramp_p4.engine.generator import Builder, Generator
    from offramp_p4.tna.objects import TofinoRegister
    from offramp_p4.tna.target import TnaTarget


ACTIONS: Final = (
    *(f"{kind}RegisterAction{results}" for kind in ("", "Direct") for results in ("", 2, 3, 4)),
    "SelectorAction",
)
"""The externs whose ``apply`` works on a word of a register."""


def builders(target: TnaTarget) -> dict[tuple[str, str], Builder]:
    """The builders of these externs."""
    made: dict[tuple[str, str], Builder] = {
        ("Register", "write"): lambda g, e: _write(target, g, e),
        ("DirectRegister", "write"): lambda g, e: _write(target, g, e),
        ("MathUnit", "execute"): _math,
    }
    for extern in ("Register", "DirectRegister", "RegisterParam"):
        made[extern, "read"] = lambda g, e: _read(target, g, e)
    for extern in ACTIONS:
        made[extern, "execute"] = lambda g, e: _execute(target, g, e)
        made[extern, "execute_log"] = lambda g, e: _execute_log(target, g, e)
        made[extern, "predicate"] = _predicate
    return made


def state_of(states: Mapping[ir.ExternInstance, Any], register: ir.ExternInstance) -> TofinoRegister:
    """The words of a register, or those of a selector's memory."""
    state = states[register]
    if isinstance(state, ActionProfileState):
        assert state.status is not None
        state = state.status.bits
    return cast("TofinoRegister", state)


def check_index_given(e: ir.ExternCall, *, direct: bool) -> None:
    """Check that a call says which word it is about.

    Raises:
        Unsupported: it is a selector action's, which the language allows to leave that to the chip.
    """
    if not direct and not (e.args and e.args[0].expr is not None):
        raise Unsupported(e.pos, f"{e.extern}.execute without an index")


def _execute(target: TnaTarget, g: Generator, e: ir.ExternCall) -> str:
    action = instance(e)
    direct = action.extern.startswith("Direct")
    check_index_given(e, direct=direct)
    index = "0" if direct else g.value(argument(e, 0))
    return _run(target, g, e, index, e.args if direct else e.args[1:])


def _execute_log(target: TnaTarget, g: Generator, e: ir.ExternCall) -> str:
    action = instance(e)
    count = g.bind(target.objects.logs.setdefault(action, [0]), "log")
    index = g.temporary(f"{count}[0]", "i")
    g.line(f"{count}[0] = ({index} + 1) % {state_of(target.objects.of, register_of(action)).size}")
    return _run(target, g, e, index, e.args)


def _run(target: TnaTarget, g: Generator, e: ir.ExternCall, index: str, more: list[ir.Arg]) -> str:
    """Write the call of the action's function; further results go where the call says."""
    action = instance(e)
    call = f"{_function(target, g, action)}(m, {index})"
    wanted = [a.expr for a in more if a.expr is not None]
    if not wanted:
        return call
    into = [lvalues.lvalue(g, expr) for expr in wanted]
    result = g.temporary(call, "result")
    outs = action.overrides["apply"].params[2:]
    for at, out, expr in zip(into, outs, wanted, strict=False):
        lvalues.write(g, at, f"m[{g.layout.base(out)}]", lvalues.sliced_cell(expr))
    return result


def _function(target: TnaTarget, g: Generator, action: ir.ExternInstance) -> str:
    """The name of the function ``(m, i)`` that runs a register action on word ``i`` and returns its result."""
    if action in g.memo:
        return g.memo[action]
    name = g.memo[action] = g.name("register_action")
    register = register_of(action)
    apply = action.overrides["apply"]
    base = g.layout.place_params(apply.params)
    body = calls.function(g, apply)
    outs = apply.params[1:]
    first = g.layout.base(outs[0]) if outs else None
    with g.function(name, "m, i"):
        word = _word(target, g, register)
        value = _load(target, register, word, base)
        g.line(value)
        for out in outs:
            g.line(f"m[{g.layout.base(out)}] = 0")
        g.line(f"{body}(m)")
        _store(target, g, register, word, base)
        g.line(f"return m[{first}]" if first is not None else "return 0")
    return name


def _word(target: TnaTarget, g: Generator, register: ir.ExternInstance) -> str:
    """Write the check that word ``i`` is there; returns the text of the word as a place."""
    state = state_of(target.objects.of, register)
    table = target.objects.table_of.get(register)
    if table is not None:
        g.line(f"entry = m[{target.cell(table)}]")
        with g.indented("if not entry:"):
            g.line("return 0")
        with g.indented("if entry.register is None:"):
            g.line(f"entry.register = {state.initial}")
        return "entry.register"
    with g.indented(f"if i >= {state.size}:"):  # no word, no access, no result
        g.line("return 0")
    return f"{g.bind(state.values, 'register')}[i]"


def _load(target: TnaTarget, register: ir.ExternInstance, word: str, base: int) -> str:
    state = state_of(target.objects.of, register)
    if not state.pair:
        return f"m[{base}] = {word}"
    half = state.width.width // 2
    high, low = (
        lvalues.from_pattern(text, t)
        for text, t in zip((f"({word} >> {half})", f"({word} & {(1 << half) - 1})"), _halves(register), strict=True)
    )
    return f"m[{base}:{base + 2}] = ({high}, {low})"


def _halves(register: ir.ExternInstance) -> list[Bits]:
    element = strip(register.type_args[0])
    assert isinstance(element, Struct)
    return [strip(f.type) for f in element.fields]  # type: ignore[misc]  # the object has checked them


def _store(target: TnaTarget, g: Generator, register: ir.ExternInstance, word: str, base: int) -> None:
    state = state_of(target.objects.of, register)
    if not state.pair:
        g.line(f"{word} = m[{base}]")
        return
    half = state.width.width // 2
    mask = (1 << half) - 1
    g.line(f"{word} = (m[{base}] & {mask}) << {half} | m[{base + 1}] & {mask}")


def _read(target: TnaTarget, g: Generator, e: ir.ExternCall) -> str:
    """Reads as a register action that changes nothing would."""
    register = instance(e)
    key = (register, "read")
    if key not in g.memo:
        g.memo[key] = g.name("read")
        base = g.layout.reserve(e.type.slots)
        with g.function(g.memo[key], "m, i"):
            g.line(_load(target, register, _checked(target, g, register, e), base))
            g.line(f"return m[{base}]" if e.type.slots == 1 else f"return m[{base}:{base + e.type.slots}]")
    index = g.value(argument(e, 0)) if e.args else "0"
    return f"{g.memo[key]}(m, {index})"


def _checked(target: TnaTarget, g: Generator, register: ir.ExternInstance, e: ir.ExternCall) -> str:
    if e.type.slots == 1:
        return _word(target, g, register)
    state = state_of(target.objects.of, register)
    if register in target.objects.table_of:
        raise Unsupported(e.pos, "a direct register of pairs read without a register action")
    with g.indented(f"if i >= {state.size}:"):
        g.line("return [0, 0]")
    return f"{g.bind(state.values, 'register')}[i]"


def _write(target: TnaTarget, g: Generator, e: ir.ExternCall) -> str:
    register = instance(e)
    value = argument(e, len(e.args) - 1)
    base = g.layout.reserve(value.type.slots)
    text = g.value(value)
    g.line(f"m[{base}] = {text}" if value.type.slots == 1 else f"m[{base}:{base + value.type.slots}] = {text}")
    name = g.name("write")
    with g.function(name, "m, i"):
        _store(target, g, register, _word(target, g, register), base)
    index = g.value(argument(e, 0)) if len(e.args) > 1 else "0"
    g.line(f"{name}(m, {index})")
    return "0"


def _predicate(g: Generator, e: ir.ExternCall) -> str:
    """The outcome number, first condition + 2 * second (+ 4 * third …), as a one-hot code."""
    bits = [f"({g.value(a.expr)} << {i})" for i, a in enumerate(e.args) if a.expr is not None]
    return f"(1 << ({' | '.join(bits) or '0'}))"


def _math(g: Generator, e: ir.ExternCall) -> str:
    return f"{g.bind(math_unit(instance(e)), 'math_unit')}({g.value(argument(e, 0))})"
