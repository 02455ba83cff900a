# SPDX-License-Identifier: Apache-2.0
"""Straight code with labels as an action's primitives with jumps."""

from __future__ import annotations

from offramp_p4.source import NOWHERE, Unsupported
from offramp_p4_tools.bmv2.write.code import Apply, Branch, InstructionList, Jump, Label, LabelPosition, Primitive
from offramp_p4_tools.bmv2.write.expressions import hexstr, parameter
from offramp_p4_tools.bmv2.write.places import operation


def jump_code(code: InstructionList) -> list[Primitive]:
    """Straight code without tables as the primitives of one action, jumps by their index.

    Labels that are not in ``code``, END among them, are where the action ends.
    """
    at: dict[Label, int] = {}
    length = 0
    for instruction in code.body:
        if isinstance(instruction, LabelPosition):
            at[instruction.label] = length
        else:
            length += 1
    out: list[Primitive] = []
    for instruction in code.body:
        if isinstance(instruction, Primitive):
            out.append(instruction)
        elif isinstance(instruction, Jump):
            out.append(Primitive("_jump", [hexstr(at.get(instruction.label, length))], NOWHERE))
        elif isinstance(instruction, Branch):
            condition = parameter(operation("b2d", None, instruction.condition))
            offset = hexstr(at.get(instruction.otherwise, length))
            out.append(Primitive("_jump_if_zero", [condition, offset], instruction.pos))
        elif isinstance(instruction, Apply):
            raise Unsupported(instruction.table.pos, f"table {instruction.table.name} applied in an action")
    return out
