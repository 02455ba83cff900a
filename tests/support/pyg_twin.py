# SPDX-License-Identifier: Apache-2.0
"""PyG's own tests of layers and models, each call beside a distributed twin: equal to one process, or refused.

    PYTHONPATH=base:switch:host:sim:tests/support python tests/support/pyg_twin.py PYG/test/nn --ranks 2 --out FILE

``PYG`` is a checkout of PyTorch Geometric. Every rank runs the same tests with the same random numbers. Where a test
calls one of PyG's modules with rows of vertices, a copy is distributed over a random partition of the same graph, and
its outputs are compared with those of another copy in one process. An adjacency matrix is given to the twin as the
edges that it has, where the layer takes them. Blind to gradients (``gnn_layers.py`` compares those), to functions that
are no modules, and to what the tests themselves check. Modules with dropout are compared in evaluation.
"""

from __future__ import annotations

import argparse
import collections
import copy
import inspect
import itertools
import json
import random
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn
from torch.nn.parameter import is_lazy

from offramp import gnn
from offramp.gnn.row_layout import whole_rows
from offramp.gnn.tags import NUMBERED, mapped, tag_of, tensors
from offramp.workers.processes import run_workers
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = "torch_geometric.nn"


class NotComparedError(Exception):
    """The call has no rows of one graph's vertices."""


def is_pairs(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.layout == torch.strided and (
        value.dtype == torch.int64 and value.dim() == 2 and value.shape[0] == 2
    )  # fmt: skip


class Cut:
    """The arguments of a call, as a graph and as a rank's part of it."""

    def __init__(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], size: int) -> None:
        self.bound = inspect.signature(module.forward).bind(*args, **kwargs)
        self.arguments = dict(self.bound.arguments)
        if any(each.layout != torch.strided for each in tensors(self.arguments)):
            raise NotComparedError("a sparse matrix")
        if any(type(each).__name__ in ("EdgeIndex", "SparseTensor", "Index") for each in _values(self.arguments)):
            raise NotComparedError("a class of edges")
        dictionaries = {k: v for k, v in self.arguments.items() if isinstance(v, dict) and k.endswith("_dict")}
        if "edge_index_dict" in dictionaries and "x_dict" in dictionaries:
            self.part = self._typed(dictionaries, size)
        elif self._two_sets():
            self.part = self._bipartite(size)
        else:
            self.part = self._plain(size)

    def _two_sets(self) -> bool:
        x = self.arguments.get("x")
        if not isinstance(x, tuple) or len(x) != 2 or not all(isinstance(each, torch.Tensor) for each in x[:1]):
            return False
        return x[1] is None or len(x[0]) != len(x[1])

    def _bipartite(self, size: int) -> Any:
        """Vertices that edges leave, and others where they end: pairs of arguments are of one and of the other."""
        (first, second), given = self.arguments["x"], self.arguments.get("size")
        index = next((v for v in self.arguments.values() if is_pairs(v)), None)
        if index is None or (second is None and given is None):
            raise NotComparedError("two sets of vertices, whose numbers are not known")
        counts = {"a": len(first), "b": given[1] if second is None else len(second)}
        self.sets: dict[str, dict[str, Any]] = {"a": {}, "b": {}, "e": {}}
        for number, value in enumerate(self.arguments.values()):
            if isinstance(value, tuple) and len(value) == 2:
                for name, each in zip("ab", value, strict=True):
                    if isinstance(each, torch.Tensor):
                        self.sets[name][f"field{number}"] = each
            elif isinstance(value, torch.Tensor) and not is_pairs(value) and value.dim():
                name = "e" if len(value) == index.shape[1] else "b" if len(value) == counts["b"] else "a"
                self.sets[name][f"edge_{number}"] = value
        dictionaries: dict[str, Any] = {"edge_index_dict": {("a", "to", "b"): index}}
        for name, fields in self.sets.items():
            for field, value in fields.items():
                key = ("a", "to", "b") if name == "e" else name
                dictionaries.setdefault(f"{field}_dict", {})[key] = value
        owners = {name: self._owner(count + 100, size)[:count] for name, count in counts.items()}
        return gnn.partition(_Hetero(counts, dictionaries), owner=owners)

    def _local_bipartite(self) -> dict[str, Any]:
        edges = self.part.edges["a", "to", "b"]
        known = {"a": self.part.vertices["a"], "b": self.part.vertices["b"], "e": edges}

        def change(value: torch.Tensor) -> torch.Tensor:
            if is_pairs(value):
                return edges.index
            for name, fields in self.sets.items():
                for field, each in fields.items():
                    if each is value:
                        return known[name].data[field]
            return value

        return {name: mapped(value, change) for name, value in self.arguments.items()}

    def _owner(self, count: int, size: int) -> torch.Tensor:
        return torch.randint(size, (count,), generator=torch.Generator().manual_seed(count))

    def _typed(self, dictionaries: dict[str, Any], size: int) -> Any:
        counts = {name: len(x) for name, x in dictionaries["x_dict"].items() if x is not None}
        ends: dict[str, int] = collections.defaultdict(int)
        for (source, _, target), index in dictionaries["edge_index_dict"].items():
            for name, row in ((source, index[0]), (target, index[1])):
                ends[name] = max(ends[name], int(row.max()) + 1 if row.numel() else 0)
        if set(ends) - set(counts):
            raise NotComparedError("vertices without rows")
        data = _Hetero(counts, dictionaries)
        owners = {name: self._owner(count, size) for name, count in counts.items()}
        return gnn.partition(data, owner=owners)

    def _plain(self, size: int) -> Any:
        pairs = {k: v for k, v in self.arguments.items() if is_pairs(v) and "index" in k}
        rows = [v for k, v in self.arguments.items() if isinstance(v, torch.Tensor) and not is_pairs(v) and v.dim()]
        listed = [each for v in self.arguments.values() if isinstance(v, list | tuple) for each in tensors(v)]
        lengths = {len(each) for each in listed if each.dim()}
        first = next(
            (v for v in rows if not any(v is w for k, w in self.arguments.items() if k.startswith("edge"))), None
        )
        if first is None and len(lengths) == 1:
            first = listed[0]
        if first is None:
            raise NotComparedError("no rows of vertices")
        if first.dim() == 3 and not pairs:
            raise NotComparedError("batches of dense graphs")
        count = len(first)
        edges = torch.cat([torch.zeros((2, 0), dtype=torch.int64), *pairs.values()], 1)
        if self.arguments.get("dim", 0) not in (0, -2):
            raise NotComparedError("rows in another dimension")
        if count < 2 or (edges.numel() and int(edges.max()) >= count):
            raise NotComparedError("other vertices than there are rows")
        fields: dict[str, Any] = {}
        for number, each in enumerate(_values(self.arguments)):
            if isinstance(each, torch.Tensor) and each.dim() and not is_pairs(each):
                named = next((k for k, v in self.arguments.items() if v is each), "")
                per_edge = len(each) == edges.shape[1] and (named.startswith("edge") or len(each) != count)
                fields[f"edge_{number}" if per_edge else f"field{number}"] = each
        self.fields = fields
        data = SimpleNamespace(num_nodes=count, edge_index=edges, **fields)
        return gnn.partition(data, owner=self._owner(count, size))

    def local(self) -> dict[str, Any]:
        """The arguments with the rank's rows."""
        if "edge_index_dict" not in self.arguments and not self.part.homogeneous:
            return self._local_bipartite()
        if not self.part.homogeneous:
            return {
                name: getattr(self.part, name) if isinstance(value, dict) and name.endswith("_dict") else value
                for name, value in self.arguments.items()
            }
        edges = self.part.edges["", "edge_index", ""]

        pairs = [v for k, v in self.arguments.items() if is_pairs(v) and "index" in k]
        first = list(itertools.accumulate([0, *(each.shape[1] for each in pairs)]))

        def change(value: torch.Tensor) -> torch.Tensor:
            for number, each in enumerate(pairs if len(pairs) > 1 else ()):
                if value is each:  # of several edge indices those of this rank among all edges
                    return edges.index[:, (edges.ids >= first[number]) & (edges.ids < first[number + 1])]
            if is_pairs(value):
                return edges.index
            name = next((k for k, v in self.fields.items() if v is value), None)
            known = getattr(self.part, name) if name is not None else value
            return known if isinstance(known, torch.Tensor) else value

        if len(pairs) > 1 and any(name.startswith("edge") for name in self.fields):
            raise NotComparedError("several edge indices with rows for edges")
        return {name: mapped(value, change) for name, value in self.arguments.items()}


class _Hetero:
    """Dictionaries in the shape of PyG's ``HeteroData``."""

    def __init__(self, counts: dict[str, int], dictionaries: dict[str, Any]) -> None:
        self.node_types, self.edge_types = list(counts), list(dictionaries["edge_index_dict"])
        self._sets: dict[Any, Any] = {
            key: _Store({k[:-5]: v[key] for k, v in dictionaries.items() if key in v})
            for key in (*self.node_types, *self.edge_types)
        }
        for name, count in counts.items():
            self._sets[name].num_nodes = count

    def __getitem__(self, key: Any) -> Any:
        return self._sets[key]


class _Store:
    def __init__(self, fields: dict[str, Any]) -> None:
        self.__dict__.update(fields)

    def items(self) -> Any:
        return self.__dict__.items()


def _values(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        for each in value:
            yield from _values(each)
    else:
        yield value


class Twin:
    """A plug-in of pytest's that compares calls of PyG's modules while tests run."""

    def __init__(self, group: Any, out: Path | None) -> None:
        self.group, self._out = group, out
        self.outcomes: dict[str, list[str]] = collections.defaultdict(list)
        self._test = ""
        self._inside = False
        self._call = nn.Module.__call__

    def pytest_runtest_teardown(self, item: Any) -> None:
        """Keep what the test has come to, so that a run that is cut short has something to show."""
        if self.group.rank == 0 and self._out is not None and self.outcomes.get(item.nodeid):
            with self._out.open("a") as file:
                file.write(json.dumps({"test": item.nodeid, "calls": self.outcomes[item.nodeid]}) + "\n")

    def pytest_runtest_setup(self, item: Any) -> None:
        self._test = item.nodeid
        torch.manual_seed(12)
        random.seed(12)
        np.random.seed(12)  # noqa: NPY002 - PyG's tests use it

    @contextmanager
    def watching(self) -> Iterator[None]:
        twin, call = self, self._call

        def called(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
            compiling = torch.jit.is_scripting() or torch.jit.is_tracing() or torch.compiler.is_compiling()
            if twin._inside or compiling or not type(module).__module__.startswith(PACKAGE):
                return call(module, *args, **kwargs)
            twin._inside = True
            try:
                apart = mapped(args, _apart), mapped(kwargs, _apart)  # reversible layers free what they are given
                out = call(module, *args, **kwargs)
                twin.outcomes[twin._test].append(f"{type(module).__name__}: {twin.compare(module, *apart)}")
            finally:
                twin._inside = False
            return out

        nn.Module.__call__ = called  # type: ignore[method-assign]
        try:
            yield
        finally:
            nn.Module.__call__ = call  # type: ignore[method-assign]

    def compare(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """``exact``, ``gathered``, ``refused: …``, ``not compared: …`` or ``DIFFERENT: …``, the same on every rank."""
        state = torch.get_rng_state(), random.getstate(), np.random.get_state()  # noqa: NPY002
        try:
            outcome = self._outcome(module, args, kwargs)
        except NotComparedError as error:
            outcome = f"not compared: {error}"
        except OfframpError as error:
            outcome = f"refused: {error}"
        except Exception as error:
            outcome = f"DIFFERENT: {type(error).__name__}: {str(error)[:300]}"
            sys.stderr.write(f"rank {self.group.rank}: {type(module).__name__}: {outcome}\n")
        finally:
            torch.set_rng_state(state[0])
            random.setstate(state[1])
            np.random.set_state(state[2])  # noqa: NPY002
        worst = self.group.max(torch.tensor(float(outcome.startswith("DIFFERENT"))))
        return outcome if not float(worst) or outcome.startswith("DIFFERENT") else "DIFFERENT: on another rank"

    def _outcome(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        try:
            one, many = copy.deepcopy(module), copy.deepcopy(module)
        except Exception:
            raise NotComparedError("a module that cannot be copied") from None
        if any(map(_drops, one.modules())):
            one.eval()
            many.eval()
        cut = Cut(module, args, kwargs, self.group.size)
        for tensor in (*one.parameters(), *one.buffers()):  # some that PyG does not initialise
            if not is_lazy(tensor):
                cut.part.comm.broadcast(tensor.detach())
        local = cut.local()
        torch.manual_seed(3)
        expected = self._call(one, *mapped(args, _apart), **mapped(kwargs, _apart))
        distributed = gnn.distribute(many, cut.part)
        torch.manual_seed(3 + self.group.rank)
        cut.bound.arguments.update(local)
        actual = self._call(distributed, *cut.bound.args, **cut.bound.kwargs)
        pairs = list(zip(tensors(_plain(actual)), tensors(_plain(expected)), strict=True))
        far = [self._far(cut, mine, whole) for mine, whole in pairs]
        for number, (mine, whole) in enumerate(pairs):
            if far[number] > 1e-4:
                shapes = f"{tuple(mine.shape)} for {tuple(whole.shape)}"
                return f"DIFFERENT: output {number} of shape {shapes} by {far[number]:.1e}"
        return "gathered" if distributed.gathered else "exact"

    def _far(self, cut: Cut, mine: torch.Tensor, whole: torch.Tensor) -> float:
        tag = tag_of(mine)
        if tag is not None and tag.role in NUMBERED:
            return 0.0  # numbers of this rank
        if tag is not None:
            mine = whole_rows(mine, tag.layout, tag.dim)
        elif mine.shape != whole.shape and whole.dim():
            own = [v.ids for v in cut.part.vertices.values() if len(v.owner) == len(whole) and v.owned == len(mine)]
            whole = whole[own[0]] if own else whole
        if mine.shape != whole.shape:
            return float("inf")
        a, b = (each.detach().to_dense().double() for each in (mine, whole))
        a, b = a.nan_to_num(7), b.nan_to_num(7)
        return float(((a - b).abs() / b.abs().clamp(min=1)).max()) if a.numel() else 0.0


def _apart(x: torch.Tensor) -> torch.Tensor:
    return x.detach().clone() if x.layout == torch.strided else x


def _drops(module: nn.Module) -> bool:
    """Whether a module has dropout, whose masks are the vertices' own on ranks."""
    shares = getattr(module, "dropout", 0)
    listed = shares if isinstance(shares, list | tuple) else [shares]
    return (isinstance(module, nn.Dropout) and module.p > 0) or any(
        isinstance(p, int | float) and p > 0 for p in listed
    )


def _plain(out: Any) -> Any:
    if hasattr(out, "to_dict") and not isinstance(out, torch.Tensor):
        out = out.to_dict()
    if hasattr(out, "_fields"):
        out = tuple(out)
    return out


def work(group: Any, item: tuple[list[str], Path | None], report: Any) -> dict[str, list[str]]:
    """Run PyG's tests on this rank; outcomes of the compared calls by test."""
    import pytest

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    options, out = item
    twin = Twin(group, out)
    with twin.watching():
        sys.stdout = sys.stderr if group.rank == 0 else open("/dev/null", "w")  # noqa: SIM115, PTH123
        pytest.main(["-q", "-p", "no:cacheprovider", "--no-header", "--tb=no", *options], [twin])
    return dict(twin.outcomes)


def summary(outcomes: dict[str, list[str]]) -> dict[str, Any]:
    """Tests with compared calls, by the worst of these; reasons of refusals and what differs."""
    order = ("DIFFERENT", "refused", "gathered", "exact")
    counts: collections.Counter[str] = collections.Counter()
    reasons: collections.Counter[str] = collections.Counter()
    different = {}
    for test, calls in outcomes.items():
        compared = [call for call in calls if "not compared" not in call]
        worst = next((word for word in order if any(f": {word}" in call for call in compared)), None)
        counts[worst or "not compared"] += 1
        reasons.update({call for call in calls if ": refused" in call or ": not compared" in call})
        if worst == "DIFFERENT":
            different[test] = [call for call in compared if ": DIFFERENT" in call]
    return {"tests": dict(counts), "reasons": dict(reasons.most_common()), "different": different}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", nargs="+", help="files or folders of PyG's tests, and options of pytest's")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--out", type=Path, help="outcomes of all calls, one line of JSON for each test, as it ends")
    asked, more = parser.parse_known_args()
    outcomes = run_workers(work, [([*asked.tests, *more], asked.out)] * asked.ranks, print)
    table = summary(outcomes)
    sys.stdout.write(json.dumps(table, indent=1) + "\n")
    return int(bool(table["different"]))


if __name__ == "__main__":
    sys.exit(main())
