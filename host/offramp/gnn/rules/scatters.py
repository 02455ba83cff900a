# SPDX-License-Identifier: Apache-2.0
"""Sums and other reductions at the ends of edges, and at anything else that all ranks share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from offramp.gnn import statistics
from offramp.gnn.halo import collect
from offramp.gnn.rules.table import argument, relaid, rule, valued
from offramp.gnn.tags import EXTENDED, NUMBERED, PAIRS, SOURCES, TARGETS, VERTICES, Tag, mark, tag_of

if TYPE_CHECKING:
    from offramp.gnn.mode import Distribution


@rule("scatter_add_", "scatter_add", "scatter_reduce_", "scatter_reduce", "index_add_", "index_add", "index_reduce_")
@rule("scatter_", "scatter", "index_reduce", "index_copy", "index_copy_")
def scatter(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Edges to their targets and sources; sums of rows into what all ranks have."""
    name = func.__name__
    base, dim, index = args[0], argument(args, kwargs, 1, "dim"), argument(args, kwargs, 2, "index")
    source = argument(args, kwargs, 3, "src" if name.startswith("scatter") else "source")
    by, tag = tag_of(index), tag_of(base)
    if by is None or by.role == PAIRS or not isinstance(dim, int) or kwargs.get("out") is not None:
        return NotImplemented
    its, dim = tag_of(source), dim % max(1, base.dim())
    tensor = isinstance(source, torch.Tensor)
    if name.startswith("index_") and not tensor:
        return NotImplemented
    if tensor and (its is None or not its.like(by) or its.dim != (by.dim if name.startswith("scatter") else dim)):
        return NotImplemented
    if by.dim != (dim if name.startswith("scatter") else 0) or (its is not None and its.role == EXTENDED):
        return NotImplemented
    if its is not None and its.role in NUMBERED:
        source = valued(mode, source)
        args = (*args[:3], source, *args[4:]) if len(args) > 3 else args
        kwargs = {key: source if key in ("src", "source") else each for key, each in kwargs.items()}
    if by.role == TARGETS:
        return _at_targets(mode, func, args, kwargs, by, dim)
    sums = name.startswith(("scatter_add", "index_add"))
    if by.role == SOURCES:
        return _at_sources(mode, func, args, kwargs, by) if sums and not dim else NotImplemented
    if not sums or tag is not None or (base.requires_grad and base.is_leaf and name.endswith("_")):
        return NotImplemented
    _check_sum(mode, base)
    numbers = valued(mode, index)
    given = [numbers if each is index else each for each in args[1:]]
    part = func(torch.zeros_like(base), *given, **{k: numbers if v is index else v for k, v in kwargs.items()})
    return _put(name, base, base + statistics.total(mode, part))


def _check_sum(mode: Distribution, base: torch.Tensor) -> None:
    from offramp.gnn.mode import check_written

    del mode
    check_written("a sum", base)


def _vertices(mode: Distribution, base: torch.Tensor, vertices: Any, dim: int) -> torch.Tensor | None:
    """The rows that a function writes to, with one for each own vertex."""
    tag = tag_of(base)
    if tag is None:
        if base.dim() <= dim or base.shape[dim] != vertices.layout.total:
            return None
        return mode.own_of(base, Tag(VERTICES, vertices), dim)
    if tag.role == VERTICES and tag.of is vertices and tag.dim == dim:
        return base
    return base if relaid(base, Tag(VERTICES, vertices), dim) else None


def _at_targets(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], by: Tag, dim: int) -> Any:
    """All edges of a target are on the rank that owns it."""
    target = by.of.target  # type: ignore[union-attr]
    base = _vertices(mode, args[0], target, dim)
    if base is None or (base is not args[0] and func.__name__.endswith("_")):
        return NotImplemented
    return mark(func(base, *args[1:], **kwargs), Tag(VERTICES, target, dim))


def _at_sources(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], by: Tag) -> Any:
    """Sums at the sources of edges: those of the halo go to their owners."""
    edges: Any = by.of
    name, halo = func.__name__, edges.halo
    base = _vertices(mode, args[0], edges.source, 0)
    if base is None or (base is not args[0] and name.endswith("_")):
        return NotImplemented
    wide = base.new_zeros((halo.owned + halo.rows, *base.shape[1:]))
    out = base + collect(func(wide, *args[1:], **kwargs), halo)
    return mark(_put(name, base, out), Tag(VERTICES, edges.source))


def _put(name: str, into: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """The result of a function that may work in place."""
    return into.copy_(values) if name.endswith("_") else values
