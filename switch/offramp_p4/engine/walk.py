# SPDX-License-Identifier: Apache-2.0
"""Traversal of the intermediate representation."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from offramp_p4 import ir
from offramp_p4.types import Structure, Tuple, Type, strip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Block = ir.ParserInstance | ir.ControlInstance
# What a node refers to without containing it.
_REFERRED = (ir.Var, Type, ir.ParserInstance, ir.ControlInstance, ir.ExternInstance, ir.ValueSet)
_DECLARATIONS = (ir.MatchTable, ir.Action, ir.UserFunction)


class _Kind(NamedTuple):
    """The treatment of one type's values by a walk; looked up, since programs have a hundred thousand of them."""

    contained: Callable[[Any], tuple[Any, ...]]
    """Maps a value to its possible contents, last first."""
    is_node: bool
    is_referred: bool
    is_declaration: bool


def nodes(root: object, *, into_declarations: bool = False) -> Iterator[object]:
    """``root`` and every node in it; with ``into_declarations`` also the declarations that it calls (once each)."""
    seen: set[int] = set()
    todo = [root]
    while todo:
        node = todo.pop()
        kind = _KINDS.get(type(node)) or _learn(type(node))
        if kind.is_node:
            if node is not root:
                if kind.is_referred or (kind.is_declaration and not into_declarations):
                    continue
                if kind.is_declaration:
                    if id(node) in seen:
                        continue
                    seen.add(id(node))
            yield node
        todo += kind.contained(node)


def contained(node: object) -> tuple[Any, ...]:
    """The possible contents of a node, a sequence or a mapping, last first; of anything else nothing."""
    return (_KINDS.get(type(node)) or _learn(type(node))).contained(node)


def _learn(kind: type) -> _Kind:
    inside: Callable[[Any], tuple[Any, ...]] = _nothing
    names = [f.name for f in reversed(fields(kind))] if is_dataclass(kind) else []
    if issubclass(kind, list | tuple):
        inside = _reversed
    elif issubclass(kind, dict):
        inside = _values
    elif len(names) > 1:
        inside = attrgetter(*names)
    elif names:
        inside = _alone(names[0])
    children = _KINDS[kind] = _Kind(inside, bool(names), issubclass(kind, _REFERRED), issubclass(kind, _DECLARATIONS))
    return children


def _nothing(_: object) -> tuple[Any, ...]:
    return ()


def _reversed(sequence: Any) -> tuple[Any, ...]:
    return tuple(sequence[::-1])


def _values(mapping: Any) -> tuple[Any, ...]:
    return tuple(mapping.values())


def _alone(name: str) -> Callable[[Any], tuple[Any, ...]]:
    return lambda node: (getattr(node, name),)


_KINDS: Final[dict[type, _Kind]] = {}


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
