# SPDX-License-Identifier: Apache-2.0
"""The memory that a packet has in one gress beside its program's variables."""

from __future__ import annotations

from offramp_base.native.subset import PacketScalar
from offramp_p4 import ir
from offramp_p4.native.layout import ByteLayout
from offramp_p4.native.runtime import program as engine
from offramp_p4.native.runtime.tna import program as names
from offramp_p4.native.shape import offsets
from offramp_p4.source import Unsupported
from offramp_p4.tna.blocks import Gress
from offramp_p4.tna.metadata import READ, SIGNATURES, TYPES
from offramp_p4.types import Structure, Type, strip

_FIELDS: tuple[PacketScalar, ...] = (
    engine.CURSOR,
    engine.LENGTH,
    engine.GROWTH,
    engine.FAULT,
    *names.REQUESTS,
    names.DROP,
    *names.TRAFFIC_MANAGER,
)


class GressCells:
    """Places of one gress's headers and metadata, and of what its externs ask for.

    Attributes:
        fields: offset and bytes of each field that the run-time system knows, by name; the same in every gress.
        bases: offset of each role: headers, user, intrinsic, tm, parser, deparser, port.
    """

    def __init__(self, program: ir.Program, layout: ByteLayout, gress: Gress, direction: str) -> None:
        self._program, self.direction = program, direction
        head = layout.reserve(names.HEAD_BYTES)
        assert head == 0
        self.fields = {field.name: (layout.reserve(8), 8) for field in _FIELDS}
        parser = gress.parsers[0]
        self.bases: dict[str, int] = {
            "headers": layout.reserve_for(parser.params[1].type),
            "user": layout.reserve_for(parser.params[2].type),
        }
        for role in TYPES[direction]:
            self.bases[role] = layout.reserve_for(self.structure(role))
            for name in READ.get(role, ()):
                self.field(role, name)
        kinds = [*[SIGNATURES[direction][0]] * len(gress.parsers), *SIGNATURES[direction][1:]]
        for block, roles in zip(gress.blocks, kinds, strict=True):
            if len(block.params) > len(roles):
                raise Unsupported(block.pos, f"{block.name} with {len(block.params)} parameters")
            layout.place_block(block, [None if r is None else self.bases[r] for r in roles[: len(block.params)]])

    def structure(self, role: str) -> Structure:
        """The type of a role's intrinsic metadata."""
        return intrinsic_type(self._program, self.direction, role)

    def field(self, role: str, name: str) -> tuple[int, Type]:
        """Offset and type of a field of intrinsic metadata."""
        t = self.structure(role)
        if name not in t.index:
            raise Unsupported(self._program.main.pos, f"{t} without {name}")
        index = t.index[name]
        return self.bases[role] + offsets(t)[index], t.fields[index].type


def intrinsic_type(program: ir.Program, direction: str, role: str) -> Structure:
    """The type of a role's intrinsic metadata."""
    name = TYPES[direction][role]
    t = strip(program.types[name]) if name in program.types else None
    if not isinstance(t, Structure):
        raise Unsupported(program.main.pos, f"a TNA program without {name}")
    return t
