# SPDX-License-Identifier: Apache-2.0
"""A whole document for bmv2's psa_switch as a PSA program.

psa_switch keeps all metadata of a packet from ingress to egress, and resets them for clones, resubmitted and
recirculated packets. So the metadata that egress shares with ingress are the program's ``normal_meta``; the metadata
of the other ways are empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from offramp_p4 import ir
from offramp_p4.engine import walk
from offramp_p4.types import Struct, StructField, strip
from offramp_p4_tools.bmv2.read.layout import member
from offramp_p4_tools.bmv2.read.portable import PortableReader
from offramp_p4_tools.bmv2.read.portable_types import declared
from offramp_p4_tools.bmv2.read.program import control, packet_out

_NOTHING: Final = Struct("empty_metadata_t", fields=[])


class PsaReader(PortableReader):
    """Reads a document for psa_switch."""

    kind = "psa"

    def read(self) -> ir.CompiledProgram:
        """The program."""
        own, nodes = self.layout.standard, self.parser_nodes()
        shared = [self.layout.headers, self.layout.metadata]
        ip, ep = (
            self.parsers.read(
                f"{way}_parser",
                self._named(nodes, "parser", f"{way}_parser"),
                [*shared, own[f"psa_{way}_parser_input_metadata"], *(_nothing(name) for name in brought)],
            )
            for way, brought in (
                ("ingress", ("resubmit_meta", "recirculate_meta")),
                ("egress", ("clone_i2e_meta", "clone_e2e_meta")),
            )
        )
        readers = self.pipelines("ingress", "egress")
        self.count_and_meter(readers)
        ig, eg = (
            control(way, [*shared, own[f"psa_{way}_input_metadata"], own[f"psa_{way}_output_metadata"]],
                    reader.statements())
            for way, reader in zip(("ingress", "egress"), readers, strict=True)
        )  # fmt: skip
        out = packet_out()
        id_ = control(
            "ingress_deparser",
            [out, _nothing("clone_i2e_meta"), _nothing("resubmit_meta"), *shared, own["psa_ingress_output_metadata"]],
            self.deparser("ingress_deparser", out),
        )
        ed = control(
            "egress_deparser",
            [out, _nothing("clone_e2e_meta"), _nothing("recirculate_meta"), *shared,
             own["psa_egress_output_metadata"], own["psa_egress_deparser_input_metadata"]],
            self.deparser("egress_deparser", out),
        )  # fmt: skip
        self._carry((ip, ig, id_), (ep, eg, ed))
        blocks: list[ir.ParserInstance | ir.ControlInstance] = [ip, ig, id_, ep, eg, ed]
        for block in blocks:
            self.check_metadata(block)
        engines = [
            ir.ExternInstance(name, name, [], []) for name in ("PacketReplicationEngine", "BufferingQueueingEngine")
        ]
        main = ir.PackageInstance(
            "PSA_Switch",
            "main",
            {
                "ingress": ir.PackageInstance("IngressPipeline", "ingress", {"ip": ip, "ig": ig, "id": id_}),
                "pre": engines[0],
                "egress": ir.PackageInstance("EgressPipeline", "egress", {"ep": ep, "eg": eg, "ed": ed}),
                "bqe": engines[1],
            },
        )
        return self.program(main, blocks, readers, [*self.primitives.undeclared.values(), *engines], declared("psa"))

    def _carry(
        self,
        ingress: tuple[ir.ParserInstance, ir.ControlInstance, ir.ControlInstance],
        egress: tuple[ir.ParserInstance, ir.ControlInstance, ir.ControlInstance],
    ) -> None:
        """Give ingress's deparser and egress's parser ``normal_meta``, with the metadata that both sides use."""
        before, behind = (dict(self._used(blocks)) for blocks in (ingress, egress))
        kept = [place for key, place in before.items() if key in behind]
        t = Struct("normal_metadata_t", fields=[StructField(f"f{i}", place.type) for i, place in enumerate(kept)])
        sent, brought = (ir.Var("normal_meta", t, direction) for direction in ("out", "in"))
        deparser, parser = ingress[2], egress[0]
        deparser.params.insert(3, sent)
        parser.params.insert(4, brought)
        deparser.body.body += [
            ir.Assign(member(ir.VarRef(sent, type=t), i), place) for i, place in enumerate(kept)
        ]  # fmt: skip
        parser.states["start"].body += [
            ir.Assign(place, member(ir.VarRef(brought, type=t), i)) for i, place in enumerate(kept)
        ]

    def _used(self, blocks: Iterable[object]) -> Iterator[tuple[tuple[int, int], ir.Member]]:
        """The fields of user metadata that some blocks use: header, field, and the place."""
        for n in chain.from_iterable(walk.nodes(block, into_declarations=True) for block in blocks):
            if isinstance(n, ir.Member) and isinstance(n.base, ir.Member) and self._is_instance(n.base):
                yield (n.base.index, n.index), n
            for whole in (n.place, n.value) if isinstance(n, ir.Assign) else ():
                if isinstance(whole, ir.Member) and self._is_instance(whole):
                    t = strip(whole.type)
                    assert isinstance(t, Struct)
                    yield from (((whole.index, i), member(whole, i)) for i in range(len(t.fields)))

    def _is_instance(self, place: ir.Member) -> bool:
        """Whether a place is a header instance of user metadata."""
        return isinstance(place.base, ir.VarRef) and place.base.var is self.layout.metadata


def _nothing(name: str) -> ir.Var:
    return ir.Var(name, _NOTHING, "in")
