# SPDX-License-Identifier: Apache-2.0
"""Calls: functions, actions, externs, apply, and the methods of headers and stacks (P4-16 section 8.20)."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from offramp_p4 import ir
from offramp_p4.frontend.check.arrays import chosen, chosen_statement
from offramp_p4.frontend.check.expressions import ExpressionChecker
from offramp_p4.frontend.check.overloads import check_required, choose, optional
from offramp_p4.frontend.check.restrictions import Where, check_call, check_direction, check_packet_call
from offramp_p4.frontend.check.scope import Constant, Entity, ObjectArray, Overloads, Scope, Template
from offramp_p4.frontend.check.sizes import serialised_size
from offramp_p4.frontend.check.typing import Bindings, deep_strip, same
from offramp_p4.frontend.syntax import ast
from offramp_p4.source import P4Error, Pos, Unsupported
from offramp_p4.types import (
    BOOL,
    DONTCARE,
    INT,
    STRING,
    VOID,
    Bits,
    ExternType,
    Header,
    Newtype,
    Stack,
    Structure,
    Type,
    TypeVar,
    Union,
    strip,
)  # fmt: skip

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_OPEN_WIDTH: Final = 32  # of a number for a parameter whose type nothing says, as RegisterAction<T, _, U>'s index
_SIZES = ("minSizeInBits", "minSizeInBytes", "maxSizeInBits", "maxSizeInBytes")

Finish = Callable[[dict[str, ir.Expr], Pos], "ir.ParserInstance | ir.ControlInstance"]
Bound = list[tuple[ast.Param, ast.Expr | None]]


@dataclass(slots=True)
class Signature:
    """A function with its parameter types resolved; type parameters are type variables."""

    decl: ast.FunctionDecl
    variables: list[TypeVar]
    params: list[Type]
    returns: Type


class Calls(ExpressionChecker):
    """Checks everything with parentheses."""

    def __init__(self) -> None:
        super().__init__()
        self.externs: dict[str, Template] = {}
        self.waiting: dict[ir.ParserInstance | ir.ControlInstance, Finish] = {}  # for their numbers
        self.in_tables: dict[ir.Action, ir.Action] = {}  # what tables run in place of actions with composite data
        self.declared: dict[ir.Var, ast.Param] = {}  # parameters, for their default values
        self._calls_on: dict[ir.Var, list[ir.ExternCall]] = {}  # methods called on an extern that is a parameter
        self._specialised: dict[tuple[ast.FunctionDecl, tuple[Type, ...]], ir.UserFunction] = {}

    @contextmanager
    def standing_in(self, where: Where) -> Iterator[None]:
        """Within the context, statements that are checked belong to a parser, control, action or function."""
        before, self.where = self.where, where
        try:
            yield
        finally:
            self.where = before

    @abstractmethod
    def instantiate(
        self, template: Template, type_args: tuple[Type, ...], node: ast.CallExpr, name: str | None
    ) -> Entity:
        """An instance of a parser, control, extern or package; unnamed when ``name`` is None."""

    @abstractmethod
    def object(self, node: ast.Expr) -> ir.Instance | None:
        """The instance that an expression names or makes; None if it is something else."""

    @abstractmethod
    def function_body(self, decl: ast.FunctionDecl, returns: Type) -> ir.Block:
        """The body of a function, its parameters already in scope."""

    def is_parameter(self, var: ir.Var) -> bool:
        """Whether a variable is a parameter."""
        return var in self.declared

    # --- dispatch ------------------------------------------------------------------------------------------

    def call(self, node: ast.CallExpr, expected: Type | None) -> ir.Expr:
        """A call whose result is a value (or void)."""
        callee = node.callee
        if isinstance(callee, ast.NameExpr):
            entity = self.lookup(callee.name, callee.pos, absolute=callee.absolute)
            if isinstance(entity, Overloads):
                return self._function(entity, node, expected)
            if isinstance(entity, ir.Action):
                return self._action(entity, node)
            if isinstance(entity, Template):
                raise P4Error(node.pos, f"'{callee.name}' can be instantiated in declarations only")
            raise P4Error(callee.pos, f"'{callee.name}' cannot be called")
        if isinstance(callee, ast.Dot):
            return self._method(callee, node, expected)
        raise P4Error(node.pos, "this cannot be called")

    def _method(self, callee: ast.Dot, node: ast.CallExpr, expected: Type | None) -> ir.Expr:
        element = self.element(callee.base)
        if element is not None and not isinstance(element[1], ir.Const):
            one = self._element_call(callee, node, expected)
            return chosen(*element, one, lambda t: self.default(t, node.pos))
        target = self._target(callee.base)
        if isinstance(target, Template):
            if callee.name != "apply":
                raise P4Error(callee.pos, f"'{callee.name}' is not a method of a type")
            return self._apply_type(target, callee, node)
        if isinstance(target, ir.MatchTable):
            if callee.name != "apply":
                raise P4Error(callee.pos, f"a table has no method '{callee.name}'")
            _no_arguments(node, "apply")
            check_call("table", target.name, self.where, node.pos)
            self.out.applied.add(target)
            return ir.TableApply(target, type=VOID, pos=node.pos)
        if isinstance(target, ir.ParserInstance | ir.ControlInstance):
            if callee.name != "apply":
                raise P4Error(callee.pos, f"'{target.name}' has no method '{callee.name}'")
            return self.apply(target, node)
        if isinstance(target, ir.ExternInstance):
            return self._extern_method(target.extern, tuple(target.type_args), target, callee, node, expected)
        if isinstance(target, ir.Var) and isinstance(target.type, ExternType):
            return self._extern_method(target.type.name, target.type.args, target, callee, node, expected)
        if isinstance(target, Type):
            return self._size_method(target, callee, node)
        return self._value_method(callee, node)

    def element(self, node: ast.Expr) -> tuple[list[ir.ExternInstance], ir.Expr] | None:
        """The objects and the index of an element of an array of them; None if ``node`` is something else."""
        if not isinstance(node, ast.IndexExpr) or not isinstance(node.base, ast.NameExpr):
            return None
        array = self.scope.find(node.base.name, absolute=node.base.absolute)
        if not isinstance(array, ObjectArray):
            return None
        index = self.expr(node.index)
        if not isinstance(index.type, Bits) or isinstance(index, ir.Const):
            at = self.number(node.index, "the index of an array of objects", 0, len(array.objects) - 1)
            index = ir.Const(at, type=INT, pos=node.index.pos)
        return array.objects, index

    def _element_call(
        self, callee: ast.Dot, node: ast.CallExpr, expected: Type | None
    ) -> Callable[[ir.ExternInstance], ir.Expr]:
        return lambda o: self._extern_method(o.extern, tuple(o.type_args), o, callee, node, expected)

    def element_statement(self, node: ast.CallExpr) -> ir.Stmt | None:
        """A call, as a statement, of an object that is chosen at run time; None if ``node`` is something else."""
        element = self.element(node.callee.base) if isinstance(node.callee, ast.Dot) else None
        if element is None or isinstance(element[1], ir.Const):
            return None
        assert isinstance(node.callee, ast.Dot)
        return chosen_statement(*element, self._element_call(node.callee, node, None))

    def _target(self, base: ast.Expr) -> Entity | None:
        if isinstance(base, ast.NameExpr):
            entity = self.lookup(base.name, base.pos, absolute=base.absolute)
            return None if isinstance(entity, Constant) else entity
        if isinstance(base, ast.TypeExpr):
            if isinstance(base.type, ast.NamedType):
                entity = self.lookup(base.type.name, base.pos, absolute=base.type.absolute)
                if isinstance(entity, Template) and isinstance(entity.decl, ast.ParserDecl | ast.ControlDecl):
                    return entity
            return self.type(base.type)
        if isinstance(base, ast.This):
            return self.lookup("this", base.pos)
        if self.element(base) is not None:
            return self.object(base)
        if isinstance(base, ast.CallExpr) and isinstance(base.callee, ast.NameExpr | ast.TypeExpr):
            named = base.callee.type if isinstance(base.callee, ast.TypeExpr) else base.callee
            known = self.scope.find(named.name) if isinstance(named, ast.NameExpr | ast.NamedType) else None
            if isinstance(known, Overloads) or (isinstance(known, Template) and isinstance(known.decl, ast.ExternDecl)):
                return self.object(base)
        return None

    def _apply_type(self, template: Template, callee: ast.Dot, node: ast.CallExpr) -> ir.Expr:
        base = callee.base
        named = base.type if isinstance(base, ast.TypeExpr) else None
        type_args = tuple(self.type(a) for a in named.args) if isinstance(named, ast.NamedType) else ()
        instance = self.instantiate(template, type_args, ast.CallExpr(node.pos, base, [], [], []), template.decl.name)
        if not isinstance(instance, ir.ParserInstance | ir.ControlInstance):
            raise P4Error(callee.pos, f"'{template.decl.name}' cannot be applied")
        return self.apply(instance, node)

    # --- arguments -----------------------------------------------------------------------------------------

    def bind(self, params: Sequence[ast.Param], node: ast.CallExpr, what: str) -> Bound:
        """Pair parameters with arguments: by position or by name; None for optional ones left out."""
        names = [n for n in node.names if n is not None]
        if names and len(names) != len(node.args):
            raise P4Error(node.pos, f"{what}: either all arguments are named or none is")
        out: Bound = []
        if names:
            by_name = dict(zip(names, node.args, strict=True))
            for name in names:
                if not any(p.name == name for p in params):
                    raise P4Error(node.pos, f"{what} has no parameter '{name}'")
            if len(by_name) != len(names):
                raise P4Error(node.pos, f"{what}: an argument is given twice")
            out = [(p, by_name.get(p.name)) for p in params]
        else:
            if len(node.args) > len(params):
                raise P4Error(node.pos, f"{what} takes {len(params)} arguments, {len(node.args)} given")
            out = [(p, node.args[i] if i < len(node.args) else None) for i, p in enumerate(params)]
        for i, (p, a) in enumerate(out):
            if a is None and p.default is not None:
                out[i] = (p, p.default)
            elif a is None and not optional(p):
                raise P4Error(node.pos, f"{what}: argument '{p.name}' is missing")
        return out

    def argument(self, direction: str, node: ast.Expr | None, t: Type, what: str) -> ir.Arg:
        """One argument for a parameter of type ``t``."""
        declared, t = t, deep_strip(t)
        if node is None or (isinstance(node, ast.WildcardExpr) and direction == "out"):
            return ir.Arg(direction, None)  # type: ignore[arg-type]
        if direction in ("out", "inout"):
            place = self.place(node)
            if not same(place.type, t):
                raise P4Error(node.pos, f"{what} is {direction} and has type {t}, not {place.type}")
            if isinstance(declared, Newtype):
                self.check_newtype(place, declared, node.pos, literal=False)
            return ir.Arg(direction, place)  # type: ignore[arg-type]
        if isinstance(t, ExternType):
            entity = self._target(node)
            if isinstance(entity, ir.Var) and isinstance(entity.type, ExternType) and entity.type.name == t.name:
                return ir.Arg("", ir.VarRef(entity, type=entity.type, pos=node.pos))
            raise Unsupported(node.pos, f"an extern object of type {t} passed as an argument at run time")
        wanted = None if t == INT else t  # an extern's "int" takes numbers of any width
        value = self.value(node, declared) if isinstance(declared, Newtype) else self.expr(node, wanted)
        return ir.Arg(direction, value)  # type: ignore[arg-type]

    # --- functions -----------------------------------------------------------------------------------------

    def signature(self, decl: ast.FunctionDecl, scope: Scope) -> Signature:
        """Resolve the types of a declaration's parameters."""
        outer, self.scope = self.scope, Scope(scope)
        try:
            variables = [TypeVar(n) for n in decl.type_params]
            for v in variables:
                self.scope.put(v.name, v)
            return Signature(decl, variables, [self.type(p.type) for p in decl.params], self.type(decl.returns))
        finally:
            self.scope = outer

    def infer(self, s: Signature, bound: Bound, node: ast.CallExpr, expected: Type | None, what: str) -> Bindings:
        """Type arguments: as written, else inferred from the arguments, else from the expected type of the result."""
        bindings: Bindings = {}
        if node.type_args:
            if len(node.type_args) != len(s.variables):
                raise P4Error(node.pos, f"{what} takes {len(s.variables)} type arguments, {len(node.type_args)} given")
            for v, a in zip(s.variables, node.type_args, strict=True):
                if not isinstance(a, ast.AnyType):
                    bindings[v] = self.type(a)
        open_variables = [v for v in s.variables if v not in bindings]
        if not open_variables:
            return bindings
        for (param, arg), t in zip(bound, s.params, strict=True):
            if arg is None or isinstance(arg, ast.WildcardExpr | ast.Dots) or not _mentions(t, self):
                continue
            known = self.substitute(t, bindings, node.pos)
            actual = self.expr(arg, None if _mentions(known, self) or known == INT else known)
            if not self.unify(t, actual.type, bindings):
                raise P4Error(arg.pos, f"{what}: '{param.name}' cannot be of type {actual.type}")
        if expected is not None and _mentions(self.substitute(s.returns, bindings, node.pos), self):
            self.unify(s.returns, expected, bindings)
        return bindings

    def _function(self, overloads: Overloads, node: ast.CallExpr, expected: Type | None) -> ir.Expr:
        decl = choose(overloads.name, overloads.decls, node)
        what = f"'{overloads.name}'"
        bound = self.bind(decl.params, node, what)
        s = self.signature(decl, overloads.scope)
        bindings = self.infer(s, bound, node, expected, what)
        if decl.body is None:
            if overloads.name == "verify":
                check_call("verify", "verify", self.where, node.pos)
            return self._extern_call("", overloads.name, None, s, bound, bindings, node)
        missing = [v.name for v in s.variables if v not in bindings]
        if missing:
            raise P4Error(node.pos, f"{what}: type argument '{missing[0]}' cannot be inferred; write it")
        function = self._specialise_function(s, tuple(bindings[v] for v in s.variables), overloads.scope)
        args = [
            self.argument(p.direction, a, v.declared or v.type, f"'{p.name}'")
            for (p, a), v in zip(bound, function.params, strict=True)
        ]
        call = ir.FunctionCall(function, args, type=function.returns, pos=node.pos)
        return self.note(call, self.substitute(s.returns, bindings, node.pos))

    def _specialise_function(self, s: Signature, type_args: tuple[Type, ...], scope: Scope) -> ir.UserFunction:
        key = (s.decl, tuple(deep_strip(t) for t in type_args))
        if key not in self._specialised:
            if key[1] and INT in key[1]:
                raise Unsupported(s.decl.pos, f"'{s.decl.name}' for integers without width")
            outer, self.scope = self.scope, Scope(scope)
            try:
                for name, t in zip(s.decl.type_params, type_args, strict=True):
                    self.scope.put(name, t)
                self._specialised[key] = self.function(s.decl, s.decl.name)
            finally:
                self.scope = outer
            self.out.functions.append(self._specialised[key])
        return self._specialised[key]

    def function(self, decl: ast.FunctionDecl, name: str) -> ir.UserFunction:
        """A function with a body, in the current scope."""
        check_required(decl.params)
        params = self.variables(decl.params)
        returns = deep_strip(self.type(decl.returns))
        outer, self.scope = self.scope, Scope(self.scope)
        try:
            for v in params:
                self.declare(v.name, v, v.pos, parameter=True)
            with self.standing_in("function"):
                body = self.function_body(decl, returns)
        finally:
            self.scope = outer
        return ir.UserFunction(name, params, returns, body, decl.pos)

    def variables(self, params: Sequence[ast.Param]) -> list[ir.Var]:
        """Parameters as variables."""
        out = []
        for p in params:
            declared = self.type(p.type)
            check_direction(p.name, p.direction, declared, p.pos)
            notes = self.annotations(p.annotations)
            v = ir.Var(p.name, deep_strip(declared), p.direction, notes, p.pos, declared)  # type: ignore[arg-type]
            self.declared[v] = p
            out.append(v)
        return out

    def _action(self, action: ir.Action, node: ast.CallExpr) -> ir.Expr:
        what = f"'{action.name}'"
        check_call("action", action.name, self.where, node.pos)
        if node.type_args:
            raise P4Error(node.pos, f"action {what} takes no type arguments")
        bound = self.bind([self.declared[v] for v in action.params], node, what)
        args = [
            self.argument(p.direction or "in", a, v.declared or v.type, f"'{p.name}'")
            for (p, a), v in zip(bound, action.params, strict=True)
        ]
        return ir.ActionCall(action, args, type=VOID, pos=node.pos)

    def apply(self, target: ir.ParserInstance | ir.ControlInstance, node: ast.CallExpr) -> ir.Expr:
        """``instance.apply(...)``."""
        what = f"'{target.type_name}'"
        kind: Literal["parser", "control"] = "parser" if isinstance(target, ir.ParserInstance) else "control"
        check_call(kind, target.type_name, self.where, node.pos)
        bound = self.bind([self.declared[v] for v in target.params], node, what)
        if target in self.waiting:
            numbers = {v.name for v in target.params if v.type == INT}
            known = {p.name: self.constant(a, INT) for p, a in bound if p.name in numbers and a is not None}
            target = self.waiting[target](known, node.pos)
            bound = [(p, a) for p, a in bound if p.name not in numbers]
        args = []
        for (p, a), v in zip(bound, target.params, strict=True):
            instance = self._target(a) if isinstance(v.type, ExternType) and isinstance(a, ast.NameExpr) else None
            if isinstance(instance, ir.ExternInstance):
                self._bind_extern(v, instance, node.pos)
                args.append(ir.Arg("", None))
            else:
                args.append(self.argument(p.direction, a, v.declared or v.type, f"'{p.name}'"))
        return ir.ApplyCall(target, args, type=VOID, pos=node.pos)

    def _bind_extern(self, v: ir.Var, instance: ir.ExternInstance, pos: Pos) -> None:
        """An extern object passed at run time: the same one at every call, so its methods can be bound now."""
        if instance.extern != str(getattr(v.type, "name", "")):
            raise P4Error(pos, f"'{v.name}' must be of type {v.type}, not {instance.extern}")
        for call in self._calls_on.get(v, []):
            if call.target is not v and call.target is not instance:
                raise Unsupported(pos, f"different extern objects passed for '{v.name}'")
            call.target = instance

    # --- externs -------------------------------------------------------------------------------------------

    def _extern_method(
        self,
        extern: str,
        type_args: tuple[Type, ...],
        target: ir.ExternInstance | ir.Var,
        callee: ast.Dot,
        node: ast.CallExpr,
        expected: Type | None,
    ) -> ir.Expr:
        template = self.externs[extern]
        assert isinstance(template.decl, ast.ExternDecl)
        methods = [m for m in template.decl.methods if m.name == callee.name and m.name != extern]
        if not methods:
            raise P4Error(callee.pos, f"extern '{extern}' has no method '{callee.name}'")
        decl = choose(callee.name, methods, node)
        what = f"'{extern}.{callee.name}'"
        bound = self.bind(decl.params, node, what)
        scope = Scope(template.scope)
        known_types = itertools.chain(type_args, itertools.repeat(DONTCARE))
        for name, t in zip(template.decl.type_params, known_types, strict=False):
            scope.put(name, TypeVar(name) if t == DONTCARE else t)
        s = self.signature(decl, scope)
        return self._extern_call(
            extern, callee.name, target, s, bound, self.infer(s, bound, node, expected, what), node
        )

    def _extern_call(
        self,
        extern: str,
        method: str,
        target: ir.ExternInstance | ir.Var | None,
        s: Signature,
        bound: Bound,
        bindings: Bindings,
        node: ast.CallExpr,
    ) -> ir.Expr:
        args = []
        for (p, a), t in zip(bound, s.params, strict=True):
            known = self.substitute(t, bindings, node.pos)
            if a is not None and p.direction in ("", "in") and _mentions(known, self):
                value = self.expr(a)
                width = max(_OPEN_WIDTH, int(value.value).bit_length()) if isinstance(value, ir.Const) else _OPEN_WIDTH
                args.append(ir.Arg("in", self.coerce(value, Bits(width), a.pos) if value.type == INT else value))
            elif a is not None and p.direction in ("out", "inout") and _mentions(known, self):
                args.append(ir.Arg(p.direction, self.place(a)))  # type: ignore[arg-type]
            else:
                args.append(self.argument(p.direction, a, known, f"'{p.name}'"))
        returns = deep_strip(self.substitute(s.returns, bindings, node.pos))
        if _mentions(returns, self):
            raise P4Error(node.pos, f"'{method}': the type of the result cannot be inferred; write it")
        type_args = [deep_strip(bindings.get(v, VOID)) for v in s.variables]
        for p, t, (_, arg) in zip(s.decl.params, s.params, bound, strict=True):
            if isinstance(t, TypeVar) and p.direction and arg is not None:
                if bindings.get(t) == INT:
                    raise P4Error(arg.pos, f"'{p.name}' needs a width: write it, as in 8w1")
                if bindings.get(t) == STRING:
                    check_direction(p.name, p.direction, STRING, arg.pos)
        if extern == "packet_in" and type_args:
            check_packet_call(method, type_args[0], len(args), node.pos)
        names = [p.name for p, _ in bound]
        call = ir.ExternCall(extern, method, target, type_args, args, names, type=returns, pos=node.pos)
        if isinstance(target, ir.Var):
            self._calls_on.setdefault(target, []).append(call)
        if not extern and method == "static_assert":
            return _static_assert(call)
        return call

    # --- methods of values ---------------------------------------------------------------------------------

    def _value_method(self, callee: ast.Dot, node: ast.CallExpr) -> ir.Expr:
        base = self.expr(callee.base)
        t, name = base.type, callee.name
        if name in _SIZES:
            return self._size_method(t, callee, node)
        if isinstance(t, Header | Union) and name == "isValid":
            _no_arguments(node, name)
            return ir.IsValid(base, type=BOOL, pos=node.pos)
        if isinstance(t, Header) and name in ("setValid", "setInvalid"):
            _no_arguments(node, name)
            place = self.place(callee.base)
            return ir.HeaderOp("setValid" if name == "setValid" else "setInvalid", place, type=VOID, pos=node.pos)
        if isinstance(t, Stack) and t.first and name in ("push_front", "pop_front"):
            if len(node.args) != 1:
                raise P4Error(node.pos, f"'{name}' takes 1 argument, {len(node.args)} given")
            count = self.number(node.args[0], "the count", 0, 1 << 16)
            op = ir.HeaderOp("push_front" if name == "push_front" else "pop_front", self.place(callee.base), type=VOID)
            op.count, op.pos = count, node.pos
            return op
        raise P4Error(callee.pos, f"{t} has no method '{name}'")

    def _size_method(self, t: Type, callee: ast.Dot, node: ast.CallExpr) -> ir.Expr:
        if callee.name not in _SIZES:
            raise P4Error(callee.pos, f"{t} has no method '{callee.name}'")
        _no_arguments(node, callee.name)
        bits = serialised_size(strip(t), largest=callee.name.startswith("max"))
        return ir.Const((bits + 7) // 8 if callee.name.endswith("Bytes") else bits, type=INT, pos=node.pos)


def _static_assert(call: ir.ExternCall) -> ir.Expr:
    check = call.args[0].expr
    if not isinstance(check, ir.Const):
        raise P4Error(call.pos, "static_assert needs a condition known at compile time")
    if not check.value:
        message = call.args[1].expr if len(call.args) > 1 else None
        text = f": {message.value}" if isinstance(message, ir.Const) else ""
        raise P4Error(call.pos, f"static assertion failed{text}")
    return ir.Const(1, type=BOOL, pos=call.pos)


def _no_arguments(node: ast.CallExpr, name: str) -> None:
    if node.args:
        raise P4Error(node.pos, f"'{name}' takes no arguments, {len(node.args)} given")


def _mentions(t: Type, resolver: Calls) -> bool:
    """Whether a type variable stands in ``t``."""
    if isinstance(t, TypeVar):
        return True
    args: Sequence[Type] = ()
    if isinstance(t, Structure):
        args = resolver.origin[t][1] if t in resolver.origin else ()
    elif isinstance(t, ExternType):
        args = t.args
    elif isinstance(t, Stack):
        args = (t.element,)
    else:
        args = getattr(t, "types", ()) or ((t.element,) if hasattr(t, "element") else ())
    return any(_mentions(a, resolver) for a in args)


__all__ = ["Bound", "Calls", "Pos", "Signature"]
