# SPDX-License-Identifier: Apache-2.0
"""The blocks of V1Switch by the names that v1model.p4 gives its parameters."""

from __future__ import annotations

from typing import Final

from offramp_p4 import ir
from offramp_p4.source import Unsupported

Block = ir.ParserInstance | ir.ControlInstance
_PARSER: Final = "p"
_CONTROLS: Final = ("vr", "ig", "eg", "ck", "dep")


def blocks_of(program: ir.Program) -> dict[str, Block]:
    """The parser ``p`` and the controls ``vr``, ``ig``, ``eg``, ``ck`` and ``dep``, in the order of their work.

    Raises:
        Unsupported: another architecture, or one of the blocks is missing.
    """
    main = program.main
    if main.type_name != "V1Switch":
        raise Unsupported(main.pos, f"architecture {main.type_name} (V1Switch is)")
    blocks: dict[str, Block] = {}
    for name in (_PARSER, *_CONTROLS):
        block = main.args.get(name)
        if not isinstance(block, ir.ParserInstance if name == _PARSER else ir.ControlInstance):
            raise Unsupported(main.pos, f"V1Switch without {name}")
        blocks[name] = block
    return blocks
