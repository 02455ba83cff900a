# SPDX-License-Identifier: Apache-2.0
"""Functions of each element, and those whose answer is the same for some rows as for all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from offramp.gnn.operators import KEEPS_NUMBERS, METADATA, POINTWISE
from offramp.gnn.rules.table import aligned, mark_all, rule, valued
from offramp.gnn.tags import EDGES, NUMBERED, SOURCES, TARGETS, Tag, mark, mask_name, name_mask, tag_of, tensors

if TYPE_CHECKING:
    from offramp.gnn.mode import Distribution


@rule(*sorted(POINTWISE))
def pointwise(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Rows of the result are functions of the same rows."""
    name = func.__name__
    first = tag_of(args[0]) if args else None
    if first is not None and first.role in NUMBERED:
        if name in KEEPS_NUMBERS or name == "__get__":
            return _same_numbers(mode, func, args, kwargs, first)
        if name in ("ne", "eq", "__ne__", "__eq__"):
            mask = _compared(func, args, first)
            if mask is not None:
                return mask
    if any(type(each) is list or type(each) is tuple for each in args) or kwargs.get("out") is not None:
        return NotImplemented
    operands = [valued(mode, each) for each in (*args, *kwargs.values())]
    local = aligned(mode, operands)
    if local is None:
        return NotImplemented
    rows, tag, behind = local
    writes = name.startswith("__i") if name.startswith("__") else name.endswith("_")
    if writes and name != "__invert__" and first is None:
        return NotImplemented
    if writes and first is not None and first.role in NUMBERED:
        return NotImplemented
    count = len(args)
    out = func(*rows[:count], **dict(zip(kwargs, rows[count:], strict=True)))
    out = mark_all(out, tag, behind)
    if name in ("bitwise_not", "logical_not", "__invert__") and (mask := mask_name(args[0])) is not None:
        name_mask(out, ("not", mask))
    return out


def _same_numbers(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], tag: Tag) -> Any:
    out = func(*args, **kwargs)
    if out.dtype == torch.int64:
        return mark(out, tag)
    return mark(func(mode.values_of(args[0], tag), *args[1:], **kwargs), tag.valued)


def _compared(func: Any, args: tuple[Any, ...], first: Tag) -> Any:
    """Whether both ends of edges are one vertex, where the ends' numbers are of the same vertices."""
    second = tag_of(args[1])
    if second is None or {first.role, second.role} != {SOURCES, TARGETS} or not first.like(second):
        return None
    of: Any = first.of
    if of.source is not of.target or first.dim != second.dim or args[0].shape != args[1].shape:
        return None
    mask = mark(func(*args), Tag(EDGES, of, first.dim, first.rows))
    if mask.dim() == 1:
        name_mask(mask, ("loops", func.__name__.strip("_"), id(first.layout), of.index._version))
    return mask


@rule("to", "type_as")
def converted(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Another type or device, which another tensor may have."""
    tag = tag_of(args[0])
    if tag is None:
        return func(*args, **kwargs)
    if tag.role in NUMBERED:
        return _same_numbers(mode, func, args, kwargs, tag)
    return mark(func(*args, **kwargs), tag)


@rule("get.data")
def data(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001
    """The same memory, whose changes are counted."""
    x, tag = args[0], tag_of(args[0])
    return func(x) if tag is None else mark(x.detach(), tag)


@rule("new_tensor")
def new_tensor(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001
    """Values of one's own, of a tensor's type."""
    fits = not any(tag_of(each) is not None for each in tensors([args[1:], kwargs]))
    return func(*args, **kwargs) if fits else NotImplemented


@rule("where")
def where(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """With three arguments; with one it lists the places of all rows."""
    return pointwise(mode, func, args, kwargs) if len(args) + len(kwargs) > 1 else NotImplemented


@rule(*sorted(METADATA))
def metadata(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001
    """What is the same for some rows as for all."""
    return func(*args, **kwargs)


@rule("type")
def type_(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The type's name, or a conversion."""
    return pointwise(mode, func, args, kwargs) if len(args) + len(kwargs) > 1 else func(*args)
