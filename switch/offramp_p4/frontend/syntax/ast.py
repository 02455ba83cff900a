# SPDX-License-Identifier: Apache-2.0
"""The syntax tree: what stands in the source, before names and types mean anything."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from offramp_p4.frontend.syntax.lexer import Lexeme
    from offramp_p4.source import Pos


@dataclass(eq=False, slots=True)
class Node:
    """Base; ``pos`` is where the construct begins (for operators: where the operator stands)."""

    pos: Pos


@dataclass(eq=False, slots=True)
class Annot(Node):
    """``@name``, ``@name(tokens)`` or ``@name[tokens]``; code that knows the name interprets the body."""

    name: str
    tokens: list[Lexeme] = field(default_factory=list)
    structured: bool = False


# --- types -------------------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class BaseType(Node):
    """``bit``, ``int``, ``varbit`` (with a width), ``bool``, ``error``, ``string``, ``void``, ``match_kind``."""

    name: str
    width: Expr | None = None


@dataclass(eq=False, slots=True)
class NamedType(Node):
    """A type by name; ``absolute`` when written with a leading dot."""

    name: str
    absolute: bool = False
    args: list[TypeNode] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class StackType(Node):
    """``element[size]``."""

    element: TypeNode
    size: Expr


@dataclass(eq=False, slots=True)
class TupleType(Node):
    """``tuple<...>`` or ``list<T>`` (``name``)."""

    name: str
    args: list[TypeNode]


@dataclass(eq=False, slots=True)
class AnyType(Node):
    """``_`` as a type argument."""


TypeNode = BaseType | NamedType | StackType | TupleType | AnyType


# --- expressions -------------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class IntLit(Node):
    """Integer literal."""

    value: int
    width: int | None
    signed: bool
    base: int = 10


@dataclass(eq=False, slots=True)
class BoolLit(Node):
    """``true`` or ``false``."""

    value: bool


@dataclass(eq=False, slots=True)
class StrLit(Node):
    """String literal."""

    value: str


@dataclass(eq=False, slots=True)
class NameExpr(Node):
    """A name."""

    name: str
    absolute: bool = False


@dataclass(eq=False, slots=True)
class TypeExpr(Node):
    """A type where an expression stands: the base of ``T.apply()`` or ``T<X>.member``."""

    type: TypeNode


@dataclass(eq=False, slots=True)
class Dot(Node):
    """``base.name``."""

    base: Expr
    name: str


@dataclass(eq=False, slots=True)
class IndexExpr(Node):
    """``base[index]``."""

    base: Expr
    index: Expr


@dataclass(eq=False, slots=True)
class SliceOp(Node):
    """``base[high:low]``; ``plus`` for ``base[low+:width]``."""

    base: Expr
    high: Expr
    low: Expr
    plus: bool = False


@dataclass(eq=False, slots=True)
class UnaryOp(Node):
    """``! ~ - +``."""

    op: str
    operand: Expr


@dataclass(eq=False, slots=True)
class BinaryOp(Node):
    """Any binary operator, also ``&&&`` and ``..`` in key sets."""

    op: str
    left: Expr
    right: Expr


@dataclass(eq=False, slots=True)
class TernaryExpr(Node):
    """``condition ? then : otherwise``."""

    condition: Expr
    then: Expr
    otherwise: Expr


@dataclass(eq=False, slots=True)
class CastOp(Node):
    """``(type) operand``."""

    type: TypeNode
    operand: Expr


@dataclass(eq=False, slots=True)
class CallExpr(Node):
    """``callee<type_args>(args)``; names give the argument names where they are written."""

    callee: Expr
    type_args: list[TypeNode]
    args: list[Expr]
    names: list[str | None]


@dataclass(eq=False, slots=True)
class ListExpr(Node):
    """``{a, b}``; ``rest`` when it ends in ``...``."""

    items: list[Expr]
    rest: bool = False


@dataclass(eq=False, slots=True)
class StructExpr(Node):
    """``{a = x, b = y}``; ``rest`` when it ends in ``...``."""

    names: list[str]
    items: list[Expr]
    rest: bool = False


@dataclass(eq=False, slots=True)
class Invalid(Node):
    """``{#}``."""


@dataclass(eq=False, slots=True)
class Dots(Node):
    """``...`` as a whole value: everything default."""


@dataclass(eq=False, slots=True)
class WildcardExpr(Node):
    """``default`` or ``_``: any key, or an argument not given."""


@dataclass(eq=False, slots=True)
class TupleKey(Node):
    """``(k1, k2)`` in key sets."""

    items: list[Expr]


@dataclass(eq=False, slots=True)
class This(Node):
    """``this`` inside an abstract method's implementation."""


Expr = (
    IntLit | BoolLit | StrLit | NameExpr | TypeExpr | Dot | IndexExpr | SliceOp | UnaryOp | BinaryOp | TernaryExpr |
    CastOp | CallExpr | ListExpr | StructExpr | Invalid | Dots | WildcardExpr | TupleKey | This
)  # fmt: skip


# --- statements --------------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class AssignStmt(Node):
    """``place = value`` or, with ``op``, ``place op= value``."""

    place: Expr
    value: Expr
    op: str = ""


@dataclass(eq=False, slots=True)
class CallStmt(Node):
    """A call as a statement."""

    call: Expr


@dataclass(eq=False, slots=True)
class BlockStmt(Node):
    """``{ ... }``."""

    body: list[Stmt]
    annotations: list[Annot]


@dataclass(eq=False, slots=True)
class IfStmt(Node):
    """``if``."""

    condition: Expr
    then: Stmt
    otherwise: Stmt | None


@dataclass(eq=False, slots=True)
class SwitchStmt(Node):
    """``switch``; a case without a body falls through to the next one."""

    subject: Expr
    cases: list[tuple[Expr, Stmt | None]]


@dataclass(eq=False, slots=True)
class ForStmt(Node):
    """C-style ``for``."""

    init: list[Stmt]
    condition: Expr
    update: list[Stmt]
    body: Stmt


@dataclass(eq=False, slots=True)
class ForInStmt(Node):
    """``for (type name in collection)``; ``high`` for ``low .. high``."""

    type: TypeNode
    name: str
    low: Expr
    high: Expr | None
    body: Stmt


@dataclass(eq=False, slots=True)
class JumpStmt(Node):
    """``break``, ``continue``, ``exit`` or an empty statement (``;``)."""

    what: str


@dataclass(eq=False, slots=True)
class ReturnStmt(Node):
    """``return``."""

    value: Expr | None


@dataclass(eq=False, slots=True)
class DeclStmt(Node):
    """A declaration among statements."""

    decl: Decl


Stmt = (
    AssignStmt | CallStmt | BlockStmt | IfStmt | SwitchStmt | ForStmt | ForInStmt | JumpStmt | ReturnStmt | DeclStmt
)  # fmt: skip


# --- declarations ------------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class Param(Node):
    """A parameter."""

    annotations: list[Annot]
    direction: str
    type: TypeNode
    name: str
    default: Expr | None = None


@dataclass(eq=False, slots=True)
class Declaration(Node):
    """Base of declarations."""

    annotations: list[Annot]
    name: str


@dataclass(eq=False, slots=True)
class ConstDecl(Declaration):
    """``const T name = value;``."""

    type: TypeNode
    value: Expr


@dataclass(eq=False, slots=True)
class VarDecl(Declaration):
    """``T name = value;``."""

    type: TypeNode
    value: Expr | None


@dataclass(eq=False, slots=True)
class Instantiation(Declaration):
    """``T(args) name;`` with, for abstract methods, an initialiser; ``size`` of them for ``T(args) name[size];``."""

    type: TypeNode
    args: list[Expr]
    names: list[str | None]
    body: list[Decl] | None
    size: Expr | None = None


@dataclass(eq=False, slots=True)
class ActionDecl(Declaration):
    """``action``."""

    params: list[Param]
    body: BlockStmt


@dataclass(eq=False, slots=True)
class FunctionDecl(Declaration):
    """A function; ``body`` None for extern functions and methods."""

    type_params: list[str]
    params: list[Param]
    returns: TypeNode
    body: BlockStmt | None
    abstract: bool = False


@dataclass(eq=False, slots=True)
class KeyElement(Node):
    """``expr : match_kind @annotations;``."""

    expr: Expr
    match_kind: str
    annotations: list[Annot]


@dataclass(eq=False, slots=True)
class ActionRef(Node):
    """``name(args)`` in an action list, a default action or an entry."""

    annotations: list[Annot]
    name: str
    absolute: bool
    args: list[Expr]
    names: list[str | None]


@dataclass(eq=False, slots=True)
class EntryDecl(Node):
    """``const priority = p : key : action;``."""

    keys: list[Expr]
    action: ActionRef
    priority: Expr | None
    const: bool
    annotations: list[Annot]


@dataclass(eq=False, slots=True)
class Property(Node):
    """A table property other than key, actions and entries."""

    name: str
    value: Expr
    const: bool
    annotations: list[Annot]


@dataclass(eq=False, slots=True)
class TableDecl(Declaration):
    """``table``."""

    keys: list[KeyElement] = field(default_factory=list)
    actions: list[ActionRef] = field(default_factory=list)
    default: ActionRef | None = None
    const_default: bool = False
    entries: list[EntryDecl] = field(default_factory=list)
    const_entries: bool = False
    properties: list[Property] = field(default_factory=list)
    has_actions: bool = False


@dataclass(eq=False, slots=True)
class CaseDecl(Node):
    """``keys : state;``."""

    keys: Expr
    target: str


@dataclass(eq=False, slots=True)
class StateDecl(Declaration):
    """A parser state; ``select`` empty: unconditional."""

    body: list[Stmt]
    select: list[Expr]
    cases: list[CaseDecl]


@dataclass(eq=False, slots=True)
class ParserDecl(Declaration):
    """A parser; ``states`` None for a parser type."""

    type_params: list[str]
    params: list[Param]
    ctor: list[Param]
    locals: list[Decl]
    states: list[StateDecl] | None


@dataclass(eq=False, slots=True)
class ControlDecl(Declaration):
    """A control; ``body`` None for a control type."""

    type_params: list[str]
    params: list[Param]
    ctor: list[Param]
    locals: list[Decl]
    body: BlockStmt | None


@dataclass(eq=False, slots=True)
class PackageDecl(Declaration):
    """``package``."""

    type_params: list[str]
    ctor: list[Param]


@dataclass(eq=False, slots=True)
class ExternDecl(Declaration):
    """An extern type; constructors are methods that carry its name."""

    type_params: list[str]
    methods: list[FunctionDecl]


@dataclass(eq=False, slots=True)
class FieldDecl(Node):
    """A field."""

    annotations: list[Annot]
    type: TypeNode
    name: str


@dataclass(eq=False, slots=True)
class StructDecl(Declaration):
    """``struct``, ``header`` or ``header_union`` (``kind``)."""

    kind: str
    type_params: list[str]
    fields: list[FieldDecl]


@dataclass(eq=False, slots=True)
class EnumDecl(Declaration):
    """``enum``; with ``base``, serialisable, and every member has a value."""

    base: TypeNode | None
    members: list[tuple[str, Expr | None, Pos]]


@dataclass(eq=False, slots=True)
class TypedefDecl(Declaration):
    """``typedef`` or, with ``fresh``, ``type``."""

    type: TypeNode
    fresh: bool


@dataclass(eq=False, slots=True)
class NamesDecl(Declaration):
    """``error { ... }`` or ``match_kind { ... }`` (``name``)."""

    members: list[tuple[str, Pos]]


@dataclass(eq=False, slots=True)
class ValueSetDecl(Declaration):
    """``value_set<T>(size) name;``."""

    type: TypeNode
    size: Expr


Decl = (
    ConstDecl | VarDecl | Instantiation | ActionDecl | FunctionDecl | TableDecl | ParserDecl | ControlDecl
    | PackageDecl | ExternDecl | StructDecl | EnumDecl | TypedefDecl | NamesDecl | ValueSetDecl
)  # fmt: skip
