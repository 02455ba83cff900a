# SPDX-License-Identifier: Apache-2.0
"""Time and memory of one attention, forward and backward, in a process of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from offramp_base.ending.children import fork_server
from offramp_base.ending.pool import each_in_process
from offramp_base.freed_memory import return_what_is_free

if TYPE_CHECKING:
    import numpy.typing as npt

    from offramp.torchgt.pattern import Pattern

KINDS: Final = ("dense", "biased", "topology", "shuffled", "blocks")
_CLUSTER: Final = 128
"""Vertices in a community of the measured graphs, whatever the length of the sequence."""
_WARM: Final = 64
_INSIDE: Final = 0.9
"""Share of edges inside a community."""


@dataclass(frozen=True, slots=True)
class AttentionCase:
    """One measurement.

    Attributes:
        kind: ``dense``: all pairs without bias, by PyTorch's fused kernel (GP-Flash); ``biased``: with Graphormer's
            bias, which that kernel does not take (GP-Raw); ``topology``: a graph of communities, in their order;
            ``shuffled``: the same, in random order; ``blocks``: as many pairs in dense blocks at random.
        tokens, degree: tokens and degree of the graph, self-loops apart.
        heads, width: heads and width of the attention; ``width`` of all heads together.
        block: side of the blocks.
        repeat: number of measurements; the fastest counts.
    """

    kind: str
    tokens: int
    degree: int = 10
    heads: int = 8
    width: int = 64
    block: int = 16
    repeat: int = 3
    seed: int = 0


@dataclass(frozen=True, slots=True)
class AttentionCost:
    """Measured cost of one attention, forward and backward.

    Attributes:
        forward_s, backward_s: seconds of processor time.
        peak_bytes: memory beyond that of queries, keys, values and the pattern.
        pairs: attended pairs.
    """

    forward_s: float
    backward_s: float
    peak_bytes: int
    pairs: int

    @property
    def seconds(self) -> float:
        """Processor seconds, forward and backward."""
        return self.forward_s + self.backward_s


def measure(case: AttentionCase, threads: int = 1) -> AttentionCost:
    """Run the case in a fresh process, so that its memory is measured alone."""
    context = fork_server(["torch", __name__])
    return next(cost for _, cost in each_in_process(partial(_run, threads=threads), [case], 1, context))


def slope(sizes: npt.ArrayLike, values: npt.ArrayLike) -> float:
    """Exponent of a power law: slope of the least-squares line through the logarithms."""
    return float(np.polyfit(np.log(np.asarray(sizes, float)), np.log(np.asarray(values, float)), 1)[0])


def _run(case: AttentionCase, threads: int) -> AttentionCost:
    import torch

    from offramp.torchgt.dense import dense_attention
    from offramp.torchgt.kernel import PatternTensors, sparse_attention

    torch.set_num_threads(threads)
    tiny = replace(case, tokens=_WARM)
    sparse = case.kind not in ("dense", "biased")
    patterns = {c: PatternTensors(make_pattern(c)) if sparse else None for c in (tiny, case)}
    table = torch.zeros(3, case.heads, requires_grad=True) if case.kind == "biased" else None
    buckets = torch.zeros(case.tokens, case.tokens, dtype=torch.int64) if table is not None else None

    def once(which: AttentionCase) -> tuple[float, float]:
        tokens, pattern = which.tokens, patterns[which]
        generator = torch.Generator().manual_seed(case.seed)
        shape = (case.heads, tokens, case.width // case.heads)
        q, k, v = (torch.randn(shape, generator=generator).requires_grad_() for _ in range(3))
        start = time.process_time()
        if pattern is not None:
            out = sparse_attention(q, k, v, None, pattern)
        else:
            out = dense_attention(q, k, v, table, None if buckets is None else buckets[:tokens, :tokens], tokens)
        middle = time.process_time()
        out.sum().backward()  # type: ignore[no-untyped-call]
        return middle - start, time.process_time() - middle

    once(tiny)  # loads libraries and what they keep
    times: list[tuple[float, float]] = []
    peak = peak_bytes(lambda: times.extend(once(case) for _ in range(case.repeat)))
    forward, backward = np.min(times, 0)
    pattern = patterns[case]
    pairs = case.tokens**2 if pattern is None else pattern.pairs
    return AttentionCost(float(forward), float(backward), peak, pairs)


def peak_bytes(work: Callable[[], object]) -> int:
    """Peak memory of this process during ``work``, beyond what it had before, in bytes."""
    return_what_is_free()  # work that took memory of the heap's would seem to take none
    Path("/proc/self/clear_refs").write_text("5", "ascii")  # the peak starts from here
    before = _memory("VmRSS")
    work()
    return max(0, _memory("VmHWM") - before)


def make_pattern(case: AttentionCase) -> Pattern:
    """The pattern of attended pairs of a case."""
    from offramp.torchgt.pattern import BucketOf, Pattern, pair_keys, pattern_of

    tokens, rng = case.tokens, np.random.default_rng(case.seed)
    bucket_of = BucketOf(tokens, 1, tokens, None)
    loops = np.arange(tokens) * (tokens + 1)
    count = tokens * case.degree
    if case.kind == "blocks":
        along = tokens // case.block
        tiles = np.sort(rng.choice(along * along, max(1, count // case.block**2), replace=False))
        corners = np.stack(np.divmod(tiles, along), 1) * case.block
        outside = loops[~np.isin(np.arange(tokens) // case.block * (along + 1), tiles)]
        rest = pattern_of(tokens, outside, bucket_of)
        return Pattern(tokens, rest.indptr, rest.indices, rest.buckets, case.block, corners)
    rows = np.repeat(np.arange(tokens), case.degree // 2)
    near = rng.random(len(rows)) < _INSIDE
    inside = rows // _CLUSTER * _CLUSTER + rng.integers(0, _CLUSTER, len(rows))
    columns = np.where(near, np.minimum(inside, tokens - 1), rng.integers(0, tokens, len(rows)))
    if case.kind == "shuffled":
        order = rng.permutation(tokens)
        rows, columns = order[rows], order[columns]
    keys = [pair_keys(tokens, rows, columns), pair_keys(tokens, columns, rows), loops]
    return pattern_of(tokens, np.concatenate(keys), bucket_of)


def _memory(field: str) -> int:
    """A field of this process's status, in bytes."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))
