# SPDX-License-Identifier: Apache-2.0
"""The workers of a run as a group: the few collectives that training needs, over gloo.

Gloo does not authenticate anybody. Objects therefore travel as :mod:`offramp_base.wire.objects` encodes them.
"""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final

import torch
import torch.distributed as dist

from offramp.workers import messages
from offramp.workers.accelerator import to_host
from offramp_base.listening import Token
from offramp_base.wire.objects import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from offramp.workers.mailbox import Mailbox

TIMEOUT = dt.timedelta(minutes=30)
MOST_RESULT: Final = 1 << 30
"""Bytes of what a worker reports to rank 0."""

MOST_JOB: Final = 1 << 36
"""Bytes of what rank 0 gives a worker, its share of the graph among them."""


class Group:
    """A single process: every collective is the identity."""

    rank = 0
    size = 1
    token: Token | None = None
    """Token that workers prove to each other on connections of their own; it never travels over gloo."""
    of_gpus: dist.ProcessGroup | None = None
    """NCCL's group, once :meth:`use_nccl` was called."""

    def sum(self, values: torch.Tensor) -> torch.Tensor:
        """Element-wise sum over workers, in place."""
        return values

    def start_sum(self, values: torch.Tensor) -> Callable[[], object]:
        """Start a :meth:`sum`; it is done when what this returns has been called."""
        self.sum(values)
        return lambda: None

    def introduce(self, row: bytes) -> list[bytes]:
        """What every worker says, in rank order."""
        return [row]

    def mailbox(self, timeout_s: float, link_bps: float | None) -> Mailbox:  # noqa: ARG002
        """Messages to and from the other workers, over network cards of ``link_bps`` where that is given."""
        from offramp.workers.mailbox import NoMailbox

        return NoMailbox(timeout_s)

    def max(self, values: torch.Tensor) -> torch.Tensor:
        """Element-wise maximum over workers, in place."""
        return values

    def gather(self, item: Any, kind: Any) -> list[Any] | None:  # noqa: ARG002
        """Everyone's ``item``, of type ``kind``, in rank order at rank 0, None elsewhere.

        Raises:
            OfframpError: an item of another type.
        """
        return [item]

    def scatter(self, items: Sequence[Any] | None, kind: Any) -> Any:  # noqa: ARG002
        """This rank's item, of type ``kind``, of the list that rank 0 gives (None elsewhere).

        Raises:
            OfframpError: an item of another type.
        """
        assert items is not None
        return items[0]

    def all_to_all(self, rows: torch.Tensor, send: Sequence[int], receive: Sequence[int]) -> torch.Tensor:
        """Rows for each worker, in rank order, against the rows from each worker, in rank order."""
        assert list(send) == list(receive) == [len(rows)]
        return rows

    def use_nccl(self) -> None:
        """From now on let NCCL carry tensors of GPUs: each worker has one for itself. All workers call it together."""

    def close(self) -> None:
        """Leave the group."""


class ProcessGroup(Group, ABC):
    """Ranks that are joined by ``torch.distributed``, whose collectives take tensors of GPUs as well."""

    @abstractmethod
    def _way(self, values: torch.Tensor) -> tuple[torch.Tensor, dist.ProcessGroup | None]:
        """What travels in place of ``values``, and in which group."""

    def sum(self, values: torch.Tensor) -> torch.Tensor:
        """Element-wise sum over ranks, in place."""
        self.start_sum(values)()
        return values

    def start_sum(self, values: torch.Tensor) -> Callable[[], object]:
        """Start a :meth:`sum`; it is done when what this returns has been called."""
        travels, group = self._way(values)
        work = dist.all_reduce(travels, group=group, async_op=True)
        assert work is not None

        def finish() -> None:
            work.wait()
            if travels is not values:
                values.copy_(travels)

        return finish

    def max(self, values: torch.Tensor) -> torch.Tensor:
        """Element-wise maximum over ranks, in place."""
        travels, group = self._way(values)
        dist.all_reduce(travels, op=dist.ReduceOp.MAX, group=group)
        return values if travels is values else values.copy_(travels)

    def all_to_all(self, rows: torch.Tensor, send: Sequence[int], receive: Sequence[int]) -> torch.Tensor:
        """Rows for each rank, in rank order, against the rows from each rank, in rank order."""
        return self.start_all_to_all(rows, send, receive)()

    def start_all_to_all(
        self, rows: torch.Tensor, send: Sequence[int], receive: Sequence[int]
    ) -> Callable[[], torch.Tensor]:
        """Start an :meth:`all_to_all`; what this returns waits for its rows."""
        travels, group = self._way(rows.contiguous())
        received = travels.new_empty((sum(receive), *rows.shape[1:]))
        work = dist.all_to_all_single(received, travels, list(receive), list(send), group=group, async_op=True)
        kept = [travels]  # the sender's memory, until it has been sent

        def wait() -> torch.Tensor:
            work.wait()
            kept.clear()
            return received.to(rows.device)

        return wait


class GlooGroup(ProcessGroup):
    """One process for each worker, joined by ``torch.distributed`` with the gloo back end.

    Tensors of GPUs travel as pinned copies, or over NCCL once :meth:`use_nccl` was called.

    Raises:
        OfframpError: OFFRAMP_TOKEN_FILE names a file that holds no token.
    """

    def __init__(self, init_method: str = "env://", rank: int = -1, size: int = -1, token: Token | None = None) -> None:
        self.token = token or Token.from_environment()
        dist.init_process_group("gloo", init_method=init_method, rank=rank, world_size=size, timeout=TIMEOUT)
        self.rank = dist.get_rank()
        self.size = dist.get_world_size()

    def use_nccl(self) -> None:
        """From now on let NCCL carry tensors of GPUs, where PyTorch has it."""
        if dist.is_nccl_available():
            self.of_gpus = dist.new_group(backend="nccl")

    def _way(self, values: torch.Tensor) -> tuple[torch.Tensor, dist.ProcessGroup | None]:
        if values.is_cuda and self.of_gpus is not None:
            return values, self.of_gpus
        return to_host(values), None

    def introduce(self, row: bytes) -> list[bytes]:
        """What every worker says, in rank order."""
        return messages.introduce(row)

    def mailbox(self, timeout_s: float, link_bps: float | None) -> Mailbox:
        """Messages to and from the other workers, over network cards of ``link_bps`` where that is given."""
        from offramp.workers.gloo_mailbox import GlooMailbox

        return GlooMailbox(self, timeout_s, link_bps)

    def gather(self, item: Any, kind: Any) -> list[Any] | None:
        """Everyone's ``item``, of type ``kind``, in rank order at rank 0, None elsewhere."""
        packed = pack(item, kind)
        if self.rank:
            messages.send(packed, 0)
            return None
        others = range(1, self.size)
        return [item, *(unpack(messages.receive(rank, MOST_RESULT), kind, f"rank {rank}") for rank in others)]

    def scatter(self, items: Sequence[Any] | None, kind: Any) -> Any:
        """This rank's item, of type ``kind``, of the list that rank 0 gives (None elsewhere)."""
        if self.rank:
            return unpack(messages.receive(0, MOST_JOB), kind, "rank 0")
        assert items is not None
        for rank in range(1, self.size):
            messages.send(pack(items[rank], kind), rank)
        return items[0]

    def close(self) -> None:
        """Leave the group."""
        dist.destroy_process_group()
