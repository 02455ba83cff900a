# SPDX-License-Identifier: Apache-2.0
"""The table of rules, and what they share."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import torch

from offramp.gnn.tags import EXTENDED, NUMBERED, Tag, constant_of, fill_with, mark, tag_of
from offramp_base.dispatch import handles

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from offramp.gnn.mode import Distribution

RULES: Final[dict[str, Callable[..., Any]]] = {}
"""The rule of each function, by its name."""

rule = partial(handles, RULES)


def argument(args: tuple[Any, ...], kwargs: dict[str, Any], place: int, name: str, default: Any = None) -> Any:
    """An argument by its place or its name."""
    return args[place] if len(args) > place else kwargs.get(name, default)


def values(x: Any) -> Tag | None:
    """The tag of a tensor whose values mean the same on all ranks; None of others."""
    tag = tag_of(x)
    return None if tag is None or tag.role in NUMBERED else tag


def valued(mode: Distribution, x: Any) -> Any:
    """``x`` with numbers of the whole graph instead of this rank's."""
    tag = tag_of(x)
    return x if tag is None else mode.values_of(x, tag)


def relaid(x: torch.Tensor, tag: Tag, dim: int) -> bool:
    """Give a tensor that has one value in all places, and as many rows as the graph has, other rows of those.

    Which rows they are shows only now: types of vertices or edges may be equally many.
    """
    its, value = tag_of(x), constant_of(x)
    if its is None or value is None or its.dim != dim or x._base is not None or EXTENDED in (its.role, tag.role):
        return False
    if its.layout.total != tag.layout.total:
        return False
    shape = [*x.shape[:dim], len(tag.layout.keys), *x.shape[dim + 1 :]]
    x.data = x.new_full(shape, value)
    fill_with(mark(x, Tag(tag.valued.role, tag.of, dim, tag.rows)), value)
    return True


def aligned(mode: Distribution, operands: Sequence[Any], *, least: int = 1) -> tuple[list[Any], Tag, int] | None:
    """Operands that are broadcast, each with this rank's rows; the tag, and its dimension counted from behind.

    None if no operand has rows, or they have different ones, or those are among the last ``least - 1`` dimensions.
    """
    tag, behind, others = None, 0, False
    for each in operands:
        if not isinstance(each, torch.Tensor):
            continue
        its = tag_of(each)
        if its is None:
            others = others or each.dim() > 0
        elif tag is None:
            tag, behind = its, each.dim() - its.dim
        elif each.dim() - its.dim != behind:
            return None
        elif not tag.like(its) and not relaid(each, tag, its.dim):
            return _aligned_first(mode, operands, each, least)
    if tag is None or behind < least:
        return None
    rows = list(operands)
    if others:
        for place, each in enumerate(operands):
            if isinstance(each, torch.Tensor) and each.dim() >= behind and tag_of(each) is None:
                dim = each.dim() - behind
                if each.shape[dim] != 1:
                    if tag.role == EXTENDED or each.layout != torch.strided or tag.layout.total == 1:
                        return None
                    rows[place] = mode.own_of(each, tag, dim)
    return rows, tag, behind


def _aligned_first(
    mode: Distribution, operands: Sequence[Any], other: torch.Tensor, least: int
) -> tuple[list[Any], Tag, int] | None:
    """Try once more, with the rows of a later operand, where the first ones have one value."""
    tag = tag_of(other)
    assert tag is not None
    for each in operands:
        if each is other:
            return None
        its = tag_of(each)
        if its is not None:
            return aligned(mode, operands, least=least) if relaid(each, tag, its.dim) else None
    return None


def mark_all(out: Any, tag: Tag, behind: int) -> Any:
    """Tag a tensor, or all tensors of a tuple, whose rows are in a dimension counted from behind."""
    if isinstance(out, torch.Tensor):
        return mark(out, tag.moved(out.dim() - behind))
    for each in out:
        mark(each, tag.moved(each.dim() - behind))
    return out
