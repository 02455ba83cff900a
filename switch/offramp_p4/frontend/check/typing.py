# SPDX-License-Identifier: Apache-2.0
"""Type expressions to types; generics: unification and substitution (P4-16 specification, section 7)."""

from __future__ import annotations

import difflib
from abc import abstractmethod
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from offramp_p4 import ir
from offramp_p4.frontend.check.restrictions import Where, check_annotations, check_distinct
from offramp_p4.frontend.check.scope import Constant, Entity, Scope, Template
from offramp_p4.frontend.syntax import ast
from offramp_p4.frontend.syntax.expressions import ExpressionParser
from offramp_p4.frontend.syntax.lexer import MAX_BITS, Lexeme, parse_int, parse_string
from offramp_p4.source import P4Error, Pos, Unsupported
from offramp_p4.types import (
    BOOL,
    DONTCARE,
    ERROR,
    INT,
    MATCH_KIND,
    STRING,
    VOID,
    Annotation,
    Bits,
    Enum,
    ExternType,
    Header,
    List,
    Newtype,
    Stack,
    Struct,
    StructField,
    Structure,
    Tuple,
    Type,
    TypeVar,
    Union,
    Varbit,
    strip,
)  # fmt: skip

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SIMPLE = {"bool": BOOL, "error": ERROR, "string": STRING, "void": VOID, "match_kind": MATCH_KIND}
_KINDS: dict[str, type[Structure]] = {"struct": Struct, "header": Header, "header_union": Union}

MAX_BLOCKS: Final = 4096
"""Instances of parsers and controls in a program."""
_MAX_PARTS: Final = 1 << 18
"""Types and values that a type may be made of: types that hold others twice grow by powers of two."""
_MAX_NAME: Final = 1000

Bindings = dict[TypeVar, Type]


@dataclass(slots=True)
class Collected:
    """Objects that elaboration has found so far, in order: the lists of :class:`ir.Program`."""

    tables: list[ir.MatchTable] = field(default_factory=list)
    actions: list[ir.Action] = field(default_factory=list)
    externs: list[ir.ExternInstance] = field(default_factory=list)
    value_sets: list[ir.ValueSet] = field(default_factory=list)
    functions: list[ir.UserFunction] = field(default_factory=list)
    blocks: list[ir.ParserInstance | ir.ControlInstance] = field(default_factory=list)
    applied: set[ir.MatchTable] = field(default_factory=set)


class TypeResolver:
    """Names to types, in the current scope."""

    def __init__(self) -> None:
        self.scope = Scope()
        self.errors: dict[str, int] = {}
        self.match_kinds: set[str] = set()
        self.types: dict[str, Type] = {}
        self.out = Collected()
        self.where: Where = ""
        self.origin: dict[Structure, tuple[Template, tuple[Type, ...]]] = {}  # of specialised structures
        self._parts: dict[int, tuple[Type, int]] = {}  # by identity: equality may take as long as the type is large

    @contextmanager
    def forgetting(self) -> Iterator[None]:
        """Within the context, unreachable code is checked: only functions are kept of it, since they are made once."""
        kept, self.out = self.out, Collected()
        try:
            yield
        finally:
            kept.functions += self.out.functions
            self.out = kept

    @abstractmethod
    def constant(self, node: ast.Expr, expected: Type | None = None) -> ir.Expr:
        """An expression that must be known at compile time."""

    # --- names ---------------------------------------------------------------------------------------------

    def lookup(self, name: str, pos: Pos, *, absolute: bool = False) -> Entity:
        """The meaning of a name, or an error with the nearest known one."""
        entity = self.scope.find(name, absolute=absolute)
        if entity is None:
            near = difflib.get_close_matches(name, self.scope.names(), n=1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise P4Error(pos, f"'{name}' is not declared{hint}")
        return entity

    def declare(self, name: str, entity: Entity, pos: Pos, *, parameter: bool = False) -> None:
        """Add a name to the current scope; two of the same name are an error, and what shadows a parameter."""
        before = self.scope.here(name)
        if before is not None:
            first = getattr(getattr(before, "decl", before), "pos", None)
            raise P4Error(pos, f"'{name}' is declared twice in this scope{f'; first at {first}' if first else ''}")
        if not parameter and self.scope.is_parameter(name):
            raise P4Error(pos, f"'{name}' shadows the parameter of this name")
        self.scope.put(name, entity, parameter=parameter)

    def number(self, node: ast.Expr, what: str, low: int = 0, high: int = 1 << 62) -> int:
        """A compile-time integer in a range."""
        value = self.constant(node)
        if not isinstance(value, ir.Const) or not isinstance(value.value, int) or value.type == BOOL:
            raise P4Error(node.pos, f"{what} must be an integer known at compile time")
        if not low <= value.value <= high:
            raise P4Error(node.pos, f"{what} must be between {low} and {high}, not {value.value}")
        return value.value

    # --- annotations ---------------------------------------------------------------------------------------

    def annotations(self, nodes: Sequence[ast.Annot]) -> dict[str, Annotation]:
        """Annotations by name; the last one of a name wins."""
        check_annotations(nodes)
        out: dict[str, Annotation] = {}
        for a in nodes:
            parts, before = _split(a.tokens), out.get(a.name)
            if a.structured and parts and all(len(p) > 1 and p[1].text == "=" for p in parts):
                check_distinct([(p[0].text, p[0].pos) for p in parts], "key")
                kv = tuple((p[0].text, self._structured_value(p[2:])) for p in parts)
                out[a.name] = Annotation(a.name, kv=kv, structured=True)
            elif a.structured:
                out[a.name] = Annotation(a.name, tuple(map(self._structured_value, parts)), structured=True)
            else:
                known = self._structured_value if a.name == "name" else self._annotation_value
                out[a.name] = Annotation(a.name, tuple(map(known, parts)))
                if a.name == "name" and not isinstance(out[a.name].args[0], str):
                    raise P4Error(a.pos, "@name needs a string in parentheses")
            if before is not None:
                out[a.name] = replace(out[a.name], others=(*before.others, replace(before, others=())))
        return out

    def _structured_value(self, tokens: list[Lexeme]) -> object:
        """A compile-time expression: number, boolean or string (section 20.1)."""
        end = Lexeme("eof", "", tokens[-1].pos)
        value = self.constant(ExpressionParser([*tokens, end]).expression())
        if not isinstance(value, ir.Const):
            raise P4Error(tokens[0].pos, "an annotation holds numbers, booleans and strings")
        return bool(value.value) if value.type == BOOL else value.value

    def _annotation_value(self, tokens: list[Lexeme]) -> object:
        if tokens and all(t.kind == "str" for t in tokens):
            return "".join(parse_string(t) for t in tokens)
        if len(tokens) == 1:
            t = tokens[0]
            if t.kind == "int":
                return parse_int(t)[0]
            if t.text in ("true", "false"):
                return t.text == "true"
            entity = self.scope.find(t.text) if t.kind == "id" else None
            if isinstance(entity, Constant) and isinstance(entity.value, ir.Const):
                return entity.value.value
        if len(tokens) == 3 and tokens[1].text == ".":
            enum = self.scope.find(tokens[0].text)
            if isinstance(enum, Enum) and tokens[2].text in enum.members:
                return enum.members[tokens[2].text]
        if len(tokens) == 2 and tokens[0].text == "-" and tokens[1].kind == "int":
            return -parse_int(tokens[1])[0]
        return " ".join(t.text for t in tokens)

    # --- types ---------------------------------------------------------------------------------------------

    def type(self, node: ast.TypeNode) -> Type:
        """The type that a type expression names (newtypes kept)."""
        match node:
            case ast.BaseType():
                return self._base(node)
            case ast.StackType():
                element = strip(self.type(node.element))
                if isinstance(element, ExternType):
                    raise Unsupported(node.pos, f"an array of extern objects of type {element}")
                if element in (INT, STRING, VOID, MATCH_KIND) or isinstance(element, Varbit | List):
                    raise P4Error(node.pos, f"an array cannot hold values of type {element}")
                size = self.number(node.size, "the size of a stack", 0, 1 << 16)
                return self._sized(Stack(element, size), [element], node.pos, size)
            case ast.TupleType(name="list"):
                element = self.type(node.args[0])
                return self._sized(List(element), [element], node.pos)
            case ast.TupleType():
                parts = [self.type(a) for a in node.args]
                for part, at in zip(parts, node.args, strict=True):
                    if strip(part) in (VOID, STRING, DONTCARE) or isinstance(part, ExternType):
                        raise P4Error(at.pos, f"a tuple cannot hold a value of type {part}")
                return self._sized(Tuple(tuple(parts)), parts, node.pos)
            case ast.AnyType():
                return DONTCARE
            case ast.NamedType():
                return self._named(node)

    def _base(self, node: ast.BaseType) -> Type:
        if node.width is None:
            return INT if node.name == "int" else _SIMPLE[node.name]
        width = self.number(node.width, f"the width of {node.name}<>", 0, MAX_BITS)
        if not width and node.name == "int":
            raise P4Error(node.width.pos, "a signed integer needs at least 1 bit")
        if node.name == "varbit":
            return Varbit(width)
        return Bits(width, signed=node.name == "int")

    def _named(self, node: ast.NamedType) -> Type:
        entity = self.lookup(node.name, node.pos, absolute=node.absolute)
        args = tuple(self.type(a) for a in node.args)
        if isinstance(entity, Type):
            if args:
                raise P4Error(node.pos, f"'{node.name}' takes no type arguments")
            return entity
        if isinstance(entity, Template):
            return self.specialise(entity, args, node.pos)
        raise P4Error(node.pos, f"'{node.name}' is not a type")

    def specialise(self, template: Template, args: tuple[Type, ...], pos: Pos) -> Type:
        """A generic struct or an extern with its type arguments."""
        decl = template.decl
        if isinstance(decl, ast.ExternDecl):
            if args and len(args) != len(decl.type_params):
                raise P4Error(pos, f"'{decl.name}' takes {len(decl.type_params)} type arguments, {len(args)} given")
            return self._sized(ExternType(decl.name, args), args, pos)
        if not isinstance(decl, ast.StructDecl):
            raise P4Error(pos, f"'{decl.name}' cannot be the type of a value")
        if len(args) != len(decl.type_params):
            raise P4Error(pos, f"'{decl.name}' takes {len(decl.type_params)} type arguments, {len(args)} given")
        if len(decl.name) + sum(len(str(arg)) for arg in args) > _MAX_NAME:
            raise P4Error(pos, f"'{decl.name}' with type arguments whose names have more than {_MAX_NAME} characters")
        if args not in template.cache:
            scope, self.scope = self.scope, Scope(template.scope)
            try:
                for name, arg in zip(decl.type_params, args, strict=True):
                    self.scope.put(name, arg)
                struct = self.structure(decl, f"{decl.name}<{', '.join(map(str, args))}>" if args else decl.name)
            finally:
                self.scope = scope
            template.cache[args] = struct
            self.origin[struct] = (template, args)
        return template.cache[args]

    def structure(self, decl: ast.StructDecl, name: str) -> Structure:
        """A struct, header or header union from its declaration, in the current scope."""
        fields: list[StructField] = []
        for f in decl.fields:
            if any(f.name == g.name for g in fields):
                raise P4Error(f.pos, f"field '{f.name}' is declared twice in '{name}'")
            t = self.type(f.type)
            _check_field(decl.kind, strip(t), f.pos)
            fields.append(StructField(f.name, t, self.annotations(f.annotations)))
        struct = _KINDS[decl.kind](name, self.annotations(decl.annotations), fields)
        self._sized(struct, [f.type for f in fields], decl.pos)
        return struct

    def _sized(self, t: Type, parts: Sequence[Type], pos: Pos, times: int = 1) -> Type:
        """``t``, which holds ``parts``, that often.

        Raises:
            P4Error: it has too many of them, those of its parts included.
        """
        total = 1 + times * sum(self._parts.get(id(strip(part)), (part, 1))[1] for part in parts)
        if total > _MAX_PARTS:
            raise P4Error(pos, f"a type of more than {_MAX_PARTS} parts")
        self._parts[id(t)] = t, total
        return t

    # --- generics ------------------------------------------------------------------------------------------

    def unify(self, pattern: Type, actual: Type, bindings: Bindings) -> bool:
        """Bind the type variables of ``pattern`` so that it becomes ``actual``; False when that cannot be."""
        pattern = strip(pattern)
        if pattern == DONTCARE or actual == DONTCARE:
            return True
        if isinstance(pattern, TypeVar):
            bound = bindings.get(pattern)
            if bound is None or bound in (INT, DONTCARE):
                bindings[pattern] = actual
                return True
            return actual == INT or same(bound, actual)
        actual = strip(actual)
        match pattern, actual:
            case Tuple(), Tuple():
                return len(pattern.types) == len(actual.types) and all(
                    self.unify(p, a, bindings) for p, a in zip(pattern.types, actual.types, strict=True)
                )
            case List(), List():
                return self.unify(pattern.element, actual.element, bindings)
            case Stack(), Stack():
                return pattern.size == actual.size and self.unify(pattern.element, actual.element, bindings)
            case ExternType(), ExternType():
                if pattern.name != actual.name:
                    return False
                pairs = zip(pattern.args, actual.args, strict=False)
                return all(self.unify(p, a, bindings) for p, a in pairs)
            case Structure(), Structure() if pattern in self.origin and actual in self.origin:
                (p_template, p_args), (a_template, a_args) = self.origin[pattern], self.origin[actual]
                return p_template is a_template and all(
                    self.unify(p, a, bindings) for p, a in zip(p_args, a_args, strict=True)
                )
        return same(pattern, actual) or actual == INT

    def substitute(self, t: Type, bindings: Bindings, pos: Pos) -> Type:
        """``t`` with its bound type variables replaced."""
        match t:
            case TypeVar():
                return bindings.get(t, t)
            case Tuple():
                return Tuple(tuple(self.substitute(x, bindings, pos) for x in t.types))
            case List():
                return List(self.substitute(t.element, bindings, pos))
            case ExternType():
                return ExternType(t.name, tuple(self.substitute(x, bindings, pos) for x in t.args))
            case Structure() if t in self.origin:
                template, args = self.origin[t]
                return self.specialise(template, tuple(self.substitute(x, bindings, pos) for x in args), pos)
        return t


def same(a: Type, b: Type) -> bool:
    """Whether two types are one when executed (newtypes stripped, also inside tuples)."""
    a, b = strip(a), strip(b)
    if isinstance(a, Tuple) and isinstance(b, Tuple):
        return len(a.types) == len(b.types) and all(same(x, y) for x, y in zip(a.types, b.types, strict=True))
    return a == b


def deep_strip(t: Type) -> Type:
    """A run-time type: newtypes stripped, also inside tuples."""
    t = strip(t)
    return Tuple(tuple(deep_strip(x) for x in t.types)) if isinstance(t, Tuple) else t


def _check_field(kind: str, t: Type, pos: Pos) -> None:
    if kind == "header":
        while isinstance(t, Stack):
            t = strip(t.element)
        ok = isinstance(t, Bits | Varbit | TypeVar) or t == BOOL or (isinstance(t, Enum) and t.base is not None)
        if isinstance(t, Struct):
            for f in t.fields:
                _check_field(kind, strip(f.type), pos)
            ok = True
        if not ok:
            raise P4Error(pos, f"a header cannot have a field of type {t}")
    elif kind == "header_union" and not isinstance(t, Header | TypeVar):
        raise P4Error(pos, f"a header union holds headers only, not {t}")
    elif kind == "struct" and (t in (INT, STRING, VOID, MATCH_KIND) or isinstance(t, ExternType)):
        raise P4Error(pos, f"a struct cannot have a field of type {t}")


def _split(tokens: Sequence[Lexeme]) -> list[list[Lexeme]]:
    """Token lists between top-level commas."""
    out: list[list[Lexeme]] = []
    current: list[Lexeme] = []
    depth = 0
    for t in tokens:
        depth += (t.text in ("(", "[", "{")) - (t.text in (")", "]", "}"))
        if t.text == "," and depth == 0:
            out.append(current)
            current = []
        else:
            current.append(t)
    if current:
        out.append(current)
    return out


__all__ = ["Bindings", "Collected", "Newtype", "TypeResolver", "deep_strip", "same"]
