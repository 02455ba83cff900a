# SPDX-License-Identifier: Apache-2.0
"""Registers and the stateful ALUs that work on them: one read, one computation, one write back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_p4 import ir
from offramp_p4.engine import calls, lvalues
from offramp_p4.engine.core import argument, instance
from offramp_p4.engine.generator import is_scalar
from offramp_p4.source import Unsupported
from offramp_p4.tna.math_unit import math_unit
from offramp_p4.tna.register_calls import AluCall, RegisterCalls, state_of
from offramp_p4.types import Bits, Struct, Type, strip

if TYPE_CHECKING:
    from offramp_p4.engine.generator import Generator
    from offramp_p4.tna.objects import TofinoRegister
    from offramp_p4.tna.target import TnaTarget


class PythonRegisters(RegisterCalls["Generator", str]):
    """The builders of these externs on the Python engine."""

    def __init__(self, target: TnaTarget) -> None:
        self._target = target

    def run(self, g: Generator, call: AluCall, e: ir.ExternCall, index: ir.Expr | str | None) -> str:  # noqa: ARG002
        """Write the call of the action's function; further results go where the call says."""
        at = "0" if index is None else index if isinstance(index, str) else g.value(index)
        text = f"{self._function(g, call)}(m, {at})"
        if not call.into:
            return text
        into = [lvalues.lvalue(g, expr) for expr in call.into]
        result = g.temporary(text, "result")
        for at_result, out, expr in zip(into, call.apply.params[2:], call.into, strict=False):
            lvalues.write(g, at_result, f"m[{g.layout.base(out)}]", lvalues.sliced_cell(expr))
        return result

    def next_index(self, g: Generator, call: AluCall) -> str:
        """Write the step to the following word; returns the text of its index."""
        count = g.bind(self._target.objects.logs.setdefault(call.action, [0]), "log")
        index = g.temporary(f"{count}[0]", "i")
        g.line(f"{count}[0] = ({index} + 1) % {self._state(call.register).size}")
        return index

    def read(self, g: Generator, e: ir.ExternCall) -> str:
        """Read a word, as a register action that changes nothing would."""
        register = instance(e)
        key = (register, "read")
        if key not in g.memo:
            g.memo[key] = g.name("read")
            base = g.layout.reserve(e.type.slots)
            with g.function(g.memo[key], "m, i"):
                g.line(self._load(register, self._checked(g, register, e), base))
                g.line(f"return {_cells(base, e.type)}")
        index = g.value(argument(e, 0)) if e.args else "0"
        return f"{g.memo[key]}(m, {index})"

    def write(self, g: Generator, e: ir.ExternCall) -> str:
        """Store a word."""
        value = argument(e, len(e.args) - 1)
        base = g.layout.reserve(value.type.slots)
        text = g.value(value)
        g.line(f"{_cells(base, value.type)} = {text}")
        name, register = g.name("write"), instance(e)
        with g.function(name, "m, i"):
            self._store(g, register, self._word(g, register), base)
        index = g.value(argument(e, 0)) if len(e.args) > 1 else "0"
        g.line(f"{name}(m, {index})")
        return "0"

    def predicate(self, g: Generator, e: ir.ExternCall) -> str:
        """The outcome number as a one-hot code."""
        bits = [f"({g.value(a.expr)} << {i})" for i, a in enumerate(e.args) if a.expr is not None]
        return f"(1 << ({' | '.join(bits) or '0'}))"

    def math(self, g: Generator, e: ir.ExternCall) -> str:
        """The value that a math unit approximates."""
        return f"{g.bind(math_unit(instance(e)), 'math_unit')}({g.value(argument(e, 0))})"

    def _state(self, register: ir.ExternInstance) -> TofinoRegister:
        return state_of(self._target.objects.of, register)

    def _function(self, g: Generator, call: AluCall) -> str:
        """The name of the function ``(m, i)`` that runs a register action on word ``i`` and returns its result."""
        if call.action in g.memo:
            return g.memo[call.action]
        name = g.memo[call.action] = g.name("register_action")
        register, apply = call.register, call.apply
        base = g.layout.place_params(apply.params)
        body = calls.function(g, apply)
        outs = apply.params[1:]
        first = g.layout.base(outs[0]) if outs else None
        with g.function(name, "m, i"):
            word = self._word(g, register)
            g.line(self._load(register, word, base))
            for out in outs:
                g.line(f"m[{g.layout.base(out)}] = 0")
            g.line(f"{body}(m)")
            self._store(g, register, word, base)
            g.line(f"return m[{first}]" if first is not None else "return 0")
        return name

    def _word(self, g: Generator, register: ir.ExternInstance) -> str:
        """Write the check that word ``i`` is there; returns the text of the word as a place."""
        state = self._state(register)
        table = self._target.objects.table_of.get(register)
        if table is not None:
            g.line(f"entry = m[{self._target.cell(table)}]")
            with g.indented("if not entry:"):
                g.line("return 0")
            with g.indented("if entry.register is None:"):
                g.line(f"entry.register = {state.initial}")
            return "entry.register"
        with g.indented(f"if i >= {state.size}:"):  # no word, no access, no result
            g.line("return 0")
        return f"{g.bind(state.values, 'register')}[i]"

    def _checked(self, g: Generator, register: ir.ExternInstance, e: ir.ExternCall) -> str:
        if is_scalar(e.type):
            return self._word(g, register)
        state = self._state(register)
        if register in self._target.objects.table_of:
            raise Unsupported(e.pos, "a direct register of structs read without a register action")
        with g.indented(f"if i >= {state.size}:"):
            g.line(f"return {[0] * e.type.slots}")
        return f"{g.bind(state.values, 'register')}[i]"

    def _load(self, register: ir.ExternInstance, word: str, base: int) -> str:
        state = self._state(register)
        if not state.pair:
            return f"m[{base}] = {word}"
        half = state.width.width // 2
        high, low = (
            lvalues.from_pattern(text, t)
            for text, t in zip((f"({word} >> {half})", f"({word} & {(1 << half) - 1})"), _halves(register), strict=True)
        )
        return f"m[{base}:{base + 2}] = ({high}, {low})"

    def _store(self, g: Generator, register: ir.ExternInstance, word: str, base: int) -> None:
        state = self._state(register)
        if not state.pair:
            g.line(f"{word} = m[{base}]")
            return
        half = state.width.width // 2
        mask = (1 << half) - 1
        g.line(f"{word} = (m[{base}] & {mask}) << {half} | m[{base + 1}] & {mask}")


def _halves(register: ir.ExternInstance) -> list[Bits]:
    element = strip(register.type_args[0])
    assert isinstance(element, Struct)
    return [strip(f.type) for f in element.fields]  # type: ignore[misc]  # the object has checked them


def _cells(base: int, t: Type) -> str:
    """Text of a value's place in the packet's memory: a cell of a scalar, cells of a struct."""
    return f"m[{base}]" if is_scalar(t) else f"m[{base}:{base + t.slots}]"
