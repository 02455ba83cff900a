# SPDX-License-Identifier: Apache-2.0
"""Packages: each argument must be what its place asks for (P4-16 specification, section 14.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_p4 import ir
from offramp_p4.frontend.check.externs import ExternObjects, has_note
from offramp_p4.frontend.check.scope import Entity, Scope, Template
from offramp_p4.frontend.check.typing import Bindings, deep_strip
from offramp_p4.frontend.syntax import ast
from offramp_p4.source import P4Error
from offramp_p4.types import DONTCARE, VOID, Annotation, Type, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

KINDS: dict[type, str] = {
    ast.ParserDecl: "parser", ast.ControlDecl: "control", ast.PackageDecl: "package", ast.ExternDecl: "extern",
}  # fmt: skip


class Packages(ExternObjects):
    """Instances of packages."""

    def package(
        self,
        template: Template,
        decl: ast.PackageDecl,
        type_args: tuple[Type, ...],
        node: ast.CallExpr,
        name: str,
        notes: dict[str, Annotation],
    ) -> ir.PackageInstance:
        """A package with its arguments, by parameter name."""
        scope = Scope(template.scope)
        variables = [TypeVar(n) for n in decl.type_params]
        for v in variables:
            scope.put(v.name, v)
        bindings: Bindings = {v: t for v, t in zip(variables, type_args, strict=False) if t != DONTCARE}
        instance = ir.PackageInstance(decl.name, name, {}, [], notes, node.pos)
        outer = self.namespace
        self.namespace = name if has_note(decl, "namespace") else outer
        bound = self.bind(decl.ctor, node, f"package '{decl.name}'")
        instance.args = {p.name: None for p, _ in bound}
        for p, a in bound:
            if a is not None and a is not p.default:
                instance.args[p.name] = self._package_argument(p, a, scope, bindings)
        # Default values stand where the package is declared; the other arguments have said its type arguments.
        for v in variables:
            scope.put(v.name, bindings.get(v, v))
        caller, self.scope = self.scope, scope
        for p, a in bound:
            if a is not None and a is p.default:
                instance.args[p.name] = self._package_argument(p, a, scope, bindings)
        self.scope = caller
        self.namespace = outer
        instance.type_args = [deep_strip(bindings.get(v, VOID)) for v in variables]
        return instance

    def _package_argument(
        self, p: ast.Param, node: ast.Expr, scope: Scope, bindings: Bindings
    ) -> ir.Instance | ir.Expr:
        value = self._generic_block(p, node, scope, bindings) or self.object(node)
        if value is None:
            return self._package_value(p, node, scope)
        self._check_package_argument(p, value, scope, bindings, node)
        return value

    def _generic_block(self, p: ast.Param, node: ast.Expr, scope: Scope, bindings: Bindings) -> ir.Instance | None:
        """A generic parser or control without type arguments: the package's parameter says them."""
        if not isinstance(node, ast.CallExpr) or not isinstance(node.callee, ast.NameExpr):
            return None
        template = self.scope.find(node.callee.name, absolute=node.callee.absolute)
        wanted = scope.find(p.type.name) if isinstance(p.type, ast.NamedType) else None
        if not isinstance(template, Template) or not isinstance(template.decl, ast.ParserDecl | ast.ControlDecl):
            return None
        if not template.decl.type_params or not isinstance(wanted, Template):
            return None
        variables = [TypeVar(n) for n in template.decl.type_params]
        types = self.parameter_types(template, template.decl.params, variables)
        inferred: Bindings = {}
        for own, expected in zip(types, self._wanted_types(p, wanted, scope), strict=False):
            self.unify(own, self.substitute(expected, bindings, node.pos), inferred)
        args = tuple(inferred.get(v, DONTCARE) for v in variables)
        if DONTCARE in args or any(isinstance(t, TypeVar) for t in args):
            return None
        instance = self.instantiate(template, args, node, None)
        assert isinstance(instance, ir.Instance)
        return instance

    def parameter_types(self, template: Template, params: list[ast.Param], args: Sequence[Type]) -> list[Type]:
        """The types of a generic declaration's parameters, for its type arguments."""
        outer, self.scope = self.scope, Scope(template.scope)
        try:
            assert not isinstance(template.decl, ast.StructDecl)
            for n, t in zip(template.decl.type_params, args, strict=False):
                self.scope.put(n, t)
            return [self.type(q.type) for q in params]
        finally:
            self.scope = outer

    def _wanted_types(self, p: ast.Param, wanted: Template, scope: Scope) -> list[Type]:
        """The parameter types required of the block at a position in the package."""
        assert isinstance(p.type, ast.NamedType)
        if not isinstance(wanted.decl, ast.ParserDecl | ast.ControlDecl):
            return []
        outer, self.scope = self.scope, scope
        try:
            args = [self.type(a) for a in p.type.args]
        finally:
            self.scope = outer
        return self.parameter_types(wanted, wanted.decl.params, args)

    def _package_value(self, p: ast.Param, node: ast.Expr, scope: Scope) -> ir.Expr:
        outer, self.scope = self.scope, scope
        try:
            t = self.type(p.type)
        finally:
            self.scope = outer
        return self.constant(node, None if isinstance(t, TypeVar) else t)

    def _check_package_argument(
        self, p: ast.Param, value: Entity, scope: Scope, bindings: Bindings, node: ast.Expr
    ) -> None:
        """Check that an instance has the parameters that its position in the package requires."""
        wanted = scope.find(p.type.name) if isinstance(p.type, ast.NamedType) else None
        if isinstance(wanted, TypeVar):
            return
        if not isinstance(wanted, Template) or isinstance(wanted.decl, ast.StructDecl):
            raise P4Error(node.pos, f"'{p.name}' must be a value, not an instance")
        kinds: dict[type, type] = {
            ast.ParserDecl: ir.ParserInstance, ast.ControlDecl: ir.ControlInstance,
            ast.PackageDecl: ir.PackageInstance, ast.ExternDecl: ir.ExternInstance,
        }  # fmt: skip
        if not isinstance(value, kinds[type(wanted.decl)]):
            kind = KINDS[type(wanted.decl)]
            raise P4Error(node.pos, f"'{p.name}' must be a {kind} as '{wanted.decl.name}' declares it")
        if isinstance(value, ir.PackageInstance) and value.type_name != wanted.decl.name:
            raise P4Error(node.pos, f"'{p.name}' must be a {wanted.decl.name}, not a {value.type_name}")
        if not isinstance(wanted.decl, ast.ParserDecl | ast.ControlDecl):
            return
        assert isinstance(value, ir.ParserInstance | ir.ControlInstance)
        types = self._wanted_types(p, wanted, scope)
        declared = wanted.decl.params
        required = [q for q in declared if not has_note(q, "optional") and q.default is None]
        if not len(required) <= len(value.params) <= len(declared):
            raise P4Error(
                node.pos,
                f"'{p.name}' must have {len(declared)} parameters, '{value.type_name}' has {len(value.params)}",
            )
        for v, q, t in zip(value.params, declared, types, strict=False):
            if v.direction != q.direction:
                raise P4Error(
                    v.pos, f"'{v.name}' must be '{q.direction or 'without direction'}', as in {wanted.decl.name}"
                )
            if not self.unify(t, v.type, bindings):
                expected = self.substitute(t, bindings, v.pos)
                raise P4Error(v.pos, f"'{v.name}' must be of type {expected}, as in {wanted.decl.name}, not {v.type}")
