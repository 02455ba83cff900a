# SPDX-License-Identifier: Apache-2.0
"""Statements as straight code: calls are written where they stand, and effects leave expressions in their order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from offramp_p4 import ir
from offramp_p4.source import NOWHERE, Pos, Unsupported
from offramp_p4.types import BOOL, VOID, Bits, Header, Stack, Type, Union, Varbit, strip
from offramp_p4_tools.bmv2.write.code import END, Branch, InstructionList, Label, Primitive
from offramp_p4_tools.bmv2.write.effects import (
    EFFECTS,
    children,
    has_effects,
    is_scalar,
    mentions,
    needs_variables,
    replaced,
    root,
    with_children,
)
from offramp_p4_tools.bmv2.write.expressions import ExpressionWriter, hexstr, is_place, parameter, within
from offramp_p4_tools.bmv2.write.places import HeaderAt, Json, Place, StackAt, UnionAt, ValueGroup, bits_of, operation

if TYPE_CHECKING:
    from offramp_p4_tools.bmv2.write.document import Document


class StatementWriter:
    """Writes statements to :attr:`code`.

    Attributes:
        code: the code written so far.
        expressions: expressions for operands without effects.
    """

    def __init__(self, document: Document, code: InstructionList | None = None) -> None:
        self.document = document
        self.code = code or InstructionList()
        self.expressions = ExpressionWriter(document.variables)
        self.exit_label: Label = END
        self.in_action = False
        self._returns: list[tuple[Label, Place | None]] = []
        self._loops: list[tuple[Label, Label]] = []
        self._copies: list[list[tuple[ir.Expr, ir.Var]]] = []

    # --- emission -------------------------------------------------------------------------------------------

    def primitive(self, op: str, *parameters: Json, pos: Pos = NOWHERE) -> None:
        """Append a primitive."""
        self.code.add(Primitive(op, [parameter(p) for p in parameters], pos))

    def variable(self, t: Type, name: str = "tmp", pos: Pos = NOWHERE) -> ir.Expr:
        """A new variable of ours."""
        return ir.VarRef(ir.Var(name, t, pos=pos), type=t, pos=pos)

    def branch(self, condition: ir.Expr, otherwise: Label) -> None:
        """Go to ``otherwise`` if a condition is false."""
        if isinstance(condition, ir.Const):
            if not condition.value:
                self.code.jump(otherwise)
            return
        self.code.add(Branch(self.expressions.condition(condition), otherwise, condition.pos))

    # --- statements -----------------------------------------------------------------------------------------

    def run(self, s: ir.Stmt) -> None:
        """Write a statement."""
        method = getattr(self, f"_{type(s).__name__.lower()}", None)
        if method is None:
            raise Unsupported(s.pos, f"{type(s).__name__} in bmv2's JSON")
        method(s)

    def _block(self, s: ir.Block) -> None:
        for inner in s.body:
            self.run(inner)

    def _declare(self, s: ir.Declare) -> None:
        place = ir.VarRef(s.var, type=s.var.type, pos=s.pos)
        if s.value is None:
            self.clear(self.expressions.place(place), s.pos)
        else:
            self._assign(ir.Assign(place, s.value, pos=s.pos))

    def clear(self, place: Place, pos: Pos) -> None:
        """Headers become invalid, numbers 0."""
        if isinstance(place, ValueGroup):
            for part in place.parts:
                self.clear(part, pos)
        elif isinstance(place, UnionAt):
            for member in place.members:
                self.clear(member, pos)
        elif isinstance(place, StackAt):
            self.primitive("pop", place.json, hexstr(place.type.size), pos=pos)
        elif isinstance(place, HeaderAt):
            self.primitive("remove_header", place.json, pos=pos)
        elif not isinstance(place.type, Varbit):
            self.primitive("assign", place.json, hexstr(0), pos=pos)

    def _assign(self, s: ir.Assign) -> None:
        place = self.pure_place(s.place)
        value = self.pure(replaced(s.value, s.place, place))  # ``a op= b`` has the one place on both sides
        if isinstance(place, ir.Slice):
            self._assign_slice(place, value, s.pos)
            return
        if isinstance(value, ir.Compose) and mentions(value, root(place)):
            value = self.saved(value)
        beyond = self.code.label()
        inside = within(place)
        if inside is not None:
            self.branch(inside, beyond)
        self.store(self.expressions.place(place), value, s.pos)
        self.code.mark(beyond)

    def _assign_slice(self, place: ir.Slice, value: ir.Expr, pos: Pos) -> None:
        whole, low, width = place.base, place.low, place.high - place.low + 1
        while isinstance(whole, ir.Slice):
            low, whole = low + whole.low, whole.base
        mask = ((1 << width) - 1) << low
        at, bits = self.expressions.place(whole), bits_of(whole.type)
        kept = operation("&", at.json, hexstr(bits.mask & ~mask))  # type: ignore[union-attr]
        moved = operation("&", operation("<<", self.expressions.value(value), hexstr(low)), hexstr(mask))
        merged = operation("|", kept, moved)
        if bits.signed:
            merged = operation("two_comp_mod", merged, hexstr(bits.width))
        self.primitive("assign", at.json, merged, pos=pos)  # type: ignore[union-attr]

    def store(self, place: Place, value: ir.Expr, pos: Pos) -> None:
        """Write ``place = value``, the value being pure and not reading what the store changes before it does."""
        if isinstance(value, ir.Mux) and not is_scalar(value.type):
            self._either(
                value.condition,
                lambda: self.store(place, value.then, pos),
                lambda: self.store(place, value.otherwise, pos),
            )
        elif isinstance(value, ir.InvalidHeader):
            self.clear(place, pos)
        elif isinstance(value, ir.Compose):
            self._store_parts(place, value, pos)
        elif isinstance(place, ValueGroup):
            source = self.expressions.place(value)
            self.copy(place, source, pos)
        elif isinstance(place, HeaderAt | UnionAt | StackAt) or isinstance(strip(place.type), Varbit):
            self.copy(place, self.expressions.place(value), pos)
        else:
            self.primitive("assign", place.json, self.expressions.value(value), pos=pos)

    def _store_parts(self, place: Place, value: ir.Compose, pos: Pos) -> None:
        if isinstance(place, HeaderAt):
            self.primitive("add_header", place.json, pos=pos)
            for i, part in enumerate(value.parts):
                self.store(place.member(i), part, pos)
            return
        if isinstance(place, StackAt):
            parts: tuple[Place, ...] = place.elements
        elif isinstance(place, UnionAt):
            parts = place.members
        else:
            assert isinstance(place, ValueGroup)
            parts = place.parts
        for at, inner in zip(parts, value.parts, strict=True):
            self.store(at, inner, pos)

    def copy(self, to: Place, start: Place, pos: Pos) -> None:
        """Write a copy from place to place."""
        if isinstance(to, ValueGroup):
            assert isinstance(start, ValueGroup)
            for a, b in zip(to.parts, start.parts, strict=True):
                self.copy(a, b, pos)
            return
        op = "assign"
        if isinstance(to, HeaderAt):
            op = "assign_header"
        elif isinstance(to, UnionAt):
            op = "assign_union"
        elif isinstance(to, StackAt):
            op = "assign_union_stack" if to.of_unions else "assign_header_stack"
        elif isinstance(strip(to.type), Varbit):
            op = "assign_VL"
        self.primitive(op, to.json, start.json, pos=pos)  # type: ignore[union-attr]

    def _eval(self, s: ir.Eval) -> None:
        e = s.expr
        if isinstance(e, ir.HeaderOp):
            self._header_op(e)
        elif isinstance(e, ir.TableApply):
            self.apply(e.table, {})
        else:
            self.call(e)

    def _header_op(self, e: ir.HeaderOp) -> None:
        place = self.expressions.place(self.pure_place(e.base))
        if e.op in {"push_front", "pop_front"}:
            self.primitive(e.op.removesuffix("_front"), place.json, hexstr(e.count), pos=e.pos)  # type: ignore[union-attr]
        elif e.op == "setValid":
            self.primitive("add_header", place.json, pos=e.pos)  # type: ignore[union-attr]
        else:
            self.clear(place, e.pos)

    def _if(self, s: ir.If) -> None:
        otherwise = s.otherwise
        self._either(s.condition, lambda: self.run(s.then), None if otherwise is None else lambda: self.run(otherwise))

    def _either(self, condition: ir.Expr, then: Any, otherwise: Any | None) -> None:
        """Write ``then`` or ``otherwise``, as a condition says."""
        negated = False
        while isinstance(condition, ir.Unary) and condition.op == "!":
            condition, negated = condition.operand, not negated
        ways = [self.code.label(), self.code.label()]
        end = self.code.label()
        if isinstance(condition, ir.TableApply):
            hits = condition.want == "hit"
            self.apply(condition.table, {"__HIT__": ways[not hits ^ negated], "__MISS__": ways[hits ^ negated]})
        else:
            condition = self.pure(condition)
            self.branch(ir.Unary("!", condition, type=BOOL, pos=condition.pos) if negated else condition, ways[1])
        self.code.mark(ways[0])
        then()
        if otherwise is None:
            self.code.mark(ways[1])
            return
        self.code.jump(end)
        self.code.mark(ways[1])
        otherwise()
        self.code.mark(end)

    def _switchaction(self, s: ir.SwitchAction) -> None:
        end, default = self.code.label(), None
        named: dict[str | None, Label] = {}
        bodies: list[tuple[Label, ir.Stmt]] = []
        seen: dict[int, Label] = {}
        for actions, body in s.cases:
            if id(body) not in seen:
                seen[id(body)] = self.code.label()
                bodies.append((seen[id(body)], body))
            if actions is None:
                default = seen[id(body)]
            for action in actions or ():
                named.setdefault(action.name, seen[id(body)])
        self.apply(s.table, {**named, None: default or end})
        for label, body in bodies:
            self.code.mark(label)
            self.run(body)
            self.code.jump(end)
        self.code.mark(end)

    def _switchvalue(self, s: ir.SwitchValue) -> None:
        subject, end = self.saved(self.pure(s.subject)), self.code.label()
        default = next((body for labels, body in s.cases if labels is None), None)
        for labels, body in s.cases:
            if labels is None:
                continue
            test: ir.Expr | None = None
            for label in labels:
                same: ir.Expr = ir.Binary("==", subject, label, type=BOOL, pos=s.pos)
                test = same if test is None else ir.Binary("||", test, same, type=BOOL, pos=s.pos)
            if test is None:
                continue
            other = self.code.label()
            self.branch(test, other)
            self.run(body)
            self.code.jump(end)
            self.code.mark(other)
        if default is not None:
            self.run(default)
        self.code.mark(end)

    # --- loops and jumps ------------------------------------------------------------------------------------

    def _forloop(self, s: ir.ForLoop) -> None:
        for inner in s.init:
            self.run(inner)
        again, update, end = self.code.label(), self.code.label(), self.code.label()
        with self.looping(s):
            self.code.mark(again)
            self.branch(self.pure(s.condition), end)
            self._loop_body(s.body, end, update)
            self.code.mark(update)
            for inner in s.update:
                self.run(inner)
            self.code.jump(again)
            self.code.mark(end)

    def _forin(self, s: ir.ForIn) -> None:
        variable = ir.VarRef(s.var, type=s.var.type, pos=s.pos)
        if s.high is None:
            self._for_each(s, variable)
            return
        low, high = self.saved(self.pure(s.low)), self.saved(self.pure(s.high))
        again, update, end = self.code.label(), self.code.label(), self.code.label()
        with self.looping(s):
            self.run(ir.Assign(variable, low, pos=s.pos))
            counter = self.saved(low)
            self.branch(ir.Binary("<=", low, high, type=BOOL, pos=s.pos), end)
            self.code.mark(again)
            self.run(ir.Assign(variable, counter, pos=s.pos))
            self._loop_body(s.body, end, update)
            self.code.mark(update)
            self.branch(ir.Binary("!=", counter, high, type=BOOL, pos=s.pos), end)
            one = ir.Const(1, type=counter.type, pos=s.pos)
            self.run(ir.Assign(counter, ir.Binary("+", counter, one, type=counter.type, pos=s.pos), pos=s.pos))
            self.code.jump(again)
            self.code.mark(end)

    def _for_each(self, s: ir.ForIn, variable: ir.Expr) -> None:
        t, values = strip(s.low.type), self.pure(s.low)
        if isinstance(values, ir.Compose):
            elements = [self.saved(part) for part in values.parts]
        elif isinstance(t, Stack):
            elements = [
                ir.Element(values, ir.Const(i, type=Bits(32), pos=s.pos), type=t.element, pos=s.pos)
                for i in range(t.size)
            ]
        else:
            raise Unsupported(s.pos, f"a loop over {t} in bmv2's JSON")
        end = self.code.label()
        for element in elements:
            update = self.code.label()
            self.run(ir.Assign(variable, element, pos=s.pos))
            self._loop_body(s.body, end, update)
            self.code.mark(update)
        self.code.mark(end)

    def _loop_body(self, body: ir.Stmt, end: Label, update: Label) -> None:
        self._loops.append((end, update))
        self.run(body)
        self._loops.pop()

    @contextmanager
    def looping(self, s: ir.Stmt) -> Iterator[None]:
        """Around a loop; a control keeps it in one action."""
        del s
        yield

    def _break(self, s: ir.Break) -> None:
        del s
        self.code.jump(self._loops[-1][0])

    def _continue(self, s: ir.Continue) -> None:
        del s
        self.code.jump(self._loops[-1][1])

    def _return(self, s: ir.Return) -> None:
        label, place = self._returns[-1] if self._returns else (END, None)
        if s.value is not None and place is not None:
            self.store(place, self.pure(s.value), s.pos)
        self.code.jump(label)

    def _exit(self, s: ir.Exit) -> None:
        for copies in reversed(self._copies):
            self._copy_out(copies)
        if self.in_action:
            self.primitive("exit", pos=s.pos)
        self.code.jump(self.exit_label)

    # --- calls ----------------------------------------------------------------------------------------------

    def call(self, e: ir.Expr) -> ir.Expr | None:
        """Write a call; returns its result in a variable of its own, if it has one."""
        if isinstance(e, ir.FunctionCall):
            return self._call_function(e)
        if isinstance(e, ir.ActionCall):
            copies = self._copy_in(e.action.params, e.args)
            self._called(e.action.body, None, copies)
            return None
        if isinstance(e, ir.ApplyCall):
            self._apply_block(e)
            return None
        if isinstance(e, ir.ExternCall):
            return self.document.externs.call(self, e)
        raise Unsupported(e.pos, f"{type(e).__name__} as a call in bmv2's JSON")

    def body_of_action(self, choice: ir.TableAction) -> None:
        """Write an action as a table runs it; what its entry supplies has its place already."""
        copies = self._copy_in(choice.action.params[: len(choice.bound)], choice.bound)
        self._called(choice.action.body, None, copies)

    def _call_function(self, e: ir.FunctionCall) -> ir.Expr | None:
        copies = self._copy_in(e.function.params, e.args)
        if e.function.returns == VOID:
            self._called(e.function.body, None, copies)
            return None
        result = self.variable(e.function.returns, e.function.name, e.pos)
        self._called(e.function.body, self.expressions.place(result), copies)
        return result

    def _called(self, body: ir.Stmt, result: Place | None, copies: list[tuple[ir.Expr, ir.Var]]) -> None:
        end = self.code.label()
        self._returns.append((end, result))
        self._copies.append(copies)
        loops, self._loops = self._loops, []
        self.run(body)
        self._loops = loops
        self._copies.pop()
        self._returns.pop()
        self.code.mark(end)
        self._copy_out(copies)

    def _copy_in(self, params: list[ir.Var], args: list[ir.Arg]) -> list[tuple[ir.Expr, ir.Var]]:
        values: list[tuple[ir.Var, ir.Expr | None]] = []
        copies: list[tuple[ir.Expr, ir.Var]] = []
        for param, arg in zip(params, args, strict=True):
            if not param.type.slots:
                continue
            if arg.expr is None:
                values.append((param, None))
            elif arg.direction in {"out", "inout"}:
                place = self.pure_place(arg.expr)
                values.append(
                    (
                        param,
                        self.saved(place)
                        if arg.direction == "inout" and len(args) > 1
                        else place
                        if arg.direction == "inout"
                        else None,
                    )
                )
                copies.append((place, param))
            else:
                value = self.pure(arg.expr)
                values.append((param, value if isinstance(value, ir.Const) or len(args) == 1 else self.saved(value)))
        for param, expr in values:
            variable = ir.VarRef(param, type=param.type, pos=param.pos)
            if expr is None:
                self.clear(self.expressions.place(variable), param.pos)
            else:
                self._assign(ir.Assign(variable, expr, pos=param.pos))
        return copies

    def _copy_out(self, copies: list[tuple[ir.Expr, ir.Var]]) -> None:
        for place, param in copies:
            self._assign(ir.Assign(place, ir.VarRef(param, type=param.type, pos=param.pos), pos=place.pos))

    def _apply_block(self, e: ir.ApplyCall) -> None:
        target = e.target
        shared = self.document.shares(target, e.args)
        copies: list[tuple[ir.Expr, ir.Var]] = []
        if shared:
            for param, arg in zip(target.params, e.args, strict=True):
                if param.type.slots and arg.expr is not None:
                    self.document.variables.bind(param, self.expressions.place(arg.expr))
                    if param.direction == "out":
                        self.clear(self.document.variables[param], param.pos)
        else:
            copies = self._copy_in(target.params, e.args)
        self.inlined(target, copies)

    def inlined(self, target: ir.ParserInstance | ir.ControlInstance, copies: list[tuple[ir.Expr, ir.Var]]) -> None:
        """Write the body of a control that is applied."""
        if isinstance(target, ir.ParserInstance):
            raise Unsupported(target.pos, "a parser that is applied in a control, in bmv2's JSON")
        self._called(ir.Block([*target.locals, target.body]), None, copies)

    def apply(self, table: ir.MatchTable, ways: dict[str | None, Label]) -> None:
        """Write the application of a table; without ``ways`` the code continues after it."""
        del ways
        raise Unsupported(table.pos, f"table {table.name} applied outside of ingress and egress, in bmv2's JSON")

    # --- effects out of expressions ---------------------------------------------------------------------------

    def pure(self, e: ir.Expr) -> ir.Expr:
        """Write the effects of an expression; returns what has its value and no effect."""
        if not has_effects(e):
            return self._simple(e)
        if isinstance(e, ir.TableApply):
            return self._by_cases(e, ir.Const(1, type=BOOL), ir.Const(0, type=BOOL))
        if isinstance(e, EFFECTS):
            result = self.call(e)
            if result is None:
                raise Unsupported(e.pos, "a call without a result as a value, in bmv2's JSON")
            return result
        if isinstance(e, ir.Binary) and e.op in {"&&", "||"} and has_effects(e.right):
            short = ir.Const(int(e.op == "||"), type=BOOL, pos=e.pos)
            return self._by_cases(e.left, *((e.right, short) if e.op == "&&" else (short, e.right)))
        if isinstance(e, ir.Mux):
            return self._by_cases(e.condition, e.then, e.otherwise)
        return self._rebuilt(e)

    def _simple(self, e: ir.Expr) -> ir.Expr:
        """An expression without effects, in which every part that bmv2 cannot compute on the fly is a variable."""
        if isinstance(e, ir.Member) and not is_place(e):
            base = self._simple(e.base)
            if isinstance(base, ir.Compose):
                return self._simple(base.parts[e.index])
            return ir.Member(self.saved(base), e.index, type=e.type, pos=e.pos)
        if isinstance(e, ir.Binary) and e.op in {"==", "!="} and not is_scalar(e.left.type):
            sides = [side if is_place(side) else self._comparable(side) for side in (e.left, e.right)]
            return replace(e, left=sides[0], right=sides[1])
        if isinstance(e, ir.IsValid) and not is_place(e.base):
            return replace(e, base=self.saved(e.base))
        return self._rebuilt(e) if needs_variables(e) else e

    def _comparable(self, e: ir.Expr) -> ir.Expr:
        whole = isinstance(strip(e.type), Header | Union | Stack)
        return (
            self.saved(e)
            if whole or not isinstance(e, ir.Compose)
            else replace(e, parts=[self._simple(p) for p in e.parts])
        )

    def _rebuilt(self, e: ir.Expr) -> ir.Expr:
        operands = children(e)
        parts = []
        for i, child in enumerate(operands):
            value = self.pure(child)
            later = any(has_effects(other) for other in operands[i + 1 :])
            parts.append(self.saved(value) if later and not isinstance(value, ir.Const) else value)
        return with_children(e, parts)

    def _by_cases(self, condition: ir.Expr, then: ir.Expr, otherwise: ir.Expr) -> ir.Expr:
        result = self.variable(then.type, pos=then.pos)
        self._either(
            condition,
            lambda: self._assign(ir.Assign(result, then, pos=then.pos)),
            lambda: self._assign(ir.Assign(result, otherwise, pos=otherwise.pos)),
        )
        return result

    def pure_place(self, e: ir.Expr) -> ir.Expr:
        """An l-value whose indexes have no effects and keep their values."""
        if isinstance(e, ir.Member | ir.Slice):
            return replace(e, base=self.pure_place(e.base))
        if isinstance(e, ir.Element):
            index = e.index if isinstance(e.index, ir.Const) else self.saved(self.pure(e.index))
            return replace(e, base=self.pure_place(e.base), index=index)
        return e

    def saved(self, e: ir.Expr) -> ir.Expr:
        """The value that ``e`` has now, in a variable."""
        variable = self.variable(e.type, pos=e.pos)
        self.store(self.expressions.place(variable), e, e.pos)
        return variable
