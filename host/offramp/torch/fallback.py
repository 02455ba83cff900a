# SPDX-License-Identifier: Apache-2.0
"""The backend without a compiler: a process group in Python over gloo's backend.

PyTorch 2.13 lets Python override all_reduce, all_gather into lists, broadcast, barrier, reduce_scatter of lists, send,
recv and all_to_all_single; those are recorded and offered to offloads. The rest goes directly to gloo.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d

from offramp.torch import on_gloo
from offramp.torch.dispatcher import BackendDispatcher
from offramp.torch.offload import CollectiveCall, CollectiveRequest
from offramp.torch.settings import NetworkSettings
from offramp.torch.types import DTYPES

_c10d: Any = _distributed_c10d  # its stubs lack some
_NAMES = {dtype: name for name, dtype in DTYPES.items()}


@dataclass
class _Record:
    """A record with the fields of the compiled backend's."""

    id: int
    number: int
    kind: str
    form: str
    dtype: str
    shape: list[int]
    bytes: int
    reduce: str = ""
    peer: int = -1
    route: str = "gloo"
    error: str = ""
    started: float = field(default_factory=time.time)
    seconds: float = -1.0


@dataclass
class _Total:
    calls: int = 0
    bytes: int = 0
    failed: int = 0


class _Recorder:
    def __init__(self, most: int) -> None:
        self._records: deque[_Record] = deque(maxlen=most)
        self._totals: dict[tuple[str, str], _Total] = {}
        self._lock = threading.Lock()

    def begin(self, record: _Record) -> None:
        with self._lock:
            self._records.append(record)

    def route(self, number: int, name: str) -> None:
        for record in self.entries():
            if record.id == number:
                record.route = name

    def end(self, record: _Record, error: str = "") -> None:
        with self._lock:
            if record.seconds >= 0:
                return
            record.seconds, record.error = time.time() - record.started, error
            total = self._totals.setdefault((record.route, record.kind), _Total())
            total.calls += 1
            total.bytes += record.bytes
            total.failed += bool(error)

    def entries(self) -> list[_Record]:
        with self._lock:
            return list(self._records)

    def totals(self) -> dict[tuple[str, str], _Total]:
        with self._lock:
            return dict(self._totals)


@dataclass
class _DispatchedWork:
    """Work that a dispatcher is asked to take, like the compiled backend's; its future completes with it."""

    about: _Record
    outputs: list[torch.Tensor]
    inputs: list[torch.Tensor]
    output_splits: list[int]
    input_splits: list[int]
    group: str
    recorder: _Recorder
    future: torch.futures.Future[list[torch.Tensor]] = field(default_factory=torch.futures.Future)

    def received_from(self, rank: int) -> None:
        """Nothing asks: Python may not override a receive from any rank."""

    def complete(self, error: str = "") -> None:
        """Complete it, once."""
        if self.future.done():
            return
        self.recorder.end(self.about, error)
        if error:
            self.future.set_exception(dist.DistBackendError(error))  # type: ignore[arg-type]
        else:
            self.future.set_result(self.outputs)


class _FutureWork(_c10d.Work):  # type: ignore[misc]
    """Work whose wait fails if its future does; PyTorch's own of a future returns as if nothing were wrong."""

    def __init__(self, future: torch.futures.Future[list[torch.Tensor]]) -> None:
        super().__init__()
        self._future = future

    def wait(self, timeout: Any = None) -> bool:
        """Wait for the end.

        Raises:
            DistBackendError: the collective has failed.
        """
        del timeout
        self._future.wait()
        return True

    def get_future(self) -> torch.futures.Future[list[torch.Tensor]]:
        """The future of the outputs."""
        return self._future

    def is_completed(self) -> bool:
        """Whether it has ended, well or not."""
        return self._future.done()

    def result(self) -> list[torch.Tensor]:
        """The outputs, when they are there; it waits.

        Raises:
            DistBackendError: the collective has failed.
        """
        return self._future.wait()


class PythonGroup(dist.ProcessGroup):
    """Offers the collectives that Python may override to the dispatcher, and uses gloo for the rest."""

    def __init__(self, inner: Any, cuda: Any, dispatcher: BackendDispatcher) -> None:
        # With a store it would be no object that Python may override; the stubs know no other.
        super().__init__(inner.rank(), inner.size())  # type: ignore[call-arg]
        self._inner, self._cuda, self._dispatcher = inner, cuda, dispatcher
        self._recorder = dispatcher.recorder = _Recorder((dispatcher.settings or NetworkSettings()).history)
        self._numbers, self._ids = itertools.count(1), itertools.count()
        self._name = self._desc = ""
        kind = dist.ProcessGroup.BackendType.GLOO
        self._set_default_backend(kind)
        self._register_backend(torch.device("cpu"), kind, inner)
        if cuda is not None:
            self._register_backend(torch.device("cuda"), dist.ProcessGroup.BackendType.NCCL, cuda)

    def getBackendName(self) -> str:  # noqa: D102, N802 - PyTorch's names, here and below
        return "offramp"

    def setGroupName(self, name: str) -> None:  # noqa: D102, N802
        self._name = name

    def getGroupName(self) -> str:  # noqa: D102, N802
        return self._name

    def setGroupDesc(self, desc: str) -> None:  # noqa: D102, N802
        self._desc = desc

    def getGroupDesc(self) -> str:  # noqa: D102, N802
        return self._desc

    def allreduce(self, tensors: Any, opts: Any = None) -> Any:  # type: ignore[override]  # noqa: D102
        opts = opts if opts is not None else dist.AllreduceOptions()
        tensors = [tensors] if isinstance(tensors, torch.Tensor) else tensors
        return self._run(
            ("all_reduce", "single"), tensors, tensors, lambda to: to.allreduce(tensors, opts), op=opts.reduceOp
        )

    def allreduce_coalesced(self, tensors: Any, opts: Any = None) -> Any:  # noqa: D102
        opts = opts if opts is not None else dist.AllreduceCoalescedOptions()
        form = ("all_reduce", "coalesced")
        return self._run(form, tensors, tensors, lambda to: to.allreduce_coalesced(tensors, opts), op=opts.reduceOp)

    def broadcast(self, tensors: Any, opts: Any = None) -> Any:  # type: ignore[override]  # noqa: D102
        opts = opts if opts is not None else dist.BroadcastOptions()
        form = ("broadcast", "single")
        return self._run(form, tensors, tensors, lambda to: to.broadcast(tensors, opts), peer=opts.rootRank)

    def allgather(self, outputs: Any, inputs: Any, opts: Any = None) -> Any:  # noqa: D102
        opts = opts if opts is not None else _c10d.AllgatherOptions()
        every = [t for row in outputs for t in row]
        return self._run(("all_gather", "list"), every, inputs, lambda to: to.allgather(outputs, inputs, opts))

    def reduce_scatter(self, outputs: Any, inputs: Any, opts: Any = None) -> Any:  # type: ignore[override]  # noqa: D102
        opts = opts if opts is not None else dist.ReduceScatterOptions()
        every = [t for row in inputs for t in row]
        return self._run(
            ("reduce_scatter", "list"),
            outputs,
            every,
            lambda to: to.reduce_scatter(outputs, inputs, opts),
            op=opts.reduceOp,
        )

    def alltoall_base(self, output: Any, values: Any, into: Any, out: Any, opts: Any = None) -> Any:  # noqa: D102
        opts = opts if opts is not None else dist.AllToAllOptions()
        return self._run(
            ("all_to_all", "single"),
            [output],
            [values],
            lambda to: to.alltoall_base(output, values, into, out, opts),
            splits=(list(into), list(out)),
        )

    all_to_all_single = alltoall_base  # type: ignore[assignment]

    def send(self, tensors: Any, rank: int, tag: int = 0) -> Any:  # noqa: D102
        form = ("send", "single")
        call = lambda to: to.send(tensors, rank, tag)  # noqa: E731
        return self._run(form, [], tensors, call, peer=rank, splits=([], [tag]))

    def recv(self, tensors: Any, rank: int, tag: int = 0) -> Any:  # noqa: D102
        form = ("recv", "single")
        call = lambda to: to.recv(tensors, rank, tag)  # noqa: E731
        return self._run(form, tensors, [], call, peer=rank, splits=([], [tag]))

    def barrier(self, opts: Any = None) -> Any:  # noqa: D102
        opts = opts if opts is not None else dist.BarrierOptions()
        return self._run(("barrier", ""), [], [], lambda to: to.barrier(opts))

    def abort(self) -> None:
        """Abort what offloads have not begun."""
        self._dispatcher.abort()

    def shutdown(self) -> None:
        """End the offloads once they have finished what they began."""
        self._dispatcher.shutdown()

    def _needs_help(self, record: _Record, tensors: Sequence[torch.Tensor]) -> bool:
        """Whether gloo would refuse a mean, or mistake or refuse strides."""
        strides = not all(t.is_contiguous() for t in tensors)
        return strides or (record.reduce == "AVG" and tensors[0].dtype is not torch.bool)

    def _helped(
        self,
        record: _Record,
        outputs: list[torch.Tensor],
        inputs: list[torch.Tensor],
        splits: tuple[list[int], list[int]],
    ) -> Any:
        """Work of a collective that gloo has carried out on copies, or as a sum."""
        dtype = (outputs or inputs)[0].dtype
        request = CollectiveRequest(
            record.kind, record.form, dtype, record.reduce, record.bytes, self._desc, self.size()
        )
        call = CollectiveCall(request, record.number, outputs, inputs, *splits, record.peer, 0, None)
        work = _DispatchedWork(record, outputs, inputs, *splits, self._desc, self._recorder)

        def end(done: Future[None]) -> None:
            error = done.exception()
            work.complete("" if error is None else str(error))

        with torch.no_grad():
            on_gloo.start(self._inner, call).add_done_callback(end)
        return _FutureWork(work.future)

    def _run(
        self,
        form: tuple[str, str],
        outputs: Sequence[torch.Tensor],
        inputs: Sequence[torch.Tensor],
        delegate: Callable[[Any], Any],
        *,
        op: Any = None,
        peer: int = -1,
        splits: tuple[list[int], list[int]] = ([], []),
    ) -> Any:
        tensors = list(inputs or outputs)
        strided = bool(tensors) and tensors[0].layout == torch.strided
        size = sum(t.nbytes for t in tensors) if strided else 0
        shape = list(tensors[0].shape) if strided else []
        number = next(self._numbers)
        record = _Record(
            next(self._ids), number, *form, _NAMES.get(tensors[0].dtype, "") if tensors else "", shape, size, peer=peer
        )
        record.reduce = str(op.op if hasattr(op, "op") else op).rpartition(".")[2] if op is not None else ""
        self._recorder.begin(record)
        least = self._dispatcher.least(record.kind)
        on_gpu = bool(tensors) and tensors[0].is_cuda
        staged = on_gpu and self._cuda is None  # gloo's share has to be copied as well
        if strided and (staged or (least is not None and size >= least)):
            work = _DispatchedWork(record, list(outputs), list(inputs), *splits, self._desc, self._recorder)
            if self._dispatcher.take(work):
                return _FutureWork(work.future)
        if strided and not (on_gpu and self._cuda is not None) and self._needs_help(record, [*outputs, *inputs]):
            return self._helped(record, list(outputs), list(inputs), splits)
        try:
            pending = delegate(self._cuda if on_gpu and self._cuda is not None else self._inner)
        except RuntimeError as error:
            self._recorder.end(record, str(error))
            raise
        self._recorder.end(record)  # begun: Python cannot observe the end without slowing it down
        return pending
