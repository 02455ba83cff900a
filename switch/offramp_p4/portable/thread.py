# SPDX-License-Identifier: Apache-2.0
"""A parser, controls and a deparser that run one after the other on the memory of one packet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from offramp_p4.engine.compile import compile_blocks
from offramp_p4.engine.faults import ParserFault
from offramp_p4.engine.generator import Generator, Generators
from offramp_p4.engine.layout import CURSOR, FRAME, LENGTH, OUTPUT
from offramp_p4.source import Unsupported
from offramp_p4.types import BOOL, ERROR, Bits, Enum, Structure, Type, strip

if TYPE_CHECKING:
    from offramp_p4 import ir
    from offramp_p4.engine.generator import Run
    from offramp_p4.engine.layout import CellLayout, Memory
    from offramp_p4.engine.walk import Block
    from offramp_p4.portable.target import PortableTarget

Signature = tuple[str, ...]
"""The role of each parameter of a block; "" is the packet. Parameters of one role are one place."""


class PortableThread:
    """Blocks compiled together: a parser, controls, and a deparser.

    Attributes:
        target: the target to which the generated code refers.
        source: the generated Python text.
    """

    def __init__(
        self,
        program: ir.Program,
        blocks: Sequence[tuple[Block, Signature]],
        target: PortableTarget,
        generator: Generators = Generator,
    ) -> None:
        layout, self.target = target.layout, target
        self._pos = blocks[0][0].pos
        self._roles: dict[str, tuple[int, Type]] = {}
        for block, signature in blocks:
            if len(block.params) != len(signature):
                raise Unsupported(block.pos, f"{block.name} with {len(block.params)} parameters")
            layout.place_block(
                block, [self._place(layout, role, p.type) for role, p in zip(signature, block.params, strict=True)]
            )
        compiled = compile_blocks(program, layout, self.target, [block for block, _ in blocks], generator)
        self._names = [block.name for block, _ in blocks]
        self._parse, *self._controls, self._deparse = compiled.functions
        self._template, self.source = compiled.template, compiled.source

    def wrap(self, wrapped: Callable[[str, Run], Run]) -> None:
        """Replace each block's function by the one that ``wrapped`` makes of it and of the block's name."""
        functions = [self._parse, *self._controls, self._deparse]
        wrapped_functions = [wrapped(name, run) for name, run in zip(self._names, functions, strict=True)]
        self._parse, *self._controls, self._deparse = wrapped_functions

    def _place(self, layout: CellLayout, role: str, t: Type) -> int | None:
        if not role:
            return None
        if role not in self._roles:
            self._roles[role] = layout.reserve(t.slots), t
        base, first = self._roles[role]
        return base if strip(t) == strip(first) else None

    def field(self, role: str, name: str) -> int:
        """The cell of a field of the architecture's metadata.

        Raises:
            Unsupported: the program declares the metadata itself, and without such a number.
        """
        base, declared = self._roles[role]
        t = strip(declared)
        if not isinstance(t, Structure) or name not in t.index:
            raise Unsupported(self._pos, f"{t} without the field {name}")
        kind = strip(t.fields[t.index[name]].type)
        if not isinstance(kind, Bits | Enum) and kind not in (BOOL, ERROR):
            raise Unsupported(self._pos, f"{t} whose field {name} is of type {kind}")
        return base + t.offsets[t.index[name]]

    def span(self, role: str) -> slice:
        """All cells of a role."""
        base, t = self._roles[role]
        return slice(base, base + t.slots)

    def begin(self, frame: bytes) -> Memory:
        """Memory for a packet at the entry of the parser."""
        m = self._template.copy()
        m[FRAME], m[LENGTH] = frame, len(frame)
        return m

    def parse(self, m: Memory) -> int:
        """Run the parser; the number of the error that it has met, or 0."""
        try:
            self._parse(m)
        except ParserFault as fault:
            return fault.code
        return 0

    def control(self, m: Memory, number: int = 0) -> None:
        """Run one of the controls."""
        self._controls[number](m)

    def deparse(self, m: Memory) -> bytes:
        """Run the deparser; the frame that it makes."""
        m[OUTPUT] = []
        self._deparse(m)
        return b"".join([*m[OUTPUT], m[FRAME][m[CURSOR] :]])
