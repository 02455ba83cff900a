# SPDX-License-Identifier: Apache-2.0
"""Parsers, controls, extern objects and packages become instances (P4-16 specification, sections 10 to 16)."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from offramp_p4 import ir
from offramp_p4.engine.walk import nodes
from offramp_p4.frontend.check.arrays import MOST
from offramp_p4.frontend.check.overloads import choose_template
from offramp_p4.frontend.check.packages import KINDS, Packages
from offramp_p4.frontend.check.restrictions import Where, check_instance
from offramp_p4.frontend.check.scope import Constant, Entity, ObjectArray, Overloads, Scope, Template
from offramp_p4.frontend.check.selects import case_keys, select_keys
from offramp_p4.frontend.check.typing import MAX_BLOCKS, Bindings, deep_strip
from offramp_p4.frontend.syntax import ast
from offramp_p4.source import P4Error, Pos, Unsupported
from offramp_p4.types import INT, Annotation, ExternType, Struct, Tuple, Type, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

_ENDS = ("accept", "reject")


Numbers = dict[str, ir.Expr]


class BlockChecker(Packages):
    """Instantiates parsers, controls, extern objects and packages."""

    # --- locals --------------------------------------------------------------------------------------------

    def local_instance(self, node: ast.Instantiation) -> None:
        """An instance with a name, in the current scope."""
        template, type_args = self._template(node.type)
        notes = self.annotations(node.annotations)
        call = ast.CallExpr(node.pos, ast.NameExpr(node.pos, template.decl.name), [], node.args, node.names)
        if node.size is not None:
            self.declare(node.name, self._object_array(template, type_args, call, node, notes), node.pos)
            return
        instance = self._make(template, type_args, call, node.name, notes, node.body)
        self.declare(node.name, instance, node.pos)

    def _object_array(
        self,
        template: Template,
        type_args: tuple[Type, ...],
        call: ast.CallExpr,
        node: ast.Instantiation,
        notes: dict[str, Annotation],
    ) -> ObjectArray:
        if not isinstance(template.decl, ast.ExternDecl) or node.size is None:
            raise Unsupported(node.pos, "an array of parsers, controls or packages")
        objects = []
        for number in range(self.number(node.size, "the size of an array of objects", 1, MOST)):
            base = notes["name"].args[0] if "name" in notes else node.name
            own = {**notes, "name": Annotation("name", (f"{base}[{number}]",))}
            instance = self._make(template, type_args, call, node.name, own, node.body)
            assert isinstance(instance, ir.ExternInstance)
            instance.annotations = notes
            objects.append(instance)
        return ObjectArray(objects)

    def instantiate(
        self, template: Template, type_args: tuple[Type, ...], node: ast.CallExpr, name: str | None
    ) -> Entity:
        """An instance that is not declared: ``C.apply()``, a package argument, a table property."""
        return self._make(template, type_args, node, name or template.decl.name, {}, None)

    def _template(self, node: ast.TypeNode) -> tuple[Template, tuple[Type, ...]]:
        if not isinstance(node, ast.NamedType):
            raise P4Error(node.pos, "this type has no instances")
        entity = self.lookup(node.name, node.pos, absolute=node.absolute)
        if isinstance(entity, ExternType):  # a typedef
            return self.externs[entity.name], entity.args
        if not isinstance(entity, Template) or isinstance(entity.decl, ast.StructDecl):
            raise P4Error(node.pos, f"'{node.name}' has no instances")
        return entity, tuple(self.type(a) for a in node.args)

    def _make(
        self,
        template: Template,
        type_args: tuple[Type, ...],
        node: ast.CallExpr,
        name: str,
        notes: dict[str, Annotation],
        body: list[ast.Decl] | None,
    ) -> ir.Instance:
        template = choose_template(template, node)
        decl = template.decl
        check_instance(KINDS[type(decl)], decl.name, self.where, node.pos)
        if body is not None and not isinstance(decl, ast.ExternDecl):
            raise P4Error(node.pos, f"'{decl.name}' has no abstract methods")
        if isinstance(decl, ast.ExternDecl):
            return self.extern_object(template, decl, type_args, node, name, notes, body)
        if isinstance(decl, ast.PackageDecl):
            return self.package(template, decl, type_args, node, name, notes)
        if not isinstance(decl, ast.ParserDecl | ast.ControlDecl):
            raise P4Error(node.pos, f"'{decl.name}' has no instances")
        return self.block_instance(template, decl, type_args, node, self.qualified(name, notes), notes)

    # --- parsers and controls ------------------------------------------------------------------------------

    def block_instance(
        self,
        template: Template,
        decl: ast.ParserDecl | ast.ControlDecl,
        type_args: tuple[Type, ...],
        node: ast.CallExpr,
        name: str,
        notes: dict[str, Annotation],
    ) -> ir.ParserInstance | ir.ControlInstance:
        """A parser or control with its constructor arguments applied."""
        if (decl.states if isinstance(decl, ast.ParserDecl) else decl.body) is None:
            raise P4Error(node.pos, f"'{decl.name}' is only a type: it has no body")
        if len(self.out.blocks) >= MAX_BLOCKS:
            raise P4Error(node.pos, f"the program has more than {MAX_BLOCKS} parsers and controls")
        if decl.type_params and not type_args:
            type_args = self._inferred(template, decl, node)
        if len(type_args) != len(decl.type_params):
            raise P4Error(
                node.pos, f"'{decl.name}' takes {len(decl.type_params)} type arguments, {len(type_args)} given"
            )
        unknown = next((t.name for t in type_args if isinstance(t, TypeVar)), None)
        if unknown is not None:
            raise P4Error(node.pos, f"type argument '{unknown}' cannot be inferred; write it")
        inner = Scope(template.scope)
        for n, t in zip(decl.type_params, type_args, strict=True):
            inner.put(n, t)
        for p, a in self.bind(decl.ctor, node, f"'{decl.name}'"):
            if a is not None:  # an @optional one that is left out has no meaning inside
                inner.put(p.name, self._constructor_argument(p, a, inner))
        notes = {**self.annotations(decl.annotations), **notes}
        types = self.parameter_types(template, decl.params, type_args)
        if INT in types:
            return self._waiting_for_numbers(decl, name, inner, notes)
        return self._block(decl, name, inner, notes, {})

    def _block(
        self,
        decl: ast.ParserDecl | ast.ControlDecl,
        name: str,
        scope: Scope,
        notes: dict[str, Annotation],
        numbers: Numbers,
    ) -> ir.ParserInstance | ir.ControlInstance:
        """The instance itself; ``numbers`` stand for the parameters of type ``int``."""
        with self._inside(Scope(scope), name, "parser" if isinstance(decl, ast.ParserDecl) else "control"):
            params = self.variables([p for p in decl.params if p.name not in numbers])
            for v in params:
                if v.name in ("accept", "reject"):
                    raise P4Error(v.pos, f"'{v.name}' cannot be a parameter")
                self.scope.put(v.name, v, parameter=True)
            for parameter, value in numbers.items():
                self.scope.put(parameter, Constant(value))
            self.scope = Scope(self.scope)
            if isinstance(decl, ast.ParserDecl):
                return self._parser(decl, name, params, notes)
            return self._control(decl, name, params, notes)

    # --- parameters of type int ----------------------------------------------------------------------------

    def _waiting_for_numbers(
        self, decl: ast.ParserDecl | ast.ControlDecl, name: str, scope: Scope, notes: dict[str, Annotation]
    ) -> ir.ParserInstance | ir.ControlInstance:
        """An instance without a body: what is applied says the numbers that its body is made for."""
        with self._inside(Scope(scope), name, "parser" if isinstance(decl, ast.ParserDecl) else "control"):
            params = self.variables(decl.params)
        instance: ir.ParserInstance | ir.ControlInstance
        if isinstance(decl, ast.ParserDecl):
            instance = ir.ParserInstance(decl.name, name, params, [], {}, notes, decl.pos)
        else:
            instance = ir.ControlInstance(decl.name, name, params, [], ir.Block([]), notes, decl.pos)
        namespace, finished = self.namespace, {}

        def finish(numbers: Numbers, pos: Pos) -> ir.ParserInstance | ir.ControlInstance:
            key = tuple(n.value for n in numbers.values() if isinstance(n, ir.Const))
            if key not in finished:
                objects = len(self.out.tables) + len(self.out.externs)
                caller, self.namespace = self.namespace, namespace
                finished[key] = self._block(decl, name, scope, notes, numbers)
                self.namespace = caller
                if len(finished) > 1 and len(self.out.tables) + len(self.out.externs) > objects:
                    raise Unsupported(pos, f"'{decl.name}', which has tables or objects, applied with other numbers")
            return finished[key]

        self.waiting[instance] = finish
        return instance

    def _inferred(
        self, template: Template, decl: ast.ParserDecl | ast.ControlDecl, node: ast.CallExpr
    ) -> tuple[Type, ...]:
        """Type arguments of a generic block that its constructor's arguments say; none if they say too little."""
        variables = [TypeVar(n) for n in decl.type_params]
        bindings: Bindings = {}
        bound = self.bind(decl.ctor, node, f"'{decl.name}'")
        for (_, a), t in zip(bound, self.parameter_types(template, decl.ctor, variables), strict=True):
            if isinstance(t, TypeVar) and a is not None:
                self.unify(t, self.constant(a).type, bindings)
        return tuple(bindings[v] for v in variables) if len(bindings) == len(variables) else ()

    @contextmanager
    def _inside(self, scope: Scope, prefix: str, where: Where) -> Iterator[None]:
        before = self.scope, self.prefix
        self.scope, self.prefix = scope, prefix
        try:
            with self.standing_in(where):
                yield
        finally:
            self.scope, self.prefix = before

    def _constructor_argument(self, p: ast.Param, node: ast.Expr, inner: Scope) -> Entity:
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
        if t is not None and not isinstance(t, ExternType):
            return Constant(self.constant_of(node, t))
        instance = self.object(node)
        if instance is None:
            raise P4Error(node.pos, f"expected an instance for '{p.name}'")
        return instance

    def object(self, node: ast.Expr) -> ir.Instance | None:
        """The instance that a constructor argument names or makes; None if it is something else."""
        element = self.element(node)
        if element is not None and isinstance(element[1], ir.Const):
            return element[0][int(element[1].value)]
        if isinstance(node, ast.NameExpr):
            entity = self.lookup(node.name, node.pos, absolute=node.absolute)
            return entity if isinstance(entity, ir.Instance) else None
        if isinstance(node, ast.CallExpr) and isinstance(node.callee, ast.NameExpr | ast.TypeExpr):
            callee = node.callee
            named = callee.type if isinstance(callee, ast.TypeExpr) else ast.NamedType(callee.pos, callee.name)
            maker = self.scope.find(named.name) if isinstance(named, ast.NamedType) else None
            if isinstance(maker, Overloads):
                return self.returned_object(maker, node)
            if not isinstance(maker, Template):
                return None
            template, type_args = self._template(named)
            return self._make(template, type_args, node, template.decl.name, {}, None)
        return None

    def _locals(self, decls: list[ast.Decl]) -> list[ir.Stmt]:
        out: list[ir.Stmt] = []
        for d in decls:
            statement: ir.Stmt | None = None
            if isinstance(d, ast.ActionDecl):
                self.declare(d.name, self.action(d), d.pos)
            elif isinstance(d, ast.TableDecl):
                self.declare(d.name, self.table(d), d.pos)
            elif isinstance(d, ast.ValueSetDecl):
                self.declare(d.name, self._value_set(d), d.pos)
            else:
                statement = self.local(d)
            if statement is not None:
                out.append(statement)
        return out

    def _control(
        self, decl: ast.ControlDecl, name: str, params: list[ir.Var], notes: dict[str, Annotation]
    ) -> ir.ControlInstance:
        assert decl.body is not None
        local = self._locals(decl.locals)
        control = ir.ControlInstance(decl.name, name, params, local, self.body(decl.body), notes, decl.pos)
        self.out.blocks.append(control)
        return control

    # --- parsers -------------------------------------------------------------------------------------------

    def _parser(
        self, decl: ast.ParserDecl, name: str, params: list[ir.Var], notes: dict[str, Annotation]
    ) -> ir.ParserInstance:
        assert decl.states is not None
        local = self._locals(decl.locals)
        known = {s.name for s in decl.states}
        if "start" not in known:
            raise P4Error(decl.pos, f"parser '{decl.name}' has no state 'start'")
        states: dict[str, ir.ParserState] = {}
        for s in decl.states:
            if s.name in states or s.name in _ENDS:
                raise P4Error(s.pos, f"state '{s.name}' is declared twice")
            states[s.name] = self._state(s, known)
        parser = ir.ParserInstance(decl.name, name, params, local, states, notes, decl.pos)
        self.out.blocks.append(parser)
        return parser

    def _state(self, s: ast.StateDecl, known: set[str]) -> ir.ParserState:
        outer, self.scope = self.scope, Scope(self.scope)
        try:
            body = self.statements(s.body)
            subjects = [self.expr(e) for e in s.select]
            select = [key for e in subjects for key in select_keys(e)]
            cases = [self._case(c, subjects, select, known) for c in s.cases]
        finally:
            self.scope = outer
        return ir.ParserState(s.name, body, select, cases, self.annotations(s.annotations), s.pos)

    def _case(self, c: ast.CaseDecl, subjects: list[ir.Expr], select: list[ir.Expr], known: set[str]) -> ir.SelectCase:
        if c.target not in known and c.target not in _ENDS:
            raise P4Error(c.pos, f"state '{c.target}' is not declared")
        if not select:
            return ir.SelectCase([], c.target, c.pos)
        listed = ast.TupleKey | ast.ListExpr if len(subjects) > 1 else ast.TupleKey
        items: list[ast.Expr] = list(c.keys.items) if isinstance(c.keys, listed) else [c.keys]
        if len(items) == 1 and isinstance(items[0], ast.WildcardExpr):
            return ir.SelectCase([ir.KeyAny()], c.target, c.pos)
        if len(items) == 1 and isinstance(items[0], ast.NameExpr):
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
        if any(isinstance(node, ir.FunctionCall | ir.ExternCall) for key in keys for node in nodes(key)):
            raise P4Error(c.pos, "a function cannot be called in a case of a select")
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
        value_set = ir.ValueSet(self.object_name(d.name, notes), element, size, kinds, notes, d.pos)
        self.out.value_sets.append(value_set)
        return value_set
