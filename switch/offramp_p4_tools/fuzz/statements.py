# SPDX-License-Identifier: Apache-2.0
"""Random statements (P4-16 section 12)."""

from __future__ import annotations

from collections.abc import Callable

from offramp_p4.types import Bits
from offramp_p4_tools.fuzz.expressions import condition, expression, literal
from offramp_p4_tools.fuzz.externs import ExternGenerator, Lines
from offramp_p4_tools.fuzz.scope import Callee, Operand, ReachableNames


class StatementGenerator:
    """Writes statements; every name it declares is new."""

    def __init__(self, externs: ExternGenerator) -> None:
        self.externs = externs
        self.name = externs.name

    def block(self, scope: ReachableNames, size: int, depth: int = 2) -> Lines:
        """At most ``size`` statements, in a scope of their own."""
        inner = scope.inner()
        lines: Lines = []
        for _ in range(scope.rng.randint(1, size)):
            lines += self.statement(inner, depth)
        return lines

    def statement(self, scope: ReachableNames, depth: int) -> Lines:
        """One statement."""
        kinds: list[tuple[int, Callable[[ReachableNames, int], Lines]]] = [(8, self._assign), (2, self._declare)]
        if scope.headers:
            kinds.append((2, self._header))
        if scope.stacks and not scope.in_parser:
            kinds.append((1, self._stack))
        if scope.actions or scope.functions:
            kinds.append((2, self._call))
        if scope.arrays:
            kinds.append((3, self._array))
        if any(p.text == "meta.inner.x" for p in scope.operands):
            kinds.append((1, self._structure))
        if scope.requests:
            kinds.append((2, lambda s, _: [s.pick(s.requests)()]))
        if depth > 0 and not scope.in_parser:
            kinds.append((4, self._if))
            if not scope.portable:  # p4c keeps one round of a loop that does not use its variable
                kinds.append((1, self._loop))
            if not (scope.portable and scope.in_action):
                kinds.append((1, self._switch))
        if not scope.in_action and not scope.in_loop and depth > 0 and (scope.tables or scope.controls):
            kinds.append((4, self._apply))
        weights, makers = zip(*kinds, strict=True)
        lines: Lines = scope.rng.choices(makers, weights)[0](scope, depth)
        return lines

    def _assign(self, scope: ReachableNames, depth: int) -> Lines:
        del depth
        place = scope.pick([p for p in scope.operands if p.writable])
        t = place.type
        if isinstance(t, Bits) and not t.signed and t.width > 1 and scope.chance(0.2):
            high = scope.rng.randint(0, t.width - 1)
            low = scope.rng.randint(0, high)
            return [f"{place.text}[{high}:{low}] = {expression(scope, Bits(high - low + 1))};"]
        if isinstance(t, Bits) and scope.chance(0.1):
            return [f"{place.text} {scope.pick(('+=', '-=', '^=', '|=', '&='))} {expression(scope, t, 2)};"]
        return [f"{place.text} = {expression(scope, t)};"]

    def _declare(self, scope: ReachableNames, depth: int) -> Lines:
        del depth
        t, name = scope.scalar(), self.name("v")
        line = f"{t} {name} = {expression(scope, t)};"
        scope.operands.append(Operand(name, t))
        return [line]

    def _header(self, scope: ReachableNames, depth: int) -> Lines:
        del depth
        name, kind = scope.pick(scope.headers)
        if scope.chance(0.4):
            return [f"{name} = {scope.pick([n for n, k in scope.headers if k == kind])};"]
        return [f"{name}.{scope.pick(('setValid', 'setInvalid'))}();"]

    def _structure(self, scope: ReachableNames, depth: int) -> Lines:
        """Structs and arrays as a whole."""
        del depth
        x, y = expression(scope, Bits(12), 1), expression(scope, Bits(9, signed=True), 1)
        choices = [
            f"meta.inner = {scope.pick((f'{{ {x}, {y} }}', f'{{ y = {y}, x = {x} }}', 'meta.other'))};",
            f"meta.other = {condition(scope, 1)} ? meta.inner : meta.other;",
            f"if (meta.inner {scope.pick(('==', '!='))} meta.other) {{ meta.link = meta.link + 1; }}",
        ]
        if any(p.text == "meta.grid[0]" for p in scope.operands) and not scope.in_parser:
            name = self.name("g")
            element = next(p.type for p in scope.operands if p.text == "meta.grid[0]")
            choices.append(f"for ({element} {name} in meta.grid) {{ meta.link = meta.link ^ (bit<16>)({name}[0:0]); }}")
        return [scope.pick(choices)]

    def _stack(self, scope: ReachableNames, depth: int) -> Lines:
        del depth
        name, size, _ = scope.pick(scope.stacks)
        return [f"{name}.{scope.pick(('push_front', 'pop_front'))}({scope.rng.randint(1, size)});"]

    def _call(self, scope: ReachableNames, depth: int) -> Lines:
        del depth
        callee = scope.pick([*scope.actions, *scope.functions])
        args = self._arguments(scope, callee)
        if args is None:
            return []
        return [f"{callee.name}({', '.join(args)});"]

    def _arguments(self, scope: ReachableNames, callee: Callee) -> list[str] | None:
        """Arguments, no place written twice."""
        args: list[str] = []
        for direction, t in callee.params:
            if direction in {"", "in"}:
                args.append(expression(scope, t, 2))
                continue
            operands = [p.text for p in scope.of_type(lambda o, t=t: o == t, writable=True) if p.text not in args]  # type: ignore[misc]
            if not operands:
                return None
            args.append(scope.pick(operands))
        return args

    def _array(self, scope: ReachableNames, depth: int) -> Lines:
        del depth
        return self.externs.access(scope)

    def _if(self, scope: ReachableNames, depth: int) -> Lines:
        lines = [f"if ({condition(scope)}) {{", *self.block(scope, 3, depth - 1)]
        if scope.chance(0.5):
            lines += ["} else {", *self.block(scope, 3, depth - 1)]
        if scope.chance(0.06) and not scope.in_loop and not scope.in_parser and scope.requests:
            lines.append(scope.pick(("exit;", "return;")))
        return [*lines, "}"]

    def _switch(self, scope: ReachableNames, depth: int) -> Lines:
        operands = scope.of_type(lambda t: isinstance(t, Bits) and not t.signed)
        place = scope.pick(operands)
        labels = list(dict.fromkeys(literal(scope, place.type) for _ in range(3)))
        values = {int(label.split("w")[1], 0): label for label in labels}
        lines = [f"switch ({place.text}) {{"]
        for label in values.values():
            if scope.chance(0.2):
                lines.append(f"{label}:")  # falls through to what comes next
            else:
                lines += [f"{label}: {{", *self.block(scope, 2, depth - 1), "}"]
        return [*lines, "default: {", *self.block(scope, 2, depth - 1), "}", "}"]

    def _loop(self, scope: ReachableNames, depth: int) -> Lines:
        inner = scope.inner()
        inner.in_loop = True
        name = self.name("i")
        inner.operands.append(Operand(name, Bits(8), writable=False))
        times = scope.rng.randint(1, 4)
        if scope.chance(0.5):
            head = f"for (bit<8> {name} = 0; {name} < {times}; {name} = {name} + 1) {{"
        else:
            head = f"for (bit<8> {name} in 8w1..8w{times}) {{"
        lines = [head, *self.block(inner, 2, depth - 1)]
        if scope.chance(0.2):
            lines += [f"if ({condition(inner)}) {{ {scope.pick(('break', 'continue'))}; }}"]
        return [*lines, "}"]

    def _apply(self, scope: ReachableNames, depth: int) -> Lines:
        if scope.controls and (not scope.tables or scope.chance(0.3)):
            return [scope.pick(scope.controls)]
        at = scope.rng.randrange(len(scope.tables))
        table, actions = scope.tables.pop(at)  # p4c takes one application of a table
        roll = scope.rng.randrange(4)
        if roll == 0:
            return [f"{table}.apply();"]
        if roll == 1:
            name = scope.pick(("hit", "miss"))
            return [f"if ({table}.apply().{name}) {{", *self.block(scope, 2, depth - 1), "} else {",
                    *self.block(scope, 2, depth - 1), "}"]  # fmt: skip
        lines = [f"switch ({table}.apply().action_run) {{"]
        for action in scope.rng.sample(actions, scope.rng.randint(1, len(actions))):
            lines += [f"{action}: {{", *self.block(scope, 2, depth - 1), "}"]
        if roll == 3:
            lines += ["default: {", *self.block(scope, 2, depth - 1), "}"]
        return [*lines, "}"]
