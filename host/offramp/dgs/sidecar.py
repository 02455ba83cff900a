# SPDX-License-Identifier: Apache-2.0
"""Explanations: in the trainer, or in a process beside it with memory that both see (specification section 6)."""

from __future__ import annotations

import multiprocessing
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from offramp.dgs.cache import FeatureCache, Floats, slots
from offramp.dgs.masks import Masks
from offramp.graph.csr import IntArray
from offramp_base.ending.block import AnonymousMemory
from offramp_base.ending.children import ends_with_parent, stop
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import BaseContext
    from multiprocessing.process import BaseProcess

    from offramp.dgs.interpret import Interpreter
    from offramp.dgs.shard import Shard

_READY: Final = "ready"


class SidecarMemory:
    """Arrays that the trainer writes and the explanation reads, or the other way round.

    Attributes:
        weights: weights of the model, one after the other.
        rows, known: fields of the :class:`~offramp.dgs.cache.FeatureCache`.
        nodes, features: the masks.
        logits: what the next explanation starts from; nothing before the first one is over (``explained``).
    """

    def __init__(self, shard: Shard, block: AnonymousMemory | None = None) -> None:
        """Place the arrays in ``block``, which other processes share; in memory of this process alone without one."""
        self.places = slots(len(shard.halo), shard.width, shard.settings.seed)
        shapes: dict[str, tuple[tuple[int, ...], Any]] = {
            "weights": ((shard.parameters,), np.float32),
            "rows": ((len(self.places), shard.width), np.float32),
            "nodes": ((len(shard.halo),), np.float32),
            "features": ((shard.width,), np.float32),
            "logits": ((1 + len(shard.halo) + shard.width,), np.float32),
            "explained": ((1,), np.bool_),
            "known": ((len(self.places),), np.bool_),
        }
        sizes = [int(np.prod(shape)) * np.dtype(kind).itemsize for shape, kind in shapes.values()]
        buffer: Any = bytearray(sum(sizes)) if block is None else block.map(sum(sizes))
        at = 0
        arrays: dict[str, npt.NDArray[Any]] = {}
        for (field, (shape, kind)), size in zip(shapes.items(), sizes, strict=True):
            arrays[field] = np.ndarray(shape, kind, buffer, at)
            at += size
        self.weights, self.rows, self.known = arrays["weights"], arrays["rows"], arrays["known"]
        self.nodes, self.features = arrays["nodes"], arrays["features"]
        self.logits, self.explained = arrays["logits"], arrays["explained"]


class Explanations(ABC):
    """Makes a worker's masks.

    Attributes:
        cache: rows that were received.
        seconds: seconds that the last explanation took.
        count: explanations begun.
    """

    def __init__(self, shard: Shard, memory: SidecarMemory) -> None:
        self.cache = FeatureCache(shard.halo, memory.places, memory.rows, memory.known)
        self.memory = memory
        self.seconds = 0.0
        self.count = 0

    @abstractmethod
    def start(self, weights: npt.NDArray[np.float32], version: int) -> None:
        """Explain the model of these weights by what has been received until now."""

    @abstractmethod
    def take(self, *, wait: bool) -> Masks | None:
        """The masks; None where they are not ready and ``wait`` is not set."""


class Inline(Explanations):
    """Explains in the trainer itself, which waits meanwhile."""

    def __init__(self, shard: Shard) -> None:
        from offramp.dgs.interpret import Interpreter

        super().__init__(shard, SidecarMemory(shard))
        self._interpreter = Interpreter(shard)
        self._masks: Masks | None = None

    def start(self, weights: npt.NDArray[np.float32], version: int) -> None:
        """Explain before this returns."""
        begin = time.perf_counter()
        self._masks = explain(self._interpreter, self.memory, weights, *self.cache.content(), version)
        self.seconds = time.perf_counter() - begin
        self.count += 1

    def take(self, *, wait: bool) -> Masks | None:  # noqa: ARG002
        """The masks that the last :meth:`start` made; None before the first."""
        return self._masks


@dataclass(frozen=True)
class SidecarHandle:
    """The trainer's end of a process beside it: picklable while processes are started."""

    connection: Connection
    block: AnonymousMemory


class Sidecar(Explanations):
    """Explains in a process beside the trainer, which goes on."""

    def __init__(self, shard: Shard, handle: SidecarHandle) -> None:
        super().__init__(shard, SidecarMemory(shard, handle.block))
        self._connection = handle.connection
        self._worker, self._version = shard.worker, 0

    def start(self, weights: npt.NDArray[np.float32], version: int) -> None:
        """Tell the process; return when it has its copy of what was received."""
        self.memory.weights[:] = weights
        self._version = version
        with self._named():
            self._connection.send(version)
        assert self._receive() == _READY
        self.count += 1

    def take(self, *, wait: bool) -> Masks | None:
        """A copy of the masks in the shared memory."""
        if not wait and not self._connection.poll():
            return None
        self.seconds = self._receive()
        return Masks(self._version, self.memory.nodes.copy(), self.memory.features.copy())

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except (EOFError, ConnectionError):
            raise OfframpError(f"worker {self._worker}: the process that explains its model has ended") from None

    def _receive(self) -> Any:
        with self._named():
            news = self._connection.recv()
        if isinstance(news, Exception):
            raise OfframpError(f"worker {self._worker}: explanation: {news}")
        return news


def explain(
    interpreter: Interpreter,
    memory: SidecarMemory,
    weights: npt.NDArray[np.float32],
    places: IntArray,
    rows: Floats,
    version: int,
) -> Masks:
    """Masks of the model with ``weights``, from rows of remote vertices at ``places`` of the halo."""
    import torch

    torch.nn.utils.vector_to_parameters(torch.from_numpy(weights.copy()), interpreter.model.parameters())
    if memory.explained[0]:  # by this process, or by an earlier run
        interpreter.logits = memory.logits
    masks = interpreter.explain(places, rows, version)
    memory.logits[:], memory.explained[0] = interpreter.logits, True
    return masks


class SidecarProcess:
    """A process that explains the model of one worker, for as long as the block runs.

    Attributes:
        handle: handle for the worker.
    """

    def __init__(self, shard: Shard, context: BaseContext | None = None) -> None:
        context = context or multiprocessing.get_context("forkserver")
        self._block = AnonymousMemory()
        ours, theirs = context.Pipe()
        self.handle = SidecarHandle(ours, self._block)
        arguments = (theirs, replace(shard, snapshot=None), self._block)
        self._process: BaseProcess = context.Process(  # type: ignore[attr-defined]
            target=_serve, args=arguments, name=f"explanation {shard.worker}", daemon=True
        )
        self._process.start()
        theirs.close()

    def close(self) -> None:
        """End the process, free the memory."""
        self.handle.connection.close()
        stop(self._process, 0)  # it holds nothing
        self._block.close()


@contextmanager
def open_sidecar(shard: Shard) -> Iterator[SidecarHandle | None]:
    """The worker's end of a sidecar, where its settings ask for one and there is something to explain."""
    if shard.settings.explain != "beside" or not shard.explains:
        yield None
        return
    process = SidecarProcess(shard)
    try:
        yield process.handle
    finally:
        process.close()


def _serve(connection: Connection, shard: Shard, block: AnonymousMemory) -> None:
    """The process: makes one explanation for each version of the weights, until the trainer is gone."""
    import torch

    from offramp.dgs.interpret import Interpreter

    ends_with_parent()
    torch.set_num_threads(1)
    memory = SidecarMemory(shard, block)
    cache = FeatureCache(shard.halo, memory.places, memory.rows, memory.known)
    interpreter = Interpreter(shard)
    try:
        while True:
            version = connection.recv()
            weights, content = memory.weights.copy(), cache.content()
            connection.send(_READY)
            begin = time.perf_counter()
            masks = explain(interpreter, memory, weights, *content, version)
            memory.nodes[:], memory.features[:] = masks.nodes, masks.features
            connection.send(time.perf_counter() - begin)
    except (EOFError, ConnectionError):
        return
    except OfframpError as error:
        connection.send(error)
