# SPDX-License-Identifier: Apache-2.0
"""Runs a model on one rank's part as if it saw the whole graph.

A model takes rows by the sources of edges; there, and only there, it needs rows of other ranks. PyTorch shows every
function of a forward pass to a :class:`~torch.overrides.TorchFunctionMode`, which knows what the rows of each tensor
are (:mod:`offramp.gnn.tags`): rows that are taken by sources come from the halo, statistics over vertices or edges are
those of the whole graph, dropout's masks belong to vertices and edges, and what mixes vertices otherwise is refused.
So PyG's layers, their names and their weights stay as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode

from offramp.gnn.halo import ExchangeKey, extend
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

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from offramp.gnn.exchanges import HaloExchange
    from offramp.gnn.halo import RankHalo
    from offramp.gnn.parts import EdgeSet, Partition


Constants = dict[tuple[int, int], tuple[torch.Tensor, int, torch.Tensor]]
"""Constants by a tensor's and a halo's identity: the tensor, its version, and its rows with the halo's behind them."""


class Distribution(TorchFunctionMode):
    """One forward pass over a partition.

    Attributes:
        part: the rank's part of the graph.
        comm: the ranks.
        seed: seed of dropout.
        step: number of the training step, which selects dropout's masks; below 0 in evaluation.
        paused: whether functions run as they are: inside layers that get whole rows.
        pairs: edge indices of this pass, the latest last, by which dropout finds the ends of edges.
    """

    def __init__(
        self,
        part: Partition,
        exchange: HaloExchange,
        seed: int,
        step: int,
        rules: Mapping[str, Callable[..., Any]],
        constants: Constants,
    ) -> None:
        """Args: rules: what functions do instead (:data:`offramp.gnn.rules.RULES`); constants: of ``part``."""
        super().__init__()
        self.part, self.comm, self.seed, self.step = part, part.comm, seed, step
        self.paused = False
        self.pairs: list[tuple[torch.Tensor, EdgeSet]] = []
        self.draws = 0
        self._exchange, self._rules = exchange, rules
        self._exchanges = 0
        self._extended: Constants = {}
        self._constants = constants

    def __torch_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Every function of the model comes by here."""
        del types
        kwargs = kwargs or {}
        if self.paused:
            return func(*args, **kwargs)
        name = func.__name__
        tagged = [each for each in tensors([args, kwargs]) if tag_of(each) is not None]
        if not tagged and name != "dropout":
            return func(*args, **kwargs)
        rule = self._rules.get(name)
        out = rule(self, func, args, kwargs) if rule is not None else NotImplemented
        if out is NotImplemented:
            out = func(*args, **kwargs)
            settle(name, tagged, out)
        for each in tensors(out):
            self._note(each)
        return out

    def extended(self, x: torch.Tensor, halo: RankHalo) -> torch.Tensor:
        """Own rows and those of the halo; rows that have come once in this pass are not fetched again."""
        key = id(x), id(halo)
        constant = self._exchange.exact and not x.requires_grad and self._is_given(x)
        there = self._constants if constant else self._extended
        known = there.get(key)
        if known is not None and known[1] == x._version:
            return known[2]
        with torch._C.DisableTorchFunction():
            if constant:
                out = torch.cat([x, halo.start(x)()])
            else:
                out = extend(x, halo, self._exchange, ExchangeKey(self.step, self._exchanges))
                self._exchanges += 1
        there[key] = (x, x._version, out)  # x is kept: its id is not another tensor's meanwhile
        return out

    def _is_given(self, x: torch.Tensor) -> bool:
        """Whether ``x`` is a tensor of the graph, which changes only where it is written in place."""
        return any(x is each for vertices in self.part.vertices.values() for each in vertices.data.values())

    def _note(self, tensor: torch.Tensor) -> None:
        tag = tag_of(tensor)
        if tag is not None and tag.role == PAIRS:
            self.pairs.append((tensor, tag.of))  # type: ignore[arg-type]


CREATES = frozenset({"new_zeros", "new_ones", "new_full", "new_empty", "new_tensor"})
"""Functions whose result takes only type and device from a tensor."""

SELECTS = frozenset({"__getitem__", "index_select", "masked_select", "select", "narrow", "take"})
"""Functions that take some rows out, which are then nothing that a rule knows."""


def settle(name: str, tagged: list[torch.Tensor], out: Any) -> None:
    """Say what the rows of a function's results are, from what those of its arguments are.

    Raises:
        CannotDistributeError: vertices or edges went in, and something else came out.
    """
    results = [each for each in tensors(out) if each.dim() and tag_of(each) is None]
    fits = [each for each in results if (tag := _tag(tagged, each, name)) is not None and mark(each, tag) is not None]
    if fits or not results or name in CREATES or name in SELECTS:
        return
    mixed = [tag_of(each) for each in tagged if each.is_floating_point()]
    if any(each.is_floating_point() for each in results) and mixed:
        assert mixed[0] is not None
        raise CannotDistributeError(f"{name} mixes {mixed[0].role}, of which a rank has only its own")


def _tag(tagged: list[torch.Tensor], out: torch.Tensor, name: str) -> Tag | None:
    """The tag of one result."""
    tags = [(each, tag) for each in tagged if (tag := tag_of(each)) is not None]
    integer = not (out.is_floating_point() or out.is_complex()) and out.dtype != torch.bool
    for _, tag in tags:
        if tag.role == PAIRS and integer and out.dim() == 2 and len(out) == 2:
            return tag
    ends = [tag for _, tag in tags if tag.role in (SOURCES, TARGETS)]
    if len(ends) == 2 and ends[0].role == SOURCES and integer and len(out) == 2 and name in ("stack", "vstack"):
        return Tag(PAIRS, ends[0].of)
    for each, tag in tags:
        rows = each.shape[1] if tag.role == PAIRS else each.shape[tag.dim] if each.dim() else -1
        if tag.role in (EDGES, VERTICES) and tag.dim and out.dim() > each.dim():
            continue
        if tag.role in (SOURCES, TARGETS) and integer and name in _KEEPS and rows in out.shape:
            return tag.moved(tag.dim if out.shape[tag.dim] == rows else list(out.shape).index(rows))
        if tag.dim >= out.dim() or out.shape[tag.dim] != rows:
            continue
        if tag.role in (SOURCES, TARGETS):
            return Tag(EDGES, tag.of, tag.dim)
        if tag.role in (EDGES, PAIRS) and (not tag.dim or out.dim() == each.dim()):
            return Tag(EDGES, tag.of, tag.dim)
    for each, tag in tags:
        if tag.role not in (VERTICES, EXTENDED) or not each.dim() or (tag.dim and out.dim() != each.dim()):
            continue
        if tag.dim < out.dim() and out.shape[tag.dim] == each.shape[tag.dim]:
            return tag
    return None


_KEEPS = frozenset(
    {"view", "expand", "expand_as", "to", "clone", "contiguous", "long", "reshape", "detach", "unsqueeze", "view_as"}
    | {"squeeze", "flatten", "type", "cpu", "__get__"}
)
"""Functions after which numbers of vertices are still the same numbers."""


_active: list[Distribution] = []


def active() -> Distribution | None:
    """The forward pass that runs on this rank, if one does."""
    return _active[-1] if _active else None


def run(mode: Distribution, call: Callable[[], Any]) -> Any:
    """Call a model in a mode."""
    _active.append(mode)
    try:
        with mode:
            return call()
    finally:
        _active.pop()
