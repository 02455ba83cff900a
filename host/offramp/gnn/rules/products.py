# SPDX-License-Identifier: Apache-2.0
"""Products of matrices, and attention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from offramp.gnn import statistics
from offramp.gnn.rules.table import aligned, mark_all, rule, values
from offramp.gnn.tags import EXTENDED, NUMBERED, Tag, mark, tag_of

if TYPE_CHECKING:
    from offramp.gnn.mode import Distribution


@rule("matmul", "mm", "__matmul__", "__rmatmul__", "bmm", "mv")
def matmul(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Rows of the first factor keep to this rank; sums over rows are those of all ranks."""
    if len(args) != 2 or kwargs:
        return NotImplemented
    first, second = args[::-1] if func.__name__ == "__rmatmul__" else args
    if not (isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor)):
        return NotImplemented
    if any((tag := tag_of(each)) is not None and tag.role in NUMBERED for each in (first, second)):
        return NotImplemented
    left, right = values(first), values(second)
    if (left is None and right is None) or EXTENDED in (left and left.role, right and right.role):
        return _extended(first, second) if left is not None and right is None else NotImplemented
    if first.layout != torch.strided or second.layout != torch.strided:
        return NotImplemented
    if first.dim() == 2 and second.dim() <= 2 and second.dim():
        return _matrices(mode, first, second)
    if left is not None and first.dim() > 2 and left.dim < first.dim() - 1 and second.dim() <= 2 and right is None:
        return mark(first @ second, left)
    if left is not None and right is None and first.dim() > 2 and left.dim == first.dim() - 2:
        out = first @ second
        return mark(out, left.moved(out.dim() - 2))
    if first.dim() > 2 and second.dim() > 2:
        local = aligned(mode, (first, second), least=3)
        if local is not None:
            rows, tag, behind = local
            out = rows[0] @ rows[1]
            return mark(out, tag.moved(out.dim() - behind))
    return NotImplemented


def _extended(first: torch.Tensor, second: torch.Tensor) -> Any:
    tag = tag_of(first)
    assert tag is not None
    fits = tag.dim < first.dim() - 1 and second.dim() == 2
    return mark(first @ second, tag) if fits else NotImplemented


def _matrices(mode: Distribution, first: torch.Tensor, second: torch.Tensor) -> Any:
    """A matrix times a matrix or a vector."""
    left, right = values(first), values(second)
    if left is not None and left.dim == 0:
        return mark(first @ mode.whole_of(second, "matmul"), left)
    if first.dtype not in (torch.float32, torch.float64):
        return NotImplemented
    inner = right if right is not None and right.dim == 0 else left
    if inner is None or inner.dim != (1 if inner is left else 0) or (left is not None and right is None):
        if left is None or left.dim != 1 or right is not None:
            return NotImplemented
        return statistics.total(mode, first @ mode.own_of(second, left, 0))
    if left is None:
        return statistics.total(mode, mode.own_of(first, inner, 1) @ second)
    if right is None or right.dim or not left.like(right):
        return NotImplemented
    return statistics.total(mode, first @ second)


@rule("addmm")
def addmm(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Rows times a matrix, and rows or one row that is added to each."""
    if len(args) != 3 or not set(kwargs) <= {"alpha", "beta"} or tag_of(args[2]) is not None:
        return NotImplemented
    tag = values(args[1])
    local = None if tag is None or tag.dim or tag.role == EXTENDED else aligned(mode, args[:2])
    if local is None or local[2] != 2 or local[1].role in NUMBERED:
        return NotImplemented
    return mark(func(*local[0], args[2], **kwargs), local[1].moved(0))


@rule("gru_cell", "lstm_cell", "rnn_tanh_cell", "rnn_relu_cell")
def cell(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A step of each row."""
    states = list(args[1]) if isinstance(args[1], list | tuple) else [args[1]]
    if kwargs or any(tag_of(each) is not None for each in args[2:]) or any(map(_numbered, (args[0], *states))):
        return NotImplemented
    local = aligned(mode, (args[0], *states))
    if local is None or local[2] != 2 or args[0].dim() != 2:
        return NotImplemented
    (x, *states), tag, behind = local
    if any(tag_of(each) is None for each in (x, *states)):
        return NotImplemented
    return mark_all(func(x, states if isinstance(args[1], list | tuple) else states[0], *args[2:]), tag, behind)


@rule("einsum")
def einsum(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The letter of rows goes through, or is summed over all ranks."""
    if kwargs or not isinstance(args[0], str):
        return NotImplemented
    operands = args[1] if isinstance(args[1], list | tuple) else args[1:]
    inputs, arrow, output = args[0].replace(" ", "").partition("->")
    terms = inputs.split(",")
    tags = [values(each) for each in operands]
    first = next((tag for tag in tags if tag is not None), None)
    if first is None or not arrow or "." in args[0] or first.role == EXTENDED or len(terms) != len(operands):
        return NotImplemented
    letters = {term[tag.dim] for term, tag in zip(terms, tags, strict=True) if tag is not None}
    if len(letters) != 1 or any(tag is not None and not tag.like(first) for tag in tags):
        return NotImplemented
    (letter,) = letters
    rows = []
    for term, tag, each in zip(terms, tags, operands, strict=True):
        if term.count(letter) > (1 if tag is not None or letter in term else 0):
            return NotImplemented
        rows.append(mode.own_of(each, first, term.index(letter)) if tag is None and letter in term else each)
    if output.count(letter) == 1:
        return mark(func(args[0], *rows), first.moved(output.index(letter)))
    fits = rows[0].dtype in (torch.float32, torch.float64)
    return statistics.total(mode, func(args[0], *rows)) if fits else NotImplemented


@rule("scaled_dot_product_attention")
def attention(mode: Distribution, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Attention within each row's sequence, or from own rows to the rows of all ranks."""
    names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa")
    given = dict(zip(names, args, strict=False)) | kwargs
    if given.get("dropout_p") or given.get("enable_gqa") or given.get("is_causal"):
        return NotImplemented
    if given.get("attn_mask") is not None:
        return NotImplemented
    three = [given.pop(name) for name in names[:3]]
    tags = [values(each) for each in three]
    local = aligned(mode, three, least=3) if not any(_numbered(each) for each in three) else None
    if local is not None:
        rows, tag, behind = local
        out = func(*rows, **given)
        return mark(out, tag.moved(out.dim() - behind))
    query: Tag | None = tags[0]
    if query is None or query.role == EXTENDED or query.dim != three[0].dim() - 2:
        return NotImplemented
    key, value = (mode.whole_of(each, "scaled_dot_product_attention") for each in three[1:])
    return mark(func(three[0], key, value, **given), query)


def _numbered(x: Any) -> bool:
    tag = tag_of(x)
    return tag is not None and tag.role in NUMBERED
