# SPDX-License-Identifier: Apache-2.0
"""The JSON document of a program, built from its blocks, which a class for each architecture lists."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from offramp_p4 import ir
from offramp_p4.engine import walk
from offramp_p4.state.table import DEFAULT_SIZE
from offramp_p4.types import Bits, Enum, bit_width, strip
from offramp_p4.v1model.objects import enum_member
from offramp_p4_tools.bmv2.write.code import Primitive
from offramp_p4_tools.bmv2.write.expressions import ExpressionWriter, is_place, valid_field
from offramp_p4_tools.bmv2.write.jumps import jump_code
from offramp_p4_tools.bmv2.write.places import (
    SCALARS,
    Bindings,
    FieldAt,
    HeaderAt,
    Json,
    RuntimeData,
    VariablePlaces,
    bits_of,
    header_fields,
)
from offramp_p4_tools.bmv2.write.statements import StatementWriter

if TYPE_CHECKING:
    from offramp_p4.engine.walk import Block
    from offramp_p4.source import Pos
    from offramp_p4.types import Structure
    from offramp_p4_tools.bmv2.write.externs import ExternWriter

VERSION: Final = (2, 24)


@dataclass(slots=True)
class ArchitectureJson:
    """The JSON of an architecture's blocks.

    Attributes:
        parsers, deparsers, pipelines, checksums, aliases: lists of the document of these names.
    """

    parsers: list[Json]
    deparsers: list[Json]
    pipelines: list[Json]
    checksums: list[Json] = field(default_factory=list)
    aliases: list[Any] = field(default_factory=list)


class Document(ABC):
    """State that the blocks of one program share while their JSON is written.

    Attributes:
        places, variables: the places of variables.
        standard: the metadata of the architecture, fields by header instance.
        externs: calls of externs, and what they declare.
    """

    externs: ExternWriter

    def __init__(self, program: ir.Program, standard: Mapping[str, Structure]) -> None:
        self.program = program
        self.standard = {
            name: [[f.name, bits_of(f.type).width, False] for f in fields.fields] for name, fields in standard.items()
        }
        self.places = VariablePlaces(standard)
        self.variables = Bindings(self.places)
        self.actions: list[Json] = []
        self._ids: Counter[str] = Counter()
        self._action_ids: dict[object, int] = {}
        self._key_fields: dict[ir.TableKey, list[Any]] = {}
        self._colours: dict[ir.ExternInstance, ir.Var] = {}
        self._sites = Counter(c.target for b in walk.blocks(program.main) for c in walk.applies_in(b))

    @abstractmethod
    def parts(self) -> ArchitectureJson:
        """Write the blocks."""

    @abstractmethod
    def arrays(self) -> Json:
        """The lists of extern objects, ``extern_instances`` among them."""

    @abstractmethod
    def packet_length(self, pos: Pos) -> FieldAt:
        """The field with the bytes of the packet.

        Raises:
            Unsupported: there is none.
        """

    def algorithm(self, i: ir.ExternInstance) -> str:
        """bmv2's name of the hash algorithm of an action selector."""
        return enum_member(i, 0)

    # --- names, numbers, places -------------------------------------------------------------------------------

    def number(self, kind: str) -> int:
        """The next id of a kind."""
        self._ids[kind] += 1
        return self._ids[kind] - 1

    def node_name(self, kind: str) -> str:
        """A name for a node of ours; programs have dots or other words in theirs."""
        taken = {t.name for t in self.program.tables}
        while (name := f"{kind}_{self.number(f'node {kind}')}") in taken:
            pass
        return name

    def source_info(self, pos: Pos) -> Json:
        """A position in the source, in the form that bmv2's messages quote."""
        if not pos.line:
            return {}
        return {"source_info": {"filename": pos.file, "line": pos.line, "column": pos.column, "source_fragment": ""}}

    def shares(self, block: Block, args: list[ir.Arg]) -> bool:
        """Whether an applied block can work on the places of its arguments, because nothing else does meanwhile."""
        places = [a.expr for a in args if a.expr is not None and a.expr.type.slots]
        if self._sites[block] != 1 or not all(is_place(e) and _is_fixed(e) for e in places):
            return False
        paths = [_path(e) for e in places]
        return not any(a[: len(b)] == b or b[: len(a)] == a for i, a in enumerate(paths) for b in paths[:i])

    def colour(self, meter: ir.ExternInstance) -> ir.Var:
        """The variable into which bmv2 writes the colour of a direct meter."""
        if meter not in self._colours:
            self._colours[meter] = ir.Var("color", Bits(32))
        return self._colours[meter]

    # --- keys and actions -------------------------------------------------------------------------------------

    def key_variables(self, table: ir.MatchTable) -> list[tuple[ir.TableKey, ir.Expr]]:
        """The keys that are not fields, each with the variable to compute it into before the look-up."""
        x = ExpressionWriter(self.variables)
        out: list[tuple[ir.TableKey, ir.Expr]] = []
        for key in table.keys:
            if key in self._key_fields:
                place: Any = self._key_fields[key]
                if isinstance(place, ir.VarRef):
                    out.append((key, place))
                continue
            at = x.place(key.expr.base) if isinstance(key.expr, ir.IsValid) and is_place(key.expr.base) else None
            field = x.place(key.expr) if is_place(key.expr) else None
            if isinstance(at, HeaderAt) and at.name is not None:
                self._key_fields[key] = valid_field(at)["value"]
            elif isinstance(field, FieldAt):
                self._key_fields[key] = field.json["value"]
            else:
                variable = ir.VarRef(ir.Var("key", key.expr.type), type=key.expr.type, pos=key.expr.pos)
                self._key_fields[key] = variable  # type: ignore[assignment]
                out.append((key, variable))
        return out

    def key_field(self, key: ir.TableKey) -> list[Any]:
        """The field of a key whose table has been applied."""
        field: Any = self._key_fields[key]
        if isinstance(field, ir.VarRef):
            place = self.variables[field.var]
            assert isinstance(place, FieldAt)
            return [place.header, place.field]
        return list(field)

    def action(self, choice: ir.TableAction) -> int:
        """The id of an action as a table runs it; its JSON is written when it is first asked for."""
        key: object = choice if choice.bound else choice.action
        if key not in self._action_ids:
            self._action_ids[key] = -1
            self._action_ids[key] = self._write_action(choice)
        return self._action_ids[key]

    def _write_action(self, choice: ir.TableAction) -> int:
        s = StatementWriter(self)
        s.in_action = True
        data = choice.data_params
        for i, param in enumerate(data):
            self.variables.bind(param, RuntimeData(i, param.type))
        s.body_of_action(choice)
        for param in data:
            self.variables.unbind(param)
        return self._add_action(choice.action.name, data, jump_code(s.code))

    def _add_action(self, name: str, data: list[ir.Var], primitives: list[Primitive]) -> int:
        number = len(self.actions)
        self.actions.append(
            {
                "name": name,
                "id": number,
                "runtime_data": [{"name": p.name, "bitwidth": bits_of(p.type).width} for p in data],
                "primitives": [{"op": p.op, "parameters": p.parameters, **self.source_info(p.pos)} for p in primitives],
            }
        )
        return number

    def hidden_action(self, primitives: list[Primitive]) -> tuple[int, str]:
        """An action of ours; returns its id and name."""
        name = self.node_name("act")
        return self._add_action(name, [], primitives), name

    # --- the whole --------------------------------------------------------------------------------------------

    def json(self) -> Json:
        """The document."""
        parts = self.parts()
        arrays = self.arrays()
        types, headers = self._headers()
        return {
            "header_types": types,
            "headers": headers,
            "header_stacks": self.places.stacks,
            "header_union_types": self._union_types(),
            "header_unions": self.places.unions,
            "header_union_stacks": self.places.union_stacks,
            "field_lists": self.externs.field_lists,
            "errors": [[name, value] for value, name in enumerate(self.program.errors)],
            "enums": self._enums(),
            "parsers": parts.parsers,
            "parse_vsets": [self._value_set(v, i) for i, v in enumerate(self.program.value_sets)],
            "deparsers": parts.deparsers,
            **arrays,
            "calculations": self.externs.calculations,
            "learn_lists": self.externs.learn_lists,
            "actions": self.actions,
            "pipelines": parts.pipelines,
            "checksums": parts.checksums,
            "force_arith": [],
            "field_aliases": parts.aliases,
            "program": self.program.file,
            "__meta__": {"version": list(VERSION), "compiler": "offramp"},
        }

    def _headers(self) -> tuple[list[Json], list[Json]]:
        scalars = list(self.places.scalars)
        width = sum(f[1] for f in scalars)
        if width % 8:
            scalars.append(["_padding_0", 8 - width % 8, False])
        types: list[Json] = [{"name": SCALARS, "id": 0, "fields": scalars}]
        for t, name in self.places.types.items():
            types.append({"name": name, "id": len(types), **header_fields(t)})
        for name, standard_fields in self.standard.items():
            fields = list(standard_fields)
            width = sum(f[1] for f in fields)
            if width % 8:
                fields.append(["_padding", 8 - width % 8, False])
            types.append({"name": name, "id": len(types), "fields": fields})
        headers = list(self.places.headers)
        for name in (SCALARS, *self.standard):
            headers.append({"name": name, "id": len(headers), "header_type": name, "metadata": True, "pi_omit": True})
        return types, headers

    def _union_types(self) -> list[Json]:
        return [
            {"name": name, "id": i, "headers": [[f.name, self.places.types[strip(f.type)]] for f in t.fields]}  # type: ignore[index]
            for i, (t, name) in enumerate(self.places.union_types.items())
        ]

    def _enums(self) -> list[Json]:
        enums = [t for t in self.program.types.values() if isinstance(t, Enum)]
        return [{"name": t.name, "entries": [[n, v] for n, v in t.members.items()]} for t in enums]

    def _value_set(self, value_set: ir.ValueSet, number: int) -> Json:
        width = bit_width(strip(value_set.element))
        return {"name": value_set.name, "id": number, "compressed_bitwidth": width, "max_size": value_set.size}

    def bound(self) -> dict[str, ir.MatchTable]:
        """The tables of direct counters and meters, by the names of these."""
        return {
            p.name: t for t in self.program.tables for p in t.properties.values() if isinstance(p, ir.ExternInstance)
        }

    def direct_meter(self, i: ir.ExternInstance, table: ir.MatchTable, kind: str) -> Json:
        """The JSON of a table's direct meters, without its name; ``kind`` is the unit that they measure."""
        place = self.variables[self.colour(i)]
        assert isinstance(place, FieldAt)
        return {
            "is_direct": True,
            "rate_count": 2,
            "type": kind,
            "size": table.size or DEFAULT_SIZE,
            "binding": table.name,
            "result_target": [place.header, place.field],
        }


def _is_fixed(e: ir.Expr) -> bool:
    while isinstance(e, ir.Member | ir.Element):
        if isinstance(e, ir.Element) and not isinstance(e.index, ir.Const):
            return False
        e = e.base
    return isinstance(e, ir.VarRef)


def _path(e: ir.Expr) -> tuple[object, ...]:
    """The path from the variable to its part ``e``."""
    if isinstance(e, ir.Member):
        return (*_path(e.base), e.index)
    if isinstance(e, ir.Element):
        assert isinstance(e.index, ir.Const)
        return (*_path(e.base), e.index.value)
    assert isinstance(e, ir.VarRef)
    return (e.var,)
