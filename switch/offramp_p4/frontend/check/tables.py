# SPDX-License-Identifier: Apache-2.0
"""Tables and actions (P4-16 specification, sections 14.1 and 14.2)."""

from __future__ import annotations

import itertools
from typing import Final

from offramp_p4 import ir
from offramp_p4.frontend.check.action_data import can_spread, is_data, scattered, spread
from offramp_p4.frontend.check.conversions import is_constant
from offramp_p4.frontend.check.entries import check_entries, check_entry_key
from offramp_p4.frontend.check.names import key_name
from offramp_p4.frontend.check.overloads import check_required
from offramp_p4.frontend.check.restrictions import check_parameters, same_syntax
from offramp_p4.frontend.check.scope import Scope, Template
from offramp_p4.frontend.check.statements import StatementChecker
from offramp_p4.frontend.check.typing import deep_strip
from offramp_p4.frontend.syntax import ast
from offramp_p4.source import P4Error, Unsupported
from offramp_p4.types import BOOL, INT, Annotation, Bits, Enum, ExternType, Header, Stack, Structure, Type, Union

_MATCH_NEEDS_BITS = ("lpm", "range")
PROPERTIES: Final = {
    f"{architecture}_{theirs}": ours
    for architecture in ("psa", "pna")
    for theirs, ours in (
        ("implementation", "implementation"),
        ("direct_counter", "counters"),
        ("direct_meter", "meters"),
        ("idle_timeout", "support_timeout"),
    )
}
"""Table properties: their names in PSA and PNA, and in the IR."""


class TableChecker(StatementChecker):
    """Match-action tables and what they run.

    ``prefix`` is the control-plane name of the enclosing block, ``namespace`` the name of the pipeline around it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.prefix = self.namespace = ""
        self.action_namespaces: dict[ir.Action, str] = {}
        self._listed_args: dict[ir.TableAction, list[ast.Expr]] = {}

    def qualified(self, name: str, annotations: dict[str, Annotation]) -> str:
        """The control-plane name (section 18.3.2): ``@name`` replaces the last part, or all after a leading dot."""
        note = annotations.get("name")
        if note is not None and note.args:
            name = str(note.args[0])
        if name.startswith("."):
            return name[1:]
        return f"{self.prefix}.{name}" if self.prefix else name

    def object_name(self, name: str, annotations: dict[str, Annotation]) -> str:
        """The control-plane name of all objects but actions, which the pipeline's name precedes, as in p4c."""
        name = self.qualified(name, annotations)
        return f"{self.namespace}.{name}" if self.namespace else name

    def action(self, decl: ast.ActionDecl) -> ir.Action:
        """An action in the current scope."""
        notes = self.annotations(decl.annotations)
        check_parameters(decl.params, pos=decl.pos)
        check_required(decl.params)
        params = self.variables(decl.params)
        for v in params:
            if v.type == INT or isinstance(v.type, ExternType):
                raise P4Error(v.pos, f"an action cannot have a parameter of type {v.type}")
        for earlier, later in itertools.pairwise(params):
            if not earlier.direction and later.direction:
                raise P4Error(later.pos, "parameters without a direction come last in an action")
        checked = ir.Action(self.qualified(decl.name, notes), params, ir.Block([]), notes, decl.pos)
        outer, self.scope = self.scope, Scope(self.scope)
        try:
            for v in params:
                self.declare(v.name, v, v.pos, parameter=True)
            with self.standing_in("action"):
                checked.body = self.body(decl.body)
        finally:
            self.scope = outer
        self.out.actions.append(checked)
        self.action_namespaces[checked] = self.namespace
        return checked

    def table(self, decl: ast.TableDecl) -> ir.MatchTable:
        """A table in the current scope."""
        notes = self.annotations(decl.annotations)
        if not decl.has_actions:
            raise P4Error(decl.pos, f"table '{decl.name}' has no list of actions")
        keys = [self._key(k) for k in decl.keys]
        actions = [self._listed(ref) for ref in decl.actions]
        _check_listed_names(actions, decl.actions)
        properties: dict[str, ir.ExternInstance | ir.Expr] = {}
        name = self.object_name(decl.name, notes)
        size: int | None = None
        largest_wins, delta = True, 1
        for p in decl.properties:
            match p.name:
                case "size":
                    size = self.number(p.value, "the size of a table")
                case "largest_priority_wins":
                    value = self.constant(p.value, BOOL)
                    largest_wins = isinstance(value, ir.Const) and bool(value.value)
                case "priority_delta":
                    delta = self.number(p.value, "priority_delta", 1)
                case "psa_empty_group_action" | "pna_empty_group_action":
                    _check_empty_group(p)
                case _:
                    properties[PROPERTIES.get(p.name, p.name)] = self._property(p, name)
        default = self._default(decl, actions)
        checked = ir.MatchTable(
            name, keys, actions, default, decl.const_default, [], decl.const_entries, size, properties, notes,
            largest_wins, delta, decl.pos,
        )  # fmt: skip
        for e in decl.entries:
            checked.entries.append(self._entry(e, checked, decl.const_entries))
        check_entries(checked)
        self.out.tables.append(checked)
        return checked

    def _key(self, node: ast.KeyElement) -> ir.TableKey:
        if node.match_kind not in self.match_kinds:
            raise P4Error(node.pos, f"match kind '{node.match_kind}' is not declared")
        expr = self.expr(node.expr)
        t = expr.type
        scalar = isinstance(t, Bits | Enum) or t == BOOL or (t.slots == 1 and not isinstance(t, Structure | Stack))
        if not scalar:
            raise P4Error(node.pos, f"a key cannot be of type {t}")
        if node.match_kind in _MATCH_NEEDS_BITS and not isinstance(t, Bits) and not (isinstance(t, Enum) and t.base):
            raise P4Error(node.pos, f"'{node.match_kind}' needs a bit string, not {t}")
        notes = self.annotations(node.annotations)
        note = notes.get("name")
        name = str(note.args[0]) if note is not None and note.args else key_name(node.expr, self._field_name)
        declared = self.type(node.expr.type) if isinstance(node.expr, ast.CastOp) else self._declared(expr)
        return ir.TableKey(expr, node.match_kind, name, notes, declared)

    def _field_name(self, node: ast.Dot) -> str | None:
        """The ``@name`` of the field that ``node`` selects."""
        t = self.expr(node.base).type
        field = t.fields[t.index[node.name]] if isinstance(t, Structure) and node.name in t.index else None
        note = field.annotations.get("name") if field is not None else None
        return str(note.args[0]) if note is not None and note.args else None

    def _declared(self, e: ir.Expr) -> Type:
        """The type of a key before newtypes are stripped."""
        if isinstance(e, ir.VarRef):
            return e.var.declared or e.type
        if isinstance(e, ir.Member) and isinstance(e.base.type, Structure):
            return e.base.type.fields[e.index].type
        return e.type

    def _property(self, p: ast.Property, table: str) -> ir.ExternInstance | ir.Expr:
        if isinstance(p.value, ast.NameExpr):
            entity = self.lookup(p.value.name, p.value.pos, absolute=p.value.absolute)
            if isinstance(entity, ir.ExternInstance):
                return entity
        if isinstance(p.value, ast.CallExpr) and isinstance(p.value.callee, ast.NameExpr | ast.TypeExpr):
            template = self._constructed(p.value.callee)
            if template is not None:
                # p4c takes the first annotation of each name of a property, and @name as it stands, without the name of
                # the control.
                notes = self.annotations(p.annotations[::-1])
                named = notes.pop("name").args if "name" in notes else ()
                name = f".{named[0]}" if named else f"{table.rsplit('.', 1)[-1]}.{p.name}"
                args = () if isinstance(p.value.callee, ast.NameExpr) else self.constructor_types(p.value.callee)
                value = self.instantiate(template, args, p.value, name)
                if isinstance(value, ir.ExternInstance):
                    value.annotations.update(notes)
                    return value
        return self.expr(p.value)

    def _constructed(self, callee: ast.NameExpr | ast.TypeExpr) -> Template | None:
        node = callee if isinstance(callee, ast.NameExpr) else callee.type
        entity = self.scope.find(node.name) if isinstance(node, ast.NameExpr | ast.NamedType) else None
        return entity if isinstance(entity, Template) else None

    def constructor_types(self, callee: ast.TypeExpr) -> tuple[Type, ...]:
        """The type arguments of ``T<...>`` in ``T<...>(...)``."""
        return tuple(self.type(a) for a in callee.type.args) if isinstance(callee.type, ast.NamedType) else ()

    # --- actions of a table --------------------------------------------------------------------------------

    def _listed(self, ref: ast.ActionRef) -> ir.TableAction:
        action = self._named_action(ref)
        directed = [v for v in action.params if v.direction]
        if len(ref.args) > len(directed):
            raise P4Error(ref.pos, f"'{ref.name}': only parameters with a direction are bound in the action list")
        if len(ref.args) < len(directed):
            raise P4Error(ref.pos, f"'{ref.name}': argument '{directed[len(ref.args)].name}' is missing")
        bound = [self.argument(v.direction, a, v.type, f"'{v.name}'") for v, a in zip(directed, ref.args, strict=True)]
        data = action.params[len(bound) :]
        for v in data:
            if not can_spread(v.type):
                raise P4Error(ref.pos, f"the control plane cannot supply '{v.name}' of type {v.type}")
        if action not in self.in_tables and not all(is_data(v.type) for v in data):
            self.in_tables[action] = spread(action)
        choice = ir.TableAction(self.in_tables.get(action, action), bound, self.annotations(ref.annotations))
        self._listed_args[choice] = ref.args
        return choice

    def _named_action(self, ref: ast.ActionRef) -> ir.Action:
        entity = self.lookup(ref.name, ref.pos, absolute=ref.absolute)
        if not isinstance(entity, ir.Action):
            raise P4Error(ref.pos, f"'{ref.name}' is not an action")
        return entity

    def _choice(self, ref: ast.ActionRef, actions: list[ir.TableAction], *, entry: bool) -> ir.ActionChoice:
        action = self._named_action(ref)
        listed = next((a for a in actions if a.action is self.in_tables.get(action, action)), None)
        if listed is None:
            raise P4Error(ref.pos, f"action '{ref.name}' is not in the table's list of actions")
        scope = "defaultonly" if entry else "tableonly"
        if scope in listed.annotations:
            raise P4Error(ref.pos, f"action '{ref.name}' is @{scope}")
        params = action.params[len(listed.bound) :]
        args = ref.args
        if len(args) == len(action.params) and listed.bound:
            self._check_repeated(args, listed)
            args = args[len(listed.bound) :]  # the bound arguments may be repeated
        call = ast.CallExpr(
            ref.pos,
            ast.WildcardExpr(ref.pos),
            [],
            args,
            ref.names if len(args) == len(ref.names) else [None] * len(args),
        )
        pairs = self.bind([self.declared[v] for v in params], call, f"action '{ref.name}'")
        data = [self.expr(a, v.type) for v, (_, a) in zip(params, pairs, strict=True) if a is not None]
        for d in data:
            if not is_constant(d):
                raise P4Error(d.pos, "action data must be known at compile time")
        return ir.ActionChoice(listed, [scalar for d in data for scalar in scattered(d)])

    def _check_repeated(self, args: list[ast.Expr], listed: ir.TableAction) -> None:
        """Check that arguments already bound by the list of actions are repeated unchanged (section 14.2.1.3)."""
        for arg, wanted in zip(args, self._listed_args[listed], strict=False):
            if not same_syntax(arg, wanted):
                raise P4Error(arg.pos, "this argument is not the one in the table's list of actions")

    def _default(self, decl: ast.TableDecl, actions: list[ir.TableAction]) -> ir.ActionChoice:
        if decl.default is not None:
            return self._choice(decl.default, actions, entry=False)
        none = self.scope.root.find("NoAction")
        if not isinstance(none, ir.Action):
            raise P4Error(decl.pos, f"table '{decl.name}' has no default action and NoAction is not declared")
        listed = next((a for a in actions if a.action is none), None)
        if listed is None:
            listed = ir.TableAction(none, [], {"defaultonly": Annotation("defaultonly")})
            actions.append(listed)
        return ir.ActionChoice(listed, [])

    # --- entries -------------------------------------------------------------------------------------------

    def _entry(self, node: ast.EntryDecl, table: ir.MatchTable, const: bool) -> ir.InitialEntry:
        keys: list[ir.Key]
        if len(node.keys) == 1 and isinstance(node.keys[0], ast.WildcardExpr):
            keys = [ir.KeyAny() for _ in table.keys]
        elif len(node.keys) != len(table.keys):
            raise P4Error(node.pos, f"table '{table.name}' has {len(table.keys)} keys, {len(node.keys)} given")
        else:
            keys = [self.key(k, t.expr.type) for k, t in zip(node.keys, table.keys, strict=True)]
        for key, t, at in zip(
            keys, table.keys, node.keys if len(node.keys) == len(keys) else [node.keys[0]] * len(keys), strict=True
        ):
            check_entry_key(key, t, at.pos)
        priority = self.number(node.priority, "a priority", 0, (1 << 31) - 1) if node.priority is not None else None
        choice = self._choice(node.action, table.actions, entry=True)
        return ir.InitialEntry(
            keys, choice, priority, const or node.const, self.annotations(node.annotations), node.pos
        )

    def key(self, node: ast.Expr, t: Type) -> ir.Key:
        """One key of an entry or of a select case."""
        if isinstance(node, ast.WildcardExpr):
            return ir.KeyAny()
        if isinstance(node, ast.NameExpr):
            entity = self.scope.find(node.name, absolute=node.absolute)
            if isinstance(entity, ir.ValueSet):
                if entity.element.slots != t.slots:
                    raise P4Error(node.pos, f"value set '{entity.name}' holds {entity.element}, not {t}")
                return ir.KeyValueSet(entity)
        if isinstance(node, ast.BinaryOp) and node.op == "&&&":
            mask_type: Type = t.base if isinstance(t, Enum) and t.base is not None else t
            value = self.expr(node.left)
            value = self.coerce(value, mask_type if isinstance(value.type, Bits) or value.type == INT else t, node.pos)
            return ir.KeyMask(value, self.expr(node.right, mask_type))
        if isinstance(node, ast.BinaryOp) and node.op == ".." and isinstance(t, Enum) and t.base is not None:
            return ir.KeyRange(self.expr(node.left, t.base), self.expr(node.right, t.base))
        if isinstance(node, ast.BinaryOp) and node.op == "..":
            return ir.KeyRange(self.expr(node.left, t), self.expr(node.right, t))
        expr = self.expr(node)
        if isinstance(t, Enum) and t.base is not None and isinstance(expr.type, Bits):
            return ir.KeyValue(self.coerce(expr, t.base, node.pos))
        if isinstance(t, Structure | Header | Union):
            raise Unsupported(node.pos, f"a key of type {t}")
        return ir.KeyValue(self.coerce(expr, deep_strip(t), node.pos))


def _check_listed_names(actions: list[ir.TableAction], refs: list[ast.ActionRef]) -> None:
    """An entry says an action's name: in one table it stands for one action."""
    seen: dict[str, ir.Action] = {}
    for listed, ref in zip(actions, refs, strict=True):
        if seen.setdefault(listed.action.name, listed.action) is not listed.action:
            raise P4Error(ref.pos, f"the control plane knows another action of this table as '{listed.action.name}'")


def _check_empty_group(p: ast.Property) -> None:
    """An empty group of an action selector does nothing."""
    callee = p.value.callee if isinstance(p.value, ast.CallExpr) else p.value
    if not isinstance(callee, ast.NameExpr) or callee.name != "NoAction":
        raise Unsupported(p.pos, f"{p.name} other than NoAction")
