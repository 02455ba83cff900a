# SPDX-License-Identifier: Apache-2.0
"""One collective during execution: its chunks, and what each dimension's thread does with them."""

from __future__ import annotations

import hashlib
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist

from offramp.themis.executor.stages import run_stage
from offramp.themis.plan import CollectivePlan
from offramp.workers.rate import TokenBucket
from offramp_base.errors import OfframpError


@dataclass
class DimensionRecord:
    """Record of a dimension: ``(chunk, stage, start, end)`` in seconds of the monotonic clock, and bytes sent."""

    operations: list[tuple[int, int, float, float]] = field(default_factory=list)
    seconds_per_byte: list[float] = field(default_factory=list)


class CollectiveRun:
    """The chunks of a collective, moved by one thread per dimension."""

    def __init__(self, plan: CollectivePlan, chunks: list[torch.Tensor]) -> None:
        """``chunks``: tensors with an axis for each dimension, the outermost first."""
        self.plan = plan
        self.chunks = chunks
        self.records = [DimensionRecord() for _ in plan.network.dimensions]
        self._stages = plan.stages()
        self._orders = plan.orders()
        self._at = [0] * len(chunks)
        self._changed = threading.Condition()
        self._left = sum(1 for order in self._orders if order)
        self._failed = False
        self.done: Future[list[torch.Tensor]] = Future()
        """The chunks after the collective, or its error."""
        if not self._left:
            self.done.set_result(chunks)

    def work(self, dim: int, group: dist.ProcessGroup | None, bucket: TokenBucket | None) -> None:
        """Run all operations of a dimension in the plan's order; one that is available early waits for its turn."""
        order = self._orders[dim]
        if not order:
            return
        assert group is not None
        record = self.records[dim]
        try:
            for chunk, index in order:
                self._await(chunk, index)
                self._operate(dim, chunk, index, group, bucket, record)
            _agree_on_order(dim, record, group)
        except Exception as error:
            self._end(error)
        else:
            self._end(None)

    def _await(self, chunk: int, index: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._at[chunk] == index or self._failed)
            if self._failed:
                raise OfframpError("another dimension failed")

    def _operate(
        self,
        dim: int,
        chunk: int,
        index: int,
        group: dist.ProcessGroup,
        bucket: TokenBucket | None,
        record: DimensionRecord,
    ) -> None:
        stage = self._stages[chunk][index]
        start = time.monotonic()
        axis = len(self.plan.network.dimensions) - 1 - dim
        self.chunks[chunk] = run_stage(stage.stage, self.chunks[chunk], axis, group)
        if bucket is not None:
            bucket.spend(stage.sent, start)
        end = time.monotonic()
        record.operations.append((chunk, index, start, end))
        if stage.sent:
            record.seconds_per_byte.append((end - start) / stage.sent)
        with self._changed:
            self._at[chunk] = index + 1
            self._changed.notify_all()

    def _end(self, error: Exception | None) -> None:
        with self._changed:
            first = error is not None and not self._failed
            self._failed = self._failed or error is not None
            self._left -= 1
            complete = self._left == 0 and not self._failed
            self._changed.notify_all()
        if first:
            assert error is not None
            failure = OfframpError(f"{self.plan.demands[0].collective} failed: {error}")
            failure.__cause__ = error
            self.done.set_exception(failure)
        elif complete:
            self.done.set_result(self.chunks)


def _agree_on_order(dim: int, record: DimensionRecord, group: dist.ProcessGroup) -> None:
    """Compare a digest of the operations, in the order in which they ran, with the peers."""
    ran = repr([operation[:2] for operation in record.operations]).encode()
    mine = torch.frombuffer(bytearray(hashlib.sha256(ran).digest()[:8]), dtype=torch.int64)
    all_of_them: list[Any] = [torch.empty_like(mine) for _ in range(dist.get_world_size(group))]
    dist.all_gather(all_of_them, mine, group=group)
    if any(not torch.equal(mine, other) for other in all_of_them):
        raise OfframpError(f"dim{dim + 1}: peers ran its operations in different orders")
