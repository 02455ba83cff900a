# SPDX-License-Identifier: Apache-2.0
"""The types that PSA and PNA declare: those of our own ``psa.p4`` and ``pna.p4``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from offramp_p4.types import Enum, Struct, Type
from offramp_p4_tools.bmv2.read.layout import ArchitectureMetadata

_SHELLS: Final = {
    "psa": """
#include <bmv2/psa.p4>
struct none { }
parser IP(packet_in p, out none h, inout none m, in psa_ingress_parser_input_metadata_t i, in none a, in none b) {
    state start { transition accept; }
}
control IG(inout none h, inout none m, in psa_ingress_input_metadata_t i, inout psa_ingress_output_metadata_t o) {
    apply { }
}
control ID(packet_out p, out none a, out none b, out none c, inout none h, in none m,
           in psa_ingress_output_metadata_t i) { apply { } }
parser EP(packet_in p, out none h, inout none m, in psa_egress_parser_input_metadata_t i, in none a, in none b,
          in none c) { state start { transition accept; } }
control EG(inout none h, inout none m, in psa_egress_input_metadata_t i, inout psa_egress_output_metadata_t o) {
    apply { }
}
control ED(packet_out p, out none a, out none b, inout none h, in none m, in psa_egress_output_metadata_t i,
           in psa_egress_deparser_input_metadata_t d) { apply { } }
PSA_Switch(IngressPipeline(IP(), IG(), ID()), PacketReplicationEngine(), EgressPipeline(EP(), EG(), ED()),
           BufferingQueueingEngine()) main;
""",
    "pna": """
#include <bmv2/pna.p4>
struct none { }
parser MP(packet_in p, out none h, inout none m, in pna_main_parser_input_metadata_t i) {
    state start { transition accept; }
}
control MC(inout none h, inout none m, in pna_main_input_metadata_t i, inout pna_main_output_metadata_t o) {
    apply { }
}
control MD(packet_out p, inout none h, in none m, in pna_main_output_metadata_t o) { apply { } }
PNA_NIC(MP(), MC(), MD()) main;
""",
}


@cache
def declared(kind: str) -> Mapping[str, Type]:
    """The named types of an architecture.

    Args:
        kind: ``psa`` or ``pna``.
    """
    from offramp_p4.frontend import load_text

    types = load_text(_SHELLS[kind]).types
    return {name: t for name, t in types.items() if name != "none"}


@cache
def metadata(kind: str) -> ArchitectureMetadata:
    """The metadata of an architecture by the names that bmv2 has for them: those of their types without ``_t``."""
    structs = {name.removesuffix("_t"): t for name, t in declared(kind).items() if isinstance(t, Struct)}
    fields = {name: {f.name: f.type for f in t.fields} for name, t in structs.items()}
    return ArchitectureMetadata(fields, required=False)


def enum(kind: str, name: str) -> Enum:
    """An enum of an architecture, such as ``CounterType``."""
    declared_enum = declared(kind)[f"{kind.upper()}_{name}_t"]
    assert isinstance(declared_enum, Enum)
    return declared_enum
