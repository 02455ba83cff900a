# SPDX-License-Identifier: Apache-2.0
"""Parsers, controls, extern objects and packages become instances (P4-16 specification, sections 10 to 16)."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from offramp_p4 import ir
from offramp_p4.frontend.check.restrictions import Where, check_instance
from offramp_p4.frontend.check.scope import Constant, Entity, Scope, Template
from offramp_p4.frontend.check.selects import case_keys, select_keys
from offramp_p4.frontend.check.tables import Tables
from offramp_p4.frontend.check.typing import MAX_BLOCKS, Bindings, deep_strip
from offramp_p4.frontend.syntax import ast
from offramp_p4.source import P4Error
from offramp_p4.types import DONTCARE, VOID, Annotation, Extern, Struct, Tuple, Type, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

_ENDS = ("accept", "reject")
_KINDS: dict[type, str] = {
    ast.ParserDecl: "parser", ast.ControlDecl: "control", ast.PackageDecl: "package", ast.ExternDecl: "extern",
}  # fmt: skip


class Blocks(Tables):
    """Instances."""

    # --- locals --------------------------------------------------------------------------------------------

    def local_instance(self, node: ast.Instantiation) -> None:
        """An instance with a name, in the current scope."""
        template, type_args = self._template(node.type)
        notes = self.annotations(node.annotations)
        call = ast.Call(node.pos, ast.Path(node.pos, template.decl.name), [], node.args, node.names)
        made = self._make(template, type_args, call, node.name, notes, node.body)
        self.declare(node.name, made, node.pos)

    def instantiate(self, template: Template, type_args: tuple[Type, ...], node: ast.Call, name: str | None) -> Entity:
        """An instance that is not declared: ``C.apply()``, a package argument, a table property."""
        return self._make(template, type_args, node, name or template.decl.name, {}, None)

    def _template(self, node: ast.TypeNode) -> tuple[Template, tuple[Type, ...]]:
        if not isinstance(node, ast.NamedType):
            raise P4Error(node.pos, "this type has no instances")
        entity = self.lookup(node.name, node.pos, absolute=node.absolute)
        if isinstance(entity, Extern):  # a typedef
            return self.externs[entity.name], entity.args
        if not isinstance(entity, Template) or isinstance(entity.decl, ast.StructDecl):
            raise P4Error(node.pos, f"'{node.name}' has no instances")
        return entity, tuple(self.type(a) for a in node.args)

    def _make(
        self,
        template: Template,
        type_args: tuple[Type, ...],
        node: ast.Call,
        name: str,
        notes: dict[str, Annotation],
        body: list[ast.Decl] | None,
    ) -> ir.ExternInstance | ir.ParserInstance | ir.ControlInstance | ir.PackageInstance:
        decl = template.decl
        check_instance(_KINDS[type(decl)], decl.name, self.where, node.pos)
        if body is not None and not isinstance(decl, ast.ExternDecl):
            raise P4Error(node.pos, f"'{decl.name}' has no abstract methods")
        if isinstance(decl, ast.ExternDecl):
            return self._extern(template, decl, type_args, node, name, notes, body)
        if isinstance(decl, ast.PackageDecl):
            return self._package(template, decl, type_args, node, name, notes)
        if not isinstance(decl, ast.ParserDecl | ast.ControlDecl):
            raise P4Error(node.pos, f"'{decl.name}' has no instances")
        return self.block_instance(template, decl, type_args, node, self.qualified(name, notes), notes)

    # --- parsers and controls ------------------------------------------------------------------------------

    def block_instance(
        self,
        template: Template,
        decl: ast.ParserDecl | ast.ControlDecl,
        type_args: tuple[Type, ...],
        node: ast.Call,
        name: str,
        notes: dict[str, Annotation],
    ) -> ir.ParserInstance | ir.ControlInstance:
        """A parser or control with its constructor arguments applied."""
        if (decl.states if isinstance(decl, ast.ParserDecl) else decl.body) is None:
            raise P4Error(node.pos, f"'{decl.name}' is only a type: it has no body")
        if len(self.out.blocks) >= MAX_BLOCKS:
            raise P4Error(node.pos, f"the program has more than {MAX_BLOCKS} parsers and controls")
        if len(type_args) != len(decl.type_params):
            raise P4Error(
                node.pos, f"'{decl.name}' takes {len(decl.type_params)} type arguments, {len(type_args)} given"
            )
        inner = Scope(template.scope)
        for n, t in zip(decl.type_params, type_args, strict=True):
            inner.put(n, t)
        for p, a in self.bind(decl.ctor, node, f"'{decl.name}'"):
            inner.put(p.name, self._constructor_argument(p, a, inner))
        with self._inside(inner, name, "parser" if isinstance(decl, ast.ParserDecl) else "control"):
            params = self.variables(decl.params)
            for v in params:
                if v.name in ("accept", "reject"):
                    raise P4Error(v.pos, f"'{v.name}' cannot be a parameter")
                self.scope.put(v.name, v)
            self.scope = Scope(self.scope)
            notes = {**self.annotations(decl.annotations), **notes}
            if isinstance(decl, ast.ParserDecl):
                return self._parser(decl, name, params, notes)
            return self._control(decl, name, params, notes)

    @contextmanager
    def _inside(self, scope: Scope, prefix: str, where: Where) -> Iterator[None]:
        before = self.scope, self.prefix
        self.scope, self.prefix = scope, prefix
        try:
            with self.standing_in(where):
                yield
        finally:
            self.scope, self.prefix = before

    def _constructor_argument(self, p: ast.Param, node: ast.Expr | None, inner: Scope) -> Entity:
        assert node is not None
        outer, self.scope = self.scope, inner
        try:
            template = None
            if isinstance(p.type, ast.NamedType):
                entity = self.lookup(p.type.name, p.type.pos)
                template = (
                    entity if isinstance(entity, Template) and not isinstance(entity.decl, ast.StructDecl) else None
                )
            t = None if template is not None else self.type(p.type)
        finally:
            self.scope = outer
        if t is not None and not isinstance(t, Extern):
            return Constant(self.constant_of(node, t))
        made = self.object(node)
        if made is None:
            raise P4Error(node.pos, f"expected an instance for '{p.name}'")
        return made

    def object(
        self, node: ast.Expr
    ) -> ir.ExternInstance | ir.ParserInstance | ir.ControlInstance | ir.PackageInstance | None:
        """The instance that a constructor argument names or makes; None if it is something else."""
        if isinstance(node, ast.Path):
            entity = self.lookup(node.name, node.pos, absolute=node.absolute)
            kinds = ir.ExternInstance | ir.ParserInstance | ir.ControlInstance | ir.PackageInstance
            return entity if isinstance(entity, kinds) else None
        if isinstance(node, ast.Call) and isinstance(node.callee, ast.Path | ast.TypeExpr):
            callee = node.callee
            named = callee.type if isinstance(callee, ast.TypeExpr) else ast.NamedType(callee.pos, callee.name)
            if not isinstance(named, ast.NamedType) or not isinstance(self.scope.find(named.name), Template):
                return None
            template, type_args = self._template(named)
            return self._make(template, type_args, node, template.decl.name, {}, None)
        return None

    def _locals(self, decls: list[ast.Decl]) -> list[ir.Stmt]:
        out: list[ir.Stmt] = []
        for d in decls:
            made: ir.Stmt | None = None
            if isinstance(d, ast.ActionDecl):
                self.declare(d.name, self.action(d), d.pos)
            elif isinstance(d, ast.TableDecl):
                self.declare(d.name, self.table(d), d.pos)
            elif isinstance(d, ast.ValueSetDecl):
                self.declare(d.name, self._value_set(d), d.pos)
            else:
                made = self.local(d)
            if made is not None:
                out.append(made)
        return out

    def _control(
        self, decl: ast.ControlDecl, name: str, params: list[ir.Var], notes: dict[str, Annotation]
    ) -> ir.ControlInstance:
        assert decl.body is not None
        local = self._locals(decl.locals)
        made = ir.ControlInstance(decl.name, name, params, local, self.body(decl.body), notes, decl.pos)
        self.out.blocks.append(made)
        return made

    # --- parsers -------------------------------------------------------------------------------------------

    def _parser(
        self, decl: ast.ParserDecl, name: str, params: list[ir.Var], notes: dict[str, Annotation]
    ) -> ir.ParserInstance:
        assert decl.states is not None
        local = self._locals(decl.locals)
        known = {s.name for s in decl.states}
        if "start" not in known:
            raise P4Error(decl.pos, f"parser '{decl.name}' has no state 'start'")
        states: dict[str, ir.State] = {}
        for s in decl.states:
            if s.name in states or s.name in _ENDS:
                raise P4Error(s.pos, f"state '{s.name}' is declared twice")
            states[s.name] = self._state(s, known)
        made = ir.ParserInstance(decl.name, name, params, local, states, notes, decl.pos)
        self.out.blocks.append(made)
        return made

    def _state(self, s: ast.StateDecl, known: set[str]) -> ir.State:
        outer, self.scope = self.scope, Scope(self.scope)
        try:
            body = self.statements(s.body)
            subjects = [self.expr(e) for e in s.select]
            select = [key for e in subjects for key in select_keys(e)]
            cases = [self._case(c, subjects, select, known) for c in s.cases]
        finally:
            self.scope = outer
        return ir.State(s.name, body, select, cases, self.annotations(s.annotations), s.pos)

    def _case(self, c: ast.CaseDecl, subjects: list[ir.Expr], select: list[ir.Expr], known: set[str]) -> ir.SelectCase:
        if c.target not in known and c.target not in _ENDS:
            raise P4Error(c.pos, f"state '{c.target}' is not declared")
        if not select:
            return ir.SelectCase([], c.target, c.pos)
        items = c.keys.items if isinstance(c.keys, ast.TupleKey) else [c.keys]
        if len(items) == 1 and isinstance(items[0], ast.Any):
            return ir.SelectCase([ir.KeyAny()], c.target, c.pos)
        if len(items) == 1 and isinstance(items[0], ast.Path):
            entity = self.scope.find(items[0].name, absolute=items[0].absolute)
            if isinstance(entity, ir.ValueSet):
                if entity.element.slots != len(select):
                    raise P4Error(
                        c.pos, f"value set '{entity.name}' has {entity.element.slots} keys, not {len(select)}"
                    )
                return ir.SelectCase([ir.KeyValueSet(entity)], c.target, c.pos)
        if len(items) != len(subjects):
            raise P4Error(c.pos, f"select has {len(subjects)} keys, {len(items)} given")
        items = [part for item, e in zip(items, subjects, strict=True) for part in case_keys(item, e.type)]
        keys = [self.key(k, e.type) for k, e in zip(items, select, strict=True)]
        return ir.SelectCase(keys, c.target, c.pos)

    def _value_set(self, d: ast.ValueSetDecl) -> ir.ValueSet:
        notes = self.annotations(d.annotations)
        element = deep_strip(self.type(d.type))
        kinds = ["exact"]
        if isinstance(element, Struct):
            kinds = [
                str(f.annotations["match"].args[0]) if "match" in f.annotations else "exact" for f in element.fields
            ]
        elif isinstance(element, Tuple):
            kinds = ["exact"] * len(element.types)
        size = self.number(d.size, "the size of a value set")
        made = ir.ValueSet(self.object_name(d.name, notes), element, size, kinds, notes, d.pos)
        self.out.value_sets.append(made)
        return made

    # --- externs -------------------------------------------------------------------------------------------

    def _extern(
        self,
        template: Template,
        decl: ast.ExternDecl,
        type_args: tuple[Type, ...],
        node: ast.Call,
        name: str,
        notes: dict[str, Annotation],
        body: list[ast.Decl] | None,
    ) -> ir.ExternInstance:
        constructors = [m for m in decl.methods if m.name == decl.name]
        if not constructors:
            raise P4Error(node.pos, f"extern '{decl.name}' has no constructor")
        chosen = self.overload(decl.name, constructors, node)
        bound = self.bind(chosen.params, node, f"'{decl.name}'")
        if type_args and len(type_args) != len(decl.type_params):
            raise P4Error(
                node.pos, f"'{decl.name}' takes {len(decl.type_params)} type arguments, {len(type_args)} given"
            )
        scope = Scope(template.scope)
        given = type_args or (DONTCARE,) * len(decl.type_params)
        open_args = [TypeVar(n) if t == DONTCARE else t for n, t in zip(decl.type_params, given, strict=True)]
        for n, t in zip(decl.type_params, open_args, strict=True):
            scope.put(n, t)
        s = self.signature(chosen, scope)
        bindings: Bindings = {}
        args: list[ir.Expr | ir.ExternInstance | None] = []
        for (p, a), t in zip(bound, s.params, strict=True):
            args.append(self._extern_argument(p, a, self.substitute(t, bindings, node.pos), t, bindings))
        made = ir.ExternInstance(
            decl.name, self.object_name(name, notes), open_args, args,
            [p.name for p, _ in bound], {}, notes, [], node.pos,
        )  # fmt: skip
        self.out.externs.append(made)
        self._overrides(made, template, decl, body or [], node, bindings)
        # What neither the constructor nor an override says stays open: each call of a method may say it anew.
        made.declared_args = [bindings.get(t, DONTCARE) if isinstance(t, TypeVar) else t for t in open_args]
        made.type_args = [deep_strip(t) for t in made.declared_args]
        return made

    def _extern_argument(
        self, p: ast.Param, node: ast.Expr | None, t: Type, pattern: Type, bindings: Bindings
    ) -> ir.Expr | ir.ExternInstance | None:
        if node is None:
            return None
        made = self.object(node)
        if made is not None:
            if not isinstance(made, ir.ExternInstance):
                raise P4Error(node.pos, f"expected a value or an extern object for '{p.name}'")
            self.unify(pattern, Extern(made.extern, tuple(made.type_args)), bindings)
            return made
        if isinstance(t, TypeVar):
            value = self.constant(node)
            self.unify(pattern, value.type, bindings)
            return value
        if isinstance(t, Extern):
            raise P4Error(node.pos, f"expected an object of type {t} for '{p.name}'")
        return self.constant(node, t)

    def _overrides(
        self,
        made: ir.ExternInstance,
        template: Template,
        decl: ast.ExternDecl,
        body: list[ast.Decl],
        node: ast.Call,
        bindings: Bindings,
    ) -> None:
        """Implementations of abstract methods."""
        abstract = {m.name: m for m in decl.methods if m.abstract}
        outer, self.scope = self.scope, Scope(self.scope)
        self.scope.put("this", made)
        try:
            for d in body:
                if isinstance(d, ast.Instantiation):
                    self.local_instance(d)
                elif not isinstance(d, ast.FunctionDecl) or d.name not in abstract:
                    raise P4Error(d.pos, f"extern '{decl.name}' has no abstract method '{d.name}'")
                else:
                    function = self.function(d, f"{made.name}.{d.name}")
                    self._check_override(function, abstract[d.name], made, template, bindings)
                    made.overrides[d.name] = function
        finally:
            self.scope = outer
        missing = [m.name for m in abstract.values() if m.name not in made.overrides and not _has_note(m, "optional")]
        if missing:
            raise P4Error(node.pos, f"abstract method '{missing[0]}' of '{decl.name}' is not implemented")

    def _check_override(
        self,
        function: ir.Function,
        wanted: ast.FunctionDecl,
        made: ir.ExternInstance,
        template: Template,
        bindings: Bindings,
    ) -> None:
        scope = Scope(template.scope)
        assert isinstance(template.decl, ast.ExternDecl)
        for n, t in zip(template.decl.type_params, made.type_args, strict=True):
            scope.put(n, t)
        s = self.signature(wanted, scope)
        required = [p for p in wanted.params if not _has_note(p, "optional")]
        if not len(required) <= len(function.params) <= len(wanted.params):
            raise P4Error(
                function.pos, f"'{wanted.name}' has {len(wanted.params)} parameters, not {len(function.params)}"
            )
        for v, p, t in zip(function.params, wanted.params, s.params, strict=False):
            if v.direction != p.direction or not self.unify(t, v.declared or v.type, bindings):
                raise P4Error(v.pos, f"'{v.name}' must be '{p.direction} {self.substitute(t, bindings, v.pos)}'")

    # --- packages ------------------------------------------------------------------------------------------

    def _package(
        self,
        template: Template,
        decl: ast.PackageDecl,
        type_args: tuple[Type, ...],
        node: ast.Call,
        name: str,
        notes: dict[str, Annotation],
    ) -> ir.PackageInstance:
        scope = Scope(template.scope)
        variables = [TypeVar(n) for n in decl.type_params]
        for v in variables:
            scope.put(v.name, v)
        bindings: Bindings = dict(zip(variables, type_args, strict=False))
        made = ir.PackageInstance(decl.name, name, {}, [], notes, node.pos)
        outer = self.namespace
        self.namespace = name if _has_note(decl, "namespace") else outer
        for p, a in self.bind(decl.ctor, node, f"package '{decl.name}'"):
            if a is None:
                made.args[p.name] = None
                continue
            value = self.object(a)
            made.args[p.name] = self._package_value(p, a, scope) if value is None else value
            if value is not None:
                self._check_package_argument(p, value, scope, bindings, a)
        self.namespace = outer
        made.type_args = [deep_strip(bindings.get(v, VOID)) for v in variables]
        return made

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
        """The instance must have the parameters that its place in the package asks for."""
        wanted = scope.find(p.type.name) if isinstance(p.type, ast.NamedType) else None
        if isinstance(wanted, TypeVar):
            return
        if not isinstance(wanted, Template) or isinstance(wanted.decl, ast.StructDecl):
            raise P4Error(node.pos, f"'{p.name}' must be a value, not an instance")
        assert isinstance(p.type, ast.NamedType)
        kinds: dict[type, type] = {
            ast.ParserDecl: ir.ParserInstance, ast.ControlDecl: ir.ControlInstance,
            ast.PackageDecl: ir.PackageInstance, ast.ExternDecl: ir.ExternInstance,
        }  # fmt: skip
        if not isinstance(value, kinds[type(wanted.decl)]):
            kind = _KINDS[type(wanted.decl)]
            raise P4Error(node.pos, f"'{p.name}' must be a {kind} as '{wanted.decl.name}' declares it")
        if isinstance(value, ir.PackageInstance) and value.type_name != wanted.decl.name:
            raise P4Error(node.pos, f"'{p.name}' must be a {wanted.decl.name}, not a {value.type_name}")
        if not isinstance(wanted.decl, ast.ParserDecl | ast.ControlDecl):
            return
        assert isinstance(value, ir.ParserInstance | ir.ControlInstance)
        outer, self.scope = self.scope, scope
        try:
            args = [self.type(a) for a in p.type.args]
            self.scope = Scope(wanted.scope)
            for n, t in zip(wanted.decl.type_params, args, strict=False):
                self.scope.put(n, t)
            types = [self.type(q.type) for q in wanted.decl.params]
        finally:
            self.scope = outer
        declared = wanted.decl.params
        required = [q for q in declared if not _has_note(q, "optional") and q.default is None]
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


def _has_note(node: ast.Param | ast.FunctionDecl | ast.PackageDecl, name: str) -> bool:
    return any(a.name == name for a in node.annotations)
