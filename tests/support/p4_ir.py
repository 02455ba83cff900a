# SPDX-License-Identifier: Apache-2.0
"""Intermediate representation built by hand, and the smallest target that runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from offramp_p4 import ir
from offramp_p4.engine import core
from offramp_p4.engine.compile import compile_blocks
from offramp_p4.engine.generator import Builder, Generator
from offramp_p4.engine.layout import CURSOR, FRAME, LENGTH, OUTPUT, CellLayout, Memory
from offramp_p4.state import TableState, ValueSetState
from offramp_p4.types import Bits, Type

ERRORS = [
    "NoError",
    "PacketTooShort",
    "NoMatch",
    "StackOutOfBounds",
    "HeaderTooShort",
    "ParserTimeout",
    "ParserInvalidArgument",
]


@dataclass
class BareTarget:
    """A target with the externs of core.p4 only."""

    clears_headers: bool = True
    externs: Mapping[tuple[str, str], Builder] = field(default_factory=lambda: core.BUILDERS)
    tables: Mapping[ir.MatchTable, TableState] = field(default_factory=dict)
    value_sets: Mapping[ir.ValueSet, ValueSetState] = field(default_factory=dict)

    def on_hit(self, g: Generator, table: ir.MatchTable) -> None:
        """Nothing."""

    def selector_hash(self, g: Generator, table: ir.MatchTable) -> str:
        """No selectors."""
        return "0"


@dataclass
class Runnable:
    """A compiled block: give values to variables, run, read others."""

    layout: CellLayout
    template: Memory
    function: Callable[[Memory], object]

    def run(self, values: Mapping[ir.Var, int | Sequence[int]], frame: bytes = b"") -> Memory:
        """Run on fresh memory; returns it."""
        m = self.template.copy()
        m[FRAME], m[CURSOR], m[LENGTH], m[OUTPUT] = frame, 0, len(frame), []
        for var, value in values.items():
            at = self.layout.base(var)
            cells = [value] if isinstance(value, int) else list(value)
            m[at : at + len(cells)] = cells
        self.function(m)
        return m

    def cells(self, m: Memory, var: ir.Var) -> list[int]:
        """The cells of a variable."""
        at = self.layout.base(var)
        return m[at : at + var.type.slots]


def compile_body(
    body: list[ir.Stmt], params: list[ir.Var], tables: Sequence[ir.MatchTable] = (), *, errors: Sequence[str] = ERRORS
) -> Runnable:
    """A control with this body, compiled."""
    control = ir.ControlInstance("C", "C", params, [], ir.Block(body))
    program = ir.Program(
        main=ir.PackageInstance("T", "main", {"c": control}),
        file="test",
        errors=list(errors),
        tables=list(tables),
        actions=[],
        externs=[],
        value_sets=[],
        functions=[],
        blocks=[control],
        types={},
    )
    layout = CellLayout(program)
    layout.place_block(control, [None] * len(params))
    target = BareTarget(tables={t: TableState(t) for t in tables})
    compiled = compile_blocks(program, layout, target, [control])
    return Runnable(layout, compiled.template, compiled.functions[0])


def var(name: str, t: Type) -> ir.Var:
    """A variable."""
    return ir.Var(name, t, "inout")


def ref(v: ir.Var) -> ir.VarRef:
    """A use of a variable."""
    return ir.VarRef(v, type=v.type)


def const(value: int, t: Type) -> ir.Const:
    """A constant."""
    return ir.Const(value, type=t)


BIT8, BIT16, BIT32 = Bits(8), Bits(16), Bits(32)
