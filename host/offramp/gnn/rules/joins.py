# SPDX-License-Identifier: Apache-2.0
"""Tensors behind and beside each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from offramp.gnn.rules.table import argument, rule, valued
from offramp.gnn.tags import EDGES, EXTENDED, NUMBERED, NUMBERS, PAIRS, SOURCES, TARGETS, Tag, mark, tag_of

if TYPE_CHECKING:
    from offramp.gnn.mode import Distribution


@rule("cat", "concat", "concatenate")
def cat(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Rows behind each other have a layout of their own; beside each other they stay what they are."""
    parts, dim = argument(args, kwargs, 0, "tensors"), argument(args, kwargs, 1, "dim", 0)
    if not any(tag_of(each) is not None for each in parts) or not isinstance(dim, int) or kwargs.get("out") is not None:
        return NotImplemented
    parts = [each for each in parts if tag_of(each) is not None or each.shape != (0,)]
    dim %= parts[0].dim()
    tags = [tag_of(each) for each in parts]
    if any(tag is not None and tag.role == PAIRS for tag in tags):
        return _pairs(mode, func, parts, tags, dim)
    if all(tag is not None and tag.dim == dim for tag in tags):
        return _behind(mode, func, parts, tags, dim)
    first = next(tag for tag in tags if tag is not None)
    if first.dim == dim or any(tag is not None and not (tag.like(first) and tag.dim == first.dim) for tag in tags):
        return NotImplemented
    return mark(func(_rows(mode, parts, first), dim), first.valued)


def _rows(mode: Distribution, parts: Any, tag: Tag) -> list[Any]:
    """This rank's rows of each part."""
    return [mode.own_of(each, tag, tag.dim) if tag_of(each) is None else valued(mode, each) for each in parts]


def _behind(mode: Distribution, func: Any, parts: list[Any], tags: list[Any], dim: int) -> Any:
    if any(tag.role == EXTENDED for tag in tags):
        return NotImplemented
    layout = tags[0].layout.joined([tag.layout for tag in tags[1:]])
    role, first = EDGES, tags[0]
    if first.role in (SOURCES, TARGETS) and all(_numbers_of(tag, first) for tag in tags):
        role = tags[0].role
    else:
        parts = [valued(mode, each) for each in parts]
    return mark(func(parts, dim), Tag(role, first.of, dim, layout))


def _numbers_of(tag: Tag, first: Tag) -> bool:
    """Whether numbers are of the same vertices as those of one end of edges."""
    of: Any = first.of
    if tag.role == NUMBERS:
        return tag.of is (of.source if first.role == SOURCES else of.target)
    return tag.role == first.role and tag.of is of


def _pairs(mode: Distribution, func: Any, parts: list[Any], tags: list[Any], dim: int) -> Any:
    """Edges, and loops of all vertices behind them."""
    first = next(tag for tag in tags if tag is not None and tag.role == PAIRS)
    of: Any = first.of
    if dim != 1:
        return NotImplemented
    for tag in tags:
        loops = tag is not None and tag.role == NUMBERS and tag.of is of.source is of.target and tag.dim == 1
        if not loops and (tag is None or tag.role != PAIRS or tag.of is not of):
            return NotImplemented
    layout = tags[0].layout.joined([tag.layout for tag in tags[1:]])
    out = mark(func(parts, dim), Tag(PAIRS, of, 1, layout))
    mode.note(out, of)
    return out


@rule("stack", "vstack")
def stack(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A new dimension; both ends of edges become an edge index."""
    parts = argument(args, kwargs, 0, "tensors")
    tags = [tag_of(each) for each in parts]
    first = next((tag for tag in tags if tag is not None), None)
    dim = argument(args, kwargs, 1, "dim", 0)
    if first is None or not isinstance(dim, int) or kwargs.get("out") is not None:
        return NotImplemented
    if any(tag is not None and not (tag.like(first) and tag.dim == first.dim) for tag in tags):
        return NotImplemented
    if func.__name__ == "vstack" and parts[0].dim() != 1:
        return NotImplemented
    dim %= parts[0].dim() + 1
    roles = [None if tag is None else tag.role for tag in tags]
    if roles == [SOURCES, TARGETS] and dim == 0 and parts[0].dim() == 1:
        out = mark(torch.stack(list(parts)), Tag(PAIRS, first.of, 1, first.rows))
        mode.note(out, first.of)
        return out
    if all(role == NUMBERS for role in roles):
        return mark(torch.stack(list(parts), dim), first.moved(first.dim + (dim <= first.dim)))
    if PAIRS in roles:
        return NotImplemented
    rows = _rows(mode, parts, first) if any(role in NUMBERED or role is None for role in roles) else list(parts)
    return mark(torch.stack(rows, dim), first.valued.moved(first.dim + (dim <= first.dim)))
