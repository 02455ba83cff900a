# SPDX-License-Identifier: Apache-2.0
"""Runs a model on one rank's part as if it saw the whole graph.

PyTorch shows every function of a forward pass to a :class:`~torch.overrides.TorchFunctionMode`, which knows what the
rows of each tensor are (:mod:`offramp.gnn.tags`). A function has a rule (:mod:`offramp.gnn.rules`) that computes this
rank's rows of its result, or the rows of all ranks are gathered and every rank computes the whole result. There is no
third way, so a model gets what one process would give it: sizes, random numbers and what leaves PyTorch as well.
"""

from __future__ import annotations

import collections
import contextlib
import inspect
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.overrides import TorchFunctionMode

from offramp.gnn.guards import guarded
from offramp.gnn.halo import ExchangeKey, extend
from offramp.gnn.operators import RANDOM, REFUSED
from offramp.gnn.row_layout import own_rows, whole_rows
from offramp.gnn.tags import (
    EXTENDED,
    NUMBERED,
    NUMBERS,
    PAIRS,
    SOURCES,
    CannotDistributeError,
    Tag,
    mapped,
    mark,
    tag_of,
    tensors,
    unmark,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from offramp.gnn.exchanges import HaloExchange
    from offramp.gnn.halo import RankHalo
    from offramp.gnn.parts import EdgeSet, Partition
    from offramp.gnn.recorded import Recording


Constants = dict[tuple[int, int], tuple[torch.Tensor, int, torch.Tensor]]
"""Constants by a tensor's and a halo's identity: the tensor, its version, and its rows with the halo's behind them."""

_GATHERED: Final = "_offramp_gathered"
_TEXT: Final = frozenset({"__repr__", "__format__", "__str__"})


class Distribution(TorchFunctionMode):
    """One forward pass over a partition.

    Attributes:
        part: the rank's part of the graph.
        comm: the ranks.
        seed: seed of dropout.
        step: number of the training step, which selects dropout's masks; below 0 in evaluation.
        paused: whether functions run as they are: inside layers that get whole rows.
        pairs: edge indices of this pass, the latest last, by which dropout finds the ends of edges.
        counted: the tag of rows, by how many the whole graph has, for tensors that are created with as many.
        gathered: bytes of whole tensors that functions needed, by the function's name.

    It repeats the calls of ``recording``, if there is one.
    """

    def __init__(
        self,
        part: Partition,
        exchange: HaloExchange,
        seed: int,
        step: int,
        rules: Mapping[str, Callable[..., Any]],
        constants: Constants,
        most_bytes: int = 1 << 40,
        recording: Recording | None = None,
    ) -> None:
        """Args: rules: what functions do instead; constants: of ``part``; most_bytes: of one gathered tensor."""
        super().__init__()
        self.part, self.comm, self.seed, self.step = part, part.comm, seed, step
        self.paused = False
        self.pairs: list[tuple[torch.Tensor, EdgeSet]] = []
        self.draws = 0
        self.counted: dict[int, Tag] = {}
        self.gathered: collections.Counter[str] = collections.Counter()
        self._exchange, self._rules, self._most_bytes = exchange, rules, most_bytes
        self._exchanges = 0
        self._extended: Constants = {}
        self._constants = constants
        self._wholes: dict[int, tuple[torch.Tensor, int, torch.Tensor]] = {}
        self._one_generator = False
        self._recording, self._place = recording, 0

    def __torch_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Every function of the model comes by here."""
        kwargs = kwargs or {}
        if self.paused:
            return func(*args, **kwargs)
        if torch._C._functorch.peek_interpreter_stack() is not None:
            raise CannotDistributeError(f"{func.__name__} under vmap or another transform of torch.func")
        recording = self._recording
        if recording is None:
            return self.inspected(func, func, args, kwargs)
        place = self._place
        self._place = place + 1
        call = recording.calls[place] if place < len(recording.calls) else None
        if call is not None and call.func == func:
            if call.always:
                return func(*args, **kwargs)
            out = call.repeat(self, args, kwargs)
            if out is not NotImplemented:
                return out
        return recording.record(self, place, func, args, kwargs)

    def inspected(
        self, func: Callable[..., Any], called: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """What the function's rule makes of it, which calls ``called`` for it, or the whole result."""
        name = name_of(func)
        if name in RANDOM:
            self.share_generator(kwargs)
        rule = self._rules.get(name)
        out = NotImplemented if rule is None else rule(self, called, args, kwargs)
        return self.whole(func, name, args, kwargs) if out is NotImplemented else out

    def changes(self) -> tuple[Any, ...]:
        """Numbers that differ after a function that exchanged, gathered or drew anything."""
        sizes = len(self._wholes), len(self._extended), len(self._constants)
        return self.draws, self._exchanges, self._one_generator, *sizes, sum(self.gathered.values())

    def whole(self, func: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Compute the whole result from the rows of all ranks, on every rank.

        Raises:
            CannotDistributeError: the function shows one rank's memory, or writes where the whole tensor is no more.
        """
        tagged = [tag for each in tensors([args, kwargs]) if (tag := tag_of(each)) is not None]
        writes = writes_into(name)
        if writes and isinstance(args[0], torch.Tensor):
            check_written(name, args[0])
        if not tagged and name in ("backward", "grad"):
            raise CannotDistributeError(f"{name} {REFUSED[name]}")
        if not tagged:
            return func(*args, **kwargs)
        if name in REFUSED:
            raise CannotDistributeError(f"{name} {REFUSED[name]}")
        if name in _TEXT and tag_of(args[0]) is not None:  # not to wait for other ranks, which may print nothing
            return f"<rows of {tagged[0].role} on rank {self.comm.rank}: {func(*args, **kwargs)}>"
        into = list(tensors(kwargs.get("out")))
        for each in into:
            check_written(name, each)
        if any(map(tag_of, into)) or (not writes and _in_place(func, args, kwargs)):
            raise CannotDistributeError(f"{name} of {tagged[0].role} writes into an argument; use its result instead")
        target = tag_of(args[0]) if writes else None
        if target is not None and target.role in NUMBERED:
            raise CannotDistributeError(f"{name} changes an edge index in place; use a copy")
        given_args = mapped(args, lambda each: self.whole_of(each, name))
        given_kwargs = mapped(kwargs, lambda each: self.whole_of(each, name))
        if target is None:
            return _unaliased(func(*given_args, **given_kwargs))
        changed = given_args[0].clone()
        func(changed, *given_args[1:], **given_kwargs)
        if changed.shape != given_args[0].shape:
            raise CannotDistributeError(f"{name} changes the shape of {target.role} in place; use its result instead")
        with torch._C.DisableTorchFunction():
            args[0].copy_(own_rows(changed, target.layout, target.dim))
        return args[0]

    def whole_of(self, x: torch.Tensor, name: str) -> torch.Tensor:
        """The whole tensor of which ``x`` is this rank's rows; ``x`` if all ranks have it whole."""
        tag = tag_of(x)
        if tag is None:
            return x
        known = self._wholes.get(id(x))
        if known is not None and known[1] == x._version:
            return known[2]
        if tag.role == EXTENDED:
            raise CannotDistributeError(f"{name} mixes own rows and those of the halo")
        with torch._C.DisableTorchFunction():
            values = self.values_of(x, tag)
            rows = tag.layout.total
            size = rows * (values.numel() // max(1, values.shape[tag.dim])) * values.element_size()
            if size > self._most_bytes:
                raise CannotDistributeError(
                    f"{name} needs {tag.role} of all ranks, {size:,} bytes; distribute(gather_bytes=…) allows "
                    f"{self._most_bytes:,}"
                )
            self.gathered[name] += size
            out = whole_rows(values, tag.layout, tag.dim)
            setattr(out if out._base is None else out._base, _GATHERED, True)
        self._wholes[id(x)] = x, x._version, out
        return out

    def values_of(self, x: torch.Tensor, tag: Tag) -> torch.Tensor:
        """Numbers of the whole graph instead of this rank's; other values as they are."""
        if tag.role not in NUMBERED:
            return x
        of: Any = tag.of
        with torch._C.DisableTorchFunction():
            if tag.role == NUMBERS:
                ids = of.ids.to(x.device)[x]
            elif tag.role == PAIRS:
                ids = torch.stack([of.source_ids.to(x.device)[x[0]], of.target.ids.to(x.device)[x[1]]])
            else:
                ids = (of.source_ids if tag.role == SOURCES else of.target.ids).to(x.device)[x]
        return mark(ids, tag.valued)

    def own_of(self, x: torch.Tensor, tag: Tag, dim: int) -> torch.Tensor:
        """This rank's rows of a tensor that all ranks have whole.

        Raises:
            CannotDistributeError: it has another number of rows.
        """
        with torch._C.DisableTorchFunction():
            total, rows = tag.layout.total, x.shape[dim]
            if rows != total:
                raise CannotDistributeError(
                    f"{rows} rows meet {total} {tag.valued.role} of the whole graph; give tensors of this rank's rows "
                    f"as arguments of the model"
                )
            return mark(own_rows(x, tag.layout, dim), Tag(tag.valued.role, tag.of, dim, tag.rows))

    def share_generator(self, kwargs: Mapping[str, Any] | None = None) -> None:
        """Let all ranks draw the first rank's random numbers in this pass; a generator's that is given, at each call.

        All ranks call this together.
        """
        given = (kwargs or {}).get("generator")
        if given is None and self._one_generator:
            return
        generators = [torch.default_generator] if given is None else [given]
        if given is None:
            self._one_generator = True
            if torch.cuda.is_available() and torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
                generators.append(torch.cuda.default_generators[torch.cuda.current_device()])
        with torch._C.DisableTorchFunction():
            for each in generators:
                if self.comm.size > 1:
                    each.set_state(self.comm.broadcast(each.get_state()))

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

    def kept_with(self, x: torch.Tensor, compute: Callable[[], torch.Tensor]) -> torch.Tensor:
        """What a dropout needs of ``x`` alone; it is kept for the dropout at the same place of the next pass."""
        key = -1, self.draws
        known = self._constants.get(key)
        if known is None or known[0] is not x or known[1] != x._version:
            known = self._constants[key] = x, x._version, compute()
        return known[2]

    def _is_given(self, x: torch.Tensor) -> bool:
        """Whether ``x`` is a tensor of the graph, which changes only where it is written in place."""
        return any(x is each for vertices in self.part.vertices.values() for each in vertices.data.values())

    def note(self, pairs: torch.Tensor, edges: Any) -> None:
        """Remember an edge index."""
        self.pairs.append((pairs, edges))


def name_of(func: Callable[..., Any]) -> str:
    """The name of a function in the tables; of an attribute's getter it is ``get.`` and the attribute."""
    name = func.__name__
    if name == "__get__" or name == "__set__":
        name = f"{name[2:5]}.{func.__self__.__name__}"  # type: ignore[attr-defined]
    return name


def writes_into(name: str) -> bool:
    """Whether a function changes its first argument."""
    if name.startswith("__"):
        return name == "__setitem__" or (name.startswith("__i") and name not in ("__invert__", "__iter__", "__int__"))
    return name.endswith("_") or name.startswith("set.")


def check_written(name: str, x: torch.Tensor) -> None:
    """Raises: CannotDistributeError: ``x`` shares memory with a gathered copy only, not with the ranks' rows."""
    base = x if x._base is None else x._base
    if _GATHERED in base.__dict__:
        raise CannotDistributeError(f"{name} writes into a view of rows that other ranks own; assign by x[…] =")


def _in_place(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether an argument ``inplace`` is set."""
    if "inplace" in kwargs:
        return bool(kwargs["inplace"])
    if not any(each is True for each in args) or not inspect.isfunction(func):
        return False
    with contextlib.suppress(TypeError, ValueError):
        return bool(inspect.signature(func).bind(*args, **kwargs).arguments.get("inplace", False))
    return False


def _unaliased(out: Any) -> Any:
    """Arrays of gathered rows cannot be written to: that would change nobody's rows."""
    if hasattr(out, "setflags"):
        out.setflags(write=False)
    for each in tensors(out):
        unmark(each)
    return out


_active: list[Distribution] = []


def active() -> Distribution | None:
    """The forward pass that runs on this rank, if one does."""
    return _active[-1] if _active else None


def run(mode: Distribution, call: Callable[[], Any]) -> Any:
    """Call a model in a mode."""
    _active.append(mode)
    try:
        with guarded(mode), mode:
            return call()
    finally:
        _active.pop()
