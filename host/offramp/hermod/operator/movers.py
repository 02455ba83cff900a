# SPDX-License-Identifier: Apache-2.0
"""Movers of an exchange's bytes: point-to-point operations of a process group, or an endpoint's sockets."""

from __future__ import annotations

import datetime as dt
import zlib
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any, Final, Protocol
from weakref import WeakKeyDictionary

import numpy as np
import torch
import torch.distributed as dist

from offramp.hermod.endhost.endpoint import Endpoint
from offramp.hermod.endhost.memory import as_memory
from offramp.hermod.endhost.numbers import channel
from offramp.hermod.factors import Factors
from offramp.hermod.operator.agreement import Words
from offramp.hermod.operator.exchange import CoflowExchange
from offramp_base.errors import OfframpError

_TAGS: Final = 1 << 30
_operators: WeakKeyDictionary[dist.ProcessGroup, Counter[str]] = WeakKeyDictionary()


class ByteMover(Protocol):
    """Moves bytes between the ranks of an operator.

    Attributes:
        rank, size: this process's rank, and the number of ranks.
        name: name of this kind of mover.
        devices: device types of the tensors that it accepts.
    """

    rank: int
    size: int
    name: str
    devices: tuple[str, ...]

    def gather(self, sequence: int, row: Words) -> Words:
        """The rows of all ranks, ``(ranks, words)``."""

    def move(
        self, sequence: int, exchange: CoflowExchange, source: torch.Tensor, sink: torch.Tensor, factors: Factors | None
    ) -> Future[None]:
        """Start the exchange of bytes; those that a rank sends to itself are not touched."""

    def fail(self, text: str) -> OfframpError:
        """End all exchanges as far as that can be done; returns the error to raise."""


class GroupMover:
    """isend and irecv of CPU tensors in a group: all receives begin first; with a schedule, sends go one by one.

    Each operator has tags of its own, so it can share the group with whatever else runs on it.
    """

    name = "group"
    devices: tuple[str, ...] = ("cpu",)

    def __init__(self, group: dist.ProcessGroup, timeout_s: float, name: str) -> None:
        self._group, self._timeout = group, dt.timedelta(seconds=timeout_s)
        before = _operators.setdefault(group, Counter())
        before[name] += 1  # every rank makes the same operators on the group in the same order
        self._tag = _TAGS + zlib.crc32(f"{name} {before[name]}".encode()) % _TAGS // 2 * 2
        self.rank, self.size = dist.get_rank(group), dist.get_world_size(group)
        self._ranks = dist.get_process_group_ranks(group)

    def gather(self, sequence: int, row: Words) -> Words:  # noqa: ARG002
        """All-gather by messages between all pairs of ranks."""
        rows = torch.empty((self.size, len(row)), dtype=torch.int64)
        mine = rows[self.rank] = torch.from_numpy(row)
        peers = [p for p in range(self.size) if p != self.rank]
        works = [dist.irecv(rows[p], self._ranks[p], self._group, self._tag) for p in peers]
        works += [dist.isend(mine, self._ranks[p], self._group, self._tag) for p in peers]
        self._wait(works)
        return rows.numpy()

    def move(
        self,
        sequence: int,  # noqa: ARG002
        exchange: CoflowExchange,
        source: torch.Tensor,
        sink: torch.Tensor,
        factors: Factors | None,  # noqa: ARG002
    ) -> Future[None]:
        """Exchange, and return when it is over: exchanges run in the order in which they are started."""
        sent, received = exchange.starts(self.rank)
        waiting = [
            dist.irecv(sink[received[p] + a : received[p] + b], self._ranks[p], self._group, self._tag + 1)
            for p, a, b in exchange.receives(self.rank)
        ]
        leaving = []
        for p, a, b in exchange.sends(self.rank):
            leaving.append(dist.isend(source[sent[p] + a : sent[p] + b], self._ranks[p], self._group, self._tag + 1))
            if exchange.schedule is not None:
                self._wait([leaving.pop()])  # gloo lets a send be waited for once
        self._wait([*leaving, *waiting])
        done: Future[None] = Future()
        done.set_result(None)
        return done

    def _wait(self, works: Sequence[dist.Work | None]) -> None:
        for work in works:
            assert work is not None
            work.wait(self._timeout)

    def fail(self, text: str) -> OfframpError:
        """Return the error alone: operations that hang end with the group's own timeout."""
        return OfframpError(text)


class BatchedMover(GroupMover):
    """Sub-phases as batches of one send and one receive, as NCCL needs them; it runs them on the GPU in order."""

    name = "batched"
    devices: tuple[str, ...] = ("cuda",)

    def __init__(self, group: dist.ProcessGroup, control: dist.ProcessGroup, timeout_s: float, name: str) -> None:
        super().__init__(control, timeout_s, name)
        self._data = group

    def move(
        self,
        sequence: int,  # noqa: ARG002
        exchange: CoflowExchange,
        source: torch.Tensor,
        sink: torch.Tensor,
        factors: Factors | None,  # noqa: ARG002
    ) -> Future[None]:
        """Exchange, and return when it is over."""
        sent, received = exchange.starts(self.rank)
        for sends, receives in exchange.phases(self.rank):
            parts: list[tuple[Any, torch.Tensor, int]] = [
                (dist.isend, source[sent[p] + a : sent[p] + b], p) for p, a, b in sends
            ]
            parts += [(dist.irecv, sink[received[p] + a : received[p] + b], p) for p, a, b in receives]
            batch = [dist.P2POp(call, memory, self._ranks[p], group=self._data) for call, memory, p in parts]
            for work in dist.batch_isend_irecv(batch) if batch else ():
                work.wait()
        if source.is_cuda:
            torch.cuda.current_stream(source.device).synchronize()
        done: Future[None] = Future()
        done.set_result(None)
        return done


class SocketMover:
    """An endpoint's connections, with the priority of each exchange."""

    name = "sockets"
    devices: tuple[str, ...] = ("cpu",)

    def __init__(self, endpoint: Endpoint, name: str) -> None:
        self._endpoint = endpoint
        self.rank, self.size = endpoint.rank, endpoint.size
        self._channel = channel(name)

    def gather(self, sequence: int, row: Words) -> Words:
        """Gather over the control connections.

        Raises:
            OfframpError: the rows differ in length.
        """
        rows = self._endpoint.gather(self._channel | sequence, row.tobytes())
        if len({len(r) for r in rows}) > 1:
            raise OfframpError("ranks differ in what they compare")
        return np.array([np.frombuffer(r, np.int64) for r in rows])

    def move(
        self, sequence: int, exchange: CoflowExchange, source: torch.Tensor, sink: torch.Tensor, factors: Factors | None
    ) -> Future[None]:
        """Submit the exchange as a coflow, and return at once."""
        sent, received = exchange.starts(self.rank)
        moving = exchange.rows * exchange.row_bytes
        peers = [p for p in range(self.size) if p != self.rank]
        order = None if exchange.schedule is None else exchange.sends(self.rank)
        return self._endpoint.exchange(
            self._channel | sequence,
            {p: as_memory(source[sent[p] : sent[p + 1]]) for p in peers if moving[self.rank, p]},
            {p: as_memory(sink[received[p] : received[p + 1]]) for p in peers if moving[p, self.rank]},
            factors,
            order,
        )

    def fail(self, text: str) -> OfframpError:
        """End the endpoint on all ranks."""
        return self._endpoint.fail(text + self._endpoint.waiting)


def mover_of(
    group: dist.ProcessGroup | None,
    control: dist.ProcessGroup | None,
    endpoint: Endpoint | None,
    timeout_s: float,
    name: str,
) -> ByteMover:
    """The mover for an operator: an endpoint's sockets if there is an endpoint, else the group's backend.

    Raises:
        OfframpError: torch.distributed is not initialised, this rank is not in the group, or the group has NCCL alone
            and there is no ``control``.
    """
    if endpoint is not None:
        return SocketMover(endpoint, name)
    if not dist.is_initialized():
        raise OfframpError("all-to-all: expected torch.distributed to be initialised")
    data = group if group is not None else dist.group.WORLD
    if data is None or dist.get_rank(data) < 0:
        raise OfframpError("all-to-all: this rank is not in the group")
    backends = str(dist.get_backend_config(data))
    if "nccl" not in backends:
        return GroupMover(data, timeout_s, name)
    if control is None and "gloo" not in backends:
        raise OfframpError("all-to-all: counts travel in main memory: expected control, a gloo group of the same ranks")
    return BatchedMover(data, control or data, timeout_s, name)
