# SPDX-License-Identifier: Apache-2.0
"""Attention over a pattern as Triton kernels for GPUs; the oracle is PyTorch's operations in the module ``kernel``.

A program handles one token of one head: it reads the keys and values that the token attends to, piece by piece, with an
online softmax (Dao et al. 2022), and never writes scores to memory. Backward recomputes the weights from the logarithm
of their sum; gradients of keys and values use the transposed pattern, so that no two programs write to the same place
and results do not depend on their order.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
import triton
import triton.language as tl

if TYPE_CHECKING:
    from offramp.torchgt.triton_pattern import Items, TritonPattern

_LEAST, _MOST = 16, 64
"""Least and most pairs that a program handles at a time."""


@triton.jit
def _scores(query, keys, table, buckets, places, there, heads, head, BIASED: tl.constexpr):
    score = tl.sum(keys * query[None, :], 1)
    if BIASED:
        bucket = tl.load(buckets + places, mask=there, other=0)
        score += tl.load(table + bucket * heads + head, mask=there, other=0.0).to(score.dtype)
    return score


@triton.jit
def _forward(
    q, k, v, table, rows, starts, stops, indices, buckets, out, logsum, tokens, slots, heads,
    WIDE: tl.constexpr, BIASED: tl.constexpr, SCALE: tl.constexpr, D: tl.constexpr, BLOCK_D: tl.constexpr,
    BLOCK_N: tl.constexpr,
):  # fmt: skip
    slot, head = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    column = tl.arange(0, BLOCK_D)
    inside = column < D
    row = tl.load(rows + slot).to(tl.int64)
    start, stop = tl.load(starts + slot), tl.load(stops + slot)
    query = tl.load(q + (head * tokens + row) * D + column, mask=inside, other=0.0).to(WIDE) * SCALE
    most, total = tl.cast(float("-inf"), WIDE), tl.cast(0.0, WIDE)
    mixed = tl.zeros([BLOCK_D], WIDE)
    for at in range(start, stop, BLOCK_N):
        places = at + tl.arange(0, BLOCK_N)
        there = places < stop
        other = head * tokens + tl.load(indices + places, mask=there, other=0)
        where, mask = other[:, None] * D + column[None, :], there[:, None] & inside[None, :]
        keys = tl.load(k + where, mask=mask, other=0.0).to(WIDE)
        score = _scores(query, keys, table, buckets, places, there, heads, head, BIASED)
        score = tl.where(there, score, float("-inf"))
        greatest = tl.maximum(most, tl.max(score, 0))
        weight, shrink = tl.exp(score - greatest), tl.exp(most - greatest)
        values = tl.load(v + where, mask=mask, other=0.0).to(WIDE)
        mixed = mixed * shrink + tl.sum(weight[:, None] * values, 0)
        total = total * shrink + tl.sum(weight, 0)
        most = greatest
    mixed = mixed / tl.where(total > 0, total, 1.0)
    tl.store(out + (head * slots + slot) * D + column, mixed, mask=inside)
    tl.store(logsum + head * slots + slot, most + tl.log(total))


@triton.jit
def _backward_rows(
    q, k, v, table, d_out, logsum, delta, rows, starts, stops, indices, buckets, d_q, d_table,
    tokens, slots, heads, entries,
    WIDE: tl.constexpr, BIASED: tl.constexpr, SCALE: tl.constexpr, D: tl.constexpr, BLOCK_D: tl.constexpr,
    BLOCK_N: tl.constexpr,
    ENTRIES: tl.constexpr,
):  # fmt: skip
    slot, head = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    column = tl.arange(0, BLOCK_D)
    inside = column < D
    entry = tl.arange(0, ENTRIES)
    row = head * tokens + tl.load(rows + slot)
    start, stop = tl.load(starts + slot), tl.load(stops + slot)
    query = tl.load(q + row * D + column, mask=inside, other=0.0).to(WIDE) * SCALE
    d_row = tl.load(d_out + row * D + column, mask=inside, other=0.0).to(WIDE)
    log_total, taken = tl.load(logsum + row), tl.load(delta + row)
    d_query = tl.zeros([BLOCK_D], WIDE)
    by_entry = tl.zeros([ENTRIES], WIDE)
    for at in range(start, stop, BLOCK_N):
        places = at + tl.arange(0, BLOCK_N)
        there = places < stop
        other = head * tokens + tl.load(indices + places, mask=there, other=0)
        where, mask = other[:, None] * D + column[None, :], there[:, None] & inside[None, :]
        keys = tl.load(k + where, mask=mask, other=0.0).to(WIDE)
        values = tl.load(v + where, mask=mask, other=0.0).to(WIDE)
        score = _scores(query, keys, table, buckets, places, there, heads, head, BIASED)
        weight = tl.where(there, tl.exp(score - log_total), 0.0)
        d_score = weight * (tl.sum(values * d_row[None, :], 1) - taken)
        d_query += tl.sum(d_score[:, None] * keys, 0)
        if BIASED:
            bucket = tl.load(buckets + places, mask=there, other=-1)
            by_entry += tl.sum(tl.where(bucket[:, None] == entry[None, :], d_score[:, None], 0.0), 0)
    tl.store(d_q + (head * slots + slot) * D + column, d_query * SCALE, mask=inside)
    if BIASED:
        tl.store(d_table + (head * slots + slot) * entries + entry, by_entry, mask=entry < entries)


@triton.jit
def _backward_columns(
    q, k, v, table, d_out, logsum, delta, rows, starts, stops, indices, buckets, d_k, d_v,
    tokens, slots, heads,
    WIDE: tl.constexpr, BIASED: tl.constexpr, SCALE: tl.constexpr, D: tl.constexpr, BLOCK_D: tl.constexpr,
    BLOCK_N: tl.constexpr,
):  # fmt: skip
    slot, head = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    column = tl.arange(0, BLOCK_D)
    inside = column < D
    row = head * tokens + tl.load(rows + slot)
    start, stop = tl.load(starts + slot), tl.load(stops + slot)
    key = tl.load(k + row * D + column, mask=inside, other=0.0).to(WIDE)
    value = tl.load(v + row * D + column, mask=inside, other=0.0).to(WIDE)
    d_key, d_value = tl.zeros([BLOCK_D], WIDE), tl.zeros([BLOCK_D], WIDE)
    for at in range(start, stop, BLOCK_N):
        places = at + tl.arange(0, BLOCK_N)
        there = places < stop
        other = head * tokens + tl.load(indices + places, mask=there, other=0)
        where, mask = other[:, None] * D + column[None, :], there[:, None] & inside[None, :]
        queries = tl.load(q + where, mask=mask, other=0.0).to(WIDE) * SCALE
        d_rows = tl.load(d_out + where, mask=mask, other=0.0).to(WIDE)
        log_total = tl.load(logsum + other, mask=there, other=0.0)
        taken = tl.load(delta + other, mask=there, other=0.0)
        score = _scores(key, queries, table, buckets, places, there, heads, head, BIASED)
        weight = tl.where(there, tl.exp(score - log_total), 0.0)
        d_score = weight * (tl.sum(d_rows * value[None, :], 1) - taken)
        d_value += tl.sum(weight[:, None] * d_rows, 0)
        d_key += tl.sum(d_score[:, None] * queries, 0)
    tl.store(d_k + (head * slots + slot) * D + column, d_key, mask=inside)
    tl.store(d_v + (head * slots + slot) * D + column, d_value, mask=inside)


class TritonAttention(torch.autograd.Function):
    """:func:`offramp.torchgt.kernel.sparse_attention` on a GPU.

    Tensors ``(heads, tokens, d)`` are float64, float32, bfloat16 or float16; 16-bit numbers are summed in float32.
    """

    @staticmethod
    def forward(
        ctx: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor | None, pattern: TritonPattern
    ) -> torch.Tensor:
        """The tokens' attention-weighted values."""
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        table = None if table is None else table.contiguous()
        wide = torch.float64 if q.dtype == torch.float64 else torch.float32
        out, logsum = torch.empty_like(v), q.new_empty(q.shape[:2], dtype=wide)

        def run(items: Items, into: torch.Tensor, sums: torch.Tensor) -> None:
            _launch(_forward, items, pattern.pairs, (q, k, v, table), (), (into, sums))

        run(pattern.rows, out, logsum)
        if pattern.long_rows is not None:
            items = pattern.long_rows
            parts = v.new_empty((len(v), items.count, v.shape[2]), dtype=wide)
            sums = parts.new_empty(parts.shape[:2])
            run(items, parts, sums)
            whole, weights = items.log_sums(sums)
            logsum[:, items.of] = whole
            out[:, items.of] = (items.spread(parts) * weights[..., None]).sum(2).to(out.dtype)
        ctx.save_for_backward(q, k, v, table, out, logsum)
        ctx.pattern = pattern
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """Gradients of the four tensors."""
        q, k, v, table, out, logsum = ctx.saved_tensors
        pattern: TritonPattern = ctx.pattern
        d_out = gradients[0].contiguous()
        delta = (d_out.to(logsum.dtype) * out).sum(-1)
        given = q, k, v, table
        d_q, d_table = torch.empty_like(q), None
        by_entry = _entry_sums(q, table, pattern.rows, logsum.dtype)
        _launch(_backward_rows, pattern.rows, pattern.pairs, given, (d_out, logsum, delta), (d_q, by_entry))
        sums = [by_entry]
        if pattern.long_rows is not None:
            items = pattern.long_rows
            parts, some = _parts(items, logsum, q), _entry_sums(q, table, items, logsum.dtype)
            _launch(_backward_rows, items, pattern.pairs, given, (d_out, logsum, delta), (parts, some))
            d_q[:, items.of] = items.spread(parts).sum(2).to(q.dtype)
            sums.append(some)
        if table is not None:
            d_table = sum(each.sum(1, dtype=torch.float64) for each in sums if each is not None).T.to(table.dtype)  # type: ignore[union-attr]
        d_k, d_v = torch.empty_like(k), torch.empty_like(v)
        transposed = pattern.transposed
        _launch(_backward_columns, transposed.rows, transposed.pairs, given, (d_out, logsum, delta), (d_k, d_v))
        if transposed.long_rows is not None:
            items = transposed.long_rows
            of_keys, of_values = _parts(items, logsum, k), _parts(items, logsum, v)
            _launch(_backward_columns, items, transposed.pairs, given, (d_out, logsum, delta), (of_keys, of_values))
            d_k[:, items.of] = items.spread(of_keys).sum(2).to(k.dtype)
            d_v[:, items.of] = items.spread(of_values).sum(2).to(v.dtype)
        return d_q, d_k, d_v, d_table, None


def _parts(items: Items, logsum: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    return logsum.new_empty((len(like), items.count, like.shape[2]))


def _entry_sums(q: torch.Tensor, table: torch.Tensor | None, items: Items, wide: torch.dtype) -> torch.Tensor | None:
    return None if table is None else q.new_empty((len(q), items.count, len(table)), dtype=wide)


def _launch(
    kernel: Any,
    items: Items,
    pairs: tuple[torch.Tensor, torch.Tensor],
    given: tuple[torch.Tensor | None, ...],
    saved: tuple[torch.Tensor, ...],
    into: tuple[torch.Tensor | None, ...],
) -> None:
    """Launch a program for each item and head."""
    q, _, v, table = given
    assert q is not None
    assert v is not None
    heads, tokens, d = q.shape
    block_d = triton.next_power_of_2(d)
    block_n = min(_MOST, max(_LEAST, triton.next_power_of_2(math.ceil(items.mean))))
    meta = {
        "WIDE": tl.float64 if q.dtype == torch.float64 else tl.float32,
        "BIASED": table is not None,
        "SCALE": d**-0.5,  # a number at run time would be a float32
        "D": d,
        "BLOCK_D": block_d,
        "BLOCK_N": block_n,
        "num_warps": max(1, min(4, block_n * block_d // 1024)),
    }
    more: tuple[int, ...] = ()
    if kernel is _backward_rows:
        entries = 0 if table is None else len(table)
        more, meta["ENTRIES"] = (entries,), triton.next_power_of_2(max(1, entries))
    if items.count:
        kernel[items.count, heads](
            *given, *saved, items.rows, items.starts, items.stops, *pairs, *into,
            tokens, items.count, heads, *more, **meta,
        )  # fmt: skip
