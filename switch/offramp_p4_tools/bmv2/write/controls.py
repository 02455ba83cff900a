# SPDX-License-Identifier: Apache-2.0
"""Controls as graphs of tables and conditionals; other statements become actions of hidden tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from offramp_p4 import ir
from offramp_p4.engine import walk
from offramp_p4.source import Pos, Unsupported
from offramp_p4.types import Bits
from offramp_p4_tools.bmv2.graphs import ordered
from offramp_p4_tools.bmv2.write.code import (
    END,
    Apply,
    BasicBlock,
    Branch,
    Instruction,
    InstructionList,
    Jump,
    Label,
    LabelPosition,
    LoopRegion,
    Primitive,
    blocks,
)
from offramp_p4_tools.bmv2.write.expressions import hexstr
from offramp_p4_tools.bmv2.write.jumps import jump_code
from offramp_p4_tools.bmv2.write.places import FieldAt, Json, operation
from offramp_p4_tools.bmv2.write.statements import StatementWriter
from offramp_p4_tools.bmv2.write.tables import PipelineTables

if TYPE_CHECKING:
    from offramp_p4_tools.bmv2.write.document import Document


def write_pipeline(
    document: Document,
    control: ir.ControlInstance,
    name: str,
    number: int,
    before: Callable[[StatementWriter], None] | None = None,
) -> Json:
    """The JSON of a control with tables; ``before`` writes what comes first."""
    s = ControlStatements(document)
    if before is not None:
        before(s)
    s.inlined(control, [])
    code_blocks = blocks(s.code)
    return _Graph(document, s, code_blocks, name, number).json


class ControlStatements(StatementWriter):
    """Statements of a control that may apply tables."""

    def apply(self, table: ir.MatchTable, ways: dict[str | None, Label]) -> None:
        """Write the application of a table, its keys before it."""
        for key, variable in self.document.key_variables(table):
            self._assign(ir.Assign(variable, key.expr, pos=key.expr.pos))
        if ways:
            self.code.add(Apply(table, ways))
            return
        behind = self.code.label()
        self.code.add(Apply(table, {None: behind}))
        self.code.mark(behind)

    @contextmanager
    def looping(self, s: ir.Stmt) -> Iterator[None]:
        """Keep a loop in one action: a graph of nodes has no cycles."""
        if isinstance(self.code, _Loop):
            yield
            return
        table = next(_tables(s), None)
        if table is not None:
            raise Unsupported(table.pos, f"table {table.name} applied in a loop, in bmv2's JSON")
        outer, loop = self.code, _Loop(self.code)
        self.code = loop
        try:
            yield
        finally:
            self.code = outer
        self._leave(loop)

    def _leave(self, loop: InstructionList) -> None:
        """Append a loop, and the jumps out of it behind it."""
        inside = {i.label for i in loop.body if isinstance(i, LabelPosition)}
        targets = sorted({i.label for i in loop.body if isinstance(i, Jump) and i.label not in inside})
        if not targets:
            self.code.add(LoopRegion(loop.body))
            return
        way = self.document.places.temporary(Bits(8), "way")
        assert isinstance(way, FieldAt)
        end = self.code.label()
        body: list[Instruction] = [Primitive("assign", [way.json, hexstr(0)], _NOWHERE)]
        for i in loop.body:
            if isinstance(i, Jump) and i.label in targets:
                body += [Primitive("assign", [way.json, hexstr(targets.index(i.label) + 1)], _NOWHERE), Jump(end)]
            else:
                body.append(i)
        self.code.add(LoopRegion([*body, LabelPosition(end)]))
        for number, target in enumerate(targets, 1):
            skip = self.code.label()
            self.code.add(Branch(operation("==", way.json, hexstr(number)), skip, _NOWHERE))
            self.code.jump(target)
            self.code.mark(skip)


class _Loop(InstructionList):
    """Code of a loop; its labels are those of the code around it."""

    def __init__(self, outer: InstructionList) -> None:
        super().__init__()
        self._labels = outer._labels


_NOWHERE = Pos("", 0, 0)


def _tables(root: object) -> Iterator[ir.MatchTable]:
    for node in walk.nodes(root, into_declarations=True):
        if isinstance(node, ir.TableApply | ir.SwitchAction):
            yield node.table
        elif isinstance(node, ir.ApplyCall):
            yield from _tables(node.target)


class _Graph:
    """The nodes of one pipeline."""

    def __init__(
        self, document: Document, s: ControlStatements, code_blocks: dict[Label, BasicBlock], name: str, number: int
    ) -> None:
        self.document, self._s = document, s
        self._tables = PipelineTables(document)
        self._nodes: dict[Label, str] = {}
        self._blocks = code_blocks
        self.conditionals: list[Json] = []
        self.tables: list[Json] = []
        sites = self._sites()
        for block in code_blocks.values():
            self._nodes[block.label] = self._first(block)
        for block in code_blocks.values():
            self._write(block)
        for table, labels in sites.items():
            self._apply_at_sites(table, labels)
        first = next(iter(code_blocks), END)
        self._refuse_cycles(self._next(first), next(iter(sites), None))
        self.json: Json = {
            "name": name,
            "id": number,
            "init_table": self._next(first),
            "tables": self.tables,
            "action_profiles": self._tables.profiles,
            "conditionals": self.conditionals,
        }

    def _sites(self) -> dict[ir.MatchTable, list[BasicBlock]]:
        """Blocks at which each table is applied; if there are several, a field of the table tells them apart."""
        sites: dict[ir.MatchTable, list[BasicBlock]] = {}
        for block in self._blocks.values():
            if isinstance(block.end, Apply):
                sites.setdefault(block.end.table, []).append(block)
        self._site_fields: dict[ir.MatchTable, FieldAt] = {}
        for table, where in sites.items():
            if len(where) > 1:
                field = self.document.places.temporary(Bits(8), "site")
                assert isinstance(field, FieldAt)
                self._site_fields[table] = field
                for number, block in enumerate(where):
                    block.body.append(Primitive("assign", [field.json, hexstr(number)], table.pos))
        return sites

    def _refuse_cycles(self, first: str | None, table: ir.MatchTable | None) -> None:
        following: dict[str | None, list[str | None]] = {
            t["name"]: [*t["next_tables"].values(), t["base_default_next"]] for t in self.tables
        }
        following |= {c["name"]: [c["true_next"], c["false_next"]] for c in self.conditionals}
        _, again = ordered(following, first)
        if again is not None:
            table = next((t for t in self._site_fields if t.name == again), table)
            pos = _NOWHERE if table is None else table.pos
            raise Unsupported(pos, "a table applied more than once for one packet, in bmv2's JSON")

    def _first(self, block: BasicBlock) -> str:
        if block.body:
            return self.document.node_name("tbl_act")
        if isinstance(block.end, Branch):
            return self.document.node_name("node")
        assert isinstance(block.end, Apply)
        return block.end.table.name

    def _next(self, label: Label) -> str | None:
        return None if label == END else self._nodes[label]

    def _write(self, block: BasicBlock) -> None:
        name = self._nodes[block.label]
        if block.body:
            following = self._ending(block)
            self.tables.append(self._hidden(name, block, following))
            if isinstance(block.end, Branch):
                assert following is not None
                self._conditional(following, block)
        elif isinstance(block.end, Branch):
            self._conditional(name, block)

    def _ending(self, block: BasicBlock) -> str | None:
        end = block.end
        if isinstance(end, Jump):
            return self._next(end.label)
        if isinstance(end, Branch):
            return self.document.node_name("node")
        assert isinstance(end, Apply)
        return end.table.name

    def _conditional(self, name: str, block: BasicBlock) -> None:
        assert isinstance(block.end, Branch)
        self._add_conditional(
            name, block.end.condition, self._next(block.then), self._next(block.end.otherwise), block.end.pos
        )

    def _add_conditional(self, name: str, test: Json, true: str | None, false: str | None, pos: Pos) -> None:
        entry = {
            "name": name,
            "id": self.document.number("conditional"),
            "expression": test,
            "true_next": true,
            "false_next": false,
        }
        self.conditionals.append(entry | self.document.source_info(pos))

    def _hidden(self, name: str, block: BasicBlock, following: str | None) -> Json:
        body: list[Instruction] = []
        for item in block.body:
            body += item.body if isinstance(item, LoopRegion) else [item]
        code = InstructionList()
        code.body = body
        number, action = self.document.hidden_action(jump_code(code))
        pos = next((i.pos for i in body if isinstance(i, Primitive) and i.pos.line), _NOWHERE)
        return {
            "name": name,
            "id": self.document.number("table"),
            **self.document.source_info(pos),
            "key": [],
            "match_type": "exact",
            "type": "simple",
            "max_size": 1024,
            "with_counters": False,
            "support_timeout": False,
            "direct_meters": None,
            "action_ids": [number],
            "actions": [action],
            "base_default_next": following,
            "next_tables": {action: following},
            "default_entry": {"action_id": number, "action_const": True, "action_data": [], "action_entry_const": True},
        }

    def _apply_at_sites(self, table: ir.MatchTable, sites: list[BasicBlock]) -> None:
        ways: list[dict[str | None, Label]] = []
        for block in sites:
            assert isinstance(block.end, Apply)
            ways.append(block.end.ways)
        actions = list(dict.fromkeys([*(a.action.name for a in table.actions), table.default.action.action.name]))
        outcomes = [w for w in ways if "__HIT__" in w]
        named = [w for w in ways if set(w) - {None, "__HIT__", "__MISS__"}]
        if outcomes and named:
            raise Unsupported(
                table.pos, f"table {table.name} with hit at one place and action_run at another, in bmv2's JSON"
            )
        keys: list[str] = ["__HIT__", "__MISS__"] if outcomes else actions
        following: dict[str, Any] = {
            key: self._dispatch(table, [w.get(key, w.get(None, END)) for w in ways]) for key in keys
        }
        other = following["__MISS__"] if outcomes else self._dispatch(table, [w.get(None, END) for w in ways])
        self.tables.append(self._tables.json(table, following, other))

    def _dispatch(self, table: ir.MatchTable, labels: list[Label]) -> str | None:
        """The node that goes where the site of an application says."""
        nodes = [self._next(label) for label in labels]
        result = nodes[-1]
        for number in reversed(range(len(nodes) - 1)):
            if nodes[number] == result and all(n == result for n in nodes[number:]):
                continue
            name = self.document.node_name("node")
            test = operation("==", self._site_fields[table].json, hexstr(number))
            self._add_conditional(name, test, nodes[number], result, table.pos)
            result = name
        return result
