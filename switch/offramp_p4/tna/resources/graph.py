# SPDX-License-Identifier: Apache-2.0
"""The logical tables of a TNA program, in program order: tables, and the actions between them.

A run of statements between tables is one action, as in p4c, as long as none of them needs the result of another
computation of the same run, and it uses one stateful ALU.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from offramp_p4 import ir
from offramp_p4.engine.walk import nodes
from offramp_p4.source import NOWHERE, Pos
from offramp_p4.tna.register_calls import ACTIONS
from offramp_p4.tna.register_of import register_of
from offramp_p4.tna.resources.fields import NONE, FieldPath, Fields, InlineScope, VariableField
from offramp_p4.types import Header, strip

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SALU = {*ACTIONS, "Register", "DirectRegister"}
_COUNTERS = {"Counter", "DirectCounter"}
_METERS = {"Meter", "DirectMeter", "Lpf", "DirectLpf", "Wred", "DirectWred"}
_PURE = (ir.VarRef, ir.Member, ir.Const, ir.Cast)

Branch = tuple[tuple[int, int], ...]
"""The forks that lead to a table, each with the way taken."""

Outcomes = dict["LogicalTable", frozenset[ir.Action]]
"""Tables whose result decides, and the actions that may have run then."""


@dataclass(eq=False, slots=True)
class LogicalTable:
    """One logical table.

    Attributes:
        matches: fields needed before its stage looks up: keys, indices, hash inputs.
        conditions: fields of the conditions around it, which gateways of earlier stages may have looked at.
        reads, writes: fields that its actions use and set.
        indices: inputs of hash distribution, one for each indexed memory.
        decided_by: tables whose hit, miss or action decides whether this one runs, and after which of their actions.
        writes_by_action: ``writes`` again, one by one.
    """

    name: str
    pos: Pos
    gress: str
    branch: Branch
    table: ir.MatchTable | None = None
    matches: set[VariableField] = field(default_factory=set)
    conditions: set[VariableField] = field(default_factory=set)
    reads: set[VariableField] = field(default_factory=set)
    writes: set[VariableField] = field(default_factory=set)
    registers: list[ir.ExternInstance] = field(default_factory=list)
    counters: list[ir.ExternInstance] = field(default_factory=list)
    meters: list[ir.ExternInstance] = field(default_factory=list)
    indices: set[Fields] = field(default_factory=set)
    decided_by: Outcomes = field(default_factory=dict)
    writes_by_action: dict[ir.Action, set[VariableField]] = field(default_factory=dict)
    gateway: bool = False

    def writes_before(self, other: LogicalTable) -> set[VariableField]:
        """Fields that this table may have written when ``other`` runs."""
        if other.decided_by.get(self) is None:
            return self.writes
        return {f for action in other.decided_by[self] for f in self.writes_by_action.get(action, ())}

    def excludes(self, other: LogicalTable) -> bool:
        """Whether no packet runs both."""
        ways = dict(self.branch)
        return any(ways.get(fork, way) != way for fork, way in other.branch)

    def __str__(self) -> str:
        return self.name


@dataclass(slots=True)
class _Context:
    """The position of the walk: scope, branches, and what decides whether it is reached."""

    scope: InlineScope
    branch: Branch = ()
    conditions: Fields = NONE
    decided_by: Outcomes = field(default_factory=dict)

    def fork(self, fork: int, way: int, conditions: Fields, decided_by: Outcomes) -> _Context:
        decided = {**self.decided_by, **decided_by}
        return _Context(self.scope, (*self.branch, (fork, way)), self.conditions | conditions, decided)

    def inside(self, scope: InlineScope) -> _Context:
        return _Context(scope, self.branch, self.conditions, self.decided_by)


def logical_tables(control: ir.ControlInstance, gress: str) -> list[LogicalTable]:
    """The logical tables of a control, earlier ones first."""
    walk = _LogicalTableWalk(gress)
    walk.control(control, _Context(InlineScope()))
    return walk.tables


class _LogicalTableWalk:
    def __init__(self, gress: str) -> None:
        self.gress = gress
        self.tables: list[LogicalTable] = []
        self._forks = 0
        self._run: LogicalTable | None = None  # the action that statements are added to
        self._run_branch: Branch = ()
        self._copies: dict[VariableField, Fields] = {}  # fields that the run has only copied, and from where
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
                self._fork([(body, {node: actions}) for body, actions in _cases(table, cases)], at, NONE)
            case ir.SwitchValue(subject=subject, cases=cases):
                conditions, tables = self._condition(subject, at)
                self._fork([(body, tables) for _, body in cases], at, conditions)
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
        result = _result(s.condition)
        then, otherwise = tables, tables
        if result is not None:  # the condition is one table's hit or miss, and nothing else
            (node,) = tables
            hit, miss = _hit_and_miss(result.table)
            then, otherwise = {node: hit}, {node: miss}
            if (result.want == "miss") != isinstance(s.condition, ir.Unary):
                then, otherwise = otherwise, then
        self._fork([(s.then, then), (s.otherwise, otherwise)], at, conditions)

    def _fork(self, ways: Sequence[tuple[ir.Stmt | None, Outcomes]], at: _Context, conditions: Fields) -> None:
        self._forks += 1
        fork = self._forks
        for way, (body, outcomes) in enumerate(ways):
            self._end_run()
            self._statement(body, at.fork(fork, way, conditions, outcomes))
        self._end_run()

    def _condition(self, e: ir.Expr, at: _Context) -> tuple[Fields, Outcomes]:
        """The fields that a condition depends on, and the tables whose result it is, after any of their actions."""
        applied = [node for node in nodes(e) if isinstance(node, ir.TableApply)]
        tables = {self._apply(a.table, at, a.pos): frozenset(_actions(a.table)) for a in applied}
        return at.scope.reads(e) | self._results(e, at), tables

    # --- tables

    def _apply(self, table: ir.MatchTable, at: _Context, pos: Pos) -> LogicalTable:
        self._end_run()
        node = self._new(table.name, table.pos if table.pos != NOWHERE else pos, at, table)
        node.matches |= {f for key in table.keys for f in at.scope.reads(key.expr)}
        everything: set[VariableField] = set()
        for choice in [*table.actions, table.default.action]:
            scope = at.scope.bind(choice.action.params[: len(choice.bound)], choice.bound).data(choice.data_params)
            self._action(choice.action.body, scope, node)
            node.writes_by_action.setdefault(choice.action, set()).update(node.writes)
            everything |= node.writes
            node.writes = set()
        node.writes = everything
        return node

    def _action(self, s: ir.Stmt | None, scope: InlineScope, node: LogicalTable) -> None:
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

    def _calls(self, e: object, scope: InlineScope, node: LogicalTable) -> None:
        """The externs that an expression calls."""
        for inner in nodes(e):
            if isinstance(inner, ir.ExternCall):
                _use(inner, scope, node)
            elif isinstance(inner, ir.HeaderOp):
                node.writes |= _validity(scope.place(inner.base))

    # --- actions between tables

    def _assign(self, place: ir.Expr, value: ir.Expr, at: _Context, pos: Pos) -> None:
        """The result of a stateful ALU, hash or random number is an operand: it needs no stage of its own."""
        target = _leaves(at.scope.place(place))
        known = self._origin(at.scope.reads(value)) if isinstance(value, _PURE) else None
        self._compute(value, target, at, pos)
        if known is not None:
            self._copies.update(dict.fromkeys(target, known))

    def _compute(self, e: ir.Expr, target: Fields, at: _Context, pos: Pos) -> None:
        """An expression, whose result goes to ``target``."""
        probe = LogicalTable("", pos, self.gress, ())
        self._calls(e, at.scope, probe)
        reads = self._origin(at.scope.reads(e))
        needs = frozenset(probe.matches | probe.reads | reads)
        alu = (probe.registers or probe.meters)[:1]
        node = self._node(at, pos, needs=needs, alu=bool(alu))
        self._calls(e, at.scope, node)
        node.reads |= reads
        node.writes |= target
        for f in target:
            self._copies.pop(f, None)
        if alu and node.table is None:
            node.name = alu[0].name

    def _origin(self, fields: Fields) -> Fields:
        """The fields behind those that the current run has only copied."""
        return frozenset(x for f in fields for x in self._copies.get(f, frozenset({f})))

    def _results(self, e: ir.Expr, at: _Context) -> Fields:
        """Fields for the results of calls within a condition, each computed first, as in p4c."""
        out: set[VariableField] = set()
        for inner in _calls_in(e):
            self._depth += 1
            temporary = VariableField(-self._depth, (), f"the result of {_described(inner)}", 32)
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

    def _new(self, name: str, pos: Pos, at: _Context, table: ir.MatchTable | None) -> LogicalTable:
        node = LogicalTable(name, pos, self.gress, at.branch, table)
        node.conditions |= at.conditions
        node.decided_by |= at.decided_by
        node.gateway = bool(at.conditions)
        self.tables.append(node)
        return node


def _use(call: ir.ExternCall, scope: InlineScope, node: LogicalTable) -> None:
    """Add the resources of a call of an extern to a table."""
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


def _inputs(apply: ir.UserFunction, scope: InlineScope) -> Fields:
    """The fields of the packet that a stateful ALU computes with."""
    own = {id(v) for v in apply.params}
    own |= {id(n.var) for n in nodes(apply.body) if isinstance(n, ir.Declare)}
    inputs = [scope.reads(n) for n in _outermost(apply.body)]
    return frozenset(f for fields in inputs for f in fields if f.root not in own)


def _outermost(node: object) -> Iterator[ir.Expr]:
    """The values read in a body: right sides, conditions and arguments."""
    for n in nodes(node):
        if isinstance(n, ir.Assign | ir.Declare) and n.value is not None:
            yield n.value
        elif isinstance(n, ir.If):
            yield n.condition
        elif isinstance(n, ir.ExternCall):
            yield from (a.expr for a in n.args if a.expr is not None)


def _actions(table: ir.MatchTable) -> list[ir.Action]:
    return [choice.action for choice in [*table.actions, table.default.action]]


def _cases(
    table: ir.MatchTable, cases: list[tuple[list[ir.Action] | None, ir.Stmt]]
) -> list[tuple[ir.Stmt | None, frozenset[ir.Action]]]:
    """The bodies of a switch, each with the actions that lead to it."""
    named = frozenset(a for label, _ in cases for a in label or ())
    rest = frozenset(_actions(table)) - named
    return [(body, rest if label is None else frozenset(label)) for label, body in cases]


def _hit_and_miss(table: ir.MatchTable) -> tuple[frozenset[ir.Action], frozenset[ir.Action]]:
    """The actions that a hit may run, and those that a miss may: the control plane can change the default."""
    hit = frozenset(c.action for c in table.actions if "defaultonly" not in c.annotations)
    miss = {table.default.action.action}
    if not table.const_default:
        miss |= {c.action for c in table.actions if "tableonly" not in c.annotations}
    return hit, frozenset(miss)


def _result(e: ir.Expr) -> ir.TableApply | None:
    """The table whose hit or miss a condition is, perhaps negated."""
    inner = e.operand if isinstance(e, ir.Unary) and e.op == "!" else e
    return inner if isinstance(inner, ir.TableApply) else None


def _calls_in(e: ir.Expr) -> list[ir.ExternCall]:
    return [n for n in nodes(e) if isinstance(n, ir.ExternCall) and n.type.slots]


def _described(call: ir.ExternCall) -> str:
    return call.target.name if isinstance(call.target, ir.ExternInstance) else call.method


def _leaves(place: FieldPath | None) -> Fields:
    return place.leaves() if place is not None else NONE


def _validity(place: FieldPath | None) -> Fields:
    """Fields that setValid and setInvalid write: the validity, not the header's. A stack's shift writes all of it."""
    if place is None or isinstance(strip(place.type), Header):
        return frozenset({place.validity()}) if place is not None else NONE
    return place.leaves()
