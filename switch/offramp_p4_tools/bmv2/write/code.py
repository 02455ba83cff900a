# SPDX-License-Identifier: Apache-2.0
"""Straight code with labels, which becomes actions (jumps), control graphs (nodes) or parsers (states)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from offramp_p4 import ir
    from offramp_p4.source import Pos
    from offramp_p4_tools.bmv2.write.places import Json

Label = int
END: Final[Label] = 0
"""The label of the end of a block of code."""


@dataclass(slots=True)
class Primitive:
    """A call of one of bmv2's primitives, or of a parser's operations."""

    op: str
    parameters: list[Any]
    pos: Pos


@dataclass(slots=True)
class LabelPosition:
    """The position of a label in the code."""

    label: Label


@dataclass(slots=True)
class Jump:
    """Go to a label."""

    label: Label


@dataclass(slots=True)
class Branch:
    """Go to a label if a condition is false."""

    condition: Json
    otherwise: Label
    pos: Pos


@dataclass(slots=True)
class Apply:
    """Apply a table, then go where its outcome says.

    ``ways`` has the keys ``__HIT__`` and ``__MISS__``, or names of actions; None stands for what it does not name.
    """

    table: ir.MatchTable
    ways: dict[str | None, Label]


@dataclass(slots=True)
class Select:
    """The end of a parser state: keys, and the transitions with labels for states."""

    keys: list[Json]
    transitions: list[tuple[Json, Label]]


@dataclass(slots=True)
class LoopRegion:
    """Code with a loop, which stays in one action; nothing outside jumps into it."""

    body: list[Instruction]


Instruction = Primitive | LabelPosition | Jump | Branch | Apply | Select | LoopRegion


class InstructionList:
    """Instructions in order; labels are unique to it."""

    def __init__(self) -> None:
        self.body: list[Instruction] = []
        self._labels = count(1)

    def label(self) -> Label:
        """A label that is nowhere yet."""
        return next(self._labels)

    def add(self, instruction: Instruction) -> None:
        """Append."""
        self.body.append(instruction)

    def mark(self, label: Label) -> None:
        """Put a label here."""
        self.add(LabelPosition(label))

    def jump(self, label: Label) -> None:
        """Append a jump, unless nothing reaches it."""
        if not (self.body and isinstance(self.body[-1], Jump | Select)):
            self.add(Jump(label))


@dataclass(slots=True)
class BasicBlock:
    """Primitives that run one after another, and what comes then: a jump, a branch, a table or a select."""

    label: Label
    body: list[Primitive | LoopRegion] = field(default_factory=list)
    end: Jump | Branch | Apply | Select | None = None
    then: Label = END  # of a branch whose condition holds


def blocks(code: InstructionList) -> dict[Label, BasicBlock]:
    """The basic blocks of code that starts at the first; every label that is jumped to has one, except END."""
    wanted = set(_targets(code.body))
    start = current = BasicBlock(code.label())
    out = {start.label: start}
    for instruction in code.body:
        if isinstance(instruction, LabelPosition):
            if current.end is None:
                if instruction.label not in wanted:
                    continue
                current.end = Jump(instruction.label)
            out[instruction.label] = current = BasicBlock(instruction.label)
            continue
        if current.end is not None:
            current = BasicBlock(code.label())  # nothing reaches it
        if isinstance(instruction, Primitive | LoopRegion):
            current.body.append(instruction)
            continue
        current.end = instruction
        if isinstance(instruction, Branch):
            current.then = code.label()
            out[current.then] = current = BasicBlock(current.then)
    for block in out.values():
        if block.end is None:
            block.end = Jump(END)
    return _threaded(out, start.label)


def _targets(body: list[Instruction]) -> Iterator[Label]:
    """The labels that instructions name, and not only stand behind."""
    for instruction in body:
        if isinstance(instruction, Jump):
            yield instruction.label
        elif isinstance(instruction, Branch):
            yield instruction.otherwise
        elif isinstance(instruction, Apply):
            yield from instruction.ways.values()
        elif isinstance(instruction, Select):
            yield from (label for _, label in instruction.transitions)
        elif isinstance(instruction, LoopRegion):
            yield from _targets(instruction.body)


def _threaded(out: dict[Label, BasicBlock], start: Label) -> dict[Label, BasicBlock]:
    """The blocks that can be reached, without those that only jump; the first stays first."""

    def final(label: Label) -> Label:
        seen = set()
        while label in out and not out[label].body and label not in seen:
            seen.add(label)
            end = out[label].end
            if not isinstance(end, Jump):
                break
            label = end.label
        return label

    kept: dict[Label, BasicBlock] = {}
    todo = [final(start)]
    while todo:
        label = todo.pop()
        if label == END or label in kept:
            continue
        block = kept[label] = out[label]
        end = block.end
        if isinstance(end, Jump):
            end.label = final(end.label)
        elif isinstance(end, Branch):
            end.otherwise, block.then = final(end.otherwise), final(block.then)
        elif isinstance(end, Apply):
            end.ways = {way: final(label) for way, label in end.ways.items()}
        elif isinstance(end, Select):
            end.transitions = [(value, final(label)) for value, label in end.transitions]
        todo.extend(reversed(successors(block)))
    return kept


def successors(block: BasicBlock) -> list[Label]:
    """Labels of the blocks that may follow a block."""
    end = block.end
    if isinstance(end, Jump):
        return [end.label]
    if isinstance(end, Branch):
        return [block.then, end.otherwise]
    if isinstance(end, Apply):
        return list(end.ways.values())
    return [label for _, label in end.transitions] if isinstance(end, Select) else []
