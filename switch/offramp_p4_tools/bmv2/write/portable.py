# SPDX-License-Identifier: Apache-2.0
"""The common base of writers of PSA and PNA documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from offramp_p4 import constructor, ir
from offramp_p4.source import Pos, Unsupported
from offramp_p4.types import Bits, Struct, StructField, Structure, strip
from offramp_p4.v1model.objects import register_width
from offramp_p4_tools.bmv2.words import COUNTER_TYPES, DEFAULT_HASH, HASHES
from offramp_p4_tools.bmv2.write.document import Document
from offramp_p4_tools.bmv2.write.expressions import digits
from offramp_p4_tools.bmv2.write.places import FieldAt, Json, ValueGroup
from offramp_p4_tools.bmv2.write.portable_externs import PortableExternWriter

Block = ir.ParserInstance | ir.ControlInstance
_LEARNING: Final = Struct("intrinsic_metadata", fields=[StructField("lf_field_list", Bits(32))])
"""Where psa_switch's ``generate_digest`` leaves its list, and nobody takes it up."""


class PortableDocument(Document):
    """The document of a PSA or PNA program.

    Args:
        program: the program.
        blocks: its blocks, each with the role or the metadata header of each parameter; "" is the packet.
        prefix: prefix of the names of metadata headers.
    """

    def __init__(self, program: ir.Program, blocks: Iterable[tuple[Block, Sequence[str]]], prefix: str) -> None:
        blocks = list(blocks)
        structs: dict[str, Structure] = {}
        for block, names in blocks:
            if len(block.params) != len(names):
                raise Unsupported(block.pos, f"{block.name} with {len(block.params)} parameters")
            for param, name in zip(block.params, names, strict=True):
                t = strip(param.type)
                if name.startswith(prefix) and isinstance(t, Structure):
                    structs[name] = t
        digests = {_LEARNING.name: _LEARNING} if any(e.extern == "Digest" for e in program.externs) else {}
        super().__init__(program, structs | digests)
        self.externs: PortableExternWriter = PortableExternWriter(self)
        self.own = {
            name: ValueGroup(tuple(FieldAt(name, f.name, strip(f.type)) for f in t.fields), t)
            for name, t in structs.items()
        }
        for block, names in blocks:
            for param, name in zip(block.params, names, strict=True):
                if name in self.own:
                    self.variables.bind(param, self.own[name])

    def packet_length(self, pos: Pos) -> FieldAt:
        """Refuse access to the packet's length, for which these targets have no field."""
        raise Unsupported(pos, "packet_in.length, which psa_switch and pna_nic do not know, in bmv2's JSON")

    def algorithm(self, i: ir.ExternInstance) -> str:
        """bmv2's name of the hash algorithm of an action selector or a hash."""
        name = constructor.member(i, "algo")
        hash_name = DEFAULT_HASH if name == "TARGET_DEFAULT" else HASHES.get(name)
        if hash_name is None:
            raise Unsupported(i.pos, f"{i.extern} {i.name} by {name}, in bmv2's JSON")
        return hash_name

    def arrays(self) -> Json:
        """The lists of extern objects."""
        lists: dict[str, list[Json]] = {
            name: [] for name in ("meter_arrays", "counter_arrays", "register_arrays", "extern_instances")
        }
        bound = self.bound()

        def add(name: str, i: ir.ExternInstance, more: Mapping[str, Any]) -> None:
            lists[name].append({"name": i.name, "id": len(lists[name]), **self.source_info(i.pos), **more})

        for i in self.program.externs:
            table = bound.get(i.name)
            if i.extern == "Counter":
                add("counter_arrays", i, {"size": constructor.number(i, "n_counters"), "is_direct": False})
            elif i.extern == "DirectCounter" and table is not None:
                add("counter_arrays", i, {"is_direct": True, "binding": table.name})
            elif i.extern == "DirectMeter" and table is not None:
                add("meter_arrays", i, self.direct_meter(i, table, _unit(i).lower()))
            elif i.extern == "Register":
                add("register_arrays", i, _register(i))
            attributes = self._attributes(i)
            if attributes is not None:
                add("extern_instances", i, {"type": i.extern, "attribute_values": attributes})
        return lists

    def _attributes(self, i: ir.ExternInstance) -> list[Json] | None:
        """The attributes of an object in ``extern_instances``; None where psa_switch has no such type."""
        if i.extern == "Counter":
            return [_number("n_counters", constructor.number(i, "n_counters")), _counted(i)]
        if i.extern == "Meter":
            size = _number("n_meters", constructor.number(i, "n_meters"))
            return [_number("is_direct", 0), size, _number("rate_count", 2), _text("type", _unit(i).lower())]
        if i.extern == "Hash":
            return [_text("algo", self.algorithm(i))]
        return [] if i.extern == "InternetChecksum" else None


def _unit(i: ir.ExternInstance) -> str:
    return constructor.member(i, "type")


def _counted(i: ir.ExternInstance) -> Json:
    return _number("type", COUNTER_TYPES.index(_unit(i)))


def _number(name: str, value: int) -> Json:
    return {"name": name, "type": "hexstr", "value": digits(value)}


def _text(name: str, value: str) -> Json:
    return {"name": name, "type": "string", "value": value}


def _register(i: ir.ExternInstance) -> Json:
    if "initial_value" in i.params and not (
        isinstance(initial := constructor.argument(i, "initial_value"), ir.Const) and not initial.value
    ):
        raise Unsupported(i.pos, f"register {i.name} with an initial value, in bmv2's JSON")
    return {"bitwidth": register_width(i).width, "size": constructor.number(i, "size")}
