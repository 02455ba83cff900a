# SPDX-License-Identifier: Apache-2.0
"""Tensors that are created: with as many rows as the graph has, they are split as the graph's rows are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from offramp.gnn import dropout
from offramp.gnn.rules.sizes import shape_of
from offramp.gnn.rules.table import argument, rule
from offramp.gnn.tags import EXTENDED, NUMBERS, VERTICES, Tag, fill_with, mark, tag_of

if TYPE_CHECKING:
    from offramp.gnn.mode import Distribution


_VALUES: Final = {"zeros": 0, "ones": 1}


@rule("zeros", "ones", "empty", "full", "new_zeros", "new_ones", "new_empty", "new_full")
def constant(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The same value in each row: it does not matter which rank has which, as all rules know."""
    of_tensor = func.__name__.startswith("new_")
    given = args[of_tensor:]
    name = "size"
    if name in kwargs:
        shape = kwargs[name]
    elif given and isinstance(given[0], list | tuple):
        shape, given = given[0], given[1:]
    else:
        shape, given = given, ()
    if kwargs.get("out") is not None or not all(isinstance(each, int) for each in shape):
        return NotImplemented
    for dim, count in enumerate(shape):
        tag = mode.counted.get(count)
        if tag is not None and type(count) is int:
            rest = {key: value for key, value in kwargs.items() if key != name}
            local = [*shape[:dim], len(tag.layout.keys), *shape[dim + 1 :]]
            out = mark(func(*args[:of_tensor], local, *given, **rest), tag.moved(dim))
            value = _VALUES.get(func.__name__.removeprefix("new_"))
            return out if value is None else fill_with(out, value)
    return func(*args, **kwargs)


@rule("zeros_like", "ones_like", "empty_like", "full_like")
def constant_like(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001
    """The same value in each row of the same rows."""
    tag, out = tag_of(args[0]), func(*args, **kwargs)
    return out if tag is None else mark(out, tag.valued)


@rule("rand_like", "randn_like", "randint_like")
def random_like(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """This rank's rows of numbers that are drawn for all."""
    tag = tag_of(args[0])
    if tag is None or tag.role == EXTENDED:
        return NotImplemented
    whole = args[0].new_empty(()).expand(shape_of(mode, args[0]))
    return mode.own_of(func(whole, *args[1:], **kwargs), tag, tag.dim)


@rule("arange")
def arange(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001
    """The numbers of all vertices: of each row its own."""
    ends = [*args, *(kwargs[key] for key in ("start", "end", "step") if key in kwargs)]
    whole = len(ends) in (1, 2) and all(type(each) is int for each in ends) and (len(ends) == 1 or ends[0] == 0)
    tag = mode.counted.get(ends[-1]) if whole else None
    if (
        tag is None
        or tag.role != VERTICES
        or kwargs.get("dtype") not in (None, torch.int64)
        or kwargs.get("out") is not None
    ):
        return NotImplemented
    of: Any = tag.of
    return mark(torch.arange(of.owned, device=kwargs.get("device")), Tag(NUMBERS, of))


@rule("dropout")
def _dropout(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Dropout with the same mask whatever the number of ranks."""
    x, p = args[0], argument(args, kwargs, 1, "p", 0.5)
    training = argument(args, kwargs, 2, "training", default=argument(args, kwargs, 2, "train", default=True))
    tag = tag_of(x)
    if not training or p == 0:
        out = func(*args, **kwargs)
        return out if tag is None else mark(out, tag.valued)
    out = dropout.apply(mode, x, p)
    if not argument(args, kwargs, 3, "inplace", default=False):
        return out
    with torch.no_grad() if not out.requires_grad else torch.enable_grad():
        x.copy_(out)
    return x
