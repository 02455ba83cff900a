# SPDX-License-Identifier: Apache-2.0
"""``distribute``: an unmodified model on one rank's part of a graph."""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING, Any, Final

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from offramp.gnn import dgl
from offramp.gnn.arguments import agree, rank_rows, tag_fields, tag_input
from offramp.gnn.exchanges import PLAIN, PlainExchange, make_exchange
from offramp.gnn.guards import SharedRandomness
from offramp.gnn.mode import Constants, Distribution, active, run
from offramp.gnn.parts import HOMOGENEOUS, Partition, partition
from offramp.gnn.recorded import Recordings
from offramp.gnn.rules import RULES
from offramp.gnn.tags import EXTENDED, VERTICES, CannotDistributeError, Tag, mapped, mark, tag_of, tensors
from offramp_base.errors import OfframpError
from offramp_base.settings.error import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    import torch.distributed as dist

    from offramp.gnn.exchanges import HaloExchange
    from offramp.gnn.switched import HaloSwitch

WHOLE_ROWS: Final = ("HGTConv",)
"""Layers that number vertices of several types together: they get own rows and halo, and their own rows are kept."""


def distribute(
    module: nn.Module,
    graph: Any,
    group: dist.ProcessGroup | None = None,
    *,
    codec: str = PLAIN,
    bits: int | None = None,
    schedule: str = "sequential",
    propagator: HaloSwitch | None = None,
    seed: int = 0,
    whole_rows: Collection[str] = (),
    gather_bytes: int = 1 << 30,
) -> DistributedModule:
    """``module`` on this rank's part of ``graph``; every rank calls this with its own copy of the module.

    All ranks get the parameters and buffers of the first one. The module itself, its parameters and the names in its
    ``state_dict`` stay what they are.

    Args:
        module: a module of PyG's layers, or any that gathers rows by the sources of edges; or of DGL's, which is then
            called with :func:`~offramp.gnn.dgl.rank_graph`.
        graph: a :class:`~offramp.gnn.parts.Partition`, or the whole graph, which is then cut by ``auto``.
        group: ranks, where the graph is whole; by default those of the default group, or this process alone.
        codec: codec of halo rows: ``fp32`` leaves them as they are; else a name of :data:`offramp.codecs.base.CODECS`.
        bits: base width of the codec ``sylvie``; 32 leaves float32.
        schedule: ``sequential``, or ``stale`` for the halo rows of the step before.
        propagator: a switch through which halo rows go; None: from rank to rank.
        seed: seed of dropout and of the codec's rounding.
        whole_rows: classes of layers that get own rows and halo in one, as plain functions of the module's own.
        gather_bytes: largest tensor of all ranks' rows that a function may need, such as a sort over all vertices.

    Raises:
        OfframpError: a layer that cannot be distributed, by its name, an unknown choice, or a switch that does not
            answer.
    """
    _check(module)
    part = graph if isinstance(graph, Partition) else partition(graph, group)
    with torch.no_grad():
        for tensor in (*module.parameters(), *module.buffers()):
            tensor.copy_(part.comm.broadcast(tensor.detach().clone()))
    exchange: HaloExchange = make_exchange(codec, schedule, bits, seed)
    if propagator is not None:
        if not isinstance(exchange, PlainExchange):
            raise SettingsError("propagator", f"a switch goes with codec {PLAIN} and schedule sequential only")
        propagator.expect(part.comm)
        exchange = propagator
    return DistributedModule(module, part, exchange, seed, (*WHOLE_ROWS, *whole_rows), gather_bytes)


def _check(module: nn.Module) -> None:
    for name, layer in module.named_modules():
        if isinstance(layer, torch.jit.ScriptModule):
            kind = type(layer).__name__
            raise CannotDistributeError(f"{name or 'module'} ({kind}): is compiled; distribute it before")
    for name, tensor in (*module.named_parameters(), *module.named_buffers()):
        if is_lazy(tensor):
            raise CannotDistributeError(f"{name}: is lazy, without a shape so far; call the module once before")


class DistributedModule(nn.Module):
    """A module that runs on one rank's part of a graph.

    It is called as the module is, with tensors of the rank's part: rows of its own vertices, local edges.

    Attributes:
        module: the module that was given.
        part: the graph; another one may be put in its place between calls.
        step: number of the training step: each forward pass in training counts one.
        gathered: bytes of all ranks' rows that functions needed in the last pass, by the function's name.
    """

    def __init__(
        self,
        module: nn.Module,
        part: Partition,
        exchange: HaloExchange,
        seed: int,
        whole_rows: Collection[str],
        gather_bytes: int = 1 << 30,
    ) -> None:
        super().__init__()
        self.module = module
        self.part = part
        self.step = 0
        self.gathered: dict[str, int] = {}
        self._exchange, self._seed, self._gather_bytes = exchange, seed, gather_bytes
        self._constants: tuple[Partition, Constants] = part, {}
        self._recordings = Recordings()
        self._randomness = SharedRandomness(part.comm)
        for layer in module.modules():
            if type(layer).__name__ in whole_rows:
                _give_whole_rows(layer)
        for layer in dgl.layers_of(module):
            _give_whole_rows(layer, dgl.refuse_dropout)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module.

        Raises:
            OfframpError: a layer mixes vertices in a way that cannot be distributed; the message names it.
        """
        if self._constants[0] is not self.part:
            self._constants = self.part, {}
        step = self.step if self.training else -1
        recording = self._recordings.of(self.part, training=self.training)
        known = self._constants[1]
        mode = Distribution(self.part, self._exchange, self._seed, step, RULES, known, self._gather_bytes, recording)
        self.step += self.training
        guesses = [guess for value in args for guess in tag_input(self.part, "", value)]
        guesses += [guess for name, value in kwargs.items() for guess in tag_input(self.part, name, value)]
        agree(self.part, guesses)
        mode.pairs += [(e.index, e) for e in self.part.edges.values()]
        mode.counted |= {v.layout.total: Tag(VERTICES, v) for v in self.part.vertices.values() if v.layout.total > 1}
        tag_fields(self.part)
        try:
            with contextlib.ExitStack() as stack:
                if torch.is_inference_mode_enabled():  # its tensors do not count changes
                    stack.enter_context(torch.inference_mode(False))
                    stack.enter_context(torch.no_grad())
                stack.enter_context(self._randomness.shared(self.training))
                out = run(mode, lambda: self.module(*args, **kwargs))
            self.gathered = dict(mode.gathered)
            return rank_rows(mode, out)
        except (CannotDistributeError, IndexError) as error:
            raise OfframpError(f"{self._where(error)}: {error}") from error

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """The module's own, under its own names."""
        return self.module.state_dict(*args, **kwargs)

    def load_state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Load the module's own."""
        return self.module.load_state_dict(*args, **kwargs)

    def _where(self, error: BaseException) -> str:
        """The layer in which something went wrong: the innermost module on the way there."""
        names = {id(layer): name for name, layer in self.module.named_modules()}
        place, trace = "module", error.__traceback__
        while trace is not None:
            layer = trace.tb_frame.f_locals.get("self")
            if id(layer) in names:
                place = f"{names[id(layer)] or 'module'} ({type(layer).__name__})"
            trace = trace.tb_next
        return place


def _give_whole_rows(layer: nn.Module, check: Callable[[nn.Module], None] = lambda _: None) -> None:
    """Let a layer see own rows and halo while a distributed pass runs, and keep only the own rows of its output.

    ``check`` refuses a layer before it runs.
    """
    forward = layer.forward

    @functools.wraps(forward)
    def whole(*args: Any, **kwargs: Any) -> Any:
        mode = active()
        if mode is None or mode.paused:
            return forward(*args, **kwargs)
        check(layer)
        args, kwargs = mapped(args, extended_rows), mapped(kwargs, extended_rows)
        sets = {
            id(tag.of): tag.of for each in tensors([args, kwargs]) if (tag := tag_of(each)) and tag.role == EXTENDED
        }
        mode.paused = True
        try:
            out = forward(*args, **kwargs)
        finally:
            mode.paused = False
        return _own_rows(mode.part, out, list(sets.values()))

    layer.forward = whole


def extended_rows(x: torch.Tensor) -> torch.Tensor:
    """Own rows and halo of a tensor of vertices; others as they are."""
    mode, tag = active(), tag_of(x)
    if mode is None or tag is None or tag.role != VERTICES:
        return x
    vertices: Any = tag.of
    return mark(mode.extended(x, vertices.halo), Tag(EXTENDED, vertices))


def _own_rows(part: Partition, out: Any, sets: list[Any]) -> Any:
    if isinstance(out, dict):
        return {
            name: None if each is None else _own_rows(part, each, [part.vertices[name]]) for name, each in out.items()
        }
    (vertices,) = sets
    return mark(out[: vertices.owned], Tag(VERTICES, vertices))


def halo_exchange(x: torch.Tensor, graph: Partition | None = None, vertices: str = HOMOGENEOUS) -> torch.Tensor:
    """``(n, …)`` rows of the own vertices to ``(n + h, …)``, the halo's behind them, with its gradient.

    For layers of one's own: inside a distributed module, or with ``graph`` anywhere. Every rank calls it together.

    Raises:
        OfframpError: no graph is given and no distributed module runs.
    """
    mode = active()
    if graph is None and mode is None:
        raise OfframpError("halo_exchange: expected a graph outside of a distributed module")
    if mode is not None and (graph is None or graph is mode.part):
        of = mode.part.vertices[vertices]
        return mark(mode.extended(x, of.halo), Tag(EXTENDED, of))
    from offramp.gnn.halo import ExchangeKey, extend

    assert graph is not None
    return extend(x, graph.vertices[vertices].halo, PlainExchange(), ExchangeKey(-1, 0))
