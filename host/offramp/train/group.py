"""The workers of a run as a group: the few collectives that training needs, over gloo."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from offramp.train.rows.mailbox import Mailbox

TIMEOUT = dt.timedelta(minutes=30)


class Group:
    """A single process: every collective is the identity."""

    rank = 0
    size = 1

    def sum(self, values: torch.Tensor) -> torch.Tensor:
        """Element-wise sum over workers, in place."""
        return values

    def start_sum(self, values: torch.Tensor) -> Callable[[], object]:
        """As :meth:`sum`, done when what this returns has been called."""
        self.sum(values)
        return lambda: None

    def introduce(self, row: bytes) -> list[bytes]:
        """What every worker says, in rank order."""
        return [row]

    def mailbox(self, timeout_s: float, link_bps: float | None) -> Mailbox:  # noqa: ARG002
        """Messages to and from the other workers, over network cards of ``link_bps`` where that is given."""
        from offramp.train.rows.mailbox import NoMailbox

        return NoMailbox(timeout_s)

    def max(self, values: torch.Tensor) -> torch.Tensor:
        """Element-wise maximum over workers, in place."""
        return values

    def gather(self, item: Any) -> list[Any] | None:
        """Everyone's ``item`` in rank order at rank 0, None elsewhere."""
        return [item]

    def scatter(self, items: Sequence[Any] | None) -> Any:
        """This rank's item of the list that rank 0 gives (None elsewhere)."""
        assert items is not None
        return items[0]

    def exchange(self, rows: torch.Tensor, send: Sequence[int], receive: Sequence[int]) -> torch.Tensor:
        """Rows for each worker, in rank order, against the rows from each worker, in rank order."""
        assert list(send) == list(receive) == [len(rows)]
        return rows

    def close(self) -> None:
        """Leave the group."""


class GlooGroup(Group):
    """One process for each worker, joined by ``torch.distributed`` with the gloo back end."""

    def __init__(self, init_method: str = "env://", rank: int = -1, size: int = -1) -> None:
        dist.init_process_group("gloo", init_method=init_method, rank=rank, world_size=size, timeout=TIMEOUT)
        self.rank = dist.get_rank()
        self.size = dist.get_world_size()

    def sum(self, values: torch.Tensor) -> torch.Tensor:
        """Element-wise sum over workers, in place."""
        dist.all_reduce(values)
        return values

    def start_sum(self, values: torch.Tensor) -> Callable[[], object]:
        """As :meth:`sum`, done when what this returns has been called."""
        work = dist.all_reduce(values, async_op=True)
        assert work is not None
        wait: Callable[[], object] = work.wait
        return wait

    def introduce(self, row: bytes) -> list[bytes]:
        """What every worker says, in rank order."""
        rows: list[Any] = [None] * self.size
        dist.all_gather_object(rows, row)
        return rows

    def mailbox(self, timeout_s: float, link_bps: float | None) -> Mailbox:
        """Messages to and from the other workers, over network cards of ``link_bps`` where that is given."""
        from offramp.train.rows.gloo_mailbox import GlooMailbox

        return GlooMailbox(self, timeout_s, link_bps)

    def max(self, values: torch.Tensor) -> torch.Tensor:
        """Element-wise maximum over workers, in place."""
        dist.all_reduce(values, op=dist.ReduceOp.MAX)
        return values

    def gather(self, item: Any) -> list[Any] | None:
        """Everyone's ``item`` in rank order at rank 0, None elsewhere."""
        items: list[Any] | None = [None] * self.size if self.rank == 0 else None
        dist.gather_object(item, items)
        return items

    def scatter(self, items: Sequence[Any] | None) -> Any:
        """This rank's item of the list that rank 0 gives (None elsewhere)."""
        mine: list[Any] = [None]
        dist.scatter_object_list(mine, list(items) if items is not None else None)
        return mine[0]

    def exchange(self, rows: torch.Tensor, send: Sequence[int], receive: Sequence[int]) -> torch.Tensor:
        """Rows for each worker, in rank order, against the rows from each worker, in rank order."""
        received = rows.new_empty((sum(receive), *rows.shape[1:]))
        dist.all_to_all_single(received, rows.contiguous(), list(receive), list(send))
        return received

    def close(self) -> None:
        """Leave the group."""
        dist.destroy_process_group()
