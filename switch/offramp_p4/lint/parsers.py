# SPDX-License-Identifier: Apache-2.0
"""Parser states that no packet reaches."""

from __future__ import annotations

from collections.abc import Iterator

from offramp_p4 import ir
from offramp_p4.engine import walk
from offramp_p4.lint.diagnostic import RULES, Diagnostic


@RULES.register("parsers")
def rule(program: ir.Program) -> Iterator[Diagnostic]:
    """Warnings ``unreachable-state`` and ``unreachable-case``."""
    for block in walk.blocks(program.main):
        if isinstance(block, ir.ParserInstance):
            reached = _reached(block)
            for name, state in block.states.items():
                if name not in reached:
                    yield Diagnostic(state.pos, "unreachable-state", f"no packet reaches state {name} of {block.name}")
                yield from _cases(state)


def _reached(parser: ir.ParserInstance) -> set[str]:
    reached, todo = set(), ["start"]
    while todo:
        name = todo.pop()
        if name not in reached and name in parser.states:
            reached.add(name)
            todo += [case.target for case in parser.states[name].cases]
    return reached


def _cases(state: ir.ParserState) -> Iterator[Diagnostic]:
    """Cases behind one that takes everything."""
    for at, case in enumerate(state.cases[:-1]):
        if all(isinstance(key, ir.KeyAny) for key in case.keys):
            after = state.cases[at + 1]
            yield Diagnostic(after.pos, "unreachable-case", f"the case at line {case.pos.line} takes everything")
            return
