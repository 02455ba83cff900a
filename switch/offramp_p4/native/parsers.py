# SPDX-License-Identifier: Apache-2.0
"""Parsers: each state is a basic block (P4-16 section 13)."""

from __future__ import annotations

from offramp_base.native.llvm import I32, Value, const
from offramp_p4 import ir
from offramp_p4.engine.faults import NO_ERROR
from offramp_p4.engine.parsers import MAX_STATES
from offramp_p4.native import lvalues
from offramp_p4.native.emitter import BOOL_TRUE, Emitter
from offramp_p4.native.lookup import lookup
from offramp_p4.native.runtime.program import DONE
from offramp_p4.native.shape import bits_of
from offramp_p4.source import Unsupported


def write_parser(g: Emitter, parser: ir.ParserInstance) -> Value:
    """Write the function of a parser."""
    with g.function(parser.name) as function:
        for stmt in parser.locals:
            g.statement(stmt)
        _NativeStates(g, parser).write()
    return function


class _NativeStates:
    """The states of one parser."""

    def __init__(self, g: Emitter, parser: ir.ParserInstance) -> None:
        self.g, self.parser = g, parser
        self.blocks = {name: g.block(f"state_{name}") for name in parser.states}
        self.left = g.allocate(I32)
        self.repeated = repeated_states(parser)

    def write(self) -> None:
        g = self.g
        g.b.store(const(I32, MAX_STATES), self.left)
        g.b.branch(self.blocks["start"])
        for name, state in self.parser.states.items():
            g.b.position_at_end(self.blocks[name])
            if name in self.repeated:
                self._count()
                g.count(g.work.of(state))
            self._body(state)

    def _count(self) -> None:
        g = self.g
        left = g.b.load(self.left, typ=I32)
        lvalues.fault(g, g.b.icmp_unsigned("==", left, const(I32, 0)), _code(g, "ParserTimeout"))
        g.b.store(g.b.sub(left, const(I32, 1)), self.left)

    def _body(self, state: ir.ParserState) -> None:
        g = self.g
        if g.log is not None:
            g.log.state(g, state.name)
        for stmt in state.body:
            g.statement(stmt)
        if not state.select:
            self._go(state.cases[0].target)
            return
        values = [g.value(e) for e in state.select]
        for case in state.cases:
            test = self._test(state.select, values, case)
            if test is None:
                self._go(case.target)
                return
            chosen, more = g.block("case"), g.block("more")
            g.b.cbranch(test, chosen, more)
            g.b.position_at_end(chosen)
            self._go(case.target)
            g.b.position_at_end(more)
        lvalues.fault(g, BOOL_TRUE, _code(g, "NoMatch"))
        g.b.unreachable()

    def _go(self, target: str) -> None:
        g = self.g
        if target == "accept":
            g.leave(DONE)
        elif target == "reject":
            lvalues.fault(g, BOOL_TRUE, NO_ERROR)
            g.b.unreachable()
        else:
            g.b.branch(self.blocks[target])

    def _test(self, select: list[ir.Expr], values: list[Value], case: ir.SelectCase) -> Value | None:
        """The condition of a case; None if it always holds."""
        if len(case.keys) == 1 and isinstance(case.keys[0], ir.KeyValueSet):
            return self._contains(case.keys[0], values)
        if len(case.keys) == 1 and isinstance(case.keys[0], ir.KeyAny):
            return None
        test: Value | None = None
        for expr, number, key in zip(select, values, case.keys, strict=True):
            one = self._key(expr, number, key)
            test = one if test is None else test if one is None else self.g.b.and_(test, one)
        return test

    def _key(self, expr: ir.Expr, number: Value, key: ir.Key) -> Value | None:
        g, bits = self.g, bits_of(expr.type)
        assert bits is not None
        if isinstance(key, ir.KeyAny):
            return None
        if isinstance(key, ir.KeyValueSet):
            return self._contains(key, [number])

        def value(e: ir.Expr) -> Value:
            return g.resize(g.value(e), bits.width, signed=bits.signed)

        if isinstance(key, ir.KeyRange):
            compare = g.b.icmp_signed if bits.signed else g.b.icmp_unsigned
            return g.b.and_(compare("<=", value(key.low), number), compare("<=", number, value(key.high)))
        if isinstance(key, ir.KeyMask):
            difference = g.b.and_(g.b.xor(number, value(key.value)), value(key.mask))
            return g.b.icmp_unsigned("==", difference, const(number.type, 0))
        return g.b.icmp_unsigned("==", number, value(key.value))

    def _contains(self, key: ir.KeyValueSet, values: list[Value]) -> Value:
        plan = self.g.target.value_set(key.value_set)
        for i in plan.key.ranges:
            if plan.key.widths[i] > 64:
                raise Unsupported(key.value_set.pos, f"value set {key.value_set.name} with ranges of more than 64 bits")
        entry = lookup(self.g, plan, values)
        return self.g.b.icmp_unsigned("!=", entry, const(entry.type, 0))


def repeated_states(parser: ir.ParserInstance) -> set[str]:
    """States that a packet may visit again."""
    onward = {
        name: {case.target for case in state.cases if case.target in parser.states}
        for name, state in parser.states.items()
    }

    def reachable(name: str) -> set[str]:
        seen: set[str] = set()
        todo = list(onward[name])
        while todo:
            state = todo.pop()
            if state not in seen:
                seen.add(state)
                todo += onward[state]
        return seen

    return {name for name in onward if name in reachable(name)}


def _code(g: Emitter, error: str) -> int:
    return g.program.errors.index(error) if error in g.program.errors else NO_ERROR
