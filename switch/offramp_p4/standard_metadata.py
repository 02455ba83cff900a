# SPDX-License-Identifier: Apache-2.0
"""Whether a v1model program's parser and standard metadata are such as an engine needs.

A program may declare the architecture itself, as the output of a preprocessor does, and so declare something else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from offramp_p4.source import Unsupported
from offramp_p4.types import ERROR, Bits, Structure, Type, strip

if TYPE_CHECKING:
    from offramp_p4 import ir


FIELDS: Final = (
    "ingress_port",
    "egress_spec",
    "egress_port",
    "instance_type",
    "packet_length",
    "ingress_global_timestamp",
    "egress_global_timestamp",
    "mcast_grp",
    "egress_rid",
    "checksum_error",
    "parser_error",
    "priority",
    "enq_timestamp",
    "enq_qdepth",
    "deq_timedelta",
    "deq_qdepth",
)
"""Fields of the standard metadata that the engines read and write."""


def standard_metadata(parser: ir.ParserInstance) -> tuple[Type, Type, Structure]:
    """Types of headers, user metadata and standard metadata.

    Raises:
        Unsupported: other parameters, no struct, or a field is missing or no number.
    """
    if len(parser.params) != 4:
        raise Unsupported(parser.pos, f"{parser.name} with {len(parser.params)} parameters")
    _, headers, user, standard = (each.type for each in parser.params)
    kind = strip(standard)
    if not isinstance(kind, Structure):
        raise Unsupported(parser.pos, f"standard metadata of type {kind}")
    types = {each.name: strip(each.type) for each in kind.fields}
    for name in FIELDS:
        if name not in types:
            raise Unsupported(parser.pos, f"{kind.name} without the field {name}")
        if not isinstance(types[name], Bits) and types[name] != (ERROR if name == "parser_error" else None):
            raise Unsupported(parser.pos, f"{kind.name} whose field {name} is of type {types[name]}")
    return headers, user, kind
