# SPDX-License-Identifier: Apache-2.0
"""Rules for functions of PyTorch whose rows are vertices or edges of a distributed graph."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import torch

from offramp.gnn import dropout, statistics
from offramp.gnn.halo import collect
from offramp.gnn.tags import (
    EDGES,
    EXTENDED,
    PAIRS,
    SOURCES,
    TARGETS,
    VERTICES,
    CannotDistributeError,
    Tag,
    mark,
    tag_of,
    tensors,
)
from offramp_base.dispatch import handles

if TYPE_CHECKING:
    from collections.abc import Callable

    from offramp.gnn.mode import Distribution

Rule = "Callable[[Distribution, Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]"
"""Maps the pass, the function and its arguments to the result; NotImplemented: run the function as it is."""

RULES: Final[dict[str, Callable[..., Any]]] = {}


_rule = partial(handles, RULES)


def _argument(args: tuple[Any, ...], kwargs: dict[str, Any], place: int, name: str, default: Any = None) -> Any:
    return args[place] if len(args) > place else kwargs.get(name, default)


@_rule("__getitem__")
def getitem(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Rows of an edge index, rows by sources, some of the edges."""
    x, index = args[0], args[1]
    tag = tag_of(x)
    if tag is not None and tag.role == PAIRS:
        return _of_pairs(func, x, index, tag)
    parts = index if isinstance(index, tuple) else (index,)
    if any(_role(part) == SOURCES for part in parts):
        if _role(parts[0]) != SOURCES:
            raise CannotDistributeError("rows are taken by sources of edges in a dimension that is not the first")
        return _gather(mode, x, parts[0], lambda rows: func(rows, index, **kwargs))
    return _selected(func(*args, **kwargs), x, parts[0])


def _of_pairs(func: Any, x: torch.Tensor, index: Any, tag: Tag) -> Any:
    out = func(x, index)
    parts = index if isinstance(index, tuple) else (index,)
    if isinstance(parts[0], int):
        return mark(out, Tag((SOURCES, TARGETS)[parts[0]], tag.of)) if out.dim() else out
    if parts[0] is Ellipsis or parts[0] == slice(None) if not isinstance(parts[0], torch.Tensor) else False:
        return mark(out, tag)
    raise CannotDistributeError("rows of an edge index are exchanged: the targets of edges must stay their targets")


def _role(value: Any) -> str | None:
    tag = tag_of(value)
    return None if tag is None else tag.role


def _selected(out: Any, x: torch.Tensor, index: Any) -> Any:
    """Tag rows that were taken out of ``x``."""
    if not isinstance(out, torch.Tensor) or not out.dim():
        return out
    tag, by = tag_of(x), tag_of(index)
    if tag is not None and tag.dim:
        if out.dim() == x.dim() - 1 and isinstance(index, int):
            return mark(out, tag.moved(tag.dim - 1))
        raise CannotDistributeError(f"some of {tag.role} that are not rows")
    if by is not None and by.role == TARGETS:
        return mark(out, Tag(EDGES, by.of))
    if tag is None:
        if by is not None and by.role in (VERTICES, EDGES) and index.dtype != torch.bool and len(out) == len(index):
            mark(out, by)  # rows of a table, one for each vertex or edge
        return out
    if by is not None and by.role == EDGES and tag.role == VERTICES and index.dtype != torch.bool:
        raise CannotDistributeError("rows of vertices are taken by numbers that are computed from edges")
    whole = (isinstance(index, slice) and index == slice(None)) or index is Ellipsis
    if tag.role in (EDGES, SOURCES, TARGETS) or (whole and len(out) == len(x)):
        mark(out, tag)
    return out


@_rule("index_select")
def index_select(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Like :func:`getitem`, along a dimension."""
    x, dim, index = args[0], _argument(args, kwargs, 1, "dim"), _argument(args, kwargs, 2, "index")
    tag = tag_of(x)
    if tag is not None and tag.role == PAIRS:
        if dim % 2 == 0:
            raise CannotDistributeError("rows of an edge index are exchanged")
        return mark(func(x, dim, index), tag)
    if _role(index) == SOURCES:
        place = dim % x.dim()
        if place != (tag.dim if tag else 0):
            raise CannotDistributeError(f"rows are taken by sources of edges in dimension {dim}, which has other rows")
        if not place or tag is None:
            return _gather(mode, x, index, lambda rows: func(rows, 0, index))
        rows = mark(x.movedim(place, 0), tag.moved(0))
        out = _gather(mode, rows, index, lambda rows: func(rows, 0, index).movedim(0, place))
        return mark(out, tag_of(out).moved(place))  # type: ignore[union-attr]
    out, by = func(x, dim, index), tag_of(index)
    if by is not None and by.role == TARGETS:
        return mark(out, Tag(EDGES, by.of, dim % x.dim()))
    return _selected(out, x, index) if dim % x.dim() == 0 else mark(out, tag) if tag else out


@_rule("unbind")
def unbind(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001
    """``row, col = edge_index``."""
    tag = tag_of(args[0])
    if tag is None or tag.role != PAIRS or _argument(args, kwargs, 1, "dim", 0) % 2:
        return NotImplemented
    source, target = func(*args, **kwargs)
    return mark(source, Tag(SOURCES, tag.of)), mark(target, Tag(TARGETS, tag.of))


@_rule("select")
def select(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001
    """One row of an edge index."""
    tag = tag_of(args[0])
    if tag is None or tag.role != PAIRS or len(args) < 3 or args[1] % 2:
        return NotImplemented
    return mark(func(*args), Tag((SOURCES, TARGETS)[args[2]], tag.of))


def _gather(mode: Distribution, x: torch.Tensor, index: torch.Tensor, take: Callable[[torch.Tensor], Any]) -> Any:
    """Rows by sources of edges: the only place where rows of other ranks are needed."""
    edges: Any = tag_of(index).of  # type: ignore[union-attr]
    tag = tag_of(x)
    source = edges.source
    if tag is None and len(x) != source.owned:
        raise CannotDistributeError(
            f"rows are taken by sources of edges from {len(x)} rows, which are not the {source.owned} own vertices"
        )
    if tag is not None and tag.of is not source:
        raise CannotDistributeError(f"rows of {tag.role} are taken by sources that are other vertices")
    rows = x if tag is not None and tag.role == EXTENDED else mode.extended(x, edges.halo)
    return mark(take(rows), Tag(EDGES, edges))


@_rule("scatter_add_", "scatter_add", "scatter_reduce_", "scatter_reduce", "index_add_", "index_add", "index_reduce_")
@_rule("scatter_", "scatter")
def scatter(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Edges to their targets; vertices or edges to anything else is a sum over ranks."""
    index = _argument(args, kwargs, 2, "index")
    values = [each for each in (*args[1:], *kwargs.values()) if isinstance(each, torch.Tensor)]
    tags = [tag for each in values if (tag := tag_of(each)) is not None]
    by = tag_of(index)
    if by is not None and by.role == SOURCES:
        return _at_sources(func, args, kwargs, by.of)
    mixes = by is None or by.role not in (TARGETS, SOURCES)
    shared = mixes and any(tag.role in (VERTICES, EDGES) for tag in tags)
    name = func.__name__
    sums = name.startswith(("scatter_add", "index_add"))
    if shared and sums and by is not None:
        part = func(torch.zeros_like(args[0]), *args[1:], **kwargs)
        return _put(name, args[0], args[0] + statistics.total(mode, part))
    out = func(*args, **kwargs)
    if by is not None and by.role == TARGETS:
        place = _argument(args, kwargs, 1, "dim")
        return mark(out, Tag(VERTICES, by.of.target, place % out.dim()))  # type: ignore[union-attr]
    if shared and out.is_floating_point():
        raise CannotDistributeError(f"{name} of {tags[0].role} into something that all ranks share; only sums can be")
    return out


def _at_sources(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], edges: Any) -> Any:
    """Sums at the sources of edges: those of the halo go to their owners."""
    name, base, halo = func.__name__, args[0], edges.halo
    if not name.startswith(("scatter_add", "index_add")) or args[1] % base.dim() or len(base) != halo.owned:
        raise CannotDistributeError(f"{name} at the sources of edges, which other ranks may own; only sums can be")
    wide = base.new_zeros((halo.owned + halo.rows, *base.shape[1:]))
    out = base + collect(func(wide, *args[1:], **kwargs), halo)
    return mark(_put(name, base, out), Tag(VERTICES, edges.source))


def _put(name: str, into: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """The result of a function that may work in place."""
    return into.copy_(values) if name.endswith("_") else values


@_rule("dropout")
def _dropout(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001
    """Dropout with the same mask whatever the number of ranks."""
    x, p = args[0], _argument(args, kwargs, 1, "p", 0.5)
    if not _argument(args, kwargs, 2, "training", default=True) or p == 0:
        return NotImplemented
    return dropout.apply(mode, x, p)


@_rule("batch_norm")
def _batch_norm(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001
    """Statistics over the whole graph."""
    names = ("input", "running_mean", "running_var", "weight", "bias", "training", "momentum", "eps")
    given = dict(zip(names, args, strict=False)) | kwargs
    if _role(given["input"]) not in (VERTICES, EDGES):
        return NotImplemented
    if not given.get("training") and given.get("running_mean") is not None:
        return NotImplemented
    return statistics.batch_norm(mode, **given)


@_rule("sum", "mean", "std", "var")
def reduction(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Over vertices or edges, those of all ranks."""
    x = args[0]
    if not _mixes(x, _dims(args, kwargs)):
        return _beside(func, args, kwargs)
    return statistics.reduce(mode, func.__name__, x, _dims(args, kwargs), args, kwargs)


@_rule("max", "min", "amax", "amin", "norm", "prod", "median", "logsumexp", "argmax", "argmin", "mode", "topk", "sort")
@_rule("argsort", "cumsum", "cumprod", "softmax", "log_softmax", "flip", "roll", "normalize", "vector_norm", "msort")
@_rule("quantile", "std_mean", "var_mean", "all_pairs", "logcumsumexp", "cummax", "cummin", "softmin", "nanmean")
def refused_over_rows(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Functions that keep to rows, unless they run along the first dimension."""
    x = args[0]
    tag = tag_of(x)
    if tag is not None and tag.role == PAIRS and func.__name__ in ("flip", "roll", "sort"):
        raise CannotDistributeError(f"{func.__name__} of an edge index: the targets of edges must stay their targets")
    if len(args) > 1 and isinstance(args[1], torch.Tensor):
        return NotImplemented  # element-wise max and min
    if _mixes(x, _dims(args, kwargs)):
        if func.__name__ in ("max", "min") and len(args) == 1 and not kwargs and not x.requires_grad:
            return statistics.extreme(mode, func.__name__, x)
        raise CannotDistributeError(f"{func.__name__} over all {tag.role if tag else 'rows'}")
    return _beside(func, args, kwargs)


def _beside(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A reduction of dimensions before that of the rows moves these; any other leaves them where they are."""
    tag, dim = tag_of(args[0]), _dims(args, kwargs)
    if tag is None or not tag.dim or dim is None:
        return NotImplemented
    dims = {each % args[0].dim() for each in ([dim] if isinstance(dim, int) else dim)}
    out = func(*args, **kwargs)
    for each in tensors(out):
        lost = sum(d < tag.dim for d in dims) if each.dim() < args[0].dim() else 0
        mark(each, tag.moved(tag.dim - lost))
    return out


@_rule("cat", "concat")
def cat(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001
    """Edges and their loops, one after the other; anything beside each other."""
    parts, dim = args[0], _argument(args, kwargs, 1, "dim", 0)
    edges = [tag for each in parts if (tag := tag_of(each)) is not None and tag.role == EDGES and not tag.dim]
    if not edges or dim % parts[0].dim():
        return NotImplemented
    return mark(func(*args, **kwargs), edges[0])


@_rule("stack", "unsqueeze", "t", "transpose")
def moved(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001
    """Functions that move the dimension of the rows."""
    tags = [tag for each in tensors(args[:1]) if (tag := tag_of(each)) is not None]
    if not tags or tags[0].role not in (VERTICES, EDGES, EXTENDED):
        return NotImplemented
    name, dim = func.__name__, tags[0].dim
    out = func(*args, **kwargs)
    if name in ("stack", "unsqueeze"):
        dim += _argument(args, kwargs, 1, "dim", 0) % out.dim() <= dim
    elif name == "t":
        dim = out.dim() - 1 - dim
    else:
        first, second = (_argument(args, kwargs, k, f"dim{k - 1}") % out.dim() for k in (1, 2))
        dim = {first: second, second: first}.get(dim, dim)
    return mark(out, tags[0].moved(dim))


@_rule("squeeze")
def squeeze(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001
    """One dimension that is named; without a name a rank with one row would lose it."""
    tag, dim = tag_of(args[0]), _argument(args, kwargs, 1, "dim")
    if tag is None or not isinstance(dim, int) or tag.role == PAIRS:
        return NotImplemented
    out, dim = func(*args, **kwargs), dim % args[0].dim()
    return mark(out, tag.moved(tag.dim - (dim < tag.dim and out.dim() < args[0].dim())))


@_rule("instance_norm")
def _instance_norm(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001
    """One graph whose vertices are the positions: statistics over all of them."""
    names = ("input", "running_mean", "running_var", "weight", "bias", "training", "momentum", "eps")
    given = dict(zip(names, args, strict=False)) | kwargs
    given["training"] = given.pop("use_input_stats", given.get("training", True))
    x, tag = given.pop("input"), tag_of(given.get("input", args[0] if args else None))
    if tag is None or not tag.dim or not given["training"]:
        return NotImplemented
    if len(x) != 1 or tag.dim != x.dim() - 1:
        raise CannotDistributeError("instance_norm of several graphs")
    rows = mark(x[0].t(), tag.moved(0))
    return mark(statistics.batch_norm(mode, rows, **given).t().unsqueeze(0), tag)


def _dims(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    dim = kwargs.get("dim", kwargs.get("dims"))
    if dim is None and len(args) > 1 and not isinstance(args[1], bool | float | torch.dtype | torch.Tensor):
        dim = args[1]
    return dim


def _mixes(x: Any, dim: Any) -> bool:
    """Whether dimensions include that of vertices or edges, of floats."""
    tag = tag_of(x)
    if tag is None or tag.role not in (VERTICES, EDGES) or not x.is_floating_point():
        return False
    dims = range(x.dim()) if dim is None else (dim,) if isinstance(dim, int) else dim
    return any(isinstance(each, int) and each % x.dim() == tag.dim for each in dims)


@_rule("einsum")
def einsum(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001
    """The letter of vertices or edges goes through, the same in all operands."""
    if isinstance(args[0], str):
        inputs, _, output = args[0].replace(" ", "").partition("->")
        operands = args[1] if isinstance(args[1], list | tuple) else args[1:]
        letters = {letter[:1] for letter, each in zip(inputs.split(","), operands, strict=False) if tag_of(each)}
        if letters and (len(letters) > 1 or output[:1] not in letters):
            raise CannotDistributeError(f"einsum {args[0]} over all vertices or edges")
    return NotImplemented


@_rule("matmul", "mm", "__matmul__", "__rmatmul__", "bmm", "addmm")
def matmul(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001
    """Rows times a matrix, or a matrix for each row; never vertices against vertices."""
    first, second = args[1:3] if func.__name__ == "addmm" else args[:2]
    tag = tag_of(first)
    if tag is not None and tag.dim and tag.dim == first.dim() - 1:
        raise CannotDistributeError(f"{func.__name__} of {tag.role} that are not rows")
    tag = tag_of(second)
    if tag is not None and tag.role in (VERTICES, EDGES) and second.dim() < 3:
        raise CannotDistributeError(f"{func.__name__} sums over all {tag.role}")
    return NotImplemented


@_rule("multi_head_attention_forward", "scaled_dot_product_attention")
def attention(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001
    """Attention of rows to rows."""
    if any(tag_of(each) is not None and each.dim() < 3 for each in args[:3] if isinstance(each, torch.Tensor)):
        raise CannotDistributeError("attention of all vertices to all vertices")
    return NotImplemented
