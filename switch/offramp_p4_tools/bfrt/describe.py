# SPDX-License-Identifier: Apache-2.0
"""A TNA program's BF-RT tables, as p4c's Tofino back end describes them in ``bf-rt.json``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from offramp_p4 import constructor, ir
from offramp_p4.runtime.p4info import digest_types, extern_unit, generate, walk
from offramp_p4.runtime.tna_externs import standard_externs
from offramp_p4.runtime.typespec import width_of
from offramp_p4.tna.blocks import pipes
from offramp_p4.types import Type
from offramp_p4_tools.bfrt import common
from offramp_p4_tools.bfrt.fields import BfrtField, LearnFilter, TableSpec
from offramp_p4_tools.bfrt.matching import match_tables
from offramp_p4_tools.bfrt.numbers import FieldId, object_ids
from offramp_p4_tools.bfrt.valuetypes import register_fields, value_fields

_SCHEMA: Final = "1.0.0"
_CHANNELS: Final = 288
"""Ports of a Tofino, over all pipes, that may have metadata."""
_PORT_METADATA_BITS: Final = (64, 192)
"""Bits of metadata that a Tofino, and a Tofino 2, keeps for each port."""


@dataclass(frozen=True)
class Description:
    """Everything that a control plane is told about a program or about the chip.

    Attributes:
        tables, digests: tables and digests by name.
    """

    tables: dict[str, TableSpec]
    digests: dict[str, LearnFilter]

    def json(self) -> str:
        """The text of ``bf-rt.json``."""
        document = {
            "schema_version": _SCHEMA,
            "tables": [t.json() for t in self.tables.values()],
            "learn_filters": [d.json() for d in self.digests.values()],
        }
        return json.dumps(document, indent=2)


def describe(program: ir.Program, info: Any | None = None) -> Description:
    """Describe a TNA program; ``info`` is its P4Info if it is at hand.

    Raises:
        OfframpError: it is for another architecture, or the control plane cannot represent a type.
    """
    pipes(program)  # refuses what is not a TNA program
    externs = _Externs(program, generate(program) if info is None else info)
    return Description({t.name: t for t in externs.tables}, {d.name: d for d in externs.digests})


class _Externs:
    """The tables of a program's objects, in p4c's order."""

    def __init__(self, program: ir.Program, info: Any) -> None:
        self._program = program
        by_kind: dict[str, list[ir.ExternInstance]] = {}
        for instance in dict.fromkeys(program.externs):
            by_kind.setdefault(instance.extern, []).append(instance)
        self._by_kind = by_kind
        self.tables = [*match_tables(program, info), *self._filters()]
        self.tables += [*self._counters(), *self._meters(), *self._registers(), *self._parameters()]
        self.tables += [*self._value_sets(), *self._port_metadata()]
        types = digest_types(program)
        ids = object_ids("Digest", types)
        self.digests = [LearnFilter(ids[name], name, value_fields(t)) for name, t in types.items()]

    def _objects(self, kind: str) -> Iterator[tuple[int, ir.ExternInstance]]:
        instances = self._by_kind.get(kind, [])
        ids = object_ids(kind, (i.name for i in instances))
        for instance in instances:
            yield ids[instance.name], instance

    def _counters(self) -> Iterator[TableSpec]:
        standard = standard_externs(self._program)
        for number, i in self._objects("Counter"):
            data = common.COUNTS[extern_unit(standard[i], 1)]
            size = constructor.number(i, "size")
            yield TableSpec(number, i.name, "Counter", size, (common.COUNTER_INDEX,), data, operations=("Sync",))

    def _meters(self) -> Iterator[TableSpec]:
        standard = standard_externs(self._program)
        for number, i in self._objects("Meter"):
            data = common.RATES[extern_unit(standard[i], 1)]
            attributes = ("MeterByteCountAdjust",)
            size = constructor.number(i, "size")
            yield TableSpec(
                number, i.name, "Meter", size, (common.METER_INDEX,), data, attributes=attributes, bare=True
            )

    def _filters(self) -> Iterator[TableSpec]:
        for kind, index, data in (
            ("Lpf", common.LPF_INDEX, common.LPF),
            ("Wred", common.WRED_INDEX, common.WRED),
        ):
            for number, i in self._objects(kind):
                yield TableSpec(number, i.name, kind, constructor.number(i, "size"), (index,), data)

    def _registers(self) -> Iterator[TableSpec]:
        for number, i in self._objects("Register"):
            yield TableSpec(
                number,
                i.name,
                "Register",
                constructor.number(i, "size"),
                (common.REGISTER_INDEX,),
                register_fields(i),
                operations=("Sync",),
                bare=True,
            )

    def _parameters(self) -> Iterator[TableSpec]:
        for number, i in self._objects("RegisterParam"):
            field = BfrtField(1, "value", width=width_of(i.type_args[0]), mandatory=True)
            yield TableSpec(number, i.name, "RegisterParam", 1, (), (field,))

    def _value_sets(self) -> Iterator[TableSpec]:
        sets = self._program.value_sets
        ids = object_ids("ValueSet", (v.name for v in sets))
        for v in sets:
            key = tuple(BfrtField(f.id, f.name, width=f.width, match="Ternary") for f in value_fields(v.element))
            yield TableSpec(ids[v.name], v.name, "ParserValueSet", v.size, key, attributes=("EntryScope",))

    def _port_metadata(self) -> Iterator[TableSpec]:
        metadata = [
            (f"{pipe.name}.{parser.name}", parser) for pipe in pipes(self._program) for parser in pipe.ingress.parsers
        ]
        names = {f"{name}.$PORT_METADATA": parser for name, parser in metadata}
        ids = object_ids("PortMetadata", names)
        bits = _PORT_METADATA_BITS["ghost_intrinsic_metadata_t" in self._program.types]
        for name, parser in names.items():
            key = BfrtField(FieldId.PORT_METADATA_PORT, f"{_intrinsic(parser)}.ingress_port", width=9, mandatory=True)
            unpacked = _unpacked(parser)
            data = (
                (BfrtField(FieldId.PORT_METADATA_DEFAULT, "$DEFAULT_FIELD", width=bits),)
                if unpacked is None
                else tuple(BfrtField(f.id, f.name, width=f.width, mandatory=True) for f in value_fields(unpacked))
            )
            yield TableSpec(ids[name], name, "PortMetadata", _CHANNELS, (key,), data)


def _intrinsic(parser: ir.ParserInstance) -> str:
    """The name that a parser gives the intrinsic metadata."""
    return next((p.name for p in parser.params if str(p.type) == "ingress_intrinsic_metadata_t"), "ig_intr_md")


def _unpacked(parser: ir.ParserInstance) -> Type | None:
    """The type that a parser reads port metadata as."""
    for call in walk([parser]):
        if isinstance(call, ir.ExternCall) and call.method == "port_metadata_unpack":
            return call.type_args[0]
    return None
