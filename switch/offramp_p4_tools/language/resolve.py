# SPDX-License-Identifier: Apache-2.0
"""Declarations and statements walked in order: every name becomes a symbol, every use of it is noted at its symbol.

Nothing is checked: a name without a meaning is left alone, so that half-written programs still answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from offramp_p4.frontend.syntax import ast
from offramp_p4.source import Pos
from offramp_p4_tools.language import members
from offramp_p4_tools.language.places import TokenPlaces
from offramp_p4_tools.language.symbols import Kept, Symbol, SymbolScope
from offramp_p4_tools.language.uses import Uses

_KINDS: Final = {"header_union": "header union"}


class Resolver(Uses):
    """The symbols of one program.

    Attributes:
        symbols: all of them, in the order of their declarations.
    """

    def __init__(self, places: TokenPlaces) -> None:
        super().__init__(places)
        self.symbols: list[Symbol] = []
        self._within: Symbol | None = None

    def program(self, declarations: Sequence[ast.Decl]) -> None:
        """Walk a whole program; names may be used before they are declared, as states and actions are in blocks."""
        self._declare_all(declarations)

    # --- declarations --------------------------------------------------------------------------------------

    def _declare_all(self, declarations: Sequence[ast.Decl]) -> None:
        for each in declarations:
            self.declare(each)

    def declare(self, decl: ast.Decl) -> None:
        """Give a declaration's name its meaning, and walk what is in it."""
        match decl:
            case ast.ConstDecl() | ast.VarDecl():
                self.type(decl.type)
                if decl.value is not None:
                    self.expression(decl.value, Kept(decl.type, self.scope))
                kind = "constant" if isinstance(decl, ast.ConstDecl) else "variable"
                self._symbol(decl, kind, Kept(decl.type, self.scope), ends=("=", ";"))
            case ast.Instantiation():
                self.type(decl.type)
                self._symbol(decl, "instance", Kept(decl.type, self.scope), ends=(";", "=", "{"))
                self.arguments(decl.pos, decl.args, decl.names, None)
                if decl.body:
                    self._block(None, decl.body)
            case ast.TypedefDecl():
                self.type(decl.type)
                self._symbol(decl, "type", Kept(decl.type, self.scope))
            case ast.ValueSetDecl():
                self.type(decl.type)
                self.expression(decl.size)
                self._symbol(decl, "value set", None)
            case ast.NamesDecl():
                self._names(decl)
            case ast.EnumDecl():
                self._enum(decl)
            case ast.StructDecl():
                self._struct(decl)
            case ast.TableDecl():
                self._table(decl)
            case _:
                self._callable(decl)

    def _callable(self, decl: ast.Decl) -> None:
        """Actions, functions, parsers, controls, packages, externs."""
        match decl:
            case ast.ActionDecl():
                symbol = self._symbol(decl, "action", None, ends=("{",))
                with self._inside(symbol):
                    self._parameters(decl.params)
                    self._body(decl.body)
            case ast.FunctionDecl():
                self._function(decl, "function")
            case ast.ExternDecl():
                symbol = self._symbol(decl, "extern", None, ends=("{",))
                with self._inside(symbol):
                    self._type_parameters(decl, decl.type_params)
                    for method in decl.methods:
                        self._function(method, "method")
            case ast.PackageDecl():
                with self._inside(self._symbol(decl, "package", None, ends=(";",))):
                    self._type_parameters(decl, decl.type_params)
                    self._parameters(decl.ctor)
            case ast.ParserDecl():
                with self._inside(self._symbol(decl, "parser", None, ends=("{", ";"))):
                    self._type_parameters(decl, decl.type_params)
                    self._parameters([*decl.params, *decl.ctor])
                    self._declare_all(decl.locals)
                    self._states(decl.states or [])
            case ast.ControlDecl():
                with self._inside(self._symbol(decl, "control", None, ends=("{", ";"))):
                    self._type_parameters(decl, decl.type_params)
                    self._parameters([*decl.params, *decl.ctor])
                    self._declare_all(decl.locals)
                    if decl.body is not None:
                        self._body(decl.body)

    def _function(self, decl: ast.FunctionDecl, kind: str) -> None:
        symbol = self._symbol(decl, kind, Kept(decl.returns, self.scope), ends=("{", ";"))
        with self._inside(symbol):
            self._type_parameters(decl, decl.type_params)
            symbol.kept = Kept(decl.returns, self.scope)
            self.type(decl.returns)
            self._parameters(decl.params)
            if decl.body is not None:
                self._body(decl.body)

    def _struct(self, decl: ast.StructDecl) -> None:
        symbol = self._symbol(decl, _KINDS.get(decl.kind, decl.kind), None, ends=("{",))
        with self._inside(symbol):
            self._type_parameters(decl, decl.type_params)
            for each in decl.fields:
                self.type(each.type)
                shown = f"{self.places.until(each.type.pos, ';')}"
                self._add(each.name, "field", each.pos, shown, Kept(each.type, self.scope))

    def _enum(self, decl: ast.EnumDecl) -> None:
        if decl.base is not None:
            self.type(decl.base)
        symbol = self._symbol(decl, "enum", None, ends=("{",))
        with self._inside(symbol):
            for name, value, pos in decl.members:
                if value is not None:
                    self.expression(value)
                own = Kept(ast.NamedType(decl.pos, decl.name), self.scope)
                self._add(name, "member", pos, self.places.until(pos, ","), own)

    def _names(self, decl: ast.NamesDecl) -> None:
        """``error`` and ``match_kind``: several declarations add to one list."""
        symbol = self.scope.find(decl.name)
        if symbol is None:
            symbol = Symbol(decl.name, "names", decl.pos, decl.name, None, SymbolScope(), written=False)
            self.scope.add(symbol)
        with self._inside(symbol):
            for name, pos in decl.members:
                self._add(name, decl.name.replace("_", " "), pos, f"{decl.name}.{name}", None)

    def _table(self, decl: ast.TableDecl) -> None:
        symbol = self._symbol(decl, "table", None, ends=("{",))
        kinds = self.scope.find("match_kind")
        for key in decl.keys:
            self.expression(key.expr)
            self.use_member(kinds, key.match_kind, self.places.name(key.expr.pos, key.match_kind))
        for action in [*decl.actions, *([decl.default] if decl.default else [])]:
            self.action(action)
        for entry in decl.entries:
            for each in entry.keys:
                self.expression(each)
            self.action(entry.action)
        for prop in decl.properties:
            self.expression(prop.value)
        symbol.inside = SymbolScope(self.scope)

    def _states(self, states: Sequence[ast.StateDecl]) -> None:
        for state in states:
            self._symbol(state, "state", None, ends=("{",))
        targets = {state.name: self.scope.own[state.name][0] for state in states} | members.ends_of_parsers()
        for state in states:
            with self._inside(None):
                self._statements(state.body)
                for each in state.select:
                    self.expression(each)
                for case in state.cases:
                    self.expression(case.keys)
                    self.offer(case.target, targets)
                    self.use(targets.get(case.target), self.places.target(case.pos, case.target))

    def _parameters(self, params: Sequence[ast.Param]) -> None:
        for each in params:
            self.type(each.type)
            if each.default is not None:
                self.expression(each.default)
            shown = f"{each.direction} {self.places.until(each.type.pos, ',', '=')}".strip()
            self._add(each.name, "parameter", each.pos, shown, Kept(each.type, self.scope))

    def _type_parameters(self, decl: ast.Declaration, names: Sequence[str]) -> None:
        for name in names:
            pos = self.places.name(decl.pos, name)
            if pos is not None:
                self._add(name, "type parameter", pos, f"type parameter {name}", None)

    # --- statements ----------------------------------------------------------------------------------------

    def _body(self, block: ast.BlockStmt) -> None:
        with self._inside(None):
            self._statements(block.body)

    def _block(self, owner: Symbol | None, declarations: Sequence[ast.Decl]) -> None:
        with self._inside(owner):
            self._declare_all(declarations)

    def _statements(self, statements: Sequence[ast.Stmt]) -> None:
        for each in statements:
            self._statement(each)

    def _statement(self, stmt: ast.Stmt | None) -> None:
        match stmt:
            case ast.AssignStmt():
                self.expression(stmt.value, self.expression(stmt.place))
            case ast.CallStmt():
                self.expression(stmt.call)
            case ast.BlockStmt():
                self._body(stmt)
            case ast.IfStmt():
                self.expression(stmt.condition)
                self._statement(stmt.then)
                self._statement(stmt.otherwise)
            case ast.SwitchStmt():
                self.expression(stmt.subject)
                for label, body in stmt.cases:
                    self.expression(label)
                    self._statement(body)
            case ast.ReturnStmt(value=value) if value is not None:
                self.expression(value)
            case ast.DeclStmt():
                self.declare(stmt.decl)
            case ast.ForStmt() | ast.ForInStmt():
                self._loop(stmt)

    def _loop(self, stmt: ast.ForStmt | ast.ForInStmt) -> None:
        with self._inside(None):
            if isinstance(stmt, ast.ForStmt):
                self._statements(stmt.init)
                self.expression(stmt.condition)
                self._statements(stmt.update)
            else:
                self.type(stmt.type)
                for bound in (stmt.low, stmt.high):
                    if bound is not None:
                        self.expression(bound)
                pos = self.places.name(stmt.type.pos, stmt.name)
                if pos is not None:
                    shown, kept = self.places.until(stmt.type.pos, "in"), Kept(stmt.type, self.scope)
                    self._add(stmt.name, "variable", pos, shown, kept)
            self._statement(stmt.body)

    # --- symbols -------------------------------------------------------------------------------------------

    def _symbol(self, decl: ast.Declaration, kind: str, kept: Kept | None, ends: Sequence[str] = (";",)) -> Symbol:
        pos = self.places.name(decl.pos, decl.name) or decl.pos
        typed = kind in ("constant", "variable", "instance", "function", "method") and kept is not None
        head = self.places.until(kept.type.pos if typed and kept else decl.pos, *ends)
        shown = head if typed else f"{kind.replace(' ', '_')} {head}"
        return self._add(decl.name, kind, pos, shown, kept)

    def _add(self, name: str, kind: str, pos: Pos, shown: str, kept: Kept | None) -> Symbol:
        written = self.places.written(pos)
        symbol = Symbol(name, kind, pos, shown, kept, within=self._within, written=written)
        self.scope.add(symbol)
        self.symbols.append(symbol)
        self.at[pos] = symbol
        return symbol

    def _inside(self, symbol: Symbol | None) -> _Inside:
        return _Inside(self, symbol)


class _Inside:
    """A scope of its own, that of ``symbol`` where there is one."""

    def __init__(self, resolver: Resolver, symbol: Symbol | None) -> None:
        self._resolver, self._symbol = resolver, symbol

    def __enter__(self) -> None:
        resolver, symbol = self._resolver, self._symbol
        self._before = resolver.scope, resolver._within
        if symbol is None:
            resolver.scope = SymbolScope(resolver.scope)
            return
        if symbol.inside is None:
            symbol.inside = SymbolScope(resolver.scope)
        resolver.scope, resolver._within = symbol.inside, symbol

    def __exit__(self, *_: object) -> None:
        self._resolver.scope, self._resolver._within = self._before
