# SPDX-License-Identifier: Apache-2.0
"""Work of ranks in the tests of the executor; each function runs in a process of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

from offramp.themis.executor.executor import Executor
from offramp.themis.executor.mesh import Mesh
from offramp.themis.executor.trial import in_rank_order
from offramp.themis.network import Dimension, DimensionTopology, Network
from offramp.themis.plan import Scheduler
from offramp.workers.group import Group
from offramp.workers.rate import TokenBucket
from offramp_base.errors import OfframpError

NETWORK = Network(
    "2x2", (Dimension(DimensionTopology.SWITCH, 2, 40e6), Dimension(DimensionTopology.IN_NETWORK, 2, 60e6))
)


def values_of(size: int, rank: int, spread: float = 8.0) -> torch.Tensor:
    """Float32 values of very different magnitudes, where the order of additions shows."""
    draw = torch.Generator().manual_seed(100 + rank)
    return torch.randn(size, generator=draw) * torch.exp(spread * torch.randn(size, generator=draw))


def collectives(group: Group, _: Any, report: Callable[[Any], None]) -> list[str]:
    """All collectives in all schedulers; what was wrong."""
    wrong = []
    mesh = Mesh(NETWORK)
    ranks = range(group.size)

    def check(what: str, ok: bool) -> None:
        if not ok:
            wrong.append(what)

    everyone = [values_of(1003, rank) for rank in ranks]
    expected = in_rank_order(everyone)
    exact = torch.stack(everyone).double().sum(0).float()
    whole = [torch.arange(24, dtype=torch.int64).reshape(8, 3) * (rank + 3) for rank in ranks]
    for scheduler in Scheduler:
        with Executor(mesh, NETWORK, scheduler, 5) as executor:
            sums = [executor.all_reduce(everyone[group.rank]) for _ in range(3)]  # overlapping
            for work in sums:
                result = work.result()
                check(f"{scheduler} all-reduce", torch.equal(result.view(torch.int32), expected.view(torch.int32)))
            if scheduler not in (Scheduler.BASELINE, Scheduler.BALANCED):
                continue
            half = executor.all_reduce(everyone[group.rank].clamp(-100, 100).half()).result()
            check(f"{scheduler} type", half.dtype is torch.float16)
            part = executor.reduce_scatter(whole[group.rank]).result()
            mine = sum(whole)[2 * group.rank : 2 * group.rank + 2]
            check(f"{scheduler} reduce-scatter", torch.equal(part, mine))
            check(f"{scheduler} all-gather", torch.equal(executor.all_gather(part).result(), sum(whole)))
            swapped = executor.all_to_all(whole[group.rank]).result()
            wanted = torch.cat([w[2 * group.rank : 2 * group.rank + 2] for w in whole])
            check(f"{scheduler} all-to-all", torch.equal(swapped, wanted))
            spoilt = everyone[group.rank].clone()
            spoilt[5] = float("inf") if group.rank == 1 else spoilt[5]
            check(f"{scheduler} infinity", bool(executor.all_reduce(spoilt).result()[5].isinf()))
            check(f"{scheduler} nothing", executor.all_reduce(torch.zeros(0)).result().numel() == 0)
            check(f"{scheduler} zeros", bool((executor.all_reduce(torch.zeros(9)).result() == 0).all()))
            for bad in (
                lambda: executor.reduce_scatter(torch.zeros(7)),
                lambda: executor.all_reduce(torch.zeros(4) > 1),
            ):
                try:
                    bad()
                except OfframpError:
                    continue
                wrong.append(f"{scheduler} accepted bad input")
    plain = torch.stack([values_of(1003, rank, 0) for rank in ranks])
    with Executor(mesh, NETWORK, exact=False) as executor:
        result = executor.all_reduce(plain[group.rank]).result()
        check("native sum", torch.allclose(result, plain.sum(0), rtol=1e-5, atol=1e-5))
        counts = torch.arange(50, dtype=torch.float32) * (group.rank + 1)
        check("native sum of integers", torch.equal(executor.all_reduce(counts).result(), torch.arange(50.0) * 10))
    check("test shows order", not torch.equal(sum(everyone), expected) or not torch.equal(exact, sum(everyone)))
    gathered: list[Any] = [None] * group.size
    dist.all_gather_object(gathered, wrong)
    return [fault for faults in gathered for fault in faults]


def disagreement(group: Group, _: Any, report: Callable[[Any], None]) -> list[str]:
    """Errors of ranks when one of them plans with other bandwidths, or starts another collective."""
    messages = []
    mesh = Mesh(NETWORK)
    odd = NETWORK.at_speed([1.0, 20.0 if group.rank == 2 else 1.0])
    with Executor(mesh, odd, Scheduler.THEMIS_SCF, 8) as executor:
        try:
            executor.all_reduce(torch.ones(64)).result()
        except OfframpError as error:
            messages.append(str(error))
    with Executor(mesh, NETWORK) as executor:
        executor._started += group.rank == 3
        try:
            executor.all_reduce(torch.ones(64)).result()
        except OfframpError as error:
            messages.append(str(error))
    try:
        Mesh(Network("3x2", (Dimension(DimensionTopology.RING, 3, 1e9), Dimension(DimensionTopology.RING, 2, 1e9))))
    except OfframpError as error:
        messages.append(str(error))
    with Executor(mesh, NETWORK, chunks=4) as executor:
        plan = executor._plan

        def swapped(*arguments: Any) -> Any:
            swapped_plan = plan(*arguments)
            if group.rank == 0:
                return _Reordered(swapped_plan)
            return swapped_plan

        executor._plan = swapped
        try:
            executor.all_reduce(torch.ones(64)).result()
        except OfframpError as error:
            messages.append(str(error))
    report(messages)
    return messages


class _Reordered:
    """A plan that claims to be another: two operations of a dimension change places behind the digest."""

    def __init__(self, plan: Any) -> None:
        self._plan = plan

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plan, name)

    def orders(self) -> Any:
        first = self._plan.orders()
        dim = next(k for k, order in enumerate(first) if order[0][1] == order[1][1] == 0)
        order = list(first[dim])
        order[0], order[1] = order[1], order[0]
        return (*first[:dim], tuple(order), *first[dim + 1 :])


def adapting(group: Group, _: Any, report: Callable[[Any], None]) -> list[list[float]]:
    """Bandwidths that an adaptive executor plans with after its second dimension became five times slower."""
    buckets = [TokenBucket(4e6), TokenBucket(6e6)]  # slow enough that a busy machine adds little
    mesh = Mesh(NETWORK)
    with Executor(mesh, NETWORK, Scheduler.THEMIS_SCF, 4, adapt=True, buckets=buckets) as executor:
        seen = []
        for step in range(4):
            if step == 1:
                buckets[1].set_rate(1.2e6)
            executor.all_reduce(torch.ones(1 << 14)).result()
            seen.append([d.bandwidth_bps for d in executor.network.dimensions])
    return seen
