# SPDX-License-Identifier: Apache-2.0
"""The operator: all-to-alls of one group, in the order in which all ranks start them."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, Self, overload

from offramp.hermod.endhost.endpoint import Endpoint
from offramp.hermod.endhost.group import endpoint_of
from offramp.hermod.endhost.handle import Handle
from offramp.hermod.endhost.memory import as_bytes, landing
from offramp.hermod.endhost.priorities import Priorities
from offramp.hermod.factors import Factors
from offramp.hermod.matching.decompose import decompose
from offramp.hermod.operator.agreement import UNKNOWN, Proposal, agree, fingerprint
from offramp.hermod.operator.buffers import check_pair, check_splits, row_bytes
from offramp.hermod.operator.calibrate import measure
from offramp.hermod.operator.choice import PLAIN_BELOW, OperatorCost, cut
from offramp.hermod.operator.exchange import CoflowExchange
from offramp.hermod.operator.movers import ByteMover, mover_of
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    import torch
    import torch.distributed as dist

TRANSPORTS: Final = ("group", "sockets")
_KEPT_SCHEDULES: Final = 64


@dataclass
class _OperatorTask:
    """One all-to-all on its way through the operator's thread."""

    source: torch.Tensor
    sink: torch.Tensor | None
    send: list[int]
    receive: list[int] | None
    factors: Factors | None
    like: CoflowExchange | None = None
    fault: str = ""
    future: Future[tuple[CoflowExchange, torch.Tensor]] = field(default_factory=Future)

    @property
    def row_bytes(self) -> int:
        """Bytes of a row; unknown where nothing is sent or received, as empty tensors may have any shape."""
        if self.sink is None or len(self.source):
            return row_bytes(self.source)
        return row_bytes(self.sink) if len(self.sink) else UNKNOWN


class AllToAll:
    """All-to-alls between the ranks of a group, each cut into sub-phases in which no rank hears two.

    Every rank of the group makes one with the same arguments and starts the same exchanges in the same order; a
    thread carries them out. Counts are exchanged once: the way back (:mod:`offramp.hermod.operator.moe`) reuses them.

    Args:
        group: process group of the ranks; None: the default group; ignored if there is an endpoint.
        transport: ``group``, in order of start; ``sockets``, by priority over an endpoint of the operator's own.
        priorities: priorities of that endpoint.
        control: a gloo group of the same ranks, for the counts; needed where the group has NCCL only.
        endpoint: one that others use, too; in place of a transport.
        quantum: see :func:`offramp.hermod.matching.decompose`; None: what is fastest by the
            overhead of a sub-phase, which the first exchange that is worth it measures.
        plain_below: bytes of the busiest port below which nothing is cut.
        timeout_s: after which an exchange fails that is not over.
        name: tells operators on one endpoint apart.

    Attributes:
        rank, size: this process's rank in the group, and the number of ranks.
        last: the exchange that was carried out last.

    Raises:
        OfframpError: torch.distributed is not initialised, or this rank is not in the group.
    """

    def __init__(
        self,
        group: dist.ProcessGroup | None = None,
        *,
        transport: str = "group",
        priorities: Priorities | None = None,
        control: dist.ProcessGroup | None = None,
        endpoint: Endpoint | None = None,
        quantum: int | None = None,
        plain_below: int = PLAIN_BELOW,
        timeout_s: float = 300.0,
        name: str = "all-to-all",
    ) -> None:
        if quantum is not None and quantum < 0:
            raise OfframpError(f"quantum {quantum}: expected 0 or more")
        if not timeout_s > 0:
            raise OfframpError(f"timeout_s {timeout_s}: expected more than 0")
        if transport not in TRANSPORTS:
            raise OfframpError(f"transport {transport}: expected one of {', '.join(TRANSPORTS)}")
        self._own = endpoint_of(group, priorities) if transport == "sockets" and endpoint is None else None
        self._mover: ByteMover = mover_of(group, control, endpoint or self._own, timeout_s, name)
        self.rank, self.size = self._mover.rank, self._mover.size
        self.last: CoflowExchange | None = None
        self._quantum, self._plain_below, self._timeout_s, self._name = quantum, plain_below, timeout_s, name
        self._settings = fingerprint(name, quantum, plain_below, self._mover.name, self.size)
        self._cost: OperatorCost | None = None
        self._started = self._sequence = self._history = 0
        self._schedules: dict[tuple[bytes, int], CoflowExchange] = {}
        self._failure: OfframpError | None = None
        self._tasks: queue.SimpleQueue[_OperatorTask | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the thread after what it has to do."""
        self._tasks.put(None)
        self._thread.join()
        if self._own is not None:
            self._own.close()

    @overload
    def all_to_all_single(
        self,
        output: torch.Tensor,
        input: torch.Tensor,
        output_split_sizes: Sequence[int] | None = None,
        input_split_sizes: Sequence[int] | None = None,
        async_op: Literal[False] = False,
        *,
        factors: Factors | None = None,
    ) -> None: ...

    @overload
    def all_to_all_single(
        self,
        output: torch.Tensor,
        input: torch.Tensor,
        output_split_sizes: Sequence[int] | None = None,
        input_split_sizes: Sequence[int] | None = None,
        async_op: Literal[True] = ...,
        *,
        factors: Factors | None = None,
    ) -> Handle[torch.Tensor]: ...

    def all_to_all_single(
        self,
        output: torch.Tensor,
        input: torch.Tensor,  # noqa: A002
        output_split_sizes: Sequence[int] | None = None,
        input_split_sizes: Sequence[int] | None = None,
        async_op: bool = False,
        *,
        factors: Factors | None = None,
    ) -> Handle[torch.Tensor] | None:
        """Like ``torch.distributed.all_to_all_single``, with the priority of a coflow; tensors need not be contiguous.

        Raises:
            OfframpError: bad arguments here (at once), there, or ranks that differ: one line, the same on every rank,
                and the operator goes on. A rank that is gone or late ends the operator.
        """
        try:
            send = check_splits(input, input_split_sizes, self.size, "input")
            receive = check_splits(output, output_split_sizes, self.size, "output")
            check_pair(output, input)
            self._check_device(input)
        except OfframpError as error:
            raise self._refuse(input, factors, error) from None
        into, sink = output.detach(), landing(output)

        def finish(result: tuple[CoflowExchange, torch.Tensor]) -> torch.Tensor:
            return into if sink.data_ptr() == into.data_ptr() else into.copy_(result[1])

        handle: Handle[torch.Tensor] = self._put(_OperatorTask(input.detach(), sink, send, receive, factors), finish)
        if async_op:
            return handle
        handle.wait()
        return None

    def start(
        self,
        source: torch.Tensor,
        send: Sequence[int] | None = None,
        factors: Factors | None = None,
        like: CoflowExchange | None = None,
    ) -> Handle[tuple[CoflowExchange, torch.Tensor]]:
        """Exchange rows whose receivers need not know the counts; ``like``: an exchange that all ranks know already.

        Raises:
            OfframpError: as :meth:`all_to_all_single`.
        """
        if like is not None:
            send = like.rows[self.rank].tolist()
        try:
            counts = check_splits(source, send, self.size, "input")
            self._check_device(source)
        except OfframpError as error:
            if like is None:
                raise self._refuse(source, factors, error) from None
            # The other ranks compare nothing now and wait for this one's rows.
            self._failure = self._mover.fail(f"rank {self.rank}: {error}")
            raise OfframpError(str(self._failure)) from None
        return self._put(_OperatorTask(source.detach(), None, counts, None, factors, like), lambda result: result)

    def _refuse(self, source: torch.Tensor, factors: Factors | None, error: OfframpError) -> OfframpError:
        """Tell the other ranks, which have started the same exchange, why this one cannot."""
        self._put(
            _OperatorTask(source.detach(), None, [0] * self.size, None, factors, None, str(error)), lambda _: None
        )
        return OfframpError(f"rank {self.rank}: {error}")

    def _put(self, task: _OperatorTask, finish: Callable[[Any], Any]) -> Handle[Any]:
        self._started += 1
        number = self._started

        def late(seconds: float) -> OfframpError:
            error = self._mover.fail(f"{self._name} {number} is not over after {seconds:g} s")
            self._failure = self._failure or error
            return error

        self._tasks.put(task)
        return Handle(task.future, self._timeout_s, late, finish)

    def _check_device(self, tensor: torch.Tensor) -> None:
        if tensor.device.type not in self._mover.devices:
            expected = " or ".join(self._mover.devices)
            raise OfframpError(f"input is on {tensor.device}: expected {expected} for this group or endpoint")

    def _serve(self) -> None:
        with contextlib.suppress(Exception):  # whoever needs it gets the error
            decompose([[0]])  # its machine code is made while nobody waits for it
        while (task := self._tasks.get()) is not None:
            try:
                self._carry_out(task)
            except Exception as error:
                task.future.set_exception(error if isinstance(error, OfframpError) else self._end(error))

    def _end(self, error: Exception) -> OfframpError:
        """The operator is of no more use."""
        line = " ".join(f"{type(error).__name__}: {error}".split())
        failure = OfframpError(f"{self._name} {self._sequence} failed: {line}")
        failure.__cause__ = error
        self._failure = self._failure or failure
        return failure

    def _carry_out(self, task: _OperatorTask) -> None:
        if self._failure is not None:
            raise OfframpError(str(self._failure))
        self._sequence += 1
        exchange = self._agree(task) if task.like is None else task.like.with_row_bytes(row_bytes(task.source))
        self._history = fingerprint(self._history, exchange.digest)
        source = task.source.contiguous()
        sink = task.sink
        if sink is None:
            sink = source.new_empty((int(exchange.rows[:, self.rank].sum()), *source.shape[1:]))
        given, taken = as_bytes(source), as_bytes(sink)
        sent, received = exchange.starts(self.rank)
        kept = slice(sent[self.rank], sent[self.rank + 1])
        taken[received[self.rank] : received[self.rank + 1]] = given[kept]
        self.last = exchange
        moved = self._mover.move(self._sequence, exchange, given, taken, task.factors)

        def deliver(done: Future[None]) -> None:
            error = done.exception()
            if error is None:
                task.future.set_result((exchange, sink))
            else:
                self._failure = self._failure or OfframpError(str(error))
                task.future.set_exception(error)

        moved.add_done_callback(deliver)

    def _agree(self, task: _OperatorTask) -> CoflowExchange:
        proposal = Proposal(
            self._sequence,
            self._settings,
            self._history,
            fingerprint(str(task.source.dtype)),
            fingerprint(task.factors),
            UNKNOWN if task.fault else task.row_bytes,
            task.send,
            task.receive,
            task.fault,
        )
        rows, width = agree(self._mover.gather(self._sequence, proposal.words()))
        key = (rows.tobytes(), width)
        exchange = self._schedules.pop(key, None)
        if exchange is None:
            exchange = CoflowExchange(rows, width, cut(rows, width, self._quantum, self._measured, self._plain_below))
        self._schedules[key] = exchange
        if len(self._schedules) > _KEPT_SCHEDULES:
            del self._schedules[next(iter(self._schedules))]
        return exchange

    def _measured(self) -> OperatorCost:
        if self._cost is None:
            self._cost = measure(self._mover, self._sequence)
        return self._cost
