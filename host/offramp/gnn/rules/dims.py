# SPDX-License-Identifier: Apache-2.0
"""Functions along dimensions: beside that of the rows as they are, over the rows by sums of all ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from offramp.gnn import statistics
from offramp.gnn.operators import DEFAULTS, DROPS, SAME_DIM
from offramp.gnn.rules.table import aligned, argument, mark_all, rule, valued, values
from offramp.gnn.tags import (
    EDGES,
    EXTENDED,
    NUMBERED,
    PAIRS,
    SOURCES,
    TARGETS,
    VERTICES,
    Tag,
    mapped,
    mark,
    tag_of,
    tensors,
)

if TYPE_CHECKING:
    from offramp.gnn.mode import Distribution

_UNKNOWN = object()


def _dims(name: str, place: int | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[int] | object | None:
    """The dimensions that are given; None: all of them; ``_UNKNOWN``: something else."""
    dim: Any = DEFAULTS.get(name)
    for key in ("dim", "dims", "axis"):
        if key in kwargs:
            dim = kwargs[key]
            break
    else:
        if place is not None and len(args) > place:
            dim = args[place]
    if dim is None:
        return None
    if isinstance(dim, int) and not isinstance(dim, bool):
        return [dim]
    if isinstance(dim, list | tuple) and dim and all(isinstance(each, int) for each in dim):
        return list(dim)
    return _UNKNOWN


@rule(*sorted(SAME_DIM))
def along(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001
    """Results of the same dimensions."""
    x, tag, name = args[0], values(args[0]), func.__name__
    if (
        tag is None
        or any(tag_of(each) is not None for each in tensors([args[1:], kwargs]))
        or kwargs.get("out") is not None
    ):
        return NotImplemented
    if name == "flip" and len(args) > 2:
        return NotImplemented
    dims = _dims(name, SAME_DIM[name], args, kwargs)
    if dims is None or dims is _UNKNOWN or any(each % x.dim() == tag.dim for each in dims):  # type: ignore[attr-defined]
        return NotImplemented
    out = func(*args, **kwargs)
    for each in tensors(out):
        mark(each, tag)
    return out


@rule(*sorted(DROPS))
def drops(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Results of fewer dimensions."""
    if not args or not isinstance(args[0], torch.Tensor) or kwargs.get("out") is not None:
        return NotImplemented
    x, tag, name = args[0], tag_of(args[0]), func.__name__
    if name in ("max", "min") and isinstance(argument(args, kwargs, 1, "other"), torch.Tensor):
        return _binary(mode, func, args, kwargs)
    if name == "cosine_similarity":
        return _similarity(mode, func, args, kwargs)
    if tag is not None and tag.role in NUMBERED:
        if tag.role == PAIRS and name in ("unbind", "select"):
            return _ends(func, args, kwargs, tag)
        x = mode.values_of(x, tag)
        tag, args = tag_of(x), (x, *args[1:])
    if tag is None or any(tag_of(each) is not None for each in tensors([args[1:], kwargs])):
        return NotImplemented
    if name in ("std", "var", "std_mean", "var_mean") and len(args) > 1 and isinstance(args[1], bool):
        args, kwargs = args[:1], {"correction": int(args[1]), **kwargs} if len(args) == 2 else {"": 0}
        if "" in kwargs:
            return NotImplemented
    if "quantile" in name and not isinstance(argument(args, kwargs, 1, "q"), float):
        return NotImplemented
    dims = _dims(name, DROPS[name], args, kwargs)
    if dims is _UNKNOWN:
        return NotImplemented
    places = list(range(x.dim())) if dims is None else [each % x.dim() for each in dims]  # type: ignore[attr-defined]
    if tag.dim in places:
        return _over_rows(mode, name, x, tag, dims, args, kwargs)
    alone = x.shape[tag.dim] == 0  # some functions refuse a rank that has no rows
    out = func(_with_a_row(x, tag.dim) if alone else x, *args[1:], **kwargs)

    def rows_of(each: torch.Tensor) -> torch.Tensor:
        dim = tag.dim - (sum(d < tag.dim for d in places) if each.dim() < x.dim() else 0)
        return mark(each.narrow(dim, 0, 0) if alone else each, tag.moved(dim))

    return mapped(out, rows_of)


def _with_a_row(x: torch.Tensor, dim: int) -> torch.Tensor:
    """``x`` with a row of zeros."""
    shape = [1 if place == dim else size for place, size in enumerate(x.shape)]
    return torch.cat([x, x.new_zeros(shape)], dim)


def _over_rows(
    mode: Distribution, name: str, x: torch.Tensor, tag: Tag, dims: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Those that are sums."""
    if tag.role == EXTENDED or not set(kwargs) <= {"dim", "keepdim", "correction", "unbiased", "axis"}:
        return NotImplemented
    whole = len(args) == 1 and not kwargs
    if name in ("max", "min") and whole and not x.requires_grad:
        return statistics.extreme(mode, name, x) if tag.layout.total and not x.dtype.is_complex else NotImplemented
    if name not in ("sum", "mean", "std", "var") or len(args) > 3 or x.dtype not in (torch.float32, torch.float64):
        if name == "sum" and whole and x.dtype in (torch.bool, torch.int64, torch.int32):
            return statistics.total(mode, x.sum())
        return NotImplemented
    if len(args) == 3 and not isinstance(args[2], bool):
        return NotImplemented
    if name in ("std", "var") and len(args) == 3:  # (x, dim, unbiased)
        return NotImplemented
    return statistics.reduce(mode, name, x, dims, args, kwargs)


def _binary(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    operands = [valued(mode, each) for each in (*args, *kwargs.values())]
    local = aligned(mode, operands)
    if local is None or len(operands) != 2:
        return NotImplemented
    rows, tag, behind = local
    return mark_all(func(*rows), tag, behind)


def _similarity(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if len(args) < 2 or any((tag := tag_of(each)) is not None and tag.role in NUMBERED for each in args[:2]):
        return NotImplemented
    dim, local = argument(args, kwargs, 2, "dim", 1), aligned(mode, args[:2])
    if local is None or not isinstance(dim, int):
        return NotImplemented
    rows, tag, behind = local
    most = max(each.dim() for each in rows)
    if dim % most == most - behind:
        return NotImplemented
    out = func(*rows, *args[2:], **kwargs)
    return mark(out, tag.moved(most - behind - (dim % most < most - behind)))


def _ends(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], tag: Tag) -> Any:
    """``row, col = edge_index`` and ``edge_index.select(0, 1)``."""
    dim = argument(args, kwargs, 1, "dim", 0)
    if not isinstance(dim, int) or dim % 2:
        return NotImplemented
    out = func(*args, **kwargs)
    if func.__name__ == "unbind":
        return mark(out[0], Tag(SOURCES, tag.of, 0, tag.rows)), mark(out[1], Tag(TARGETS, tag.of, 0, tag.rows))
    return mark(out, Tag((SOURCES, TARGETS)[argument(args, kwargs, 2, "index")], tag.of, 0, tag.rows))


@rule("linear")
def linear(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001
    """Rows times a matrix."""
    x: Any = args[0] if args else None
    tag = values(x)
    if tag is None or tag.dim == x.dim() - 1 or any(tag_of(each) is not None for each in tensors([args[1:], kwargs])):
        return NotImplemented
    return mark(func(*args, **kwargs), tag)


@rule("layer_norm", "rms_norm")
def layer_norm(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001
    """Norms of each row."""
    x, tag = args[0], values(args[0])
    shape = argument(args, kwargs, 1, "normalized_shape")
    if tag is None or any(tag_of(each) is not None for each in tensors([args[1:], kwargs])):
        return NotImplemented
    return mark(func(*args, **kwargs), tag) if tag.dim < x.dim() - len(shape) else NotImplemented


@rule("group_norm", "prelu", "local_response_norm")
def beside_channels(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001
    """Functions of each row of the first dimension, by channels of the second."""
    x, tag = args[0], values(args[0])
    if tag is None or tag.dim or x.dim() < 2 or any(tag_of(each) is not None for each in tensors([args[1:], kwargs])):
        return NotImplemented
    return mark(func(*args, **kwargs), tag)


@rule("batch_norm")
def batch_norm(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Statistics over the whole graph."""
    names = ("input", "running_mean", "running_var", "weight", "bias", "training", "momentum", "eps")
    if len(args) > len(names):
        return NotImplemented
    given = dict(zip(names, args, strict=False)) | kwargs
    tag = values(given["input"])
    if tag is None or tag.dim or tag.role not in (VERTICES, EDGES):
        return NotImplemented
    if any(tag_of(each) is not None for each in tensors([given[key] for key in names[1:5] if key in given])):
        return NotImplemented
    if not given.get("training") and given.get("running_mean") is not None:
        return mark(func(*args, **kwargs), tag)
    if tag.layout.total < 2 or given["input"].dtype not in (torch.float32, torch.float64):
        return NotImplemented
    return statistics.batch_norm(mode, **given)


@rule("instance_norm")
def instance_norm(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001
    """One graph whose vertices are the positions: statistics over all of them."""
    names = ("input", "running_mean", "running_var", "weight", "bias", "training", "momentum", "eps")
    given = dict(zip(names, args, strict=False)) | kwargs
    given["training"] = given.pop("use_input_stats", given.get("training", True))
    x = given.pop("input")
    tag = values(x)
    if tag is None or not tag.dim or not given["training"] or len(x) != 1 or tag.dim != x.dim() - 1 or x.dim() != 3:
        return NotImplemented
    if tag.role == EXTENDED or x.dtype not in (torch.float32, torch.float64) or tag.layout.total < 2:
        return NotImplemented
    rows = mark(x[0].t(), tag.moved(0))
    return mark(statistics.batch_norm(mode, rows, **given).t().unsqueeze(0), tag)
