# SPDX-License-Identifier: Apache-2.0
"""A v1model program's document, which bmv2's simple_switch executes."""

from __future__ import annotations

from typing import Any, Final

from offramp_p4 import ir
from offramp_p4.source import Pos, Unsupported
from offramp_p4.standard_metadata import standard_metadata
from offramp_p4.types import Bits, Tuple, strip
from offramp_p4.v1model.blocks import blocks_of
from offramp_p4.v1model.objects import constant, enum_member, register_width
from offramp_p4_tools.bmv2.write.checksums import Checksums, Deparser
from offramp_p4_tools.bmv2.write.controls import write_pipeline
from offramp_p4_tools.bmv2.write.document import ArchitectureJson, Document
from offramp_p4_tools.bmv2.write.parsers import write_parser
from offramp_p4_tools.bmv2.write.places import FieldAt, Json, ValueGroup
from offramp_p4_tools.bmv2.write.v1model_externs import STANDARD, V1modelExterns

_ALIASES: Final = ("ingress_global_timestamp", "egress_global_timestamp", "mcast_grp", "egress_rid", "priority")
_QUEUEING: Final = ("enq_timestamp", "enq_qdepth", "deq_timedelta", "deq_qdepth")


class V1modelDocument(Document):
    """The document of a v1model program."""

    def __init__(self, program: ir.Program) -> None:
        self._blocks = blocks_of(program)
        parser = self._blocks["p"]
        assert isinstance(parser, ir.ParserInstance)
        headers, metadata, standard = standard_metadata(parser)
        super().__init__(program, {STANDARD: standard})
        fields = tuple(FieldAt(STANDARD, f.name, strip(f.type)) for f in standard.fields)
        parameters = {
            "h": self.places.make(headers, "", parser.pos),
            "m": self.places.make(metadata, "userMetadata", parser.pos),
            "s": ValueGroup(fields, standard),
        }
        group = parameters["m"]
        kept = group if isinstance(group, ValueGroup) else ValueGroup((group,), Tuple((strip(metadata),)))
        self.externs: V1modelExterns = V1modelExterns(self, kept)
        for block, signature in zip(self._blocks.values(), ("phms", "hm", "hms", "hms", "hm", "ph"), strict=True):
            assert isinstance(block, ir.ParserInstance | ir.ControlInstance)
            if len(block.params) != len(signature):
                raise Unsupported(block.pos, f"{block.name} with {len(block.params)} parameters")
            for param, kind in zip(block.params, signature, strict=True):
                if kind in parameters:
                    self.variables.bind(param, parameters[kind])

    def packet_length(self, pos: Pos) -> FieldAt:
        """The field with the bytes of the packet."""
        del pos
        return FieldAt(STANDARD, "packet_length", Bits(32))

    def parts(self) -> ArchitectureJson:
        """Write the blocks."""
        parser, verify, ingress, egress, compute, deparser = self._blocks.values()
        assert isinstance(parser, ir.ParserInstance)
        assert all(isinstance(b, ir.ControlInstance) for b in (verify, ingress, egress, compute, deparser))
        parsers = [write_parser(self, parser, "parser", 0)]
        pipelines = [
            write_pipeline(self, ingress, "ingress", 0),  # type: ignore[arg-type]
            write_pipeline(self, egress, "egress", 1),  # type: ignore[arg-type]
        ]
        checksums = Checksums(self, self.externs)
        checksums.write(verify, update=False)  # type: ignore[arg-type]
        checksums.write(compute, update=True)  # type: ignore[arg-type]
        order = Deparser(self).write(deparser)  # type: ignore[arg-type]
        return ArchitectureJson(
            parsers, [{"name": "deparser", "id": 0, "order": order}], pipelines, checksums.json, self._aliases()
        )

    def arrays(self) -> Json:
        """The lists of extern objects."""
        meters: list[Json] = []
        counters: list[Json] = []
        registers: list[Json] = []
        bound = self.bound()
        for i in self.program.externs:
            head: Json = {"name": i.name, "id": 0, **self.source_info(i.pos)}
            if i.extern == "counter":
                counters.append({**head, "id": len(counters), "is_direct": False, "size": constant(i, 0)})
            elif i.extern == "direct_counter" and i.name in bound:
                counters.append({**head, "id": len(counters), "is_direct": True, "binding": bound[i.name].name})
            elif i.extern == "meter":
                more = {"is_direct": False, "rate_count": 2, "type": enum_member(i, 1), "size": constant(i, 0)}
                meters.append({**head, "id": len(meters), **more})
            elif i.extern == "direct_meter" and i.name in bound:
                kind = enum_member(i, 0)
                meters.append({**head, "id": len(meters), **self.direct_meter(i, bound[i.name], kind)})
            elif i.extern == "register":
                width = register_width(i).width
                registers.append({"name": i.name, "id": len(registers), "bitwidth": width, "size": constant(i, 0)})
        return {
            "meter_arrays": meters, "counter_arrays": counters, "register_arrays": registers, "extern_instances": []
        }  # fmt: skip

    def _aliases(self) -> list[Any]:
        known = {name for name, _, _ in self.standard[STANDARD]}
        pairs = [(f"intrinsic_metadata.{name}", name) for name in _ALIASES]
        pairs += [(f"queueing_metadata.{name}", name) for name in _QUEUEING]
        return [[alias, [STANDARD, name]] for alias, name in pairs if name in known]
