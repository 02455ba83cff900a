# SPDX-License-Identifier: Apache-2.0
"""Work of ranks that do with offloads what they would do with gloo; each function runs in a process of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

from offramp.torch.offload import OFFLOADS, CollectiveCall, Result
from offramp.workers.group import Group
from torch_ranks import Counting, backend

Report = Callable[[Any], None]


@OFFLOADS.register("lagging")
class Lagging(Counting):
    """Counting that takes its time."""

    kinds = ("all_reduce",)

    def all_reduce(self, values: torch.Tensor, call: CollectiveCall) -> Result:
        time.sleep(0.1)
        return super().all_reduce(values, call)


def barriers(group: Group, _: Any, report: Report) -> list[tuple[int, bool]]:
    """Sums that are not there after a barrier that was called behind them, and whether an asynchronous one waits."""
    missing = []
    with backend(group, "offramp", {"offloads": ["lagging"], "least": 16}):
        for asynchronous in (False, True):
            offloaded = [torch.full((8,), float(group.rank)) for _ in range(3)]
            small = torch.full((2,), float(group.rank))
            works = [dist.all_reduce(each, async_op=True) for each in (*offloaded, small)]
            barrier = dist.barrier(async_op=asynchronous)
            began = asynchronous and not works[0].is_completed()
            if asynchronous:
                barrier.wait()
            expected = float(sum(range(group.size)))
            missing.append((sum(int(each[-1] != expected) for each in (*offloaded, small)), began))
            for work in works:
                work.wait()
    return missing
