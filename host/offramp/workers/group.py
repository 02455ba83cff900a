# SPDX-License-Identifier: Apache-2.0
"""The workers of a run as a group: the few collectives that training needs, over gloo.

Gloo does not authenticate anybody. Objects therefore travel as :mod:`offramp_base.wire.objects` encodes them.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, Final

import torch
import torch.distributed as dist

from offramp.workers import messages
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
    """That workers prove to each other on connections of their own; it never travels over gloo."""

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

    def close(self) -> None:
        """Leave the group."""


class GlooGroup(Group):
    """One process for each worker, joined by ``torch.distributed`` with the gloo back end.

    Raises:
        OfframpError: OFFRAMP_TOKEN_FILE names a file that holds no token.
    """

    def __init__(self, init_method: str = "env://", rank: int = -1, size: int = -1, token: Token | None = None) -> None:
        self.token = token or Token.from_environment()
        dist.init_process_group("gloo", init_method=init_method, rank=rank, world_size=size, timeout=TIMEOUT)
        self.rank = dist.get_rank()
        self.size = dist.get_world_size()

    def sum(self, values: torch.Tensor) -> torch.Tensor:
        """Element-wise sum over workers, in place."""
        dist.all_reduce(values)
        return values

    def start_sum(self, values: torch.Tensor) -> Callable[[], object]:
        """Start a :meth:`sum`; it is done when what this returns has been called."""
        work = dist.all_reduce(values, async_op=True)
        assert work is not None
        wait: Callable[[], object] = work.wait
        return wait

    def introduce(self, row: bytes) -> list[bytes]:
        """What every worker says, in rank order."""
        return messages.introduce(row)

    def mailbox(self, timeout_s: float, link_bps: float | None) -> Mailbox:
        """Messages to and from the other workers, over network cards of ``link_bps`` where that is given."""
        from offramp.workers.gloo_mailbox import GlooMailbox

        return GlooMailbox(self, timeout_s, link_bps)

    def max(self, values: torch.Tensor) -> torch.Tensor:
        """Element-wise maximum over workers, in place."""
        dist.all_reduce(values, op=dist.ReduceOp.MAX)
        return values

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

    def all_to_all(self, rows: torch.Tensor, send: Sequence[int], receive: Sequence[int]) -> torch.Tensor:
        """Rows for each worker, in rank order, against the rows from each worker, in rank order."""
        received = rows.new_empty((sum(receive), *rows.shape[1:]))
        dist.all_to_all_single(received, rows.contiguous(), list(receive), list(send))
        return received

    def close(self) -> None:
        """Leave the group."""
        dist.destroy_process_group()
