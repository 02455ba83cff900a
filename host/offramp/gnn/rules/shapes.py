# SPDX-License-Identifier: Apache-2.0
"""Functions that change shapes: the dimension of the rows stays whole, or moves."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch

from offramp.gnn.rules.sizes import shape_of
from offramp.gnn.rules.table import argument, rule
from offramp.gnn.tags import EXTENDED, NUMBERED, PAIRS, Tag, mark, tag_of

if TYPE_CHECKING:
    from offramp.gnn.mode import Distribution


def _sizes(args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> list[int] | None:
    """Sizes that are given one by one, as a sequence, or by name."""
    given = args[1:] or (kwargs.get(name),)
    if len(given) == 1 and isinstance(given[0], list | tuple):
        given = tuple(given[0])
    return list(given) if given and all(isinstance(each, int) for each in given) else None


def _reshaped(mode: Distribution, x: torch.Tensor, tag: Tag, sizes: list[int]) -> tuple[list[int], int] | None:
    """This rank's sizes for the whole tensor's, and the rows' dimension; None if the rows do not stay whole."""
    before, beside = math.prod(x.shape[: tag.dim]), math.prod(x.shape[tag.dim + 1 :])
    rows = x.shape[tag.dim]
    if -1 in sizes:
        dim = sizes.index(-1)
        if math.prod(sizes[:dim]) == before and math.prod(sizes[dim + 1 :]) == beside and before * beside:
            return [*sizes[:dim], rows, *sizes[dim + 1 :]], dim
    if tag.role == EXTENDED:
        return None
    whole = math.prod(shape_of(mode, x))
    if -1 in sizes:
        rest = -math.prod(sizes)
        if rest <= 0 or whole % rest:
            return None
        sizes = [whole // rest if each == -1 else each for each in sizes]
    if math.prod(sizes) != whole or not whole:
        return None
    total = tag.layout.total
    for dim, size in enumerate(sizes):
        if size == total and math.prod(sizes[:dim]) == before:
            return [*sizes[:dim], rows, *sizes[dim + 1 :]], dim
    return None


@rule("view", "reshape", "_unsafe_view", "_reshape_alias", "view_copy")
def view(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Other sizes, among which the number of rows still is."""
    tag = tag_of(args[0])
    if tag is None or tag.role == PAIRS:
        return NotImplemented
    sizes = _sizes(args, kwargs, "shape" if func.__name__ == "reshape" else "size")
    local = None if sizes is None else _reshaped(mode, args[0], tag, sizes)
    return NotImplemented if local is None else mark(func(args[0], local[0]), tag.moved(local[1]))


@rule("view_as", "reshape_as")
def view_as(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The sizes of another tensor."""
    del func, kwargs
    tag = tag_of(args[0])
    if tag is None or tag.role == PAIRS:
        return NotImplemented
    local = _reshaped(mode, args[0], tag, list(shape_of(mode, args[1])))
    return NotImplemented if local is None else mark(args[0].reshape(local[0]), tag.moved(local[1]))


@rule("flatten", "ravel")
def flatten(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001
    """Dimensions that become one, but not that of the rows."""
    x, tag = args[0], tag_of(args[0])
    if tag is None or tag.role == PAIRS or not x.dim():
        return NotImplemented
    first, last = argument(args, kwargs, 1, "start_dim", 0), argument(args, kwargs, 2, "end_dim", -1)
    if not (isinstance(first, int) and isinstance(last, int)):
        return NotImplemented
    first, last = first % x.dim(), last % x.dim()
    if first <= tag.dim <= last and first != last:
        beside = math.prod(x.shape[first : tag.dim]) * math.prod(x.shape[tag.dim + 1 : last + 1])
        if beside != 1:
            return NotImplemented
        return mark(func(*args, **kwargs), tag.moved(first))
    return mark(func(*args, **kwargs), tag.moved(tag.dim - (last - first if last < tag.dim else 0)))


@rule("unflatten")
def unflatten(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001
    """A dimension that becomes several, which is not that of the rows."""
    x, tag, dim = args[0], tag_of(args[0]), argument(args, kwargs, 1, "dim")
    if tag is None or tag.role == PAIRS or not isinstance(dim, int) or dim % x.dim() == tag.dim:
        return NotImplemented
    out = func(*args, **kwargs)
    return mark(out, tag.moved(tag.dim + (out.dim() - x.dim() if dim % x.dim() < tag.dim else 0)))


@rule("expand", "expand_copy", "broadcast_to")
def expand(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001
    """More of other dimensions."""
    x, tag = args[0], tag_of(args[0])
    sizes = _sizes(args, kwargs, "size")
    if tag is None or tag.role == PAIRS or sizes is None:
        return NotImplemented
    dim = tag.dim + len(sizes) - x.dim()
    if sizes[dim] != -1 and (tag.role == EXTENDED or sizes[dim] != tag.layout.total):
        return NotImplemented
    local = [*sizes[:dim], x.shape[tag.dim], *sizes[dim + 1 :]]
    return mark(func(x, local), tag.moved(dim))


@rule("expand_as")
def expand_as(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The sizes of another tensor."""
    x, other = args[0], argument(args, kwargs, 1, "other")
    tag, like = tag_of(x), tag_of(other)
    if tag is None or like is None:
        return expand(mode, torch.Tensor.expand, (x, *shape_of(mode, other)), {})
    if PAIRS in (tag.role, like.role) or not tag.like(like) or x.dim() - tag.dim != other.dim() - like.dim:
        return NotImplemented
    return mark(func(x, other), tag.moved(like.dim))


@rule("repeat", "tile")
def repeat(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001
    """Copies in other dimensions."""
    x, tag = args[0], tag_of(args[0])
    times = _sizes(args, kwargs, "repeats" if func.__name__ == "repeat" else "dims")
    if tag is None or tag.role == PAIRS or times is None:
        return NotImplemented
    times = [1] * (x.dim() - len(times)) + times
    dim = tag.dim + len(times) - x.dim()
    return mark(func(x, times), tag.moved(dim)) if times[dim] == 1 else NotImplemented


def _moved(x: torch.Tensor, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[int] | None:
    """For each dimension of the result, the one of ``x`` that it was; -1: a new one."""
    count = x.dim()
    old = list(range(count))
    if name == "unsqueeze":
        dim = argument(args, kwargs, 1, "dim")
        old.insert(dim % (count + 1), -1)
    elif name in ("t", "get.T", "get.H", "adjoint"):
        old = old[::-1] if name in ("t", "get.T", "get.H") else [*old[:-2], old[-1], old[-2]]
    elif name in ("get.mT", "get.mH"):
        old = [*old[:-2], old[-1], old[-2]]
    elif name in ("transpose", "swapaxes", "swapdims"):
        names = {"transpose": ("dim0", "dim1"), "swapaxes": ("axis0", "axis1"), "swapdims": ("dim0", "dim1")}[name]
        first, second = (argument(args, kwargs, place + 1, key) for place, key in enumerate(names))
        if not (isinstance(first, int) and isinstance(second, int)):
            return None
        old[first], old[second] = old[second], old[first]
    elif name == "permute":
        sizes = _sizes(args, kwargs, "dims")
        if sizes is None:
            return None
        old = [each % count for each in sizes]
    else:
        source, target = argument(args, kwargs, 1, "source"), argument(args, kwargs, 2, "destination")
        if not (isinstance(source, int) and isinstance(target, int)):
            return None
        old.insert(target % count, old.pop(source % count))
    return old


@rule("unsqueeze", "t", "get.T", "get.H", "get.mT", "get.mH", "transpose", "swapaxes", "swapdims", "permute", "movedim")
@rule("moveaxis", "adjoint")
def moved(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001
    """Functions that move the dimension of the rows."""
    x, tag = args[0], tag_of(args[0])
    if tag is None or tag.role == PAIRS:
        return NotImplemented
    name = func.__name__
    old = _moved(x, f"get.{func.__self__.__name__}" if name == "__get__" else name, args, kwargs)
    return NotImplemented if old is None else mark(func(*args, **kwargs), tag.moved(old.index(tag.dim)))


@rule("squeeze")
def squeeze(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001
    """Dimensions of size 1, of which the rows' is none."""
    x, tag, dim = args[0], tag_of(args[0]), argument(args, kwargs, 1, "dim")
    if tag is None or tag.role == PAIRS:
        return NotImplemented
    dims = range(x.dim()) if dim is None else [dim] if isinstance(dim, int) else dim
    if any(not isinstance(each, int) for each in dims):
        return NotImplemented
    gone = {each % x.dim() for each in dims if x.shape[each] == 1}
    if any(each % x.dim() == tag.dim for each in dims):
        if tag.role == EXTENDED or tag.layout.total == 1:
            return NotImplemented
        gone.discard(tag.dim)
    out = x
    for each in sorted(gone, reverse=True):
        out = out.squeeze(each)
    if not gone:
        out = x.view_as(x)
    return mark(out, tag.moved(tag.dim - sum(each < tag.dim for each in gone)))


@rule("chunk", "split", "tensor_split", "split_with_sizes", "unsafe_split", "unsafe_chunk", "narrow")
def pieces(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001
    """Pieces of another dimension."""
    x, tag, name = args[0], tag_of(args[0]), func.__name__
    if tag is None or tag.role in NUMBERED:
        return NotImplemented
    dim = argument(args, kwargs, 1 if name == "narrow" else 2, "dim", None if name == "narrow" else 0)
    if not isinstance(dim, int) or dim % x.dim() == tag.dim:
        return NotImplemented
    out = func(*args, **kwargs)
    for each in (out,) if isinstance(out, torch.Tensor) else out:
        mark(each, tag)
    return out
