# SPDX-License-Identifier: Apache-2.0
"""The memory that a v1model packet has beside its program's variables."""

from __future__ import annotations

from typing import Final

from offramp_base.native.subset import PacketScalar
from offramp_p4 import ir
from offramp_p4.native.layout import ByteLayout
from offramp_p4.native.runtime import program
from offramp_p4.native.shape import bits_of, container, offsets
from offramp_p4.standard_metadata import standard_metadata

_ENGINE: Final = (program.CURSOR, program.LENGTH, program.GROWTH, program.WRITTEN)
_ARCHITECTURE: Final = (
    program.FAULT,
    program.CLONE,
    program.CLONE_SESSION,
    program.CLONE_FIELDS,
    program.RESUBMIT,
    program.RESUBMIT_FIELDS,
    program.RECIRCULATE,
    program.RECIRCULATE_FIELDS,
    program.TRUNCATE,
    program.CHECKSUM_WRONG,
)
_STANDARD: Final = (
    program.INGRESS_PORT,
    program.EGRESS_SPEC,
    program.EGRESS_PORT,
    program.INSTANCE_TYPE,
    program.PACKET_LENGTH,
    program.INGRESS_TIME,
    program.EGRESS_TIME,
    program.GROUP,
    program.REPLICATION_ID,
    program.CHECKSUM_ERROR,
    program.PARSER_ERROR,
    program.PRIORITY,
    program.ENQUEUE_TIME,
    program.ENQUEUE_DEPTH,
    program.DEQUEUE_TIME,
    program.DEQUEUE_DEPTH,
)


class V1Cells:
    """The architecture's places for headers, metadata, and what the externs of a pass ask for.

    Attributes:
        fields: offset and bytes of each field that the run-time system knows, by name.
        colour: colour of the direct meter of the last entry hit.
        headers, user, standard: offsets of the parsed headers and of both kinds of metadata.
        headers_end, end: the offsets after the headers, and after all metadata.
    """

    def __init__(self, layout: ByteLayout, parser: ir.ParserInstance) -> None:
        headers, user, self._standard_type = standard_metadata(parser)
        self.fields: dict[str, tuple[int, int]] = {}
        for field in (*_ENGINE, *_ARCHITECTURE):
            self._own(layout, field)
        self.colour = layout.reserve(8)
        self.headers = layout.reserve_for(headers)
        self.headers_end = layout.size
        self.user = layout.reserve_for(user)
        self.standard = layout.reserve_for(self._standard_type)
        self.end = layout.size
        for field in _STANDARD:
            at, width = self.standard_field(field.name)
            self.fields[field.name] = (self.standard + at, container(width))

    def standard_field(self, name: str) -> tuple[int, int]:
        """Offset within standard_metadata, and bits, of one of its fields."""
        index = self._standard_type.index[name]
        bits = bits_of(self._standard_type.fields[index].type)
        assert bits is not None
        return offsets(self._standard_type)[index], bits.width

    def _own(self, layout: ByteLayout, field: PacketScalar) -> None:
        self.fields[field.name] = (layout.reserve(8), 8)
