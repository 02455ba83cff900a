# SPDX-License-Identifier: Apache-2.0
"""Tables, actions, variables and headers that no packet can reach."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from offramp_p4 import ir
from offramp_p4.engine import walk
from offramp_p4.lint.diagnostic import RULES, Diagnostic
from offramp_p4.source import Pos
from offramp_p4.types import Header, Stack, Structure, Union, strip

_BUILT_IN: Final = Path(walk.__file__).parents[1] / "include"


def is_users(pos: Pos) -> bool:
    """Whether a place lies in the user's files and not in core.p4 or v1model.p4."""
    return pos.line > 0 and Path(pos.file).parent != _BUILT_IN


@RULES.register("unused")
def rule(program: ir.Program) -> Iterator[Diagnostic]:
    """Warnings ``unused-table``, ``unused-action``, ``unused-variable``, ``unused-header``."""
    blocks = list(walk.blocks(program.main))
    reached = [node for block in blocks for node in walk.nodes(block, into_declarations=True)]
    known = {id(node) for node in reached}
    for table in program.tables:
        if id(table) not in known:
            yield Diagnostic(table.pos, "unused-table", f"table {table.name} is never applied")
    for action in program.actions:
        if id(action) not in known and is_users(action.pos):
            yield Diagnostic(action.pos, "unused-action", f"no table or statement uses action {action.name}")
    yield from _variables(reached)
    yield from _headers(program, reached)


def _variables(reached: list[object]) -> Iterator[Diagnostic]:
    written = {id(n.place) for n in reached if isinstance(n, ir.Assign) and isinstance(n.place, ir.VarRef)}
    written |= {id(n.expr) for n in reached if isinstance(n, ir.Arg) and n.direction == "out"}
    references = [n for n in reached if isinstance(n, ir.VarRef)]
    used = {n.var for n in references}
    read = {n.var for n in references if id(n) not in written}
    for node in reached:
        if isinstance(node, ir.Declare) and is_users(node.var.pos) and node.var not in read:
            what = "is written but never read" if node.var in used or node.value is not None else "is never used"
            yield Diagnostic(node.var.pos, "unused-variable", f"variable {node.var.name} {what}")


def _headers(program: ir.Program, reached: list[object]) -> Iterator[Diagnostic]:
    """Fields of the parser's headers that nothing but the deparser's ``emit`` of the whole names."""
    parser = next((b for b in program.main.args.values() if isinstance(b, ir.ParserInstance)), None)
    headers = next((p for p in parser.params if p.direction == "out"), None) if parser else None
    kind = strip(headers.type) if headers else None
    if parser is None or not isinstance(kind, Structure):
        return
    emitted = {id(a.expr) for n in reached if isinstance(n, ir.ExternCall) and n.method == "emit" for a in n.args}
    members = [n for n in reached if isinstance(n, ir.Member) and id(n) not in emitted]
    used = {n.index for n in members if strip(n.base.type) is kind}
    for index, field in enumerate(kind.fields):
        if index not in used and isinstance(strip(field.type), Header | Stack | Union):
            message = f"header {field.name} of {kind} is never extracted, set or read"
            yield Diagnostic(parser.pos, "unused-header", message)
