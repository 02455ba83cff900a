# SPDX-License-Identifier: Apache-2.0
"""Sizes: those of the whole graph."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch

from offramp.gnn.rules.table import argument, rule
from offramp.gnn.tags import EXTENDED, VERTICES, Tag, tag_of

if TYPE_CHECKING:
    from offramp.gnn.mode import Distribution


def total(mode: Distribution, tag: Tag) -> int:
    """Rows of the whole graph."""
    count = tag.layout.total
    if count > 1 and (count not in mode.counted or mode.counted[count].role != VERTICES):
        mode.counted[count] = tag.valued
    return count


def shape_of(mode: Distribution, x: torch.Tensor) -> torch.Size:
    """The shape that the whole tensor has."""
    tag = tag_of(x)
    if tag is None or tag.role == EXTENDED:
        return x.shape
    return torch.Size([*x.shape[: tag.dim], total(mode, tag), *x.shape[tag.dim + 1 :]])


@rule("get.shape", "size")
def size(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """All sizes, or one."""
    tag = tag_of(args[0])
    dim = argument(args, kwargs, 1, "dim") if func.__name__ == "size" else None
    if tag is None or (isinstance(dim, int) and dim % args[0].dim() != tag.dim):
        return func(*args, **kwargs)
    shape = shape_of(mode, args[0])
    return shape if dim is None else shape[dim]


@rule("__len__")
def length(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001
    """Rows."""
    tag = tag_of(args[0])
    return func(*args) if tag is None or tag.dim else shape_of(mode, args[0])[0]


@rule("numel", "nelement", "get.nbytes")
def numel(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001
    """Elements, or their bytes."""
    if tag_of(args[0]) is None:
        return func(*args)
    return math.prod(shape_of(mode, args[0])) * (args[0].element_size() if func.__name__ == "__get__" else 1)
