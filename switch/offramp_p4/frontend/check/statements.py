# SPDX-License-Identifier: Apache-2.0
"""Statements (P4-16 specification, section 12)."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import nullcontext

from offramp_p4 import ir
from offramp_p4.frontend.check.calls import Calls
from offramp_p4.frontend.check.restrictions import check_call, check_labels
from offramp_p4.frontend.check.scope import Constant, Scope
from offramp_p4.frontend.check.typing import deep_strip
from offramp_p4.frontend.syntax import ast
from offramp_p4.source import P4Error, Unsupported
from offramp_p4.types import BOOL, INT, STRING, VOID, Bits, ExternType, List, Stack, Tuple, Type

_RESULTS = ("hit", "miss", "action_run")


class StatementChecker(Calls):
    """Bodies of functions, actions, controls and parser states."""

    def __init__(self) -> None:
        super().__init__()
        self._returns: Type = VOID
        self._loops = 0

    @abstractmethod
    def local_instance(self, node: ast.Instantiation) -> None:
        """An instance declared among statements."""

    def function_body(self, decl: ast.FunctionDecl, returns: Type) -> ir.Block:
        """The body of a function, its parameters already in scope."""
        assert decl.body is not None
        body = self.body(decl.body, returns)
        if returns != VOID and not _always_returns(body):
            raise P4Error(decl.pos, f"function '{decl.name}' can end without returning a value")
        return body

    def body(self, node: ast.BlockStmt, returns: Type = VOID) -> ir.Block:
        """A block that is the body of something callable."""
        before = self._returns, self._loops
        self._returns, self._loops = returns, 0
        try:
            return self.block(node)
        finally:
            self._returns, self._loops = before

    def block(self, node: ast.BlockStmt) -> ir.Block:
        """A block with a scope of its own."""
        outer, self.scope = self.scope, Scope(self.scope)
        try:
            body = self.statements(node.body)
        finally:
            self.scope = outer
        return ir.Block(body, self.annotations(node.annotations), pos=node.pos)

    def statements(self, nodes: list[ast.Stmt]) -> list[ir.Stmt]:
        """Statements in the current scope."""
        out: list[ir.Stmt] = []
        for n in nodes:
            checked = self.statement(n)
            if checked is not None:
                out.append(checked)
        return out

    def statement(self, node: ast.Stmt) -> ir.Stmt | None:
        """One statement; None if it leaves nothing to execute."""
        match node:
            case ast.AssignStmt():
                return self._assign(node)
            case ast.CallStmt():
                one_of = self.element_statement(node.call) if isinstance(node.call, ast.CallExpr) else None
                if one_of is not None:
                    return one_of
                checked = self.expr(node.call)
                return None if isinstance(checked, ir.Const) else ir.Eval(checked, pos=node.pos)
            case ast.BlockStmt():
                return self.block(node)
            case ast.IfStmt():
                return self._if(node)
            case ast.SwitchStmt():
                return self._switch(node)
            case ast.ForStmt():
                return self._for(node)
            case ast.ForInStmt():
                return self._for_in(node)
            case ast.ReturnStmt():
                return self._return(node)
            case ast.DeclStmt():
                return self.local(node.decl)
            case ast.JumpStmt(what="exit"):
                check_call("exit", "exit", self.where, node.pos)
                return ir.Exit(pos=node.pos)
            case ast.JumpStmt(what=""):
                return None
            case ast.JumpStmt():
                if not self._loops:
                    raise P4Error(node.pos, f"'{node.what}' stands outside of any loop")
                return ir.Break(pos=node.pos) if node.what == "break" else ir.Continue(pos=node.pos)

    def local(self, decl: ast.Decl) -> ir.Stmt | None:
        """A local variable, constant or instance."""
        if isinstance(decl, ast.ConstDecl):
            self.declare(decl.name, Constant(self.constant_of(decl.value, self.type(decl.type))), decl.pos)
            return None
        if isinstance(decl, ast.VarDecl):
            declared = self.type(decl.type)
            t = deep_strip(declared)
            if t in (INT, VOID) or isinstance(t, ExternType | List):
                raise P4Error(decl.pos, f"a variable cannot have type {t}")
            value = None if decl.value is None else self.value(decl.value, declared)
            var = ir.Var(decl.name, t, "", self.annotations(decl.annotations), decl.pos, declared)
            self.declare(decl.name, var, decl.pos)
            return ir.Declare(var, value, pos=decl.pos)
        if isinstance(decl, ast.Instantiation):
            self.local_instance(decl)
            return None
        raise P4Error(decl.pos, f"'{decl.name}' cannot be declared here")

    def _assign(self, node: ast.AssignStmt) -> ir.Stmt:
        if isinstance(node.place, ast.SliceOp) and node.place.plus:
            moving = self._assign_moving_slice(node, node.place)
            if moving is not None:
                return moving
        place = self.place(node.place)
        if node.op:
            shift = node.op in ("<<", ">>")
            right = self.expr(node.value, None if shift else place.type)
            value = self.arithmetic(node.op, place, right, node.pos)
        else:
            value = self.value(node.value, self.newtype(place) or place.type)
        return ir.Assign(place, value, pos=node.pos)

    def _assign_moving_slice(self, node: ast.AssignStmt, place: ast.SliceOp) -> ir.Stmt | None:
        """``x[i+:w] = v`` with ``i`` known at run time only: keep the other bits of ``x``."""
        start = self.expr(place.low)
        if isinstance(start, ir.Const):
            return None
        base = self.place(place.base)
        if not isinstance(base.type, Bits):
            raise P4Error(place.pos, f"{base.type} cannot be sliced")
        t = Bits(base.type.width)
        width = self.number(place.high, "the width of a slice", 1, t.width)
        whole = self.cast(base, t, node.pos)
        if node.op:
            value = self.arithmetic(node.op, self.expr(place), self.expr(node.value, Bits(width)), node.pos)
        else:
            value = self.expr(node.value, Bits(width))
        ones: ir.Expr = ir.Const((1 << width) - 1, type=t, pos=node.pos)
        hole = ir.Unary("~", self.arithmetic("<<", ones, start, node.pos), type=t, pos=node.pos)
        moved = self.arithmetic("<<", self.cast(value, t, node.pos), start, node.pos)
        kept = self.arithmetic("&", whole, hole, node.pos)
        return ir.Assign(
            base, self.cast(self.arithmetic("|", kept, moved, node.pos), base.type, node.pos), pos=node.pos
        )

    def _if(self, node: ast.IfStmt) -> ir.Stmt | None:
        condition = self.condition(node.condition)
        if isinstance(condition, ir.Const):
            return self._one_branch(node, taken=bool(condition.value))
        then = self._scoped(node.then)
        otherwise = self._scoped(node.otherwise) if node.otherwise is not None else None
        return ir.If(condition, then, otherwise, pos=node.pos)

    def _one_branch(self, node: ast.IfStmt, *, taken: bool) -> ir.Stmt | None:
        """The branch that the program takes; the other is checked, and leaves nothing behind."""
        then, otherwise = None, None
        with nullcontext() if taken else self.forgetting():
            then = self._scoped(node.then)
        if node.otherwise is not None:
            with self.forgetting() if taken else nullcontext():
                otherwise = self._scoped(node.otherwise)
        return then if taken else otherwise

    def _scoped(self, node: ast.Stmt) -> ir.Stmt:
        outer, self.scope = self.scope, Scope(self.scope)
        try:
            return self.statement(node) or ir.Block([], pos=node.pos)
        finally:
            self.scope = outer

    # --- switch --------------------------------------------------------------------------------------------

    def _switch(self, node: ast.SwitchStmt) -> ir.Stmt:
        subject = node.subject
        check_labels(node)
        table = self._applied(subject.base) if isinstance(subject, ast.Dot) and subject.name == "action_run" else None
        if table is not None:
            return self._switch_action(node, table)
        value = self.expr(subject)
        self.no_newtype("switch", value)
        if value.type.slots != 1 or value.type == STRING:
            raise P4Error(subject.pos, f"cannot switch on a value of type {value.type}")
        cases: list[tuple[list[ir.Const] | None, ir.Stmt]] = []
        seen: set[int | str] = set()
        for labels, body in _groups(node):
            if body is None:
                continue
            constants: list[ir.Const] | None = []
            for label in labels:
                if isinstance(label, ast.WildcardExpr):
                    constants = None
                    break
                checked = self.constant(label, value.type)
                assert isinstance(checked, ir.Const)
                if checked.value in seen:
                    raise P4Error(label.pos, "this label stands twice in the switch")
                seen.add(checked.value)
                assert constants is not None
                constants.append(checked)
            cases.append((constants, self._scoped(body)))
        return ir.SwitchValue(value, cases, pos=node.pos)

    def _switch_action(self, node: ast.SwitchStmt, table: ir.MatchTable) -> ir.Stmt:
        cases: list[tuple[list[ir.Action] | None, ir.Stmt]] = []
        by_action = {id(a.action): a.action for a in table.actions}
        seen: set[int] = set()
        for labels, body in _groups(node):
            if body is None:
                continue
            actions: list[ir.Action] | None = []
            for label in labels:
                if isinstance(label, ast.WildcardExpr):
                    actions = None
                    break
                entity = (
                    self.lookup(label.name, label.pos, absolute=label.absolute)
                    if isinstance(label, ast.NameExpr)
                    else None
                )
                if isinstance(entity, ir.Action):
                    entity = self.in_tables.get(entity, entity)
                if not isinstance(entity, ir.Action) or id(entity) not in by_action:
                    raise P4Error(label.pos, f"this is not an action of table '{table.name}'")
                if id(entity) in seen:
                    raise P4Error(label.pos, "this label stands twice in the switch")
                seen.add(id(entity))
                assert actions is not None
                actions.append(entity)
            cases.append((actions, self._scoped(body)))
        return ir.SwitchAction(table, cases, pos=node.pos)

    def _applied(self, node: ast.Expr) -> ir.MatchTable | None:
        """The table, if ``node`` is ``table.apply()``."""
        if isinstance(node, ast.CallExpr) and isinstance(node.callee, ast.Dot) and node.callee.name == "apply":
            checked = self.expr(node) if isinstance(self._target(node.callee.base), ir.MatchTable) else None
            return checked.table if isinstance(checked, ir.TableApply) else None
        return None

    def table_result(self, node: ast.Dot) -> ir.Expr | None:
        """``table.apply().hit`` or ``.miss``."""
        table = self._applied(node.base) if node.name in _RESULTS else None
        if table is None:
            return None
        if node.name == "action_run":
            raise P4Error(node.pos, "'action_run' can stand only as the subject of a switch")
        return ir.TableApply(table, "hit" if node.name == "hit" else "miss", type=BOOL, pos=node.pos)

    # --- loops and returns ---------------------------------------------------------------------------------

    def _for(self, node: ast.ForStmt) -> ir.Stmt:
        outer, self.scope = self.scope, Scope(self.scope)
        try:
            init = self.statements(node.init)
            condition = self.condition(node.condition)
            update = self.statements(node.update)
            body = self._loop_body(node.body)
        finally:
            self.scope = outer
        return ir.ForLoop(init, condition, update, body, pos=node.pos)

    def _loop_body(self, node: ast.Stmt) -> ir.Stmt:
        self._loops += 1
        try:
            return self._scoped(node)
        finally:
            self._loops -= 1

    def _for_in(self, node: ast.ForInStmt) -> ir.Stmt:
        declared = self.type(node.type)
        var = ir.Var(node.name, deep_strip(declared), "", {}, node.pos, declared)
        high = None
        if node.high is not None:
            low, high = self.expr(node.low, var.type), self.expr(node.high, var.type)
        else:
            low = self.expr(node.low)
            if isinstance(low, ir.Compose) and isinstance(low.type, List):  # its parts have the list's type already
                low = ir.Compose(low.parts, type=Tuple((low.type.element,) * len(low.parts)), pos=low.pos)
            if isinstance(low.type, Tuple):
                low = self.coerce(low, Tuple((var.type,) * len(low.type.types)), node.pos)
            elif not isinstance(low.type, Stack):
                raise Unsupported(node.low.pos, f"a loop over {low.type}")
        outer, self.scope = self.scope, Scope(self.scope)
        try:
            self.declare(node.name, var, node.pos)
            body = self._loop_body(node.body)
        finally:
            self.scope = outer
        return ir.ForIn(var, low, high, body, pos=node.pos)

    def _return(self, node: ast.ReturnStmt) -> ir.Stmt:
        if self.where == "parser":
            raise P4Error(node.pos, "a parser state ends in 'transition', not in 'return'")
        if node.value is None:
            if self._returns != VOID:
                raise P4Error(node.pos, f"expected a value of type {self._returns}")
            return ir.Return(pos=node.pos)
        if self._returns == VOID:
            raise P4Error(node.pos, "nothing can be returned here")
        return ir.Return(self.expr(node.value, self._returns), pos=node.pos)


def _groups(node: ast.SwitchStmt) -> list[tuple[list[ast.Expr], ast.Stmt | None]]:
    """Labels that share a body: a label without one falls through to the next (section 12.7)."""
    out: list[tuple[list[ast.Expr], ast.Stmt | None]] = []
    labels: list[ast.Expr] = []
    for label, body in node.cases:
        labels.append(label)
        if body is not None:
            out.append((labels, body))
            labels = []
    return out


def _always_returns(s: ir.Stmt | None) -> bool:
    match s:
        case ir.Return() | ir.Exit():
            return True
        case ir.Block():
            return any(_always_returns(x) for x in s.body)
        case ir.If():
            return s.otherwise is not None and _always_returns(s.then) and _always_returns(s.otherwise)
        case ir.SwitchValue() | ir.SwitchAction():
            return any(labels is None for labels, _ in s.cases) and all(_always_returns(b) for _, b in s.cases)
    return False
