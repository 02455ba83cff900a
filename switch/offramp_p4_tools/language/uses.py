# SPDX-License-Identifier: Apache-2.0
"""Expressions and types walked: what each name in them means, and what type an expression has."""

from __future__ import annotations

from collections.abc import Sequence

from offramp_p4.frontend.syntax import ast
from offramp_p4.source import Pos
from offramp_p4_tools.language import members
from offramp_p4_tools.language.places import TokenPlaces
from offramp_p4_tools.language.symbols import Kept, Symbol, SymbolScope


class Uses:
    """Notes at each symbol where it is used.

    Attributes:
        at: the symbol that a place declares or uses.
        wanted: what the marked place may hold: the symbols, by name, once the walk has met it.
    """

    def __init__(self, places: TokenPlaces) -> None:
        self.places = places
        self.scope = SymbolScope()
        self.at: dict[Pos, Symbol] = {}
        self.wanted: dict[str, Symbol] | None = None
        self.marked = ""
        self._given: dict[Pos, dict[str, Kept]] = {}  # of the method named at a place: its owner's type arguments

    def use(self, symbol: Symbol | None, pos: Pos | None) -> None:
        """Note that the name at ``pos`` means ``symbol``."""
        if symbol is None or pos is None or not self.places.written(pos):
            return
        self.at[pos] = symbol
        symbol.uses.append(pos)

    def use_member(self, owner: Symbol | None, name: str, pos: Pos | None) -> Symbol | None:
        """Note the use of one of the names inside ``owner``."""
        several = owner.inside.own.get(name) if owner and owner.inside else None
        if not several:
            return None
        self.use(several[0], pos)
        return several[0]

    # --- types ---------------------------------------------------------------------------------------------

    def type(self, node: ast.TypeNode) -> None:
        """Walk a type."""
        match node:
            case ast.BaseType():
                if node.width is not None:
                    self.expression(node.width)
            case ast.NamedType():
                self._want(node.name, self.scope)
                symbol = self.scope.find(node.name, absolute=node.absolute)
                self.use(symbol, self.places.name(node.pos, node.name))
                for each in node.args:
                    self.type(each)
            case ast.StackType():
                self.type(node.element)
                self.expression(node.size)
            case ast.TupleType():
                for each in node.args:
                    self.type(each)

    # --- expressions ---------------------------------------------------------------------------------------

    def expression(self, expr: ast.Expr, wanted: Kept | None = None) -> Kept | None:
        """Walk an expression; its type, where it can be told.

        Args:
            expr: the expression.
            wanted: the type that its place has, for the fields of a struct expression.
        """
        match expr:
            case ast.NameExpr():
                return self._path(expr)
            case ast.Dot():
                return self._dot(expr)
            case ast.CallExpr():
                return self._call(expr)
            case ast.TypeExpr():
                self.type(expr.type)
                return Kept(expr.type, self.scope)
            case ast.CastOp():
                self.type(expr.type)
                kept = Kept(expr.type, self.scope)
                self.expression(expr.operand, kept)
                return kept
            case ast.IndexExpr():
                base = self.expression(expr.base)
                self.expression(expr.index)
                return members.element(base)
            case ast.StructExpr():
                self._struct_expression(expr, wanted)
                return wanted
            case ast.ListExpr() | ast.TupleKey():
                for each in expr.items:
                    self.expression(each)
            case _:
                return self._operator(expr, wanted)
        return None

    def _operator(self, expr: ast.Expr, wanted: Kept | None) -> Kept | None:
        match expr:
            case ast.BinaryOp():
                left = self.expression(expr.left)
                right = self.expression(expr.right)
                return None if expr.op in ("==", "!=", "<", ">", "<=", ">=") else left or right
            case ast.UnaryOp():
                return self.expression(expr.operand)
            case ast.SliceOp():
                for each in (expr.base, expr.high, expr.low):
                    self.expression(each)
            case ast.TernaryExpr():
                self.expression(expr.condition)
                then = self.expression(expr.then, wanted)
                return then or self.expression(expr.otherwise, wanted)
        return None

    def _path(self, expr: ast.NameExpr, arguments: int | None = None) -> Kept | None:
        self._want(expr.name, self.scope)
        symbol = _fitting(self.scope.find_all(expr.name, absolute=expr.absolute), arguments)
        self.use(symbol, self.places.name(expr.pos, expr.name))
        return None if symbol is None or symbol.kind in ("function", "action") else symbol.kept

    def _dot(self, expr: ast.Dot, arguments: int | None = None) -> Kept | None:
        if isinstance(expr.base, ast.TypeExpr) and isinstance(expr.base.type, ast.BaseType):
            return self._of_names(expr, self.scope.find(expr.base.type.name))
        owner = self.scope.find(expr.base.name) if isinstance(expr.base, ast.NameExpr) else None
        kept = self.expression(expr.base)
        if owner is not None and owner.kind == "enum":
            return self._of_names(expr, owner)
        if owner is not None and owner.kind in ("table", "parser", "control"):  # also T.apply(), without an instance
            names = members.applicable()
        elif self._is_application(expr.base):
            names = members.applied()
        else:
            names = members.members(kept)
        self.offer(expr.name, names)
        symbol = names.get(expr.name)
        if symbol is None:
            return None
        if symbol.within is not None and symbol.within.inside is not None:
            symbol = _fitting(symbol.within.inside.own[expr.name], arguments) or symbol
        self.use(symbol, expr.pos)
        return self._of_member(symbol, kept, expr.pos)

    def _of_names(self, expr: ast.Dot, owner: Symbol | None) -> Kept | None:
        if owner is not None and owner.inside is not None:
            self.offer(expr.name, {name: several[0] for name, several in owner.inside.own.items()})
        symbol = self.use_member(owner, expr.name, expr.pos)
        return symbol.kept if symbol else None

    def _of_member(self, symbol: Symbol, owner: Kept | None, pos: Pos) -> Kept | None:
        """The type of a member, with what the owner's type arguments make of its type parameters."""
        declared, real = members.meant(owner)
        given = members.given(declared, real) if declared is not None and real is not None else {}
        if symbol.kind == "method":
            self._given[pos] = given
            return None
        return symbol.kept and Kept(symbol.kept.type, symbol.kept.scope, {**symbol.kept.given, **given})

    def _is_application(self, expr: ast.Expr) -> bool:
        """Whether this is ``table.apply()``."""
        if not isinstance(expr, ast.CallExpr) or not isinstance(expr.callee, ast.Dot) or expr.callee.name != "apply":
            return False
        base = expr.callee.base
        owner = self.scope.find(base.name) if isinstance(base, ast.NameExpr) else None
        return owner is not None and owner.kind == "table"

    def _call(self, expr: ast.CallExpr) -> Kept | None:
        for each in expr.type_args:
            self.type(each)
        match expr.callee:
            case ast.NameExpr():
                self._path(expr.callee, len(expr.args))
            case ast.Dot():
                self._dot(expr.callee, len(expr.args))
            case _:
                self.expression(expr.callee)
        callee = self._callee(expr.callee)
        self.arguments(expr.pos, expr.args, expr.names, callee)
        if callee is None or callee.kept is None or callee.inside is None:
            return self._constructed(expr.callee)
        names = [name for name, several in callee.inside.own.items() if several[0].kind == "type parameter"]
        types = {name: Kept(each, self.scope) for name, each in zip(names, expr.type_args, strict=False)}
        types |= self._given.get(expr.callee.pos, {})
        return Kept(callee.kept.type, callee.kept.scope, {**callee.kept.given, **types})

    def _callee(self, expr: ast.Expr) -> Symbol | None:
        """The function, method or action that is called."""
        if isinstance(expr, ast.NameExpr):
            symbol = self.at.get(self.places.name(expr.pos, expr.name) or expr.pos)
            return symbol if symbol is not None and symbol.kind in ("function", "action") else None
        return self.at.get(expr.pos) if isinstance(expr, ast.Dot) else None

    def _constructed(self, expr: ast.Expr) -> Kept | None:
        """The type of ``T(arguments)``."""
        if isinstance(expr, ast.TypeExpr):
            return Kept(expr.type, self.scope)
        symbol = self.scope.find(expr.name) if isinstance(expr, ast.NameExpr) else None
        known = symbol is not None and symbol.kind in ("extern", "parser", "control", "package")
        return Kept(ast.NamedType(expr.pos, symbol.name), self.scope) if symbol is not None and known else None

    def _struct_expression(self, expr: ast.StructExpr, wanted: Kept | None) -> None:
        fields, places = members.members(wanted), self.places.named(expr.pos, expr.names)
        for name, item in zip(expr.names, expr.items, strict=True):
            symbol = fields.get(name)
            self.use(symbol, places.get(name))
            self.expression(item, symbol.kept if symbol else None)

    def arguments(self, pos: Pos, args: Sequence[ast.Expr], names: Sequence[str | None], callee: Symbol | None) -> None:
        """Walk arguments; the names of named ones are those of the callee's parameters."""
        places = self.places.named(pos, names) if any(names) else {}
        for name, each in zip(names or [None] * len(args), args, strict=True):
            parameter = callee.inside.own.get(name) if name and callee and callee.inside else None
            if parameter and name:
                self.use(parameter[0], places.get(name))
            self.expression(each, parameter[0].kept if parameter else None)

    def action(self, ref: ast.ActionRef) -> None:
        """Walk the name of an action and what is bound to its parameters."""
        self._want(ref.name, self.scope)
        target = self.scope.find(ref.name, absolute=ref.absolute)
        self.use(target, self.places.name(ref.pos, ref.name))
        self.arguments(ref.pos, ref.args, ref.names, target)

    # --- what may stand at the mark ------------------------------------------------------------------------

    def _want(self, name: str, scope: SymbolScope) -> None:
        if self.marked and name == self.marked:
            self.wanted = {symbol.name: symbol for symbol in scope.visible() if symbol.name != self.marked}

    def offer(self, name: str, symbols: dict[str, Symbol]) -> None:
        """Offer symbols for completion, if ``name`` is the name at the cursor."""
        if self.marked and name == self.marked:
            self.wanted = symbols


def _fitting(several: Sequence[Symbol], arguments: int | None) -> Symbol | None:
    """The first overload that takes this number of arguments, otherwise the first of all."""
    for each in several:
        scopes = each.inside.own.values() if each.inside else ()
        if arguments == sum(symbols[0].kind == "parameter" for symbols in scopes):
            return each
    return several[0] if several else None
