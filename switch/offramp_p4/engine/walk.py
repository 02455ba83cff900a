# SPDX-License-Identifier: Apache-2.0
"""Traversal of the intermediate representation."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Final

from offramp_p4 import ir
from offramp_p4.types import Structure, Tuple, Type, strip

if TYPE_CHECKING:
    from collections.abc import Iterator

Block = ir.ParserInstance | ir.ControlInstance
# What a node refers to without containing it.
_REFERRED = (ir.Var, Type, ir.ParserInstance, ir.ControlInstance, ir.ExternInstance, ir.ValueSet)
_DECLARATIONS = (ir.Table, ir.Action, ir.Function)


def nodes(root: object, *, into_declarations: bool = False) -> Iterator[object]:
    """``root`` and every node it contains; with ``into_declarations`` also what it calls (once each)."""
    seen: set[int] = set()
    todo = [root]
    while todo:
        node = todo.pop()
        if isinstance(node, list | tuple):
            todo.extend(reversed(node))
        elif isinstance(node, dict):
            todo.extend(node.values())
        elif names := _attributes(node):
            if node is not root:
                if isinstance(node, _REFERRED) or (isinstance(node, _DECLARATIONS) and not into_declarations):
                    continue
                if isinstance(node, _DECLARATIONS):
                    if id(node) in seen:
                        continue
                    seen.add(id(node))
            yield node
            todo.extend(getattr(node, name) for name in names)


def _attributes(node: object) -> tuple[str, ...]:
    """Where a node may contain others, last first; nothing for what is not a node."""
    kind = type(node)
    if kind not in _KNOWN:
        _KNOWN[kind] = tuple(f.name for f in reversed(fields(kind))) if is_dataclass(kind) else ()
    return _KNOWN[kind]


_KNOWN: Final[dict[type, tuple[str, ...]]] = {}


def applies_in(block: Block) -> Iterator[ir.ApplyCall]:
    """The calls of other blocks that stand in ``block``."""
    return (node for node in nodes(block) if isinstance(node, ir.ApplyCall))


def applied(block: Block) -> list[Block]:
    """``block`` and what it applies, callers before what they call; each once."""
    seen: dict[Block, None] = {}
    _visit(block, seen)
    return list(seen)


def blocks(package: ir.PackageInstance) -> Iterator[Block]:
    """Every parser and control that runs, callers before what they call; each once."""
    seen: dict[Block, None] = {}
    for arg in package.args.values():
        if isinstance(arg, ir.PackageInstance):
            for block in blocks(arg):
                _visit(block, seen)
        elif isinstance(arg, ir.ParserInstance | ir.ControlInstance):
            _visit(arg, seen)
    return iter(seen)


def _visit(block: Block, seen: dict[Block, None]) -> None:
    if block not in seen:
        seen[block] = None
        for call in applies_in(block):
            _visit(call.target, seen)


def offset(member: ir.Member) -> int:
    """Cells between the base of a struct, header, union or tuple and its component."""
    base = strip(member.base.type)
    if isinstance(base, Structure | Tuple):
        return base.offsets[member.index]
    msg = f"{base} has no components"
    raise TypeError(msg)


def may_exit(node: object) -> bool:
    """Whether running ``node`` may meet an ``exit`` statement, also in what it calls."""
    for inner in nodes(node, into_declarations=True):
        if isinstance(inner, ir.Exit):
            return True
        if isinstance(inner, ir.ApplyCall) and may_exit(inner.target):
            return True
    return False
