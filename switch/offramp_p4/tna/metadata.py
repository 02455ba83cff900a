# SPDX-License-Identifier: Apache-2.0
"""The cells that a packet has in one gress beside its program's variables, and the headers of the chip."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from offramp_p4.engine import bits
from offramp_p4.source import Unsupported
from offramp_p4.types import Header, Structure, strip

if TYPE_CHECKING:
    from collections.abc import Mapping

    from offramp_p4 import ir
    from offramp_p4.engine.layout import CellLayout
    from offramp_p4.tna.blocks import Gress

UNSET_PORT: Final = 0x1FF
"""ucast_egress_port as long as nothing has been written: no unicast copy."""

UNSET_TYPES: Final = ("digest_type", "mirror_type", "resubmit_type")
"""Fields for the deparser that have all bits set as long as nothing has been written: 0 is a type like any other."""

TYPES: Final[dict[str, dict[str, str]]] = {
    "ingress": {
        "intrinsic": "ingress_intrinsic_metadata_t",
        "tm": "ingress_intrinsic_metadata_for_tm_t",
        "parser": "ingress_intrinsic_metadata_from_parser_t",
        "deparser": "ingress_intrinsic_metadata_for_deparser_t",
    },
    "egress": {
        "intrinsic": "egress_intrinsic_metadata_t",
        "parser": "egress_intrinsic_metadata_from_parser_t",
        "deparser": "egress_intrinsic_metadata_for_deparser_t",
        "port": "egress_intrinsic_metadata_for_output_port_t",
    },
}
"""The types of intrinsic metadata by direction and role."""
READ: Final = {
    "tm": (
        "ucast_egress_port",
        "bypass_egress",
        "copy_to_cpu",
        "icos_for_copy_to_cpu",
        "ingress_cos",
        "mcast_grp_a",
        "mcast_grp_b",
        "qid",
        "rid",
    ),
    "deparser": ("drop_ctl",),
}
"""Fields that the chip reads after a pass; a program that declares the types itself must have them."""
SIGNATURES: Final[dict[str, tuple[tuple[str | None, ...], ...]]] = {
    "ingress": (
        (None, "headers", "user", "intrinsic", "tm", "parser"),
        ("headers", "user", "intrinsic", "parser", "deparser", "tm"),
        (None, "headers", "user", "deparser", "intrinsic"),
    ),
    "egress": (
        (None, "headers", "user", "intrinsic", "parser", "deparser"),
        ("headers", "user", "intrinsic", "parser", "deparser", "port"),
        (None, "headers", "user", "deparser", "intrinsic", "parser"),
    ),
}
"""The roles of the parameters of parser, control and deparser; None is the packet."""


class GressMetadata:
    """Places of one gress's headers and metadata, and of what its externs ask for.

    Attributes:
        bases: first cell of each role: headers, user, intrinsic, tm, parser, deparser, port.
        wire_length: bytes of the packet without the chip's own header in front, with its check sequence: what byte
            counts count.
        mirror: 0, or (session, header bytes).
        resubmit: 0, or the data as bytes.
        digests: 0, or the digests of this pass.
    """

    def __init__(self, program: ir.Program, layout: CellLayout, gress: Gress, direction: str) -> None:
        self._program, self.direction = program, direction
        self.wire_length = layout.reserve()
        self.mirror = layout.reserve()
        self.resubmit = layout.reserve()
        self.digests = layout.reserve()
        parser = gress.parsers[0]
        self.bases: dict[str, int] = {
            "headers": layout.reserve(parser.params[1].type.slots),
            "user": layout.reserve(parser.params[2].type.slots),
        }
        for role in TYPES[direction]:
            self.bases[role] = layout.reserve(self.structure(role).slots)
            for name in READ.get(role, ()):
                self.field(role, name)
        kinds = [*[SIGNATURES[direction][0]] * len(gress.parsers), *SIGNATURES[direction][1:]]
        for block, roles in zip(gress.blocks, kinds, strict=True):
            if len(block.params) > len(roles):
                raise Unsupported(block.pos, f"{block.name} with {len(block.params)} parameters")
            layout.place_block(block, [None if r is None else self.bases[r] for r in roles[: len(block.params)]])

    def structure(self, role: str) -> Structure:
        """The type of a role's intrinsic metadata."""
        name = TYPES[self.direction][role]
        t = strip(self._program.types[name]) if name in self._program.types else None
        if not isinstance(t, Structure):
            raise Unsupported(self._program.main.pos, f"a TNA program without {name}")
        return t

    def field(self, role: str, name: str) -> int:
        """The cell of a field of intrinsic metadata."""
        t = self.structure(role)
        if name not in t.index:
            raise Unsupported(self._program.main.pos, f"{t} without {name}")
        return self.bases[role] + t.offsets[t.index[name]]

    def intrinsic(self) -> IntrinsicHeader:
        """The header that the chip puts in front of a packet."""
        t = self.structure("intrinsic")
        if not isinstance(t, Header):
            raise Unsupported(self._program.main.pos, f"{t} that is not a header")
        return IntrinsicHeader(t)


def unset_types(deparser: Structure) -> dict[str, int]:
    """Initial values of the :data:`UNSET_TYPES`, from the type of a deparser's metadata."""
    return {f.name: (1 << bits.width(f.type)) - 1 for f in deparser.fields if f.name in UNSET_TYPES}


class IntrinsicHeader:
    """The chip's header in front of the packet that a parser sees."""

    def __init__(self, header: Header) -> None:
        self._header, self._kinds = header, bits.kinds(header)

    def pack(self, values: Mapping[str, int]) -> bytes:
        """The bytes of the header; fields that are not given, or not in it, are 0."""
        cells = [1, *(values.get(f.name, 0) for f in self._header.fields)]
        number, width = bits.serialise(self._kinds, cells)
        return number.to_bytes(width // 8, "big")
