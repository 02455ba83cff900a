# SPDX-License-Identifier: Apache-2.0
"""Recursive descent over types and expressions (P4-16 specification, sections 7 and 8, and its grammar)."""

from __future__ import annotations

from offramp_p4.frontend.syntax import ast
from offramp_p4.frontend.syntax.cursor import KEYWORDS, SOFT, Cursor
from offramp_p4.frontend.syntax.lexer import base_of, parse_int, parse_string
from offramp_p4.frontend.syntax.preprocess import touches
from offramp_p4.source import P4Error, Pos

_BASE_TYPES = ("bit", "int", "varbit", "bool", "error", "string", "void", "match_kind")
# Loosest first; "<", ">" and the shifts are told apart in _operator.
_LEVELS: list[tuple[str, ...]] = [
    ("||",), ("&&",), ("==", "!="), ("<", ">", "<=", ">="), ("|",), ("^",), ("&",), ("<<", ">>"),
    ("++", "+", "-", "|+|", "|-|"), ("*", "/", "%"),
]  # fmt: skip
OPERAND = len(_LEVELS)  # the level that takes no binary operator: what the left side of an assignment is made of


class ExpressionParser(Cursor):
    """Types, arguments and expressions."""

    _in_width = False  # inside bit<…>, where ">" closes the bracket

    # --- types ---------------------------------------------------------------------------------------------

    def at_type(self) -> bool:
        """Whether a type begins here."""
        t = self.token
        if t.kind == "op":
            return t.text == "." and self.ahead().kind == "id" and self.is_type_name(self.ahead().text)
        if t.kind != "id":
            return False
        if t.text == "tuple" or (t.text == "list" and self.ahead().text == "<"):
            return True
        return t.text in _BASE_TYPES or (self.is_type_name(t.text) and (t.text not in KEYWORDS or t.text in SOFT))

    def type(self) -> ast.TypeNode:
        """A type, with any ``[size]`` behind it."""
        t = self.token
        if t.text in _BASE_TYPES and t.kind == "id":
            node: ast.TypeNode = self._base_type()
        elif t.text == "tuple" or (t.text == "list" and self.ahead().text == "<"):
            self.next()
            node = ast.TupleType(t.pos, t.text, self.type_arguments())
        else:
            node = self.named_type()
        while self.at("[") and self.ahead().text != "]":
            self.next()
            size = self.expression()
            self.expect("]", "after the size of a stack")
            node = ast.StackType(t.pos, node, size)
        return node

    def named_type(self) -> ast.NamedType:
        """A type by name, with type arguments if there are any."""
        pos = self.pos
        absolute = self.accept(".")
        word = self.token.text
        if not self.is_type_name(word):
            if self.token.kind == "id" and (word not in KEYWORDS or word in SOFT):
                raise P4Error(self.pos, f"'{word}' is not a type")
            raise P4Error(self.pos, f"expected a type, found {self.token}")
        name = self.name("a type")
        args = self.type_arguments() if self.at("<") else []
        return ast.NamedType(pos, name, absolute, args)

    def _base_type(self) -> ast.BaseType:
        t = self.next()
        if t.text == "int" and not self.at("<"):
            return ast.BaseType(t.pos, "int")
        if t.text in ("bit", "int", "varbit"):
            if not self.accept("<"):
                if t.text == "bit":
                    return ast.BaseType(t.pos, "bit", ast.IntLit(t.pos, 1, None, signed=False))
                raise P4Error(self.pos, f"expected '<' and a width after '{t.text}', found {self.token}")
            before, self._in_width = self._in_width, True
            width = self.expression()
            self._in_width = before
            self.expect(">", "after a width")
            return ast.BaseType(t.pos, t.text, width)
        return ast.BaseType(t.pos, t.text)

    def type_arguments(self) -> list[ast.TypeNode]:
        """``<T, ...>``; ``_`` stands for any type."""
        self.expect("<")
        out: list[ast.TypeNode] = []
        while not self.at(">"):
            if self.at("_"):
                out.append(ast.AnyType(self.next().pos))
            else:
                out.append(self.type())
            if not self.accept(","):
                break
        self.expect(">", "after type arguments")
        return out

    # --- expressions ---------------------------------------------------------------------------------------

    def expression(self, level: int = -1) -> ast.Expr:
        """An expression; ``level`` is the loosest operator level to take (-1 includes ``?:``)."""
        if level == -1:
            condition = self.expression(0)
            while self.at("?"):  # to the left, by the grammar's precedences: (a ? b : c) ? d : e
                pos = self.next().pos
                then = self.expression()
                self.expect(":", "in a conditional expression")
                condition = ast.TernaryExpr(pos, condition, then, self.expression(0))
            return condition
        if level == OPERAND:
            return self._unary()
        left = self.expression(level + 1)
        while (op := self._operator(_LEVELS[level])) is not None:
            text, pos = op
            left = ast.BinaryOp(pos, text, left, self.expression(level + 1))
        return left

    def _operator(self, operators: tuple[str, ...]) -> tuple[str, Pos] | None:
        t = self.token
        if t.kind != "op":
            return None
        text = t.text
        if text == ">":
            nxt = self.ahead()
            if nxt.text in (">", ">=") and touches(t, nxt):
                text = ">>" if nxt.text == ">" else ">>="
        if text not in operators or (self._in_width and text[0] == ">"):
            return None
        self.next()
        if text == ">>":
            self.next()
        return text, t.pos

    def _unary(self) -> ast.Expr:
        t = self.token
        if t.kind == "op" and t.text in ("!", "~", "-", "+"):
            self.next()
            operand = self._unary()
            if t.text == "-" and isinstance(operand, ast.IntLit) and operand.width is None:
                return ast.IntLit(t.pos, -operand.value, None, signed=False)
            return ast.UnaryOp(t.pos, t.text, operand)
        if t.text == "(" and t.kind == "op":
            cast = self._cast()
            if cast is not None:
                return cast
        return self._postfix(self._primary())

    def _cast(self) -> ast.Expr | None:
        mark = self.mark()
        pos = self.next().pos
        if not self.at_type():
            self.reset(mark)
            return None
        try:
            target = self.type()
        except P4Error:
            self.reset(mark)
            return None
        if not self.accept(")"):
            self.reset(mark)  # "(Enum.member)" or "(T(…))": an expression in parentheses
            return None
        return ast.CastOp(pos, target, self._unary())

    def _primary(self) -> ast.Expr:
        t = self.token
        if t.kind == "int":
            self.next()
            return ast.IntLit(t.pos, *parse_int(t), base_of(t))
        if t.kind == "str":
            self.next()
            text = parse_string(t)
            while self.token.kind == "str":
                text += parse_string(self.next())
            return ast.StrLit(t.pos, text)
        if t.kind == "op":
            return self._bracketed()
        if t.text in ("true", "false") and t.kind == "id":
            self.next()
            return ast.BoolLit(t.pos, t.text == "true")
        if t.text in ("default", "_"):
            self.next()
            return ast.WildcardExpr(t.pos)
        if t.text == "this":
            self.next()
            return ast.This(t.pos)
        if t.text == "error":
            self.next()
            return ast.TypeExpr(t.pos, ast.BaseType(t.pos, "error"))
        if self.at_type() and t.text not in ("in", "out", "inout"):
            node = self.type()
            if isinstance(node, ast.NamedType) and not node.args:
                return ast.NameExpr(node.pos, node.name, node.absolute)
            return ast.TypeExpr(t.pos, node)
        if t.kind == "id" and (t.text not in KEYWORDS or t.text in SOFT):
            self.next()
            return ast.NameExpr(t.pos, t.text)
        raise P4Error(t.pos, f"expected an expression, found {t}")

    def _bracketed(self) -> ast.Expr:
        t = self.next()
        if t.text == "(":
            before, self._in_width = self._in_width, False
            inner = self.expression()
            self._in_width = before
            self.expect(")", "to close the parenthesis")
            return inner
        if t.text == "{#}":
            return ast.Invalid(t.pos)
        if t.text == "...":
            return ast.Dots(t.pos)
        if t.text == ".":
            return ast.NameExpr(t.pos, self.name("a name"), absolute=True)
        if t.text == "{":
            return self._braces(t.pos)
        raise P4Error(t.pos, f"expected an expression, found {t}")

    def _braces(self, pos: Pos) -> ast.Expr:
        if self.token.kind == "id" and self.ahead().text == "=" and self.ahead().kind == "op":
            names: list[str] = []
            items: list[ast.Expr] = []
            rest = False
            while not self.at("}"):
                if self.accept("..."):
                    rest = True
                    break
                names.append(self.name("a field name"))
                self.expect("=", "after a field name")
                items.append(self.expression())
                if not self.accept(","):
                    break
            self.expect("}", "to close the struct expression")
            return ast.StructExpr(pos, names, items, rest)
        values: list[ast.Expr] = []
        rest = False
        while not self.at("}"):
            if self.at("...") and self.ahead().text == "}":
                self.next()
                rest = True
                break
            values.append(self.expression())
            if not self.accept(","):
                break
        self.expect("}", "to close the list")
        return ast.ListExpr(pos, values, rest)

    def _postfix(self, base: ast.Expr) -> ast.Expr:
        while True:
            t = self.token
            if t.kind != "op":
                return base
            if t.text == ".":
                self.next()
                member = self.token
                if member.kind != "id":
                    raise P4Error(member.pos, f"expected a member name after '.', found {member}")
                self.next()
                base = ast.Dot(member.pos, base, member.text)
            elif t.text == "[":
                base = self._subscript(base)
            elif t.text == "(":
                args, names = self.arguments()
                base = ast.CallExpr(base.pos, base, [], args, names)
            elif t.text == "<" and isinstance(base, ast.NameExpr | ast.Dot | ast.TypeExpr):
                call = self._generic_call(base)
                if call is None:
                    return base
                base = call
            else:
                return base

    def _subscript(self, base: ast.Expr) -> ast.Expr:
        pos = self.next().pos
        first = self.expression()
        node: ast.Expr
        if self.accept(":"):
            node = ast.SliceOp(pos, base, first, self.expression())
        elif self.accept("+:"):
            node = ast.SliceOp(pos, base, self.expression(), first, plus=True)
        else:
            node = ast.IndexExpr(pos, base, first)
        self.expect("]", "after a subscript")
        return node

    def _generic_call(self, base: ast.Expr) -> ast.Expr | None:
        mark = self.mark()
        try:
            type_args = self.type_arguments()
        except P4Error:
            self.reset(mark)
            return None
        if not self.at("("):
            self.reset(mark)
            return None
        args, names = self.arguments()
        return ast.CallExpr(base.pos, base, type_args, args, names)

    def arguments(self) -> tuple[list[ast.Expr], list[str | None]]:
        """``(a, name = b, _)``."""
        self.expect("(")
        args: list[ast.Expr] = []
        names: list[str | None] = []
        while not self.at(")"):
            if self.token.kind == "id" and self.ahead().text == "=" and self.ahead().kind == "op":
                names.append(self.next().text)
                self.next()
            else:
                names.append(None)
            args.append(self.expression())
            if not self.accept(","):
                break
        self.expect(")", "after the arguments")
        return args, names

    # --- key sets ------------------------------------------------------------------------------------------

    def simple_key(self) -> ast.Expr:
        """One key: a value, ``value &&& mask``, ``low .. high``, ``default`` or ``_``."""
        left = self.expression()
        if self.at("&&&", ".."):
            op = self.next()
            return ast.BinaryOp(op.pos, op.text, left, self.expression())
        return left

    def key_set(self) -> ast.Expr:
        """A key or a parenthesised tuple of keys."""
        if not self.at("("):
            return self.simple_key()
        mark = self.mark()
        pos = self.next().pos
        items = [self.simple_key()]
        while self.accept(","):
            if self.at(")"):
                break
            items.append(self.simple_key())
        if self.accept(")") and (self.at(":") or self.at(";")):
            if len(items) > 1 or (isinstance(items[0], ast.BinaryOp) and items[0].op in ("&&&", "..")):
                return ast.TupleKey(pos, items)
            if isinstance(items[0], ast.WildcardExpr):
                return items[0]
        self.reset(mark)  # a parenthesised sub-expression: "(a + b) &&& c", "(bit<8>) x"
        return self.simple_key()
