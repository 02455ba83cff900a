# SPDX-License-Identifier: Apache-2.0
"""The memory that a packet has beside its program's variables, in PSA for ingress and egress each."""

from __future__ import annotations

from collections.abc import Sequence

from offramp_base.native.subset import PacketScalar
from offramp_p4.engine.walk import Block
from offramp_p4.native.layout import ByteLayout
from offramp_p4.native.runtime import program as engine
from offramp_p4.native.runtime.portable import program as names
from offramp_p4.native.shape import bits_of, offsets, shape
from offramp_p4.portable.thread import Signature
from offramp_p4.source import Unsupported
from offramp_p4.types import Bits, Structure, Type, strip

_FIELDS: tuple[PacketScalar, ...] = (
    engine.CURSOR,
    engine.LENGTH,
    engine.GROWTH,
    engine.FAULT,
    names.PARSER_ERROR,
)


class PortableCells:
    """Places of headers and metadata, and of ``results``, which are read afterwards.

    Attributes:
        fields: offset and bytes of each field that the run-time system knows, by name; the same in both halves of a
            PSA program.
    """

    def __init__(
        self, layout: ByteLayout, blocks: Sequence[tuple[Block, Signature]], results: Sequence[PacketScalar]
    ) -> None:
        self.fields = {field.name: (layout.reserve(8), 8) for field in (*_FIELDS, *results)}
        self._pos = blocks[0][0].pos
        self._roles: dict[str, tuple[int, Type]] = {}
        for block, signature in blocks:
            if len(block.params) != len(signature):
                raise Unsupported(block.pos, f"{block.name} with {len(block.params)} parameters")
            layout.place_block(
                block, [self._place(layout, role, p.type) for role, p in zip(signature, block.params, strict=True)]
            )

    def _place(self, layout: ByteLayout, role: str, t: Type) -> int | None:
        if not role:
            return None
        if role not in self._roles:
            self._roles[role] = layout.reserve_for(t), t
        base, first = self._roles[role]
        return base if strip(t) == strip(first) else None

    def field(self, role: str, name: str) -> tuple[int, Type, Bits]:
        """Offset, type and bits of a field of the architecture's metadata."""
        base, declared = self._roles[role]
        t = strip(declared)
        if not isinstance(t, Structure) or name not in t.index:
            raise Unsupported(self._pos, f"{t} without the field {name}")
        index = t.index[name]
        bits = bits_of(t.fields[index].type)
        if bits is None:
            raise Unsupported(self._pos, f"{t} whose field {name} is not a number")
        return base + offsets(t)[index], t.fields[index].type, bits

    def span(self, role: str) -> tuple[int, int]:
        """Offset and bytes of all of a role."""
        base, t = self._roles[role]
        return base, shape(t).size
