"""The logical tables of a TNA program, in program order: tables, and the actions between them.

A run of statements between tables is one action, as in p4c, as long as none of them needs the result of another
computation of the same run, and it uses one stateful ALU.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from offramp_sim.p4 import ir
from offramp_sim.p4.engine.walk import nodes
from offramp_sim.p4.source import NOWHERE, Pos
from offramp_sim.p4.tna.registers import register_of
from offramp_sim.p4.tna.resources.fields import NONE, Field, Fields, Place, Scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SALU = {"RegisterAction", "DirectRegisterAction", "Register", "DirectRegister"}
_COUNTERS = {"Counter", "DirectCounter"}
_METERS = {"Meter", "DirectMeter", "Lpf", "DirectLpf", "Wred", "DirectWred"}
_PURE = (ir.VarRef, ir.Member, ir.Const, ir.Cast)

Branch = tuple[tuple[int, int], ...]
"""The forks that lead to a table, each with the way taken."""


@dataclass(eq=False, slots=True)
class LogicalTable:
    """One logical table.

    Attributes:
        matches: fields needed before its stage looks up: keys, conditions around it, indices, hash inputs.
        reads, writes: fields that its actions use and set.
        indices: inputs of hash distribution, one for each indexed memory.
        decided_by: tables whose hit, miss or action decides whether this one runs.
    """

    name: str
    pos: Pos
    gress: str
    branch: Branch
    table: ir.Table | None = None
    matches: set[Field] = field(default_factory=set)
    reads: set[Field] = field(default_factory=set)
    writes: set[Field] = field(default_factory=set)
    registers: list[ir.ExternInstance] = field(default_factory=list)
    counters: list[ir.ExternInstance] = field(default_factory=list)
    meters: list[ir.ExternInstance] = field(default_factory=list)
    indices: set[Fields] = field(default_factory=set)
    decided_by: set[LogicalTable] = field(default_factory=set)
    gateway: bool = False

    def excludes(self, other: LogicalTable) -> bool:
        """Whether no packet runs both."""
        ways = dict(self.branch)
        return any(ways.get(fork, way) != way for fork, way in other.branch)

    def __str__(self) -> str:
        return self.name


@dataclass(slots=True)
class _Context:
    """Where the walk is."""

    scope: Scope
    branch: Branch = ()
    conditions: Fields = NONE
    decided_by: frozenset[LogicalTable] = frozenset()

    def fork(self, fork: int, way: int, conditions: Fields, decided_by: Iterable[LogicalTable] = ()) -> _Context:
        decided = self.decided_by | frozenset(decided_by)
        return _Context(self.scope, (*self.branch, (fork, way)), self.conditions | conditions, decided)

    def inside(self, scope: Scope) -> _Context:
        return _Context(scope, self.branch, self.conditions, self.decided_by)


def logical_tables(control: ir.ControlInstance, gress: str) -> list[LogicalTable]:
    """The logical tables of a control, earlier ones first."""
    walk = _Walk(gress)
    walk.control(control, _Context(Scope()))
    return walk.found


class _Walk:
    def __init__(self, gress: str) -> None:
        self.gress = gress
        self.found: list[LogicalTable] = []
        self._forks = 0
        self._run: LogicalTable | None = None  # the action that statements are added to
        self._run_branch: Branch = ()
        self._copies: dict[Field, Fields] = {}  # fields that the run has only copied, and from where
        self._depth = 0

    def control(self, control: ir.ControlInstance, at: _Context) -> None:
        for statement in [*control.locals, control.body]:
            self._statement(statement, at)

    # --- statements

    def _statement(self, s: ir.Stmt | None, at: _Context) -> None:
        match s:
            case ir.Block(body=body):
                for inner in body:
                    self._statement(inner, at)
            case ir.If():
                self._if(s, at)
            case ir.SwitchAction(table=table, cases=cases):
                node = self._apply(table, at, s.pos)
                self._fork([body for _, body in cases], at, NONE, [node])
            case ir.SwitchValue(subject=subject, cases=cases):
                conditions, tables = self._condition(subject, at)
                self._fork([body for _, body in cases], at, conditions, tables)
            case ir.Eval(expr=ir.TableApply(table=table)):
                self._apply(table, at, s.expr.pos)
            case ir.Eval(expr=ir.ApplyCall(target=ir.ControlInstance() as target, args=args)):
                self.control(target, at.inside(at.scope.bind(target.params, args)))
            case ir.Eval(expr=ir.ActionCall(action=action, args=args)):
                inner_at = at.inside(at.scope.bind(action.params, args))
                self._statement(action.body, inner_at)
            case ir.Eval(expr=expr):
                self._compute(expr, NONE, at, s.pos)
            case ir.Assign(place=place, value=value):
                self._assign(place, value, at, s.pos)
            case ir.Declare(var=var, value=value) if value is not None:
                self._assign(ir.VarRef(var, type=var.type), value, at, s.pos)
            case ir.ForLoop(body=body) | ir.ForIn(body=body):
                self._statement(body, at)

    def _if(self, s: ir.If, at: _Context) -> None:
        conditions, tables = self._condition(s.condition, at)
        self._fork([s.then, s.otherwise], at, conditions, tables)

    def _fork(
        self, bodies: list[ir.Stmt] | list[ir.Stmt | None], at: _Context, conditions: Fields,
        tables: list[LogicalTable],
    ) -> None:  # fmt: skip
        self._forks += 1
        fork = self._forks
        for way, body in enumerate(bodies):
            self._end_run()
            self._statement(body, at.fork(fork, way, conditions, tables))
        self._end_run()

    def _condition(self, e: ir.Expr, at: _Context) -> tuple[Fields, list[LogicalTable]]:
        """The fields that a condition depends on, and the tables whose result it is."""
        tables = [self._apply(node.table, at, node.pos) for node in nodes(e) if isinstance(node, ir.TableApply)]
        return at.scope.reads(e) | self._results(e, at), tables

    # --- tables

    def _apply(self, table: ir.Table, at: _Context, pos: Pos) -> LogicalTable:
        self._end_run()
        node = self._new(table.name, table.pos if table.pos != NOWHERE else pos, at, table)
        node.matches |= {f for key in table.keys for f in at.scope.reads(key.expr)}
        for choice in [*table.actions, table.default.action]:
            scope = at.scope.bind(choice.action.params[: len(choice.bound)], choice.bound).data(choice.data_params)
            self._action(choice.action.body, scope, node)
        return node

    def _action(self, s: ir.Stmt | None, scope: Scope, node: LogicalTable) -> None:
        """The body of a table's action: all of it happens in the table's stage."""
        match s:
            case ir.Block(body=body):
                for inner in body:
                    self._action(inner, scope, node)
            case ir.If(condition=condition, then=then, otherwise=otherwise):
                node.reads |= scope.reads(condition)
                self._calls(condition, scope, node)
                self._action(then, scope, node)
                self._action(otherwise, scope, node)
            case ir.Eval(expr=ir.ActionCall(action=action, args=args)):
                self._action(action.body, scope.bind(action.params, args), node)
            case ir.Assign(place=place, value=value):
                node.writes |= _leaves(scope.place(place))
                node.reads |= scope.reads(value)
                self._calls(value, scope, node)
            case ir.Declare(var=var, value=value) if value is not None:
                node.writes |= _leaves(scope.place(ir.VarRef(var, type=var.type)))
                node.reads |= scope.reads(value)
                self._calls(value, scope, node)
            case ir.Eval(expr=expr):
                self._calls(expr, scope, node)

    def _calls(self, e: object, scope: Scope, node: LogicalTable) -> None:
        """The externs that an expression calls."""
        for inner in nodes(e):
            if isinstance(inner, ir.ExternCall):
                _use(inner, scope, node)
            elif isinstance(inner, ir.HeaderOp):
                node.writes |= _leaves(scope.place(inner.base))

    # --- actions between tables

    def _assign(self, place: ir.Expr, value: ir.Expr, at: _Context, pos: Pos) -> None:
        target = _leaves(at.scope.place(place))
        if isinstance(value, ir.ExternCall):
            self._compute(value, target, at, pos)
            return
        reads = at.scope.reads(value) | self._results(value, at)
        copy = isinstance(value, _PURE)
        known = frozenset(x for f in reads for x in self._copies.get(f, frozenset({f})))
        node = self._node(at, pos, needs=known)
        node.reads |= known
        node.writes |= target
        for f in target:
            self._copies.pop(f, None)
            if copy:
                self._copies[f] = known

    def _compute(self, e: ir.Expr, target: Fields, at: _Context, pos: Pos) -> None:
        """A call whose result goes to ``target``."""
        probe = LogicalTable("", pos, self.gress, ())
        self._calls(e, at.scope, probe)
        needs = frozenset(probe.matches | probe.reads)
        alu = bool(probe.registers or probe.meters)
        node = self._node(at, e.pos, needs=needs, alu=alu)
        self._calls(e, at.scope, node)
        node.writes |= target
        for f in target:
            self._copies.pop(f, None)
        if alu and node.name.startswith("statements"):
            node.name = str((probe.registers or probe.meters)[0].name)

    def _results(self, e: ir.Expr, at: _Context) -> Fields:
        """What calls within an expression give goes into a field of its own first, as in p4c."""
        out: set[Field] = set()
        for inner in _calls_in(e):
            self._depth += 1
            temporary = Field(-self._depth, (), f"the result of {_described(inner)}", 32)
            self._compute(inner, frozenset({temporary}), at, inner.pos)
            out.add(temporary)
        return frozenset(out)

    def _node(self, at: _Context, pos: Pos, *, needs: Fields, alu: bool = False) -> LogicalTable:
        """The action that the next statement joins, or a new one if it cannot join the last."""
        run = self._run
        computed = run.writes - self._copies.keys() if run is not None else set()
        if run is None or self._run_branch != at.branch or needs & computed or (alu and (run.registers or run.meters)):
            self._end_run()
            run = self._run = self._new(f"statements at line {pos.line}", pos, at, None)
            self._run_branch = at.branch
        return run

    def _end_run(self) -> None:
        self._run = None
        self._copies = {}

    def _new(self, name: str, pos: Pos, at: _Context, table: ir.Table | None) -> LogicalTable:
        node = LogicalTable(name, pos, self.gress, at.branch, table)
        node.matches |= at.conditions
        node.decided_by |= at.decided_by
        node.gateway = bool(at.conditions)
        self.found.append(node)
        return node


def _use(call: ir.ExternCall, scope: Scope, node: LogicalTable) -> None:
    """What a call of an extern takes."""
    target = call.target if isinstance(call.target, ir.ExternInstance) else None
    arguments = frozenset(f for a in call.args for f in scope.reads(a.expr))
    for arg in call.args:
        if arg.direction in ("out", "inout") and arg.expr is not None:
            node.writes |= _leaves(scope.place(arg.expr))
    if call.extern in _SALU and target is not None and call.method != "predicate":
        register = target if call.extern in ("Register", "DirectRegister") else register_of(target)
        if register not in node.registers:
            node.registers.append(register)
        node.matches |= arguments
        if arguments:
            node.indices.add(arguments)
        if "apply" in target.overrides:
            node.matches |= _inputs(target.overrides["apply"], scope)
    elif call.extern in _COUNTERS | _METERS and target is not None:
        kept = node.counters if call.extern in _COUNTERS else node.meters
        if target not in kept:
            kept.append(target)
        node.matches |= arguments
        if arguments and not call.extern.startswith("Direct"):
            node.indices.add(arguments)
    elif call.extern == "Hash":
        node.matches |= arguments
        node.indices.add(arguments)
    else:
        node.reads |= arguments


def _inputs(apply: ir.Function, scope: Scope) -> Fields:
    """The fields of the packet that a stateful ALU computes with."""
    own = {id(v) for v in apply.params}
    own |= {id(n.var) for n in nodes(apply.body) if isinstance(n, ir.Declare)}
    found = [scope.reads(n) for n in _outermost(apply.body)]
    return frozenset(f for fields in found for f in fields if f.root not in own)


def _outermost(node: object) -> Iterator[ir.Expr]:
    """The values read in a body: right sides, conditions and arguments."""
    for n in nodes(node):
        if isinstance(n, ir.Assign | ir.Declare) and n.value is not None:
            yield n.value
        elif isinstance(n, ir.If):
            yield n.condition
        elif isinstance(n, ir.ExternCall):
            yield from (a.expr for a in n.args if a.expr is not None)


def _calls_in(e: ir.Expr) -> list[ir.ExternCall]:
    return [n for n in nodes(e) if isinstance(n, ir.ExternCall) and n.type.slots]


def _described(call: ir.ExternCall) -> str:
    return call.target.name if isinstance(call.target, ir.ExternInstance) else call.method


def _leaves(place: Place | None) -> Fields:
    return place.leaves() if place is not None else NONE
