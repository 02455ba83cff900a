# SPDX-License-Identifier: Apache-2.0
"""Extern objects: their constructors' arguments and the methods that a program fills in (P4-16 section 11.3)."""

from __future__ import annotations

from offramp_p4 import ir
from offramp_p4.frontend.check.overloads import choose
from offramp_p4.frontend.check.scope import Overloads, Scope, Template
from offramp_p4.frontend.check.tables import TableChecker
from offramp_p4.frontend.check.typing import Bindings, deep_strip
from offramp_p4.frontend.syntax import ast
from offramp_p4.source import P4Error, Unsupported
from offramp_p4.types import DONTCARE, Annotation, ExternType, Type, TypeVar


class ExternObjects(TableChecker):
    """Instances of externs."""

    def extern_object(
        self,
        template: Template,
        decl: ast.ExternDecl,
        type_args: tuple[Type, ...],
        node: ast.CallExpr,
        name: str,
        notes: dict[str, Annotation],
        body: list[ast.Decl] | None,
    ) -> ir.ExternInstance:
        """An extern object; ``body`` overrides its abstract methods."""
        constructors = [m for m in decl.methods if m.name == decl.name]
        if not constructors:
            raise P4Error(node.pos, f"extern '{decl.name}' has no constructor")
        chosen = choose(decl.name, constructors, node)
        bound = self.bind(chosen.params, node, f"'{decl.name}'")
        if type_args and len(type_args) != len(decl.type_params):
            raise P4Error(
                node.pos, f"'{decl.name}' takes {len(decl.type_params)} type arguments, {len(type_args)} given"
            )
        scope = Scope(template.scope)
        types = type_args or (DONTCARE,) * len(decl.type_params)
        open_args = [TypeVar(n) if t == DONTCARE else t for n, t in zip(decl.type_params, types, strict=True)]
        for n, t in zip(decl.type_params, open_args, strict=True):
            scope.put(n, t)
        s = self.signature(chosen, scope)
        bindings: Bindings = {}
        args: list[ir.Expr | ir.ExternInstance | None] = []
        for (p, a), t in zip(bound, s.params, strict=True):
            args.append(self._extern_argument(p, a, self.substitute(t, bindings, node.pos), t, bindings))
        instance = ir.ExternInstance(
            decl.name, self.object_name(name, notes), open_args, args,
            [p.name for p, _ in bound], {}, notes, [], node.pos,
        )  # fmt: skip
        self.out.externs.append(instance)
        self._overrides(instance, template, decl, body or [], node, bindings)
        # What neither the constructor nor an override says stays open: each call of a method may say it anew.
        instance.declared_args = [bindings.get(t, DONTCARE) if isinstance(t, TypeVar) else t for t in open_args]
        instance.type_args = [deep_strip(t) for t in instance.declared_args]
        return instance

    def returned_object(self, functions: Overloads, node: ast.CallExpr) -> ir.ExternInstance | None:
        """The object that an extern function makes; None if the function returns something else."""
        decl = choose(functions.name, functions.decls, node)
        s = self.signature(decl, functions.scope)
        if decl.body is not None or not isinstance(s.returns, ExternType):
            return None
        if any(m.name == s.returns.name for m in self.externs[s.returns.name].decl.methods):  # type: ignore[union-attr]
            raise Unsupported(node.pos, f"an object of type {s.returns.name} that is not made by its constructor")
        what = f"'{functions.name}'"
        bound = self.bind(decl.params, node, what)
        bindings = self.infer(s, bound, node, None, what)
        args = [
            self._extern_argument(p, a, self.substitute(t, bindings, node.pos), t, bindings)
            for (p, a), t in zip(bound, s.params, strict=True)
        ]
        t = self.substitute(s.returns, bindings, node.pos)
        assert isinstance(t, ExternType)
        instance = ir.ExternInstance(
            t.name, self.object_name(functions.name, {}), [deep_strip(a) for a in t.args], args,
            [p.name for p, _ in bound], {}, {}, list(t.args), node.pos,
        )  # fmt: skip
        self.out.externs.append(instance)
        return instance

    def _extern_argument(
        self, p: ast.Param, node: ast.Expr | None, t: Type, pattern: Type, bindings: Bindings
    ) -> ir.Expr | ir.ExternInstance | None:
        if node is None:
            return None
        instance = self.object(node)
        if instance is not None:
            if not isinstance(instance, ir.ExternInstance):
                raise P4Error(node.pos, f"expected a value or an extern object for '{p.name}'")
            self.unify(pattern, ExternType(instance.extern, tuple(instance.type_args)), bindings)
            return instance
        if isinstance(t, TypeVar):
            value = self.constant(node)
            self.unify(pattern, value.type, bindings)
            return value
        if isinstance(t, ExternType):
            raise P4Error(node.pos, f"expected an object of type {t} for '{p.name}'")
        return self.constant(node, t)

    def _overrides(
        self,
        extern: ir.ExternInstance,
        template: Template,
        decl: ast.ExternDecl,
        body: list[ast.Decl],
        node: ast.CallExpr,
        bindings: Bindings,
    ) -> None:
        """Implementations of abstract methods."""
        abstract = {m.name: m for m in decl.methods if m.abstract}
        outer, self.scope = self.scope, Scope(self.scope)
        self.scope.put("this", extern)
        try:
            for d in body:
                if isinstance(d, ast.Instantiation):
                    self.local_instance(d)
                elif not isinstance(d, ast.FunctionDecl) or d.name not in abstract:
                    raise P4Error(d.pos, f"extern '{decl.name}' has no abstract method '{d.name}'")
                else:
                    function = self.function(d, f"{extern.name}.{d.name}")
                    self._check_override(function, abstract[d.name], extern, template, bindings)
                    extern.overrides[d.name] = function
        finally:
            self.scope = outer
        missing = [m.name for m in abstract.values() if m.name not in extern.overrides and not has_note(m, "optional")]
        if missing:
            raise P4Error(node.pos, f"abstract method '{missing[0]}' of '{decl.name}' is not implemented")

    def _check_override(
        self,
        function: ir.UserFunction,
        wanted: ast.FunctionDecl,
        instance: ir.ExternInstance,
        template: Template,
        bindings: Bindings,
    ) -> None:
        scope = Scope(template.scope)
        assert isinstance(template.decl, ast.ExternDecl)
        for n, t in zip(template.decl.type_params, instance.type_args, strict=True):
            scope.put(n, t)
        s = self.signature(wanted, scope)
        required = [p for p in wanted.params if not has_note(p, "optional")]
        if not len(required) <= len(function.params) <= len(wanted.params):
            raise P4Error(
                function.pos, f"'{wanted.name}' has {len(wanted.params)} parameters, not {len(function.params)}"
            )
        for v, p, t in zip(function.params, wanted.params, s.params, strict=False):
            if v.direction != p.direction or not self.unify(t, v.declared or v.type, bindings):
                raise P4Error(v.pos, f"'{v.name}' must be '{p.direction} {self.substitute(t, bindings, v.pos)}'")


def has_note(node: ast.Param | ast.FunctionDecl | ast.PackageDecl, name: str) -> bool:
    """Whether a declaration has an annotation."""
    return any(a.name == name for a in node.annotations)
