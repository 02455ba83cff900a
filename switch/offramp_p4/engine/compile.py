# SPDX-License-Identifier: Apache-2.0
"""Compiles a program to functions that run its parsers and controls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from offramp_base.errors import OfframpError
from offramp_p4.engine import arithmetic, calls, headers, lvalues, parsers, statements, tables, walk
from offramp_p4.engine.generator import Generator, Generators, GeneratorTarget, Run
from offramp_p4.engine.layout import CellLayout, Memory

if TYPE_CHECKING:
    from offramp_p4 import ir

RULES = (arithmetic, calls, headers, parsers, lvalues, statements, tables)
"""The modules that register the rules for all nodes when they are imported."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """Functions of blocks, the memory that a packet starts with, and the generated text."""

    functions: list[Run]
    template: Memory
    source: str


def compile_blocks(
    program: ir.Program,
    layout: CellLayout,
    target: GeneratorTarget,
    blocks: Sequence[walk.Block],
    generator: Generators = Generator,
) -> Compiled:
    """Compile ``blocks`` and all that they use; their parameters must have been placed.

    Raises:
        OfframpError: the program nests deeper than Python's stack.
        Unsupported: the program uses something that the engine or the target does not execute.
    """
    try:
        g = generator(program, layout, target)
        names = [calls.block(g, b) for b in blocks]
        module = g.load()
    except RecursionError:
        raise OfframpError(f"{program.file}: the program nests its expressions or statements too deeply") from None
    functions = [g.entry(block, module[name]) for block, name in zip(blocks, names, strict=True)]
    return Compiled(functions, layout.template(), g.source)
