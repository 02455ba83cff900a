# SPDX-License-Identifier: Apache-2.0
"""Fields of headers that are certainly invalid: read before extraction, or written to no effect (section 8.17).

A forward analysis over parser, ingress and egress. For each header it keeps which of valid and invalid are
possible; only what is invalid on every path is told. Stacks, unions and headers passed as arguments count as
either. The order of parser states does not matter beyond which come before.
"""

from __future__ import annotations

from collections.abc import Iterator

from offramp_p4 import ir
from offramp_p4.engine import walk
from offramp_p4.lint.diagnostic import RULES, Diagnostic
from offramp_p4.names import place as text
from offramp_p4.types import Header, Structure, Type, Union, strip
from offramp_p4.v1model.blocks import blocks_of

Path = tuple[object, ...]
State = dict[Path, int]
INVALID, VALID = 1, 2
_EITHER = INVALID | VALID


@RULES.register("validity")
def rule(program: ir.Program) -> Iterator[Diagnostic]:
    """Warnings ``invalid-read`` and ``invalid-write``."""
    if program.main.type_name != "V1Switch":
        return
    analysis = _Analysis()
    parser, _, ingress, egress, *_ = blocks_of(program).values()
    assert isinstance(parser, ir.ParserInstance)
    parsed = analysis.parser(parser)
    after = parsed
    for block in (ingress, egress):
        assert isinstance(block, ir.ControlInstance)
        analysis.roots = {block.params[0]: ()}
        after = _join([parsed, analysis.control(block, after)])  # clones start as the parser left them
    yield from analysis.diagnostics


class _Analysis:
    def __init__(self) -> None:
        self.diagnostics: list[Diagnostic] = []
        self.roots: dict[ir.Var, Path] = {}
        self._reports = True

    def parser(self, parser: ir.ParserInstance) -> State:
        """The state after the parser, wherever it ends (an error may end it in any state)."""
        headers = parser.params[1]
        self.roots = {headers: ()}
        initial = dict.fromkeys(_headers(headers.type, ()), INVALID)
        entry: dict[str, State] = {"start": initial}
        exits: dict[str, State] = {}
        self._reports = False
        todo = ["start"]
        while todo:
            name = todo.pop()
            state = parser.states[name]
            after = exits[name] = self._body(state.body, dict(entry[name]))
            for case in state.cases:
                if case.target in parser.states:
                    known = entry.get(case.target)
                    joined = after if known is None else _join([known, after])
                    if joined != known:
                        entry[case.target] = joined
                        todo.append(case.target)
        self._reports = True
        for name, before in entry.items():
            self._expression(parser.states[name].select, self._body(parser.states[name].body, dict(before)))
        return _join([initial, *exits.values()])

    def control(self, control: ir.ControlInstance, state: State) -> State:
        """The state after a control."""
        return self._body([*control.locals, control.body], state)

    def _body(self, body: list[ir.Stmt], state: State) -> State:
        for stmt in body:
            state = self._statement(stmt, state)
        return state

    def _statement(self, stmt: ir.Stmt, state: State) -> State:
        match stmt:
            case ir.Block(body=body):
                return self._body(body, state)
            case ir.If(condition=condition, then=then, otherwise=otherwise):
                state = self._expression(condition, state)
                yes = self._statement(then, self._assume(condition, dict(state), true=True))
                no = self._assume(condition, dict(state), true=False)
                return _join([yes, no if otherwise is None else self._statement(otherwise, no)])
            case ir.SwitchAction(table=table, cases=cases):
                state = self._table(table, state)
                return _join([state, *(self._statement(body, dict(state)) for _, body in cases)])
            case ir.SwitchValue(subject=subject, cases=cases):
                state = self._expression(subject, state)
                return _join([state, *(self._statement(body, dict(state)) for _, body in cases)])
            case ir.ForLoop(body=body) | ir.ForIn(body=body):
                return self._loop(body, state)
            case ir.Assign(place=place, value=value):
                state = self._expression(value, state)
                self._check(place, state, "write")
                return self._assigned(place, value, state)
        return self._expression(stmt, state)

    def _loop(self, body: ir.Stmt, state: State) -> State:
        outer, self._reports = self._reports, False
        state = _join([state, self._statement(body, dict(state))])  # what a turn before may have left
        self._reports = outer
        return _join([state, self._statement(body, dict(state))])

    def _assigned(self, place: ir.Expr, value: ir.Expr, state: State) -> State:
        path = self._path(place)
        if path is None:
            return state
        source = self._path(value)
        for each in [p for p in state if p[: len(path)] == path]:
            state[each] = _EITHER if source is None else state.get(source + each[len(path) :], _EITHER)
        if isinstance(value, ir.Compose | ir.InvalidHeader) and path in state:
            state[path] = VALID if isinstance(value, ir.Compose) else INVALID
        return state

    def _expression(self, node: object, state: State) -> State:
        """Check what is read and follow what is called, in the order of the source as near as it matters."""
        places = set()
        for inner in walk.nodes(node):
            if isinstance(inner, ir.Arg) and inner.direction == "out":
                places.add(id(inner.expr))
            if isinstance(inner, ir.Member) and id(inner) not in places:
                self._check(inner, state, "read")
        for inner in walk.nodes(node):
            state = self._call(inner, state)
        return state

    def _call(self, node: object, state: State) -> State:
        match node:
            case ir.HeaderOp(op="setValid" | "setInvalid", base=base):
                path = self._path(base)
                if path in state:
                    state[path] = VALID if node.op == "setValid" else INVALID
            case ir.ApplyCall(target=ir.ControlInstance() as target, args=args):
                for param, arg in zip(target.params, args, strict=True):
                    path = None if arg.expr is None else self._path(arg.expr)
                    if path is not None:
                        self.roots[param] = path
                return self.control(target, state)
            case ir.TableApply(table=table):
                return self._table(table, state)
            case ir.ActionCall(action=action, args=args):
                return self._body([action.body], self._passed(args, state))
            case ir.ExternCall(method="extract", args=args) if args[0].expr is not None:
                path = self._path(args[0].expr)
                if path in state:
                    state[path] = VALID
            case ir.ExternCall(args=args) | ir.FunctionCall(args=args) | ir.ApplyCall(args=args):
                return self._passed(args, state)
        return state

    def _passed(self, args: list[ir.Arg], state: State) -> State:
        """The state after headers have been passed to something that may change them."""
        for arg in args:
            path = self._path(arg.expr) if arg.expr is not None and arg.direction in {"out", "inout"} else None
            if path is not None:
                state.update({p: _EITHER for p in state if p[: len(path)] == path})
        return state

    def _table(self, table: ir.MatchTable, state: State) -> State:
        for key in table.keys:
            state = self._expression(key.expr, state)
        bodies = [choice.action.body for choice in table.actions]
        return _join([state, *(self._body([body], dict(state)) for body in bodies)])

    def _assume(self, condition: ir.Expr, state: State, *, true: bool) -> State:
        match condition:
            case ir.IsValid(base=base):
                path = self._path(base)
                if path in state:
                    state[path] = VALID if true else INVALID
            case ir.Unary(op="!", operand=operand):
                return self._assume(operand, state, true=not true)
            case ir.Binary(op="&&" | "||" as op, left=left, right=right) if (op == "&&") == true:
                return self._assume(right, self._assume(left, state, true=true), true=true)
        return state

    def _check(self, expr: ir.Expr, state: State, what: str) -> None:
        place = expr
        while isinstance(place, ir.Slice):
            place = place.base
        if not isinstance(place, ir.Member) or not isinstance(strip(place.base.type), Header):
            return
        if state.get(self._path(place.base) or ()) == INVALID and self._reports:
            header, verb = (
                text(place.base),
                "reading it gives no known value" if what == "read" else "nothing is written",
            )
            message = f"{header} is not valid here, whatever the packet: {verb} ({text(place)})"
            self.diagnostics.append(Diagnostic(expr.pos, f"invalid-{what}", message))

    def _path(self, expr: ir.Expr) -> Path | None:
        if isinstance(expr, ir.VarRef):
            return self.roots.get(expr.var)
        if isinstance(expr, ir.Member):
            base = self._path(expr.base)
            return None if base is None else (*base, expr.index)
        return None


def _headers(t: Type, path: Path) -> Iterator[Path]:
    t = strip(t)
    if isinstance(t, Header):
        yield path
    elif isinstance(t, Structure) and not isinstance(t, Union):
        for index, field in enumerate(t.fields):
            yield from _headers(field.type, (*path, index))


def _join(states: list[State]) -> State:
    joined: State = {}
    for state in states:
        for path, possible in state.items():
            joined[path] = joined.get(path, 0) | possible
    return joined
