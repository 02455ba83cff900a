# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own operators, with the samples of its test suite, on rows that ranks share and in one process.

A sample's first tensor is cut by rows (or by columns), and in one more way with it all tensors that have as many rows.
Results and gradients are compared with those of whole tensors in one process: each is equal, or the call is refused.
"""

from __future__ import annotations

import collections
import contextlib
import importlib
import sys
import types
import unittest
import warnings
from types import SimpleNamespace
from typing import Any

import torch

from offramp import gnn
from offramp.gnn.exchanges import PlainExchange
from offramp.gnn.mode import Distribution, run
from offramp.gnn.row_layout import whole_rows
from offramp.gnn.rules import RULES
from offramp.gnn.tags import VERTICES, CannotDistributeError, Tag, mapped, mark, tag_of, tensors

UNDEFINED = frozenset({"empty", "new_empty", "empty_like", "empty_strided", "new_empty_strided", "empty_permuted"})
"""Operators whose results have no values."""
OWN_MASKS = frozenset({"nn.functional.dropout"})
"""Its masks are functions of vertices, not of the generator."""


LOOSE = {"logcumsumexp": 1e-2}
"""Relative tolerances of gradients that PyTorch itself rounds more than others, at values of 10,000."""


def operators() -> dict[str, Any]:
    """All operators that PyTorch's test suite describes, by name and variant, which take float32."""
    with contextlib.suppress(ImportError):
        importlib.import_module("expecttest")
    # Its base class is all that PyTorch's module of samples takes from that package.
    sys.modules.setdefault("expecttest", types.SimpleNamespace(TestCase=unittest.TestCase))  # type: ignore[arg-type]
    from torch.testing._internal.common_methods_invocations import op_db

    infos = {f"{op.name}{f'.{op.variant_test_name}' if op.variant_test_name else ''}": op for op in op_db}
    return {name: op for name, op in infos.items() if torch.float32 in op.supported_dtypes("cpu")}


class Cut:
    """Partitions of any number of rows, at random."""

    def __init__(self, group: Any) -> None:
        self.group = group
        self._parts: dict[int, Any] = {}

    def part(self, rows: int) -> Any:
        if rows not in self._parts:
            g = torch.Generator().manual_seed(rows)
            owner = torch.randint(self.group.size, (rows,), generator=g)
            whole = SimpleNamespace(num_nodes=rows, edge_index=torch.randint(rows, (2, 3), generator=g))
            self._parts[rows] = gnn.partition(whole, owner=owner)
        return self._parts[rows]


def _cut_sample(sample: Any, part: Any, dim: int, all_of_them: bool) -> tuple[Any, list[Any]]:
    """The sample with own rows, and for each tensor: the whole leaf, this rank's leaf and whether it has rows."""
    rows = len(part.vertices[""].owner)
    leaves: list[Any] = []
    first = next(tensors([sample.input, sample.args, sample.kwargs]))

    def change(x: torch.Tensor) -> torch.Tensor:
        for whole, own, _ in leaves:
            if whole is x:
                return own
        tagged = x is first or (all_of_them and x.dim() > dim and x.shape[dim] == rows)
        own = x.detach()
        if tagged:
            own = own.index_select(dim, part.n_id)
        own = own.clone().requires_grad_(x.requires_grad)
        if tagged:
            mark(own, Tag(VERTICES, part.vertices[""], dim))
        leaves.append((x, own, tagged))
        return own

    return mapped([sample.input, list(sample.args), sample.kwargs], change), leaves


def _result(value: Any) -> Any:
    """The rows of all ranks."""
    if isinstance(value, list | tuple):
        return [_result(each) for each in value]
    tag = tag_of(value)
    return value if tag is None else whole_rows(value, tag.layout, tag.dim)


def _same(a: Any, b: Any, tolerance: float = 1e-4) -> bool:
    if isinstance(b, list | tuple):
        return len(a) == len(b) and all(_same(x, y, tolerance) for x, y in zip(a, b, strict=True))
    if isinstance(b, torch.Tensor):
        if not isinstance(a, torch.Tensor) or a.shape != b.shape or a.dtype != b.dtype:
            return False
        a, b = a.detach(), b.detach()
        a, b = (each.to_dense() if each.layout != torch.strided else each for each in (a, b))
        return bool(torch.allclose(a, b, tolerance, 1e-5, equal_nan=True))
    return bool(a == b) or (a != a and b != b)


def _weighted(values: list[torch.Tensor]) -> Any:
    """A loss of results: those of floats, with weights of their own."""
    loss = 0.0
    for number, each in enumerate(values):
        if each.requires_grad and each.layout == torch.strided:
            g = torch.Generator().manual_seed(number)
            weight = torch.rand(each.shape, generator=g)
            loss = loss + ((each.real if each.is_complex() else each) * weight).sum()
    return loss


def _differences(cut: Cut, call: Any, sample: Any, dim: int, all_of_them: bool, name: str) -> str:
    """``exact``, ``gathered`` (exact, from whole tensors), ``refused: …`` or what differs."""
    first = next(tensors([sample.input, sample.args, sample.kwargs]))
    part = cut.part(first.shape[dim])
    given, leaves = _cut_sample(sample, part, dim, all_of_them)
    torch.manual_seed(5)
    try:
        expected = call(sample.input, *sample.args, **sample.kwargs)
        loss, wholes = _weighted(list(tensors(expected))), [whole for whole, _, _ in leaves if whole.requires_grad]
        gradients = ()
        if isinstance(loss, torch.Tensor):
            gradients = torch.autograd.grad(loss, wholes, allow_unused=True)
    except Exception:
        return "fails in one process"
    torch.manual_seed(5 + cut.group.rank)
    mode = Distribution(part, PlainExchange(), 0, -1, RULES, {})
    mode.counted[len(part.vertices[""].owner)] = Tag(VERTICES, part.vertices[""])
    try:
        out = run(mode, lambda: call(given[0], *given[1], **given[2]))
    except CannotDistributeError as error:
        return f"refused: {error}"
    except Exception as error:
        return f"DIFFERENT: {type(error).__name__}: {str(error)[:200]}"
    actual = _result(out)
    if name.partition(".")[0] in UNDEFINED:
        same = [each.shape for each in tensors(actual)] == [each.shape for each in tensors(expected)]
        return "exact" if same else "DIFFERENT: shapes"
    if not _same(actual, expected):
        return "DIFFERENT: result"
    mine = _weighted(list(tensors(actual)))
    if isinstance(loss, torch.Tensor) != isinstance(mine, torch.Tensor):
        return "DIFFERENT: requires_grad"
    if isinstance(loss, torch.Tensor):
        (mine * 0.5 ** min(cut.group.rank + 1, cut.group.size - 1)).backward()
        # Shares of a half, a quarter and a quarter: sums of them are not rounded.
        tolerance = LOOSE.get(name, 1e-4)
        for (whole, own, tagged), gradient in zip((x for x in leaves if x[0].requires_grad), gradients, strict=True):
            got = torch.zeros_like(own) if own.grad is None else own.grad
            want = torch.zeros_like(whole) if gradient is None else gradient.to_dense()
            if tagged:
                want = want.index_select(dim, part.n_id)
            else:
                got = cut.group.sum(got.to_dense().clone())
            if not _same(got.detach(), want, tolerance):
                return "DIFFERENT: gradient"
    return "gathered" if mode.gathered else "exact"


def _calls(op: Any) -> dict[str, Any]:
    """The operator as a function, as a method, and in place on a copy."""
    calls = {"": op.op}
    if op.method_variant is not None and op.method_variant is not op.op:
        calls["method"] = op.method_variant
    if op.inplace_variant is not None:
        calls["in place"] = lambda x, *args, **kwargs: op.inplace_variant(x.clone(), *args, **kwargs)
    return calls


def compare(group: Any, item: tuple[list[str], int], report: Any) -> dict[str, dict[str, int]]:
    """How often each operator was exact, gathered, refused, or different, over samples and ways to cut."""
    names, most = item
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    infos, cut, table = operators(), Cut(group), {}
    for name in names or sorted(infos):
        op, counts = infos[name], collections.Counter()
        torch.manual_seed(1)
        try:
            samples = list(op.sample_inputs("cpu", torch.float32, requires_grad=op.supports_autograd))
        except Exception:
            continue
        rows = [s for s in samples if (x := next(tensors([s.input, s.args, s.kwargs]), None)) is not None and x.dim()]
        rows = [s for s in rows if s.args is not None and not _sparse(s)]
        step = max(1, len(rows) // most)
        for sample in rows[::step][:most]:
            first = next(tensors([sample.input, sample.args, sample.kwargs]))
            for dim, everything in ((0, False), (0, True), (1, False)):
                if first.dim() <= dim or first.shape[dim] < 2 or name in OWN_MASKS:
                    continue
                for way, call in _calls(op).items():
                    result = _differences(cut, call, sample, dim, everything, name)
                    if result.startswith("DIFFERENT"):
                        report(f"{name} {way} dim {dim} {everything} {tuple(first.shape)}: {result}")
                    counts[result.partition(":")[0]] += 1
        if counts:
            table[name] = dict(counts)
            report(f"{group.rank} {name}: {table[name]}")
    return table


def _sparse(sample: Any) -> bool:
    return any(each.layout != torch.strided for each in tensors([sample.input, sample.args, sample.kwargs]))
