# SPDX-License-Identifier: Apache-2.0
"""Work of ranks over a RoCE device, in processes of their own: all-to-alls that must have gloo's bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

import offramp.torch
from offramp.hermod.factors import CType, Factors
from offramp.workers.group import Group
from torch_ranks import backend

ROUNDS = 6
Report = Callable[[Any], None]


def all_to_alls(group: Group, addresses: list[str], report: Report) -> list[list[str]]:
    """Uneven all-to-alls of several types and priorities: what differs from gloo's on a rank, and who did them."""
    settings = {
        "offloads": ["hermod"],
        "least": 1,
        "interface": addresses[group.rank],
        "rdma": True,
        "micro_batches": 8,
        "layers": 32,
    }
    wrong = []
    with backend(group, "offramp", settings, timeout_s=300):
        gloo = dist.new_group(backend="gloo")
        size = group.size
        for number in range(ROUNDS):
            dtype = (torch.float32, torch.int64, torch.bfloat16)[number % 3]
            rows = torch.randint(0, 3000, (size, size), generator=torch.Generator().manual_seed(number))
            rows[0, size - 1] = 0
            sent, came = rows[group.rank].tolist(), rows[:, group.rank].tolist()
            own = torch.Generator().manual_seed(100 * number + group.rank)
            values = (1000 * torch.randn(sum(sent), 7, generator=own)).to(dtype)
            expected, result = (torch.empty(sum(came), 7, dtype=dtype) for _ in range(2))
            dist.all_to_all_single(expected, values, came, sent, group=gloo)
            with offramp.torch.priority(Factors(7 if number % 3 == CType.DP else number, CType(number % 3), number)):
                dist.all_to_all_single(result, values, came, sent)
            if not torch.equal(result, expected):
                wrong.append(f"round {number}, rank {group.rank}")
        counted = offramp.torch.counters()
        calls = counted.get("hermod", {}).get("all_to_all", {}).get("calls", 0)
    report(f"rank {group.rank}: {calls} by hermod")
    return [wrong, [f"{calls}"]]
