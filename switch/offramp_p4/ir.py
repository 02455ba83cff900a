# SPDX-License-Identifier: Apache-2.0
"""The intermediate representation: what the front end hands to an engine.

A :class:`Program` is fully elaborated. Names are resolved, generics are substituted, constructor arguments are
known, every parser, control and extern is an instance of its own, default arguments are filled in, named
arguments are in order, compile-time constants are folded. Every expression carries its type. P4 has no
recursion, so every variable of every instance can live at a fixed place in one flat memory per packet
(``types`` says how many cells each type takes): an engine needs no stack.

Evaluation order is left to right (P4-16 section 8). Calls copy ``in`` and ``inout`` arguments in before the
body, and ``inout`` and ``out`` arguments out after it, left to right (section 6.8); index expressions in the
places of ``inout`` and ``out`` arguments are evaluated before the call.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from offramp_p4.source import NOWHERE, Pos
from offramp_p4.types import Annotation, Enum, Header, Newtype, Stack, Structure, Type

Annotations = dict[str, Annotation]
Direction = Literal["", "in", "out", "inout"]


@dataclass(eq=False, slots=True)
class Var:
    """A variable, parameter or architecture object (``packet_in``): unique to its instance."""

    name: str
    type: Type
    direction: Direction = ""
    annotations: Annotations = field(default_factory=dict)
    pos: Pos = NOWHERE
    declared: Type | None = None  # the type before newtypes are stripped, for P4Info

    def __repr__(self) -> str:
        return f"{self.name}:{self.type}"


# --- expressions -------------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True, kw_only=True)
class Expr:
    """Base: ``type`` is a run-time type (newtypes stripped); ``pos`` is where it stands in the source."""

    type: Type
    pos: Pos = NOWHERE


@dataclass(eq=False, slots=True)
class Const(Expr):
    """A scalar known at compile time.

    bit, int, serialisable enum: the number (in the type's range); bool: 0 or 1; enum: member index;
    error: index into ``Program.errors``; string: str.
    """

    value: int | str


@dataclass(eq=False, slots=True)
class VarRef(Expr):
    """A variable; also a place."""

    var: Var


@dataclass(eq=False, slots=True)
class Member(Expr):
    """Field ``index`` of a struct, header or union, or component of a tuple; a place if ``base`` is one."""

    base: Expr
    index: int


@dataclass(eq=False, slots=True)
class Element(Expr):
    """``base[index]`` of a stack; a place. Reading out of range gives an invalid header, writing does nothing."""

    base: Expr
    index: Expr


@dataclass(eq=False, slots=True)
class StackNext(Expr):
    """``stack.next``: the element at nextIndex; a place. Parser only; StackOutOfBounds when full."""

    base: Expr


@dataclass(eq=False, slots=True)
class StackLast(Expr):
    """``stack.last``: the element before nextIndex. Parser only; StackOutOfBounds when empty."""

    base: Expr


@dataclass(eq=False, slots=True)
class StackLastIndex(Expr):
    """``stack.lastIndex``, ``bit<32>``."""

    base: Expr


@dataclass(eq=False, slots=True)
class Slice(Expr):
    """``base[high:low]``; a place if ``base`` is one."""

    base: Expr
    high: int
    low: int


@dataclass(eq=False, slots=True)
class Unary(Expr):
    """``op`` is one of ``- ~ !`` (unary plus is dropped)."""

    op: str
    operand: Expr


@dataclass(eq=False, slots=True)
class Binary(Expr):
    """``op``: ``+ - * / % |+| |-| & | ^ << >> == != < <= > >= && ||`` or ``++`` (concatenation).

    Except for shifts and ``++``, both operands have the same type; ``==`` and ``!=`` take any type with cells
    (headers: section 8.17; unions, structs, tuples, stacks element-wise). ``&&`` and ``||`` are short-circuit.
    Comparisons give bool. ``>>`` on a signed operand is arithmetic. Shift amounts are unsigned.
    """

    op: str
    left: Expr
    right: Expr


@dataclass(eq=False, slots=True)
class Mux(Expr):
    """``condition ? then : otherwise``; only the chosen side is evaluated."""

    condition: Expr
    then: Expr
    otherwise: Expr


@dataclass(eq=False, slots=True)
class Cast(Expr):
    """Explicit or implicit conversion between scalars (section 8.11): bit, int, bool, serialisable enum, error."""

    operand: Expr


@dataclass(eq=False, slots=True)
class Compose(Expr):
    """A struct, tuple, header or stack value from its parts (one for each field; a header is then valid)."""

    parts: list[Expr]


@dataclass(eq=False, slots=True)
class InvalidHeader(Expr):
    """``{#}``: an invalid header or empty union."""


@dataclass(eq=False, slots=True)
class IsValid(Expr):
    """``header.isValid()``, also for unions (any member valid)."""

    base: Expr


@dataclass(eq=False, slots=True)
class ValueSetRef(Expr):
    """A parser value set standing in a select case."""

    value_set: ValueSet


@dataclass(eq=False, slots=True)
class Arg:
    """One argument: ``expr`` is a place when ``direction`` is out or inout; None for an omitted optional or ``_``."""

    direction: Direction
    expr: Expr | None


@dataclass(eq=False, slots=True)
class FunctionCall(Expr):
    """Call of a user function."""

    function: UserFunction
    args: list[Arg]


@dataclass(eq=False, slots=True)
class ActionCall(Expr):
    """Direct call of an action; type void. All parameters, also directionless ones, are given."""

    action: Action
    args: list[Arg]


@dataclass(eq=False, slots=True)
class ExternCall(Expr):
    """Call of an extern function or of a method of an extern instance.

    ``extern`` is the extern type's name or ``""`` for a free function; ``target`` is the instance, or the
    variable for architecture objects passed as parameters (``packet_in``, ``packet_out``), or None.
    ``params`` are the declared parameter names, one for each of ``args``.
    """

    extern: str
    method: str
    target: ExternInstance | Var | None
    type_args: list[Type]
    args: list[Arg]
    params: list[str] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class ApplyCall(Expr):
    """``instance.apply(args)`` of a parser or control; type void."""

    target: ParserInstance | ControlInstance
    args: list[Arg]


@dataclass(eq=False, slots=True)
class TableApply(Expr):
    """``table.apply()``, with the result that ``want`` selects.

    ``""`` void; ``"hit"`` and ``"miss"`` bool; ``"action_run"`` only as the subject of :class:`SwitchAction`.
    """

    table: MatchTable
    want: Literal["", "hit", "miss", "action_run"] = ""


@dataclass(eq=False, slots=True)
class HeaderOp(Expr):
    """``setValid``, ``setInvalid`` (header) or ``push_front``, ``pop_front`` (stack, ``count``); type void."""

    op: Literal["setValid", "setInvalid", "push_front", "pop_front"]
    base: Expr
    count: int = 0


# --- statements --------------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True, kw_only=True)
class Stmt:
    """Base class of statements."""

    pos: Pos = NOWHERE


@dataclass(eq=False, slots=True)
class Assign(Stmt):
    """``place = value``; same type on both sides. The place may be a :class:`Slice`."""

    place: Expr
    value: Expr


@dataclass(eq=False, slots=True)
class Declare(Stmt):
    """A local variable comes into being; without ``value`` headers in it are invalid, the rest is zero."""

    var: Var
    value: Expr | None


@dataclass(eq=False, slots=True)
class Eval(Stmt):
    """A call as a statement."""

    expr: Expr


@dataclass(eq=False, slots=True)
class Block(Stmt):
    """Statements in order."""

    body: list[Stmt]
    annotations: Annotations = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class If(Stmt):
    """``if``."""

    condition: Expr
    then: Stmt
    otherwise: Stmt | None


@dataclass(eq=False, slots=True)
class SwitchAction(Stmt):
    """``switch (table.apply().action_run)``: first case whose actions contain the one run; None is default.

    Fall-through is resolved: every case has its body, possibly shared.
    """

    table: MatchTable
    cases: list[tuple[list[Action] | None, Stmt]]


@dataclass(eq=False, slots=True)
class SwitchValue(Stmt):
    """``switch`` on a value; labels are constants of the subject's type, None is default. Fall-through resolved."""

    subject: Expr
    cases: list[tuple[list[Const] | None, Stmt]]


@dataclass(eq=False, slots=True)
class ForLoop(Stmt):
    """``for (init; condition; update) body``."""

    init: list[Stmt]
    condition: Expr
    update: list[Stmt]
    body: Stmt


@dataclass(eq=False, slots=True)
class ForIn(Stmt):
    """``for (var in low..high)`` (inclusive) when ``high`` is given, else over a stack or list of values."""

    var: Var
    low: Expr
    high: Expr | None
    body: Stmt


@dataclass(eq=False, slots=True)
class Break(Stmt):
    """``break``."""


@dataclass(eq=False, slots=True)
class Continue(Stmt):
    """``continue``."""


@dataclass(eq=False, slots=True)
class Return(Stmt):
    """``return``; ends the innermost function, action or control body."""

    value: Expr | None = None


@dataclass(eq=False, slots=True)
class Exit(Stmt):
    """``exit``; ends the whole top-level block (all enclosing controls), copying out as on a return."""


# --- parsers -----------------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class KeyValue:
    """Equal to an expression (a constant, or any expression of the select's type)."""

    value: Expr


@dataclass(eq=False, slots=True)
class KeyMask:
    """``value &&& mask``."""

    value: Expr
    mask: Expr


@dataclass(eq=False, slots=True)
class KeyRange:
    """``low .. high``, inclusive."""

    low: Expr
    high: Expr


@dataclass(eq=False, slots=True)
class KeyAny:
    """``default`` or ``_``."""


@dataclass(eq=False, slots=True)
class KeyValueSet:
    """Member of a parser value set. It covers the select's whole key list when it stands alone."""

    value_set: ValueSet


Key = KeyValue | KeyMask | KeyRange | KeyAny | KeyValueSet


@dataclass(eq=False, slots=True)
class SelectCase:
    """One key for each select expression (or a single KeyAny / KeyValueSet for all), and where to go."""

    keys: list[Key]
    target: str
    pos: Pos = NOWHERE


@dataclass(eq=False, slots=True)
class ParserState:
    """A parser state. ``select`` empty: go to ``cases[0].target``. No case matches: error NoMatch, reject."""

    name: str
    body: list[Stmt]
    select: list[Expr]
    cases: list[SelectCase]
    annotations: Annotations = field(default_factory=dict)
    pos: Pos = NOWHERE


@dataclass(eq=False, slots=True)
class ValueSet:
    """``value_set<T>(size)``: filled by the control plane. ``element`` is a scalar or a struct of keys."""

    name: str
    element: Type
    size: int
    match_kinds: list[str]  # one for each scalar; "exact" where no @match annotation says otherwise
    annotations: Annotations = field(default_factory=dict)
    pos: Pos = NOWHERE


# --- declarations ------------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class UserFunction:
    """A user function, specialised for its type arguments."""

    name: str
    params: list[Var]
    returns: Type
    body: Block
    pos: Pos = NOWHERE


@dataclass(eq=False, slots=True)
class Action:
    """An action. ``params`` in order; directionless ones are what the control plane supplies (when in a table).

    ``name`` is the control-plane name: fully qualified, ``@name`` applied, without a leading dot.
    """

    name: str
    params: list[Var]
    body: Block
    annotations: Annotations = field(default_factory=dict)
    pos: Pos = NOWHERE


@dataclass(eq=False, slots=True)
class TableKey:
    """One key element. ``name`` is the control-plane name (``@name`` or the expression as p4c prints it)."""

    expr: Expr
    match_kind: str
    name: str
    annotations: Annotations = field(default_factory=dict)
    declared: Type | None = None


@dataclass(eq=False, slots=True)
class TableAction:
    """An action of a table, with the arguments that the table's action list binds (directional parameters)."""

    action: Action
    bound: list[Arg]  # one for each leading parameter with a direction
    annotations: Annotations = field(default_factory=dict)

    @property
    def data_params(self) -> list[Var]:
        """The parameters that an entry supplies."""
        return self.action.params[len(self.bound) :]


@dataclass(eq=False, slots=True)
class ActionChoice:
    """An action with its data, as a default action or in an entry; ``data`` are constants (or expressions)."""

    action: TableAction
    data: list[Expr]


@dataclass(eq=False, slots=True)
class InitialEntry:
    """An entry in the source. Higher P4Runtime priority wins; ``priority`` is None where the order decides."""

    keys: list[Key]
    choice: ActionChoice
    priority: int | None = None
    const: bool = True
    annotations: Annotations = field(default_factory=dict)
    pos: Pos = NOWHERE


@dataclass(eq=False, slots=True)
class MatchTable:
    """A match-action table instance.

    ``largest_priority_wins`` and ``priority_delta`` are the table properties of section 14.2.1.4.
    ``properties`` holds what remains, for the architecture (``implementation``, ``counters``, ``meters``,
    ``support_timeout``, …, whatever the architecture calls them): an :class:`ExternInstance` or an expression.
    """

    name: str
    keys: list[TableKey]
    actions: list[TableAction]
    default: ActionChoice
    const_default: bool
    entries: list[InitialEntry]
    const_entries: bool
    size: int | None
    properties: dict[str, ExternInstance | Expr]
    annotations: Annotations = field(default_factory=dict)
    largest_priority_wins: bool = True
    priority_delta: int = 1
    pos: Pos = NOWHERE


@dataclass(eq=False, slots=True)
class ExternInstance:
    """An extern object (``register``, ``counter``, …).

    ``args`` are the constructor arguments: constants, other instances, lists. ``overrides`` are the
    implementations of abstract methods. ``name`` is the control-plane name.
    """

    extern: str
    name: str
    type_args: list[Type]
    args: list[Expr | ExternInstance | None]
    params: list[str] = field(default_factory=list)
    overrides: dict[str, UserFunction] = field(default_factory=dict)
    annotations: Annotations = field(default_factory=dict)
    declared_args: list[Type] = field(default_factory=list)  # type_args before newtypes are stripped
    pos: Pos = NOWHERE


@dataclass(eq=False, slots=True)
class ParserInstance:
    """A parser with its constructor arguments applied. ``locals`` run when the parser is applied."""

    type_name: str
    name: str
    params: list[Var]
    locals: list[Stmt]
    states: dict[str, ParserState]  # without accept and reject; starts at "start"
    annotations: Annotations = field(default_factory=dict)
    pos: Pos = NOWHERE


@dataclass(eq=False, slots=True)
class ControlInstance:
    """A control with its constructor arguments applied. ``locals`` run when the control is applied."""

    type_name: str
    name: str
    params: list[Var]
    locals: list[Stmt]
    body: Block
    annotations: Annotations = field(default_factory=dict)
    pos: Pos = NOWHERE


@dataclass(eq=False, slots=True)
class PackageInstance:
    """A package with its arguments by parameter name; nested for architectures such as TNA."""

    type_name: str
    name: str
    args: dict[str, ParserInstance | ControlInstance | PackageInstance | ExternInstance | Expr | None]
    type_args: list[Type] = field(default_factory=list)
    annotations: Annotations = field(default_factory=dict)
    pos: Pos = NOWHERE


Instance = ExternInstance | ParserInstance | ControlInstance | PackageInstance


@dataclass(eq=False, slots=True, weakref_slot=True)
class Program:
    """A whole program, ready to run. Lists are in order of declaration (instantiation)."""

    main: PackageInstance
    file: str
    errors: list[str]  # index 0 is NoError
    tables: list[MatchTable]
    actions: list[Action]
    externs: list[ExternInstance]
    value_sets: list[ValueSet]
    functions: list[UserFunction]
    blocks: list[ParserInstance | ControlInstance]
    types: dict[str, Structure | Enum | Newtype | Header | Stack | Type]  # named types, for P4Info and tools
    controller_headers: list[Header] = field(default_factory=list)  # those with @controller_header
    annotations: Annotations = field(default_factory=dict)  # of the package (main)
    constants: dict[str, Expr] = field(default_factory=dict)  # named ones at top level, for tools
    source: str = ""  # the whole source after inclusion, for a P4Runtime device config


@dataclass(eq=False, slots=True)
class CompiledProgram(Program):
    """A program that was compiled elsewhere, for bmv2; its P4Info comes with it.

    Attributes:
        calculations: the calls that compute each hash of the document, by its name.
    """

    calculations: dict[str, list[ExternCall]] = field(default_factory=dict)
