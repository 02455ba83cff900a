# SPDX-License-Identifier: Apache-2.0
"""Rows by index: by the ends of edges from this rank and its halo, by masks where they are, else from all ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from offramp.gnn.rules.table import argument, rule, valued
from offramp.gnn.tags import (
    EDGES,
    EXTENDED,
    NUMBERED,
    NUMBERS,
    PAIRS,
    SOURCES,
    TARGETS,
    VERTICES,
    CannotDistributeError,
    Tag,
    mark,
    mask_name,
    tag_of,
    tensors,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from offramp.gnn.mode import Distribution
    from offramp.gnn.row_layout import RowLayout


@rule("__getitem__")
def getitem(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Rows of an edge index, rows by ends of edges, some of the rows."""
    x, index = args
    tag = tag_of(x)
    parts = index if isinstance(index, tuple) else (index,)
    if tag is None and all(tag_of(each) is None for each in tensors(parts)):
        return NotImplemented
    if tag is not None and tag.role == PAIRS:
        return _of_pairs(mode, func, x, parts, tag)
    first: Any = parts[0] if parts else None
    by = tag_of(first)
    alone = all(_basic(each) for each in parts[1:])
    if by is not None and by.role in (SOURCES, TARGETS, NUMBERS) and alone and by.dim == 0:
        if first.dim() > 1 and len(parts) > 1:
            return NotImplemented

        def rows_by(rows: torch.Tensor, numbers: torch.Tensor) -> Any:
            return func(rows, index if numbers is first else (numbers, *parts[1:]))

        return _gather(mode, x, first, rows_by)
    if tag is None:
        whole = len(parts) == 1 and by is not None and first.dtype not in (torch.bool, torch.uint8)
        return _looked_up(func, x, valued(mode, first)) if whole else NotImplemented
    if tag.role in NUMBERED:
        if len(parts) == 1 and isinstance(first, torch.Tensor):
            first = _own_mask(mode, first, tag)
            by = tag_of(first)
        if len(parts) == 1 and by is not None and first.dtype == torch.bool and first.dim() == 1 and by.like(tag):
            return mark(func(x, first), _some(tag, first))
        return getitem(mode, func, (mode.values_of(x, tag), index), kwargs)
    place = _beside(x, parts, tag)
    if place is not None:
        return mark(func(x, index), tag.moved(place))
    if len(parts) == 1 and tag.dim == 0 and tag.role != EXTENDED and by is None:
        first = _own_mask(mode, first, tag)
        by = tag_of(first)
    if by is not None and len(parts) == 1 and tag.dim == 0 and tag.role != EXTENDED:
        if first.dtype == torch.bool:
            return mark(func(x, first), _some(tag, first)) if first.dim() == 1 and by.like(tag) else NotImplemented
        if first.dtype != torch.uint8:
            return _looked_up(func, mode.whole_of(x, "an index"), valued(mode, first))
    return NotImplemented


def _basic(part: Any) -> bool:
    return part is None or part is Ellipsis or isinstance(part, int | slice)


def _full(part: Any, rows: int = 0) -> bool:
    """Whether a slice is of all rows, of which the whole tensor has ``rows``."""
    if not isinstance(part, slice) or part.step not in (None, 1) or part.start not in (None, 0):
        return False
    return part.stop is None or (isinstance(part.stop, int) and 0 < rows <= part.stop)


def _own_mask(mode: Distribution, mask: Any, tag: Tag) -> Any:
    """This rank's rows of a mask over all rows that all ranks have; anything else as it is."""
    if not isinstance(mask, torch.Tensor) or tag_of(mask) is not None or mask.dtype != torch.bool or mask.dim() != 1:
        return mask
    return mode.own_of(mask, tag, 0) if len(mask) == tag.layout.total > 1 else mask


def _beside(x: torch.Tensor, parts: tuple[Any, ...], tag: Tag) -> int | None:
    """Where the rows' dimension is after an index of other dimensions; None after any other index."""
    dim = tag.dim
    if not all(_basic(each) and not isinstance(each, bool) for each in parts):
        return _beside_list(parts, dim)
    taken = sum(each is not None and each is not Ellipsis for each in parts)
    place = old = 0
    for part in parts:
        if part is None:
            place += 1
        elif part is Ellipsis:
            skipped = x.dim() - taken
            if old <= dim < old + skipped:
                return place + dim - old
            old, place = old + skipped, place + skipped
        else:
            if old == dim:
                return place if _full(part) or (tag.role != EXTENDED and _full(part, tag.layout.total)) else None
            old, place = old + 1, place + isinstance(part, slice)
    return place + dim - old


def _beside_list(parts: tuple[Any, ...], dim: int) -> int | None:
    """``x[:, index]``: rows first, columns by one list or tensor of numbers or a mask that all ranks have."""
    if dim or len(parts) < 2 or not _full(parts[0]):
        return None
    others = [each for each in parts[1:] if not _basic(each)]
    fits = len(others) == 1 and isinstance(others[0], list | torch.Tensor)
    return (
        0
        if fits and tag_of(others[0]) is None and all(isinstance(each, slice) for each in parts if _basic(each))
        else None
    )


def _some(tag: Tag, mask: torch.Tensor) -> Tag:
    """The tag of the rows of a mask."""
    layout = tag.layout.subset(mask, mask_name(mask))
    return Tag(EDGES if tag.role == VERTICES else tag.role, tag.of, tag.dim, layout)


def _looked_up(func: Any, table: torch.Tensor, index: torch.Tensor) -> Any:
    """Rows of a table that all ranks have whole, by this rank's numbers."""
    tag = tag_of(index)
    assert tag is not None
    return mark(func(table, index), tag)


def _of_pairs(mode: Distribution, func: Any, x: torch.Tensor, parts: tuple[Any, ...], tag: Tag) -> Any:
    """One end of edges, or some edges."""
    first = parts[0] if parts else Ellipsis
    if isinstance(first, int) and not isinstance(first, bool):
        if len(parts) == 1 or (len(parts) == 2 and _full(parts[1])):
            return mark(func(x, parts), Tag((SOURCES, TARGETS)[first], tag.of, 0, tag.rows))
        return getitem(mode, func, (mark(x[first], Tag((SOURCES, TARGETS)[first], tag.of, 0, tag.rows)), parts[1:]), {})
    if len(parts) == 1 and (first is Ellipsis or _full(first)):
        return mark(func(x, first), tag)
    mask = _own_mask(mode, parts[-1], tag)
    by = tag_of(mask)
    if len(parts) != 2 or not (_full(first) or first is Ellipsis) or by is None or not by.like(tag):
        return NotImplemented
    if mask.dtype != torch.bool or mask.dim() != 1:
        return NotImplemented
    out = mark(func(x, (first, mask)), _some(tag, mask))
    mode.note(out, tag.of)
    return out


def _gather(
    mode: Distribution, x: torch.Tensor, index: torch.Tensor, take: Callable[[torch.Tensor, torch.Tensor], Any]
) -> Any:
    """Rows by ends of edges: of sources the halo has those of other ranks."""
    by, tag = tag_of(index), tag_of(x)
    assert by is not None
    of: Any = by.of
    out_tag = by.valued
    if tag is None:
        return mark(take(x, mode.values_of(index, by)), out_tag)
    vertices = of if by.role == NUMBERS else of.source if by.role == SOURCES else of.target
    if tag.dim or tag.role not in (VERTICES, EXTENDED) or tag.of is not vertices:
        if tag.role == EXTENDED:
            raise CannotDistributeError("rows of the halo are taken by ends of edges that are other vertices")
        numbers = mode.values_of(index, by)
        whole = mode.whole_of(valued(mode, x), "an index")
        return mark(take(whole, numbers), out_tag)
    remote = by.role == SOURCES and tag.role == VERTICES and mode.comm.size > 1
    rows = mode.extended(x, of.halo) if remote else x
    return mark(take(rows, index), out_tag)


@rule("index_select", "embedding")
def index_select(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Like :func:`getitem`, along a dimension."""
    if func.__name__ == "embedding":
        return _embedding(mode, func, args, kwargs)
    x, dim, index = args[0], argument(args, kwargs, 1, "dim"), argument(args, kwargs, 2, "index")
    tag, by = tag_of(x), tag_of(index)
    if not isinstance(dim, int) or kwargs.get("out") is not None or (tag is None and by is None):
        return NotImplemented
    dim %= max(1, x.dim())
    if tag is not None and tag.role == PAIRS:
        return NotImplemented
    if tag is not None and tag.role in NUMBERED:
        x = mode.values_of(x, tag)
        tag = tag_of(x)
    if by is None:
        assert tag is not None
        return NotImplemented if dim == tag.dim else mark(func(x, dim, index), tag)
    if tag is not None and tag.dim != dim:
        return NotImplemented
    if by.role not in NUMBERED:
        table = x if tag is None else mode.whole_of(x, "index_select")
        return mark(func(table, dim, index), by.moved(dim))
    rows = x if not dim else x.movedim(dim, 0)
    if dim and tag is not None:
        mark(rows, tag.moved(0))

    def rows_by(taken: torch.Tensor, numbers: torch.Tensor) -> Any:
        return func(*args, **kwargs) if taken is x and numbers is index else torch.index_select(taken, 0, numbers)

    out = _gather(mode, rows, index, rows_by)
    out_tag = tag_of(out)
    assert out_tag is not None
    return mark(out.movedim(0, dim), out_tag.moved(dim)) if dim else out


def _embedding(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Rows of a table that all ranks have, by numbers of each row."""
    given = dict(zip(("input", "weight", "padding_idx", "max_norm"), args, strict=False)) | kwargs
    index, table = given["input"], given["weight"]
    tag = tag_of(index)
    if tag is None or tag.role == PAIRS or given.get("max_norm") is not None:
        return NotImplemented
    args = tuple(mode.whole_of(each, "embedding") if each is table else valued(mode, each) for each in args)
    return mark(func(*args, **kwargs), tag.valued)


@rule("gather", "take_along_dim")
def gather(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001
    """Elements of each row by numbers of the same row."""
    names = ("dim", "index") if func.__name__ == "gather" else ("indices", "dim")
    x, given = args[0], {name: argument(args, kwargs, place + 1, name) for place, name in enumerate(names)}
    dim: Any = given["dim"]
    index: Any = given.get("index", given.get("indices"))
    tag, by = tag_of(x), tag_of(index)
    if tag is None or by is None or not isinstance(dim, int) or kwargs.get("out") is not None or not tag.like(by):
        return NotImplemented
    same = tag.dim == by.dim and x.dim() == index.dim() and dim % x.dim() != tag.dim
    if not same or tag.role in NUMBERED or by.role in NUMBERED:
        return NotImplemented
    return mark(func(*args, **kwargs), tag)


@rule("__setitem__")
def setitem(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001
    """Some columns, or the rows of a mask, where they are."""
    x, index, value = args
    tag, parts = tag_of(x), index if isinstance(index, tuple) else (index,)
    if tag is None or tag.role in NUMBERED:
        return NotImplemented
    its = tag_of(value)
    scalar = not isinstance(value, torch.Tensor) or (value.dim() == 0 and its is None)
    by, first = tag_of(parts[0]), parts[0]
    if by is None:
        place = None if any(map(tag_of, tensors(parts))) else _beside(x, parts, tag)
        fits = scalar or (its is not None and its.like(tag) and its.role not in NUMBERED)
        if place is None or not fits:
            return NotImplemented
        if not scalar and value.dim() - its.dim != x[index].dim() - place:  # type: ignore[union-attr]
            return NotImplemented
        return func(x, index, value)
    if len(parts) > 1 or tag.dim or by.dim:
        return NotImplemented
    if first.dtype == torch.bool:
        if by.like(tag) and (scalar or (first.dim() == 1 and _is_rows(its, tag.layout, first))):
            return func(x, index, value)
        return NotImplemented
    if by.role in (SOURCES, TARGETS) and (scalar or (its is not None and its.like(by) and its.dim == 0)):
        of: Any = by.of
        rows = tag.role == VERTICES and tag.of is (of.source if by.role == SOURCES else of.target)
        if rows and (by.role == TARGETS or _loops(by)):
            return func(x, first, value)
    return NotImplemented


def _is_rows(tag: Tag | None, layout: RowLayout, mask: torch.Tensor) -> bool:
    """Whether a tag is that of the rows of a mask, whose name says so."""
    name = mask_name(mask)
    return tag is not None and tag.dim == 0 and name is not None and tag.rows is layout.subset(mask, name)


def _loops(tag: Tag) -> bool:
    """Whether edges are some of the loops, whose sources are own vertices."""
    return tag.rows is not None and tag.rows.loops
