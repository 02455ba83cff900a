# SPDX-License-Identifier: Apache-2.0
"""The workers of a run as a group, with the few collectives that training needs, over gloo.

Gloo does not authenticate anybody. Objects are therefore sent in the encoding of :mod:`offramp_base.wire.objects`.
"""

from __future__ import annotations

import datetime as dt
import os
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final

import torch
import torch.distributed as dist

from offramp.workers import messages
from offramp.workers.accelerator import to_host
from offramp.workers.meeting import meet
from offramp_base.listening import Token
from offramp_base.wire.objects import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from offramp.workers.mailbox import Mailbox

TIMEOUT = dt.timedelta(minutes=30)
MOST_RESULT: Final = 1 << 30
"""Most bytes of a worker's report to rank 0."""

MOST_JOB: Final = 1 << 36
"""Most bytes of rank 0's message to a worker, which includes its share of the graph."""


class Group:
    """A single process, for which every collective is the identity."""

    rank = 0
    size = 1
    token: Token | None = None
    """Token that workers prove to each other on their own connections; it is never sent over gloo."""
    of_gpus: dist.ProcessGroup | None = None
    """NCCL's group, once :meth:`use_nccl` was called."""

    def sum(self, values: torch.Tensor) -> torch.Tensor:
        """Element-wise sum over workers, in place."""
        return values

    def start_sum(self, values: torch.Tensor) -> Callable[[], object]:
        """Start a :meth:`sum`; the sum is complete after the returned function was called."""
        self.sum(values)
        return lambda: None

    def introduce(self, row: bytes) -> list[bytes]:
        """Exchange a row between all workers; returns everyone's, in rank order."""
        return [row]

    def mailbox(self, timeout_s: float, link_bps: float | None) -> Mailbox:  # noqa: ARG002
        """A mailbox to and from the other workers, over emulated network cards of ``link_bps`` if given."""
        from offramp.workers.mailbox import NoMailbox

        return NoMailbox(timeout_s)

    def max(self, values: torch.Tensor) -> torch.Tensor:
        """Element-wise maximum over workers, in place."""
        return values

    def gather(self, item: Any, kind: Any) -> list[Any] | None:  # noqa: ARG002
        """Everyone's ``item``, of type ``kind``, in rank order at rank 0; None elsewhere.

        Raises:
            OfframpError: an item has another type.
        """
        return [item]

    def scatter(self, items: Sequence[Any] | None, kind: Any) -> Any:  # noqa: ARG002
        """This rank's item, of type ``kind``, from the list that rank 0 gives (None elsewhere).

        Raises:
            OfframpError: an item has another type.
        """
        assert items is not None
        return items[0]

    def all_to_all(self, rows: torch.Tensor, send: Sequence[int], receive: Sequence[int]) -> torch.Tensor:
        """Exchange rows for each worker, in rank order, against the rows from each worker, in rank order."""
        assert list(send) == list(receive) == [len(rows)]
        return rows

    def use_nccl(self) -> None:
        """Use NCCL for GPU tensors from now on, each worker having its own GPU; all workers call it together."""

    def close(self) -> None:
        """Leave the group."""


class ProcessGroup(Group, ABC):
    """Ranks connected by ``torch.distributed``, whose collectives also accept GPU tensors."""

    @abstractmethod
    def _way(self, values: torch.Tensor) -> tuple[torch.Tensor, dist.ProcessGroup | None]:
        """The tensor that is sent in place of ``values``, and the group for it."""

    def sum(self, values: torch.Tensor) -> torch.Tensor:
        """Element-wise sum over ranks, in place."""
        self.start_sum(values)()
        return values

    def start_sum(self, values: torch.Tensor) -> Callable[[], object]:
        """Start a :meth:`sum`; the sum is complete after the returned function was called."""
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
        """Exchange rows for each rank, in rank order, against the rows from each rank, in rank order."""
        return self.start_all_to_all(rows, send, receive)()

    def start_all_to_all(
        self, rows: torch.Tensor, send: Sequence[int], receive: Sequence[int]
    ) -> Callable[[], torch.Tensor]:
        """Start an :meth:`all_to_all`; the returned function waits for its rows."""
        travels, group = self._way(rows.contiguous())
        received = travels.new_empty((sum(receive), *rows.shape[1:]))
        work = dist.all_to_all_single(received, travels, list(receive), list(send), group=group, async_op=True)
        kept = [travels]  # the sender's memory, until it has been sent

        def wait() -> torch.Tensor:
            work.wait()
            kept.clear()
            return received.to(rows.device)

        return wait


def _backend() -> str:
    """Our own back end, over gloo, where ``OFFRAMP_NETWORK`` names its settings (PyTorch loads it); else gloo."""
    return "offramp" if os.environ.get("OFFRAMP_NETWORK") else "gloo"


class GlooGroup(ProcessGroup):
    """One process per worker, connected by ``torch.distributed`` with the gloo back end, or with ours over it.

    GPU tensors are sent as pinned copies, or over NCCL once :meth:`use_nccl` was called.

    Raises:
        OfframpError: OFFRAMP_TOKEN_FILE names a file without a token.
    """

    def __init__(self, init_method: str = "env://", rank: int = -1, size: int = -1, token: Token | None = None) -> None:
        self.token = token or Token.from_environment()
        if init_method == "env://":
            meet(_backend(), TIMEOUT)
        else:
            dist.init_process_group("gloo", init_method=init_method, rank=rank, world_size=size, timeout=TIMEOUT)
        self.rank = dist.get_rank()
        self.size = dist.get_world_size()

    def use_nccl(self) -> None:
        """Use NCCL for GPU tensors from now on, if PyTorch has it."""
        if dist.is_nccl_available():
            self.of_gpus = dist.new_group(backend="nccl")

    def _way(self, values: torch.Tensor) -> tuple[torch.Tensor, dist.ProcessGroup | None]:
        if not values.is_cuda:
            return values, None
        return (to_host(values), None) if self.of_gpus is None else (values, self.of_gpus)

    def introduce(self, row: bytes) -> list[bytes]:
        """Exchange a row between all workers; returns everyone's, in rank order."""
        return messages.introduce(row)

    def mailbox(self, timeout_s: float, link_bps: float | None) -> Mailbox:
        """A mailbox to and from the other workers, over emulated network cards of ``link_bps`` if given."""
        from offramp.workers.gloo_mailbox import GlooMailbox

        return GlooMailbox(self, timeout_s, link_bps)

    def gather(self, item: Any, kind: Any) -> list[Any] | None:
        """Everyone's ``item``, of type ``kind``, in rank order at rank 0; None elsewhere."""
        packed = pack(item, kind)
        if self.rank:
            messages.send(packed, 0)
            return None
        others = range(1, self.size)
        return [item, *(unpack(messages.receive(rank, MOST_RESULT), kind, f"rank {rank}") for rank in others)]

    def scatter(self, items: Sequence[Any] | None, kind: Any) -> Any:
        """This rank's item, of type ``kind``, from the list that rank 0 gives (None elsewhere)."""
        if self.rank:
            return unpack(messages.receive(0, MOST_JOB), kind, "rank 0")
        assert items is not None
        for rank in range(1, self.size):
            messages.send(pack(items[rank], kind), rank)
        return items[0]

    def close(self) -> None:
        """Leave the group."""
        dist.destroy_process_group()
