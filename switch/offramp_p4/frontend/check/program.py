# SPDX-License-Identifier: Apache-2.0
"""A whole program: top-level declarations, then ``main`` (P4-16 specification, section 18)."""

from __future__ import annotations

from offramp_p4 import ir
from offramp_p4.frontend.check.blocks import BlockChecker
from offramp_p4.frontend.check.clashes import settle_names
from offramp_p4.frontend.check.overloads import overloadable
from offramp_p4.frontend.check.restrictions import (
    check_annotations,
    check_direction,
    check_distinct,
    check_enum_base,
    check_methods,
    check_newtype,
    check_parameters,
)
from offramp_p4.frontend.check.scope import Constant, Overloads, Scope, Template
from offramp_p4.frontend.syntax import ast
from offramp_p4.source import P4Error, Pos
from offramp_p4.types import Bits, Enum, Header, Newtype, Type, TypeVar, strip


class Elaborator(BlockChecker):
    """Syntax tree in, :class:`ir.Program` out."""

    def run(self, decls: list[ast.Decl], file: str, source: str) -> ir.Program:
        """Elaborate a program.

        Raises:
            P4Error: the program is wrong, or uses a feature that this switch lacks.
        """
        main: ir.PackageInstance | None = None
        for d in decls:
            self._top(d)
        self._check_unused(decls)
        entity = self.scope.here("main")
        if isinstance(entity, ir.ExternInstance):
            raise P4Error(entity.pos, "'main' must be an instance of a package")
        if isinstance(entity, ir.PackageInstance):
            main = entity
        if main is None:
            raise P4Error(Pos(file, 1, 1), "the program has no 'main' package, so there is nothing to run")
        settle_names(self.out, lambda action: self.action_namespaces.get(action, ""))
        controller = [t for t in self.types.values() if isinstance(t, Header) and "controller_header" in t.annotations]
        return ir.Program(
            main, file, list(self.errors), self.out.tables, self.out.actions, self.out.externs, self.out.value_sets,
            self.out.functions, self.out.blocks, dict(self.types), controller, main.annotations,
            self._constants(), source,
        )  # fmt: skip

    def _constants(self) -> dict[str, ir.Expr]:
        entities = {name: self.scope.here(name) for name in self.scope.names()}
        return {name: entity.value for name, entity in entities.items() if isinstance(entity, Constant)}

    def _check_unused(self, decls: list[ast.Decl]) -> None:
        """Check declarations that no instance uses, where they can be checked by themselves, and discard the result."""
        used = {b.type_name for b in self.out.blocks}
        for d in decls:
            template = self.scope.here(d.name)
            if not isinstance(d, ast.ParserDecl | ast.ControlDecl) or not isinstance(template, Template):
                continue
            template = next((t for t in template.others if t.decl is d), template)
            body = d.states if isinstance(d, ast.ParserDecl) else d.body
            if d.name not in used and body is not None and not d.type_params and not d.ctor:
                call = ast.CallExpr(d.pos, ast.NameExpr(d.pos, d.name), [], [], [])
                with self.forgetting():
                    self.block_instance(template, d, (), call, d.name, {})

    def _top(self, d: ast.Decl) -> None:
        check_annotations(d.annotations)
        match d:
            case ast.NamesDecl():
                self._names(d)
            case ast.StructDecl():
                self._struct_or_template(d)
            case ast.EnumDecl():
                self._named_type(d.name, self._enum(d), d.pos)
            case ast.TypedefDecl():
                t = self.type(d.type)
                if d.fresh:
                    check_newtype(d.name, t, d.pos)
                    t = Newtype(d.name, self.annotations(d.annotations), t)
                    self.types[d.name] = t
                self.declare(d.name, t, d.pos)
            case ast.ExternDecl():
                self._extern_decl(d)
            case ast.PackageDecl():
                check_parameters(d.ctor, type_params=d.type_params, pos=d.pos)
                self._declare_template(d)
            case ast.ParserDecl() | ast.ControlDecl():
                check_parameters(d.params, d.ctor, type_params=d.type_params, pos=d.pos)
                self._declare_template(d)
            case ast.FunctionDecl():
                self._function_decl(d)
            case ast.ConstDecl():
                self.declare(d.name, Constant(self.constant_of(d.value, self.type(d.type))), d.pos)
            case ast.ActionDecl():
                self.declare(d.name, self.action(d), d.pos)
            case ast.Instantiation():
                self.local_instance(d)
                if isinstance(self.scope.here(d.name), ir.ParserInstance | ir.ControlInstance):
                    raise P4Error(d.pos, f"'{d.name}': a parser or control cannot be instantiated at top level")
            case _:
                raise P4Error(d.pos, f"'{d.name}' cannot be declared at top level")

    def _declare_template(self, d: ast.ExternDecl | ast.PackageDecl | ast.ParserDecl | ast.ControlDecl) -> None:
        template, before = Template(d, self.scope), self.scope.here(d.name)
        if isinstance(before, Template) and all(overloadable(d, t.decl) for t in (before, *before.others)):
            before.others.append(template)
        else:
            self.declare(d.name, template, d.pos)

    def _extern_decl(self, d: ast.ExternDecl) -> None:
        check_methods(d)
        check_distinct([(n, d.pos) for n in d.type_params], "type parameter")
        self._declare_template(d)
        self.externs[d.name] = Template(d, self.scope)
        outer, self.scope = self.scope, Scope(self.scope)
        for n in d.type_params:
            self.scope.put(n, TypeVar(n))
        try:
            for m in d.methods:
                self._check_prototype(m)
        finally:
            self.scope = outer

    def _check_prototype(self, d: ast.FunctionDecl) -> None:
        """Names and types of the parameters of a function without a body."""
        check_parameters(d.params, type_params=d.type_params, pos=d.pos)
        for p, t in zip(d.params, self.signature(d, self.scope).params, strict=True):
            check_direction(p.name, p.direction, t, p.pos)

    def _names(self, d: ast.NamesDecl) -> None:
        for name, pos in d.members:
            if d.name == "match_kind":
                if name in self.match_kinds:
                    raise P4Error(pos, f"match kind '{name}' is declared twice")
                self.match_kinds.add(name)
            elif name in self.errors:
                raise P4Error(pos, f"error '{name}' is declared twice")
            else:
                self.errors[name] = len(self.errors)

    def _named_type(self, name: str, t: Type, pos: Pos) -> None:
        self.declare(name, t, pos)
        self.types[name] = t

    def _struct_or_template(self, d: ast.StructDecl) -> None:
        check_distinct([(n, d.pos) for n in d.type_params], "type parameter")
        if d.type_params:
            self.declare(d.name, Template(d, self.scope), d.pos)
            return
        outer, self.scope = self.scope, Scope(self.scope)
        try:
            struct = self.structure(d, d.name)
        finally:
            self.scope = outer
        self._named_type(d.name, struct, d.pos)

    def _enum(self, d: ast.EnumDecl) -> Enum:
        base = None
        if d.base is not None:
            declared = self.type(d.base)
            check_enum_base(declared, d.base.pos)
            base = strip(declared)
        if base is not None and not isinstance(base, Bits):
            raise P4Error(d.pos, f"the base of an enum must be a bit string, not {base}")
        enum = Enum(d.name, self.annotations(d.annotations), {}, base)
        for i, (name, value, pos) in enumerate(d.members):
            if name in enum.members:
                raise P4Error(pos, f"enum member '{name}' is declared twice")
            if (value is not None) != (base is not None):
                raise P4Error(pos, f"'{name}' {'needs' if base is not None else 'cannot have'} a value")
            if value is None:
                enum.members[name] = i
            else:
                outer, self.scope = self.scope, Scope(self.scope)
                for earlier, n in enum.members.items():
                    assert base is not None
                    self.scope.put(earlier, Constant(ir.Const(n, type=base, pos=pos)))
                number = self.constant(value, base)
                self.scope = outer
                assert isinstance(number, ir.Const)
                enum.members[name] = int(number.value)
        return enum

    def _function_decl(self, d: ast.FunctionDecl) -> None:
        self._check_prototype(d)
        before = self.scope.here(d.name)
        if isinstance(before, Overloads):
            before.decls.append(d)
        else:
            self.declare(d.name, Overloads(d.name, [d], self.scope), d.pos)
        if d.body is not None and not d.type_params:  # check it even when nothing calls it
            outer, self.scope = self.scope, Scope(self.scope)
            try:
                self.function(d, d.name)
            finally:
                self.scope = outer
