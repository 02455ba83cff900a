# SPDX-License-Identifier: Apache-2.0
"""Expressions: types, implicit casts, constant folding (P4-16 specification, section 8)."""

from __future__ import annotations

from abc import abstractmethod
from typing import Final

from offramp_p4 import ir
from offramp_p4.frontend.check import fold
from offramp_p4.frontend.check.conversions import ANONYMOUS, Conversions, describe, is_constant
from offramp_p4.frontend.check.scope import Constant, Overloads, Template
from offramp_p4.frontend.check.typing import deep_strip, same
from offramp_p4.frontend.syntax import ast
from offramp_p4.frontend.syntax.lexer import MAX_BITS
from offramp_p4.source import P4Error, Pos
from offramp_p4.types import (
    BOOL,
    ERROR,
    INT,
    MATCH_KIND,
    STRING,
    VOID,
    Bits,
    Enum,
    ExternType,
    Header,
    List,
    Stack,
    Struct,
    StructField,
    Structure,
    Tuple,
    Type,
    Union,
)  # fmt: skip

_MAX_STRING: Final = 1 << 16

_COMPARISONS = ("<", "<=", ">", ">=")


class ExpressionChecker(Conversions):
    """Typed expressions. ``expected`` guides list and struct expressions and widens integer literals."""

    @abstractmethod
    def call(self, node: ast.CallExpr, expected: Type | None) -> ir.Expr:
        """A call of any kind."""

    @abstractmethod
    def is_parameter(self, var: ir.Var) -> bool:
        """Whether a variable is a parameter."""

    @abstractmethod
    def table_result(self, node: ast.Dot) -> ir.Expr | None:
        """``table.apply().hit`` and its like, or None if the base is not the application of a table."""

    # --- entry points --------------------------------------------------------------------------------------

    def expr(self, node: ast.Expr, expected: Type | None = None) -> ir.Expr:
        """A typed expression, converted to ``expected`` where the language converts implicitly."""
        if expected is not None:
            expected = deep_strip(expected)
        checked = self._expr(node, expected)
        return checked if expected is None else self.coerce(checked, expected, node.pos)

    def value(self, node: ast.Expr, declared: Type) -> ir.Expr:
        """A value of a declared type that is assigned, passed or returned; ``type`` names stay distinct types."""
        checked = self._expr(node, deep_strip(declared))
        literal = checked.type == INT
        checked = self.coerce(checked, declared, node.pos)
        self.check_newtype(checked, declared, node.pos, literal=literal)
        return self.note(checked, declared) if literal else checked

    def constant(self, node: ast.Expr, expected: Type | None = None) -> ir.Expr:
        """An expression that must be known at compile time."""
        return _known(self.expr(node, expected), node.pos)

    def constant_of(self, node: ast.Expr, declared: Type) -> ir.Expr:
        """A compile-time constant as a value of a declared type, which may be a new type."""
        return _known(self.value(node, declared), node.pos)

    def condition(self, node: ast.Expr) -> ir.Expr:
        """A boolean."""
        checked = self.expr(node)
        if checked.type != BOOL:
            raise P4Error(node.pos, f"expected a boolean, found {describe(checked.type)}")
        return checked

    def place(self, node: ast.Expr) -> ir.Expr:
        """Something that can be written."""
        checked = self.expr(node)
        root: ir.Expr = checked
        while not isinstance(root, ir.VarRef):
            if not isinstance(root, ir.Member | ir.Element | ir.StackNext | ir.StackLast | ir.Slice):
                raise P4Error(node.pos, "this cannot be written to")
            root = root.base
        if root.var.direction == "in" or isinstance(root.var.type, ExternType):
            raise P4Error(node.pos, f"'{root.var.name}' is read-only here")
        if not root.var.direction and self.is_parameter(root.var):
            raise P4Error(node.pos, f"'{root.var.name}' is a parameter without direction, which is read-only")
        return checked

    def _copy(self, e: ir.Expr) -> ir.Expr:
        """A cast that changes nothing still gives a value of another declared type."""
        if self.newtype(e) is None:
            return e
        return _at(e, e.pos) if isinstance(e, ir.Const) else ir.Cast(e, type=e.type, pos=e.pos)

    # --- one kind after another ----------------------------------------------------------------------------

    def _expr(self, node: ast.Expr, expected: Type | None) -> ir.Expr:  # noqa: C901  a dispatch
        match node:
            case ast.IntLit():
                return _literal(node)
            case ast.BoolLit():
                return ir.Const(int(node.value), type=BOOL, pos=node.pos)
            case ast.StrLit():
                return ir.Const(node.value, type=STRING, pos=node.pos)
            case ast.NameExpr():
                return self._path(node)
            case ast.Dot():
                return self._dot(node)
            case ast.IndexExpr():
                return self._index(node)
            case ast.SliceOp():
                return self._slice(node)
            case ast.UnaryOp():
                return self._unary(node)
            case ast.BinaryOp():
                return self._binary(node)
            case ast.TernaryExpr():
                return self._ternary(node, expected)
            case ast.CastOp():
                to = self.type(node.type)
                operand = self._expr(node.operand, deep_strip(to))
                self.check_cast(operand, to, node.pos)
                converted = self.cast(operand, to, node.pos)
                return self.note(self._copy(converted), to)
            case ast.CallExpr():
                return self.call(node, expected)
            case ast.ListExpr():
                return self._list(node, expected)
            case ast.StructExpr():
                return self._struct(node, expected)
            case ast.Invalid():
                if expected is not None and not isinstance(expected, Header | Union):
                    raise P4Error(node.pos, f"expected {describe(expected)}, found an invalid header")
                return ir.InvalidHeader(type=expected or VOID, pos=node.pos)
            case ast.Dots():
                if expected is None:
                    raise P4Error(node.pos, "'...' needs a known type")
                return self.default(expected, node.pos)
            case ast.WildcardExpr():
                raise P4Error(node.pos, "'default' and '_' can stand only as a key")
            case _:
                raise P4Error(node.pos, "this is not a value")

    def _path(self, node: ast.NameExpr) -> ir.Expr:
        if node.name in self.match_kinds and self.scope.find(node.name, absolute=node.absolute) is None:
            return ir.Const(node.name, type=MATCH_KIND, pos=node.pos)
        entity = self.lookup(node.name, node.pos, absolute=node.absolute)
        if isinstance(entity, ir.Var):
            return ir.VarRef(entity, type=deep_strip(entity.type), pos=node.pos)
        if isinstance(entity, Constant):
            return self.note(_at(entity.value, node.pos), self.newtype(entity.value) or VOID)
        what = "a type" if isinstance(entity, Type | Template) else "not a value"
        if isinstance(entity, Overloads | ir.Action):
            what = "a function: call it"
        raise P4Error(node.pos, f"'{node.name}' is {what}")

    def _dot(self, node: ast.Dot) -> ir.Expr:
        named = self._type_named(node.base)
        if named is not None:
            return self._type_member(named, node)
        result = self.table_result(node)
        if result is not None:
            return result
        base = self.expr(node.base)
        t = base.type
        if isinstance(t, Stack):
            return self._stack_member(base, t, node)
        if isinstance(t, Structure):
            index = t.index.get(node.name)
            if index is None:
                raise P4Error(node.pos, f"{describe(t)} has no field '{node.name}'")
            field_type = deep_strip(t.fields[index].type)
            if isinstance(base, ir.Compose):
                return base.parts[index]
            return ir.Member(base, index, type=field_type, pos=node.pos)
        raise P4Error(node.pos, f"{describe(t)} has no member '{node.name}'")

    def _type_named(self, node: ast.Expr) -> Type | None:
        if isinstance(node, ast.TypeExpr):
            return self.type(node.type)
        if isinstance(node, ast.NameExpr):
            entity = self.scope.find(node.name, absolute=node.absolute)
            return entity if isinstance(entity, Type) else None
        return None

    def _type_member(self, t: Type, node: ast.Dot) -> ir.Expr:
        if t == ERROR:
            if node.name not in self.errors:
                raise P4Error(node.pos, f"error '{node.name}' is not declared")
            return ir.Const(self.errors[node.name], type=ERROR, pos=node.pos)
        if isinstance(t, Enum):
            if node.name not in t.members:
                raise P4Error(node.pos, f"enum '{t.name}' has no member '{node.name}'")
            return ir.Const(t.members[node.name], type=t, pos=node.pos)
        raise P4Error(node.pos, f"type {t} has no member '{node.name}'")

    def _stack_member(self, base: ir.Expr, t: Stack, node: ast.Dot) -> ir.Expr:
        if node.name in ("next", "last", "lastIndex") and self.where in ("control", "action"):
            raise P4Error(node.pos, f"'{node.name}' of a stack can be used in parsers only")
        if node.name in ("next", "last", "lastIndex") and not t.first:
            raise P4Error(node.pos, f"an array has no '{node.name}': only stacks of headers have it")
        match node.name:
            case "size":
                return ir.Const(t.size, type=Bits(32), pos=node.pos)
            case "next":
                return ir.StackNext(base, type=t.element, pos=node.pos)
            case "last":
                return ir.StackLast(base, type=t.element, pos=node.pos)
            case "lastIndex":
                return ir.StackLastIndex(base, type=Bits(32), pos=node.pos)
        raise P4Error(node.pos, f"a header stack has no member '{node.name}'")

    def _index(self, node: ast.IndexExpr) -> ir.Expr:
        base = self.expr(node.base)
        if isinstance(base.type, Tuple):
            at = self.number(node.index, "the index of a tuple", 0, len(base.type.types) - 1)
            if isinstance(base, ir.Compose):
                return base.parts[at]
            return ir.Member(base, at, type=base.type.types[at], pos=node.pos)
        if not isinstance(base.type, Stack):
            raise P4Error(node.pos, f"{describe(base.type)} cannot be indexed")
        index = self.expr(node.index)
        if isinstance(index.type, Enum) and index.type.base is not None:
            index = self.cast(index, index.type.base, node.pos)
        if index.type == INT:
            index = self.coerce(index, Bits(32), node.pos)
        if not isinstance(index.type, Bits):
            raise P4Error(node.index.pos, f"expected an index, found {describe(index.type)}")
        if isinstance(index, ir.Const) and not 0 <= int(index.value) < max(1, base.type.size):
            raise P4Error(node.index.pos, f"index {index.value} is outside a stack of {base.type.size}")
        return ir.Element(base, index, type=base.type.element, pos=node.pos)

    def _slice(self, node: ast.SliceOp) -> ir.Expr:
        base = self.expr(node.base)
        self.no_newtype("[:]", base)
        if isinstance(base.type, Enum) and base.type.base is not None:
            base = self.cast(base, base.type.base, node.pos)
        if not isinstance(base.type, Bits) and base.type != INT:
            raise P4Error(node.pos, f"{describe(base.type)} cannot be sliced")
        top = base.type.width - 1 if isinstance(base.type, Bits) else 1 << 20
        if node.plus:
            width = self.number(node.high, "the width of a slice", 1, top + 1)
            start = self.expr(node.low)
            if not isinstance(start, ir.Const):
                shifted = self.arithmetic(">>", base, start, node.pos)
                return self.cast(self._unsigned(shifted, node.pos), Bits(width), node.pos)
            low = self.number(node.low, "the low end of a slice", 0, top)
            high = low + width - 1
        else:
            high = self.number(node.high, "the high end of a slice", 0, top)
            low = self.number(node.low, "the low end of a slice", 0, top)
            if high < low:
                raise P4Error(node.pos, f"the high end of a slice comes first: {low}:{high}, not {high}:{low}")
        if high > top:
            raise P4Error(node.pos, f"bit {high} is outside {describe(base.type)}")
        t = Bits(high - low + 1)
        if isinstance(base, ir.Const) and isinstance(base.value, int):
            return ir.Const(t.wrap(base.value >> low), type=t, pos=node.pos)
        return ir.Slice(base, high, low, type=t, pos=node.pos)

    def _unsigned(self, e: ir.Expr, pos: Pos) -> ir.Expr:
        return self.cast(e, Bits(e.type.width), pos) if isinstance(e.type, Bits) and e.type.signed else e

    # --- operators -----------------------------------------------------------------------------------------

    def _unary(self, node: ast.UnaryOp) -> ir.Expr:
        operand = self._numeric(self.expr(node.operand), node.pos)
        self.no_newtype(node.op, operand)
        t = operand.type
        ok = t == BOOL if node.op == "!" else isinstance(t, Bits) or (t == INT and node.op in "+-")
        if not ok:
            raise P4Error(node.pos, f"'{node.op}' is not defined for {describe(t)}")
        if node.op == "+":
            return operand
        if isinstance(operand, ir.Const) and isinstance(operand.value, int):
            return ir.Const(fold.unary(node.op, t, operand.value), type=t, pos=node.pos)
        return ir.Unary(node.op, operand, type=t, pos=node.pos)

    def _numeric(self, e: ir.Expr, pos: Pos) -> ir.Expr:
        """Serialisable enums take part in arithmetic as their base."""
        return self.cast(e, e.type.base, pos) if isinstance(e.type, Enum) and e.type.base is not None else e

    def _binary(self, node: ast.BinaryOp) -> ir.Expr:
        if node.op in ("&&&", ".."):
            raise P4Error(node.pos, f"'{node.op}' can stand only in a key")
        if node.op in ("==", "!="):
            return self._equality(node)
        left, right = self.expr(node.left), self.expr(node.right)
        if node.op in ("&&", "||"):
            for side, at in ((left, node.left), (right, node.right)):
                if side.type != BOOL:
                    raise P4Error(at.pos, f"expected a boolean, found {describe(side.type)}")
            if isinstance(left, ir.Const):  # the other side is evaluated only if this one does not decide
                decides = bool(left.value) == (node.op == "||")
                return left if decides else right
            return ir.Binary(node.op, left, right, type=BOOL, pos=node.pos)
        return self.arithmetic(node.op, left, right, node.pos)

    def arithmetic(self, op: str, left: ir.Expr, right: ir.Expr, pos: Pos) -> ir.Expr:
        """``left op right`` for numbers: shifts, concatenation, comparison and the rest."""
        left, right = self._numeric(left, pos), self._numeric(right, pos)
        self.no_newtype(op, left, right)
        if op in ("<<", ">>"):
            return self._shift(op, left, right, pos)
        if op == "++" and left.type == STRING == right.type:
            if isinstance(left, ir.Const) and isinstance(right, ir.Const):
                joined = str(left.value) + str(right.value)
                if len(joined) > _MAX_STRING:
                    raise P4Error(pos, f"a string of more than {_MAX_STRING} characters")
                return ir.Const(joined, type=STRING, pos=pos)
            raise P4Error(pos, "strings can be joined only if they are known at compile time")
        if op == "++":
            if not (isinstance(left.type, Bits) and isinstance(right.type, Bits)):
                raise P4Error(pos, f"'++' joins bit strings, not {describe(left.type)} and {describe(right.type)}")
            width = left.type.width + right.type.width
            if width > MAX_BITS:
                raise P4Error(pos, f"'++' makes a number of {width} bits; at most {MAX_BITS} are supported")
            t: Type = Bits(width, left.type.signed)
            if isinstance(left, ir.Const) and isinstance(right, ir.Const):
                value = int(left.value) << right.type.width | (int(right.value) & right.type.mask)
                return ir.Const(fold.wrap(t, value), type=t, pos=pos)
            return ir.Binary(op, left, right, type=t, pos=pos)
        if op in ("/", "%") and right.type == INT and isinstance(right, ir.Const) and int(right.value) < 0:
            raise P4Error(pos, f"'{op}' is not defined for negative numbers")
        left, right = self._match(left, right, op, pos)
        t = left.type
        if not isinstance(t, Bits) and t != INT:
            raise P4Error(pos, f"'{op}' is not defined for {describe(t)}")
        if op in ("/", "%"):
            _check_division(op, t, right, pos)
        if t == INT and op in ("|+|", "|-|"):
            raise P4Error(pos, "saturating arithmetic needs operands of fixed width")
        result = BOOL if op in _COMPARISONS else t
        return self._folded(op, left, right, result, pos)

    def _shift(self, op: str, left: ir.Expr, right: ir.Expr, pos: Pos) -> ir.Expr:
        if right.type == INT and isinstance(right, ir.Const):
            amount = int(right.value)
            if amount < 0:
                raise P4Error(pos, "a shift amount cannot be negative")
            right = ir.Const(amount, type=Bits(max(32, amount.bit_length())), pos=right.pos)
        if isinstance(right, ir.Const) and isinstance(right.type, Bits) and right.type.signed and int(right.value) >= 0:
            right = ir.Const(right.value, type=Bits(right.type.width), pos=right.pos)
        if not isinstance(right.type, Bits) or right.type.signed:
            raise P4Error(pos, f"a shift amount must be unsigned, not {describe(right.type)}")
        if left.type == INT and not isinstance(right, ir.Const):
            raise P4Error(pos, "an integer without width can be shifted by a constant only")
        if not isinstance(left.type, Bits) and left.type != INT:
            raise P4Error(pos, f"'{op}' is not defined for {describe(left.type)}")
        return self._folded(op, left, right, left.type, pos)

    def _match(self, left: ir.Expr, right: ir.Expr, op: str, pos: Pos) -> tuple[ir.Expr, ir.Expr]:
        """Give both operands one type."""
        if same(left.type, right.type):
            return left, right
        if left.type == INT:
            return self.coerce(left, right.type, pos), right
        if right.type == INT:
            return left, self.coerce(right, left.type, pos)
        raise P4Error(pos, f"'{op}' needs operands of one type, not {describe(left.type)} and {describe(right.type)}")

    def _folded(self, op: str, left: ir.Expr, right: ir.Expr, result: Type, pos: Pos) -> ir.Expr:
        if (
            isinstance(left, ir.Const)
            and isinstance(right, ir.Const)
            and isinstance(left.value, int)
            and isinstance(right.value, int)
        ):
            return ir.Const(fold.binary(op, left.type, left.value, right.value, pos), type=result, pos=pos)
        return ir.Binary(op, left, right, type=result, pos=pos)

    def _equality(self, node: ast.BinaryOp) -> ir.Expr:
        if isinstance(node.left, ast.ListExpr | ast.StructExpr | ast.Invalid):
            right = self.expr(node.right)
            left = self.expr(node.left, right.type)
        else:
            left = self.expr(node.left)
            right = self._expr(node.right, left.type)
        self.check_comparable(left, right, node.pos)
        if isinstance(left.type, Enum) and isinstance(right.type, Enum):
            if left.type is not right.type:
                left, right = self._numeric(left, node.pos), self._numeric(right, node.pos)
        elif isinstance(left.type, Enum) or isinstance(right.type, Enum):
            left, right = self._numeric(left, node.pos), self._numeric(right, node.pos)
        if isinstance(right, ir.Compose | ir.InvalidHeader):
            right = self.coerce(right, left.type, node.pos)
        left, right = self._match(left, right, node.op, node.pos)
        if isinstance(left, ir.Const) and isinstance(right, ir.Const):
            equal = left.value == right.value
            return ir.Const(int(equal == (node.op == "==")), type=BOOL, pos=node.pos)
        if is_constant(left) and is_constant(right):
            return ir.Const(int(_same_constant(left, right) == (node.op == "==")), type=BOOL, pos=node.pos)
        if not left.type.slots and not isinstance(left.type, Struct | Tuple):
            raise P4Error(node.pos, f"'{node.op}' is not defined for {describe(left.type)}")
        if not left.type.slots:
            return ir.Const(int(node.op == "=="), type=BOOL, pos=node.pos)
        return ir.Binary(node.op, left, right, type=BOOL, pos=node.pos)

    def _ternary(self, node: ast.TernaryExpr, expected: Type | None) -> ir.Expr:
        condition = self.condition(node.condition)
        then, otherwise = self._side(node.then, expected), self._side(node.otherwise, expected)
        then, otherwise = self._match(then, otherwise, "?:", node.pos)
        if isinstance(condition, ir.Const):
            return then if condition.value else otherwise
        if then.type == INT:
            raise P4Error(node.pos, "the two values of '?:' need a width")
        return ir.Mux(condition, then, otherwise, type=then.type, pos=node.pos)

    def _side(self, node: ast.Expr, expected: Type | None) -> ir.Expr:
        """A value of ``?:``. What has a width keeps it: below a cast, ``expected`` is what the whole is cast to."""
        value = self._expr(node, expected)
        return value if expected is None or isinstance(value.type, Bits) else self.coerce(value, expected, node.pos)

    # --- lists and structs ---------------------------------------------------------------------------------

    def _list(self, node: ast.ListExpr, expected: Type | None) -> ir.Expr:
        wanted: list[Type] | None = None
        if isinstance(expected, Structure) and not isinstance(expected, Union):
            wanted = [f.type for f in expected.fields]
        elif isinstance(expected, Tuple):
            wanted = list(expected.types)
        elif isinstance(expected, Stack):
            wanted = [expected.element] * expected.size
        elif isinstance(expected, List):
            wanted = [expected.element] * len(node.items)
        if wanted is None:
            if node.rest:
                raise P4Error(node.pos, "'...' needs a known type")
            parts = [self.expr(item) for item in node.items]
            return ir.Compose(parts, type=Tuple(tuple(p.type for p in parts)), pos=node.pos)
        assert expected is not None
        if len(node.items) > len(wanted):
            raise P4Error(node.pos, f"{describe(expected)} has {len(wanted)} fields, {len(node.items)} values given")
        one = self.value if isinstance(expected, Structure) else self.expr
        parts = [one(item, want) for item, want in zip(node.items, wanted, strict=False)]
        if node.rest:
            parts += [self.default(want, node.pos) for want in wanted[len(parts) :]]
        return self._compose(parts, expected, node.pos)

    def _struct(self, node: ast.StructExpr, expected: Type | None) -> ir.Expr:
        if expected is None:
            return self._anonymous(node)
        if not isinstance(expected, Structure) or isinstance(expected, Union):
            raise P4Error(node.pos, f"expected {describe(expected)}, found a struct expression")
        items = dict(zip(node.names, node.items, strict=True))
        if len(items) != len(node.names):
            raise P4Error(node.pos, "a field is given twice")
        for name, item in items.items():
            if name not in expected.index:
                raise P4Error(item.pos, f"{describe(expected)} has no field '{name}'")
        # Values are evaluated in the order in which they are written.
        values = {name: self.value(item, expected.fields[expected.index[name]].type) for name, item in items.items()}
        parts = []
        for f in expected.fields:
            if f.name in values:
                parts.append(values[f.name])
            elif node.rest:
                parts.append(self.default(f.type, node.pos))
            else:
                raise P4Error(node.pos, f"field '{f.name}' of {describe(expected)} is not given")
        return ir.Compose(parts, type=expected, pos=node.pos)

    def _anonymous(self, node: ast.StructExpr) -> ir.Expr:
        """A struct expression whose type does not follow from where it stands: a struct without a name."""
        if node.rest:
            raise P4Error(node.pos, "'...' needs a known type")
        parts = [self.expr(item) for item in node.items]
        fields = [StructField(name, part.type) for name, part in zip(node.names, parts, strict=True)]
        if len({f.name for f in fields}) != len(fields):
            raise P4Error(node.pos, "a field is given twice")
        return ir.Compose(parts, type=Struct(ANONYMOUS, {}, fields), pos=node.pos)


def _known(e: ir.Expr, pos: Pos) -> ir.Expr:
    if not is_constant(e):
        raise P4Error(pos, "this must be known at compile time")
    return e


def _check_division(op: str, t: Type, divisor: ir.Expr, pos: Pos) -> None:
    """Division is for unsigned numbers and arbitrary precision (sections 8.5 to 8.8)."""
    if isinstance(t, Bits) and t.signed:
        raise P4Error(pos, f"'{op}' is not defined for {describe(t)}")
    if isinstance(divisor, ir.Const) and divisor.value == 0:
        raise P4Error(pos, "division by zero")


def _same_constant(a: ir.Expr, b: ir.Expr) -> bool:
    if isinstance(a, ir.Compose) and isinstance(b, ir.Compose):
        return all(_same_constant(x, y) for x, y in zip(a.parts, b.parts, strict=True))
    if isinstance(a, ir.Const) and isinstance(b, ir.Const):
        return a.value == b.value
    return isinstance(a, ir.InvalidHeader) and isinstance(b, ir.InvalidHeader)


def _literal(node: ast.IntLit) -> ir.Const:
    if node.width is None:
        return ir.Const(node.value, type=INT, pos=node.pos)
    if node.signed and not node.width:
        raise P4Error(node.pos, "a signed integer needs at least 1 bit")
    t = Bits(node.width, node.signed)
    return ir.Const(t.wrap(node.value), type=t, pos=node.pos)


def _at(e: ir.Expr, pos: Pos) -> ir.Expr:
    """A scalar constant with the position of its use."""
    return ir.Const(e.value, type=e.type, pos=pos) if isinstance(e, ir.Const) else e
