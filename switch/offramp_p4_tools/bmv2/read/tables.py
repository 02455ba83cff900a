# SPDX-License-Identifier: Apache-2.0
"""Tables, action profiles and control graphs of a document."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from offramp_p4 import ir
from offramp_p4.state.match import prefix_mask
from offramp_p4.types import BOOL, VOID, Bits, Structure, Type, strip
from offramp_p4_tools.bmv2.read.flow import Build, FlowGraph, FlowStep, branch
from offramp_p4_tools.bmv2.read.nodes import MAX_SIZE, JsonNode
from offramp_p4_tools.bmv2.read.numbers import bits_of, convert, number
from offramp_p4_tools.bmv2.words import SELECTORS

if TYPE_CHECKING:
    from offramp_p4_tools.bmv2.read.expressions import ExpressionReader

_HIDDEN: Final = "tbl_"
"""Prefix of the names of tables that compilers make for statements."""
_OUTCOMES: Final = ("__HIT__", "__MISS__")
MakeProfile = Callable[[str, int, "JsonNode | None"], ir.ExternInstance]
"""Makes the architecture's action profile of a name, a size and, if it is a selector, an algorithm."""


class PipelineReader:
    """Reads the tables of one pipeline, then its graph.

    Attributes:
        tables: those that the control plane sees.
    """

    def __init__(
        self,
        node: JsonNode,
        expressions: ExpressionReader,
        actions: Mapping[int, ir.Action],
        externs: Mapping[tuple[str, str], ir.ExternInstance],
        visible: Mapping[str, Sequence[str]] | None,
        make_profile: MakeProfile,
    ) -> None:
        self._make_profile = make_profile
        self.node, self.x, self.actions, self.externs = node, expressions, actions, externs
        self.profiles: dict[str, tuple[ir.ExternInstance, list[ir.TableKey]]] = {}
        self._visible = visible
        self.tables: dict[str, ir.MatchTable] = {}
        self._hidden: dict[str, ir.Action] = {}
        for p in node.each("action_profiles"):
            self._profile(p["name"].text, p, p["max_size"])
        for t in node.each("tables"):
            name = t["name"].text
            if name in self.tables or name in self._hidden:
                t["name"].fail(f"table '{name[:80]}' is there twice")
            if self._is_hidden(t):
                self._hidden[name] = self._action_list(t)[0]
            else:
                self.tables[name] = self._table(t)

    # --- tables -------------------------------------------------------------------------------------------------

    def _is_hidden(self, t: JsonNode) -> bool:
        """Whether a table only stands for statements: compilers write these as tables without keys."""
        name = t["name"].text
        word = name.rpartition(".")[2]
        known = not word.startswith(_HIDDEN) if self._visible is None else name in self._visible
        entry = t.get("default_entry")
        constant = entry is not None and "action_entry_const" in entry and entry["action_entry_const"].flag
        plain = len(t["key"]) == 0 and len(self._action_list(t)) == 1 and constant and "entries" not in t
        return plain and not known and not self._action_list(t)[0].params

    def _action_list(self, t: JsonNode) -> list[ir.Action]:
        if "action_ids" in t:
            return [self._action(i) for i in t["action_ids"]]
        by_name = {a.name: a for a in self.actions.values()}
        return [by_name.get(n.text) or n.fail(f"there is no action '{n.text[:80]}'") for n in t["actions"]]

    def _action(self, node: JsonNode) -> ir.Action:
        action = self.actions.get(node.number(0, MAX_SIZE))
        return action or node.fail(f"there is no action with id {node.value}")

    def _table(self, t: JsonNode) -> ir.MatchTable:
        name = t["name"].text
        actions = {a.name: ir.TableAction(a, []) for a in self._action_list(t)}
        if len(actions) != len(self._action_list(t)):
            t.fail("two actions have one name")
        kinds = self._visible.get(name) if self._visible is not None else None
        keys = [self._key(k, kinds[i] if kinds and i < len(kinds) else None) for i, k in enumerate(t["key"])]
        if sum(key.match_kind == "lpm" for key in keys) > 1:
            t["key"].fail("more than one lpm key")
        properties: dict[str, ir.ExternInstance | ir.Expr] = {}
        keys += self._implementation(t, properties)
        if "support_timeout" in t and t["support_timeout"].flag:
            properties["support_timeout"] = ir.Const(1, type=BOOL)
        if "with_counters" in t and t["with_counters"].flag and ("counters", name) in self.externs:
            properties["counters"] = self.externs["counters", name]
        if "direct_meters" in t:
            meter = t["direct_meters"]
            meters = self.externs.get(("direct_meter", meter.text))
            properties["meters"] = meters or meter.fail(f"there is no direct meter '{meter.text[:80]}'")
        default, constant = self._default(t, actions)
        entries = [self._entry(e, keys, actions) for e in t.each("entries")]
        size = t["max_size"].number(0, MAX_SIZE) if "max_size" in t else None
        return ir.MatchTable(
            name, keys, list(actions.values()), default, constant, entries, bool(entries), size, properties,
            largest_priority_wins=False,
        )  # fmt: skip

    def _key(self, k: JsonNode, kind: str | None) -> ir.TableKey:
        word = k["match_type"].choice("exact", "lpm", "ternary", "range", "valid", "optional")
        if word == "valid":
            target = ir.Cast(ir.IsValid(self.x.layout.header(k["target"]), type=BOOL), type=Bits(1))
            return ir.TableKey(target, "exact", k["name"].text if "name" in k else f"{k['target'].text}.$valid$")
        e: ir.Expr = convert(
            self.x.exact(JsonNode({"type": "field", "value": k["target"].value}, k.path)), self._unsigned(k)
        )
        if "mask" in k:
            bits = bits_of(e)
            e = ir.Binary("&", e, number(k["mask"].hex & bits.mask, bits), type=bits)
        name = k["name"].text if "name" in k else ".".join(part.text for part in k["target"])
        if kind == "optional" and word == "ternary":
            word = kind
        return ir.TableKey(e, word, name, declared=_declared(e))

    def _unsigned(self, k: JsonNode) -> Bits:
        field = self.x.exact(JsonNode({"type": "field", "value": k["target"].value}, k.path))
        return Bits(bits_of(field).width)

    def _implementation(self, t: JsonNode, properties: dict[str, ir.ExternInstance | ir.Expr]) -> list[ir.TableKey]:
        kind = t["type"].choice("simple", "indirect", "indirect_ws") if "type" in t else "simple"
        if kind == "simple":
            return []
        if "action_profile" in t:
            name = t["action_profile"].text
            if name not in self.profiles:
                t["action_profile"].fail(f"there is no action profile '{name[:80]}'")
        else:  # documents of version 1 declare the profile in the table
            name = t["act_prof_name"].text
            if name not in self.profiles:
                self._profile(name, t, t["max_size"])
        instance, keys = self.profiles[name]
        if kind == "indirect_ws" and instance.extern not in SELECTORS:
            t.fail(f"action profile '{name[:80]}' has no selector")
        properties["implementation"] = instance
        return keys if kind == "indirect_ws" else []

    def _profile(self, name: str, p: JsonNode, size: JsonNode) -> None:
        if name in self.profiles:
            p.fail(f"action profile '{name[:80]}' is there twice")
        most = size.number(0, MAX_SIZE)
        if "selector" not in p:
            self.profiles[name] = self._make_profile(name, most, None), []
            return
        selector = p["selector"]
        instance = self._make_profile(name, most, selector["algo"])
        keys = [ir.TableKey(self.x.exact(i), "selector", f"selector_{n}") for n, i in enumerate(selector["input"])]
        self.profiles[name] = instance, keys

    def _default(self, t: JsonNode, actions: dict[str, ir.TableAction]) -> tuple[ir.ActionChoice, bool]:
        if "default_entry" not in t:
            nothing = actions.get("NoAction") or ir.TableAction(ir.Action("NoAction", [], ir.Block([])), [])
            return ir.ActionChoice(nothing, []), False
        entry = t["default_entry"]
        constant = "action_entry_const" in entry and entry["action_entry_const"].flag
        return self._choice(entry, actions), constant

    def _choice(self, node: JsonNode, actions: dict[str, ir.TableAction]) -> ir.ActionChoice:
        action = self._action(node["action_id"])
        choice = actions.get(action.name)
        if choice is None or choice.action is not action:
            choice = ir.TableAction(action, [])
        data = node["action_data"]
        if len(data) != len(action.params):
            data.fail(f"{len(data)} values for the {len(action.params)} parameters of {action.name}")
        values: list[ir.Expr] = []
        for param, value in zip(action.params, data, strict=True):
            assert isinstance(param.type, Bits)
            if not 0 <= value.hex <= param.type.mask:
                value.fail(f"does not fit into {param.type}")
            values.append(ir.Const(value.hex, type=param.type))
        return ir.ActionChoice(choice, values)

    def _entry(self, node: JsonNode, keys: list[ir.TableKey], actions: dict[str, ir.TableAction]) -> ir.InitialEntry:
        match_key = node["match_key"]
        wanted = [k for k in keys if k.match_kind != "selector"]
        if len(match_key) != len(wanted):
            match_key.fail(f"{len(match_key)} keys for a table with {len(wanted)}")
        matches = [_match(g, k) for g, k in zip(match_key, wanted, strict=True)]
        choice = self._choice(node["action_entry"], actions)
        if choice.action not in actions.values():
            node["action_entry"].fail(f"the table has no action {choice.action.action.name}")
        priority = node["priority"].number(0, MAX_SIZE) if "priority" in node else None
        return ir.InitialEntry(matches, choice, priority)

    # --- the graph ----------------------------------------------------------------------------------------------

    def statements(self) -> list[ir.Stmt]:
        """The statements of the pipeline."""
        flow = FlowGraph()
        for t in self.node.each("tables"):
            self._add(flow, t, self._table_step(t))
        for c in self.node.each("conditionals"):
            ways = [self._next(c["true_next"]), self._next(c["false_next"])]
            self.x.before = []
            test = self.x.boolean(c["expression"])
            self._add(flow, c, FlowStep(self.x.before, ways, branch(test)))
        for a in self.node.each("action_calls"):
            action = self._action(a["action_id"])
            if action.params:
                a.fail(f"action {action.name} has parameters")
            self._add(flow, a, FlowStep([action.body], [self._next(a["next_node"])]))
        for name, step in flow.steps.items():
            unknown = next((way for way in step.ways if way is not None and way not in flow.steps), None)
            if unknown is not None:
                self.node.fail(f"'{name[:80]}' is followed by '{unknown[:80]}', which is not there")
        start = self._next(self.node["init_table"]) if "init_table" in self.node else None
        if start is not None and start not in flow.steps:
            self.node["init_table"].fail(f"there is no '{start[:80]}'")
        again = flow.cycle(start)
        if again is not None:
            self.node.fail(f"'{again[:80]}' comes after itself: the graph has a cycle")
        return flow.statements(start)

    def _add(self, flow: FlowGraph, node: JsonNode, step: FlowStep) -> None:
        name = node["name"].text
        if name in flow.steps:
            node["name"].fail(f"'{name[:80]}' is there twice")
        flow.steps[name] = step

    def _next(self, node: JsonNode) -> str | None:
        return None if node.value is None else node.text

    def _table_step(self, t: JsonNode) -> FlowStep:
        name, following = t["name"].text, t["next_tables"]
        if not isinstance(following.value, dict):
            following.fail("expected an object")
        if name in self._hidden:
            action = self._hidden[name]
            return FlowStep([action.body], [self._next(following[action.name])])
        table = self.tables[name]
        if any(word in following.value for word in _OUTCOMES):
            ways = [self._next(following[w]) if w in following.value else None for w in _OUTCOMES]
            if ways[0] == ways[1]:
                return FlowStep([ir.Eval(_apply(table))], ways[:1])
            return FlowStep([], ways, branch(ir.TableApply(table, "hit", type=BOOL)))
        by_action = {a.action.name: self._next(following[a.action.name]) for a in table.actions}
        default = table.default.action.action.name
        other = self._next(t["base_default_next"]) if "base_default_next" in t else None
        other = by_action.get(default, other)
        ways = [*by_action.values(), other]
        if len(set(ways)) == 1:
            return FlowStep([ir.Eval(_apply(table))], ways[:1])
        return FlowStep([], ways, _switch(table, list(by_action)))


def _declared(e: ir.Expr) -> Type | None:
    """The type of a key with its name, if it is a field whose type has one."""
    t = strip(e.base.type) if isinstance(e, ir.Member) else None
    return t.fields[e.index].type if isinstance(t, Structure) and isinstance(e, ir.Member) else None


def _apply(table: ir.MatchTable) -> ir.TableApply:
    return ir.TableApply(table, "", type=VOID)


def _switch(table: ir.MatchTable, names: list[str]) -> Build:
    def build(ways: Sequence[ir.Stmt]) -> list[ir.Stmt]:
        actions = {a.action.name: a.action for a in table.actions}
        cases: list[tuple[list[ir.Action] | None, ir.Stmt]] = [
            ([actions[name]], way) for name, way in zip(names, ways, strict=False)
        ]
        return [ir.SwitchAction(table, [*cases, (None, ways[-1])])]

    return build


def _match(g: JsonNode, key: ir.TableKey) -> ir.Key:
    bits = bits_of(key.expr)
    word = g["match_type"].choice("exact", "lpm", "ternary", "range", "valid", "optional")

    def value(name: str) -> ir.Const:
        number = g[name].hex
        return ir.Const(number, type=bits) if 0 <= number <= bits.mask else g[name].fail(f"does not fit into {bits}")

    kinds = {"valid": "exact", "optional": "ternary"}
    if kinds.get(word, word) != kinds.get(key.match_kind, key.match_kind):
        g["match_type"].fail(f"the key of the table is {key.match_kind}")
    if word == "valid":
        return ir.KeyValue(ir.Const(int(g["key"].flag), type=bits))
    if word == "exact":
        return ir.KeyValue(value("key"))
    if word == "lpm":
        length = g["prefix_length"].number(0, bits.width)
        return ir.KeyMask(value("key"), ir.Const(prefix_mask(length, bits.width), type=bits))
    if word == "range":
        return ir.KeyRange(value("start"), value("end"))
    mask = value("mask")
    return ir.KeyMask(value("key"), mask) if mask.value else ir.KeyAny()
