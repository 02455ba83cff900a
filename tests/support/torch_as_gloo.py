# SPDX-License-Identifier: Apache-2.0
"""Work of ranks that do with offloads what they would do with gloo; each function runs in a process of its own."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import Future
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from offramp.torch import create
from offramp.torch.offload import OFFLOADS, CollectiveCall, Result
from offramp.workers.group import Group
from torch_ranks import COUNTING, Counting, backend, meet

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
    report(missing)
    return missing


def without_compiler(group: Group, _: Any, report: Report) -> list[str]:
    """Strides and means of the backend in Python."""
    os.environ[create.WITHOUT_COMPILER] = "1"
    create.extension.cache_clear()
    wrong = []
    with backend(group, "offramp"):
        for layout in ("transposed", "gaps"):
            values = torch.arange(6.0).reshape(2, 3) * (group.rank + 1)
            mine = values if group.rank == 0 else _strided(values, layout)
            dist.all_reduce(mine)
            if not torch.equal(mine, torch.arange(6.0).reshape(2, 3) * 3):
                wrong.append(f"all_reduce {layout} on rank {group.rank}: {mine}")
        number = torch.tensor([-7 + group.rank])
        dist.all_reduce(number, dist.ReduceOp.AVG)
        if int(number) != -6:
            wrong.append(f"mean on rank {group.rank}: {number}")
    if wrong:
        report(wrong)
    return wrong


def _strided(values: torch.Tensor, layout: str) -> torch.Tensor:
    """The values in memory of another order, or with gaps."""
    if layout == "transposed":
        return values.t().contiguous().t()
    spread = values.new_zeros(values.shape[0], 2 * values.shape[1])
    spread[:, ::2] = values
    return spread[:, ::2]


def strides(group: Group, settings: dict[str, Any] | None, report: Report) -> list[str]:
    """Collectives of tensors that are contiguous on rank 0 only and end with something else than they should."""
    wrong = []
    rank, size = group.rank, group.size
    every = [torch.arange(6.0).reshape(2, 3) + 10 * each for each in range(size)]
    total = torch.stack(every).sum(0)
    for layout in ("transposed", "gaps"):

        def lay(values: torch.Tensor, layout: str = layout) -> torch.Tensor:
            return values.clone() if rank == 0 else _strided(values, layout)

        def check(name: str, outputs: list[torch.Tensor], expected: list[torch.Tensor], layout: str = layout) -> None:
            if not all(map(torch.equal, outputs, expected)):
                wrong.append(f"{name} {layout} on rank {rank}: {outputs}, expected {expected}")

        with backend(group, "offramp", settings):
            mine = lay(every[rank])
            dist.broadcast(mine, 1)
            check("broadcast", [mine], [every[1]])
            mine = lay(every[rank])
            dist.all_reduce(mine)
            check("all_reduce", [mine], [total])
            leaf = lay(every[rank]).requires_grad_()
            value = dist.all_reduce(leaf, async_op=True).get_future().then(lambda f: f.value()[0] + 1).wait()
            check("future", [leaf.detach(), value.detach()], [total, total + 1])
            mine = lay(every[rank])
            dist.reduce(mine, 1)
            check("reduce", [mine] * (rank == 1), [total])
            mine = lay(every[rank])
            dist.scatter(mine, [lay(each) for each in every] if rank == 1 else None, 1)
            check("scatter", [mine], [every[rank]])
            outputs = [lay(each) for each in every]
            dist.gather(lay(every[rank]), outputs if rank == 1 else None, 1)
            check("gather", outputs * (rank == 1), every)
            outputs = [lay(total) for _ in every]
            dist.all_gather(outputs, lay(every[rank]))
            check("all_gather", outputs, every)
            mine = lay(total)
            dist.reduce_scatter(mine, [lay(each) for each in every])
            check("reduce_scatter", [mine], [every[rank] * size])
            coalesced = [lay(every[rank]), lay(every[rank])]
            dist.group.WORLD.allreduce_coalesced(coalesced).wait()
            check("coalesced", coalesced, [total, total])
            lists = [[lay(each), torch.zeros(4)] for each in every]
            dist.all_gather_coalesced(lists, [lay(every[rank]), torch.full((4,), float(rank))])
            check("lists", [row[0] for row in lists], every)
            check("lists", [row[1] for row in lists], [torch.full((4,), float(each)) for each in range(size)])
            mine = lay(total)
            if rank == 0:
                dist.send(_strided(every[0], layout), 1)
            elif rank == 1:
                dist.recv(mine, 0)
                check("message", [mine], [every[0]])
    if wrong:
        report(wrong)
    return wrong


def means(group: Group, settings: dict[str, Any] | None, report: Report) -> dict[str, list[float]]:
    """Means of each type of number by all_reduce, reduce and reduce_scatter, of -7, 0 and 7 more on each rank."""
    results = {}
    with backend(group, "offramp", settings):
        for dtype in (torch.float32, torch.float16, torch.int8, torch.int32, torch.int64):
            values = torch.tensor([-7, 0, 7]).to(dtype) + group.rank
            mean, row = values.clone(), values.new_empty(3)
            dist.all_reduce(mean, dist.ReduceOp.AVG)
            dist.reduce_scatter_tensor(row, values.repeat(group.size), dist.ReduceOp.AVG)
            root = values.clone()
            dist.reduce(root, 0, dist.ReduceOp.AVG)
            same = torch.equal(mean, row) and (group.rank > 0 or torch.equal(mean, root))
            results[str(dtype)] = mean.tolist() if same else [row.tolist(), root.tolist()]
    return results


def types(group: Group, settings: dict[str, Any] | None, report: Report) -> dict[str, list[str]]:
    """Types that arrive by send and recv, and what a sum of each type says that gloo cannot add; each rank reports."""
    lines: dict[str, list[str]] = {"messages": [], "sums": []}
    with backend(group, "offramp", settings):
        for dtype in (torch.float8_e4m3fn, torch.float8_e5m2, torch.uint16, torch.uint32, torch.uint64, torch.bool):
            values = torch.tensor([0, 1, 1, 0]).to(dtype)
            if group.rank == 0:
                dist.send(values, 1)
            elif group.rank == 1:
                received = torch.zeros_like(values)
                dist.recv(received, 0)
                if not torch.equal(received.view(torch.uint8), values.view(torch.uint8)):
                    lines["messages"].append(str(dtype))
            if dtype is not torch.bool:
                try:
                    dist.all_reduce(values)
                except RuntimeError as error:
                    lines["sums"].append(str(error))
    report((group.rank, lines))
    return lines


def any_source(group: Group, settings: dict[str, Any], report: Report) -> list[tuple[int, float]]:
    """Senders and values of receives without a source on rank 0, beside one with a source."""
    results: list[tuple[int, float]] = []
    with backend(group, "offramp", settings):
        if group.rank == 0:
            values = torch.zeros(3)
            results += [(dist.recv(values), float(values[0])) for _ in range(2 * (group.size - 1) - 1)]
            missing = {each for each in range(1, group.size) if [s for s, _ in results].count(each) < 2}
            source = missing.pop()
            dist.recv(values, source)
            results.append((source, float(values[0])))
        else:
            for number in (1, 2):
                dist.send(torch.full((3,), 10.0 * group.rank + number), 0)
    return results


def before_others(group: Group, _: Any, report: Report) -> list[float]:
    """A message by Hermod on two of three ranks before the third does anything, and while a sum waits for them."""
    received = []
    with backend(group, "offramp", {"offloads": ["hermod"], "least": 1, "interface": "127.0.0.1"}, timeout_s=20):
        values, total = torch.full((4,), 1.0 + group.rank), torch.ones(4)
        if group.rank == 0:
            dist.send(values, 1)
            work = dist.all_reduce(total, async_op=True)  # others begin it once they have the next message
            dist.send(values + 1, 1)
            work.wait()
        else:
            for _ in range(2 if group.rank == 1 else 0):
                dist.recv(values, 0)
                received.append(float(values[0]))
            if group.rank == 1:
                dist.send(values, 2)
            else:
                dist.recv(values, 1)
            dist.all_reduce(total)
        report([*received, float(total[0])])
    return received


def verified(group: Group, _: Any, report: Report) -> list[float]:
    """Sums by an offload that begin while the next one is compared."""
    with backend(group, "offramp", {"offloads": ["lagging"], "least": 16, "verify": True}):
        tensors = [torch.full((8,), float(number)) for number in range(6)]
        works = [dist.all_reduce(each, async_op=True) for each in tensors]
        for work in works:
            work.wait()
        results = [float(each[0]) for each in tensors]
    report(results)
    return results


@OFFLOADS.register("silent")
class Silent(Counting):
    """An offload whose messages never arrive, and that has no timeout of its own."""

    kinds = ("send", "recv")

    def recv(self, output: torch.Tensor, call: CollectiveCall) -> Result:
        return Future()


def endless(group: Group, _: Any, report: Report) -> tuple[str, float]:
    """The line with which a receive ends that never ends by itself, and its seconds."""
    with backend(group, "offramp", {"offloads": ["silent"], "least": 1}, timeout_s=2):
        dist.barrier()
        began, line = time.monotonic(), ""
        if group.rank == 0:
            try:
                dist.recv(torch.zeros(3), 1)
            except RuntimeError as error:
                line = str(error)
        took = time.monotonic() - began
        meet("over")
    return line, took


def barriers_behind_failures(group: Group, _: Any, report: Report) -> list[str]:
    """What goes wrong with barriers behind collectives that gloo refuses in the midst, when nobody waits for them."""
    wrong = []
    with backend(group, "offramp", COUNTING, timeout_s=5):
        dist.all_reduce(torch.ones(8))
        for _ in range(5):
            refused = dist.all_reduce(torch.ones(0, dtype=torch.int16), dist.ReduceOp.MIN, async_op=True)
            try:
                dist.barrier()
            except RuntimeError as error:
                wrong.append(str(error))
            try:
                refused.wait()
            except RuntimeError as error:
                if "Invalid scalar type" not in str(error):
                    wrong.append(str(error))
    report(wrong)
    return wrong


def complex_means(group: Group, _: Any, report: Report) -> bool:
    """Whether means of complex numbers are those of their two parts, in every layout."""
    right = True
    with backend(group, "offramp"):
        every = torch.arange(1, 98.0)
        expected = torch.complex(every * sum(range(group.size)) / group.size, every / group.size)
        for step in (1, 2):
            mine = torch.zeros(97 * step, dtype=torch.complex64)[::step]
            mine += torch.complex(every * group.rank, every if group.rank == 1 else torch.zeros(97))
            dist.all_reduce(mine, dist.ReduceOp.AVG)
            right = right and torch.equal(mine, expected)
    report(right)
    return right


def groups_again(group: Group, settings: dict[str, Any] | None, report: Report) -> list[str]:
    """What goes wrong with groups of the same ranks, made, used, ended and made again, also by another store's turn."""
    wrong = []
    size, rank = group.size, group.rank

    def check(name: str, of: Any, expected: float) -> None:
        try:
            tensor = torch.full((8,), float(rank))
            dist.all_reduce(tensor, group=of)
        except RuntimeError as error:
            wrong.append(f"{name} on rank {rank}: {error}")
        else:
            if float(tensor[0]) != expected:
                wrong.append(f"{name} on rank {rank}: {float(tensor[0])}, expected {expected}")

    with backend(group, "offramp", settings, timeout_s=5):
        every = list(range(size))
        total = float(sum(every))
        store = dist.distributed_c10d._get_default_store()
        for turn in range(2):
            if turn:  # a new default group with the names of the old one, in the same store
                meet(f"end {turn}")
                dist.destroy_process_group()
                timeout = timedelta(seconds=5)
                dist.init_process_group("offramp", store=store, rank=rank, world_size=size, timeout=timeout)
            check("the default group", None, total)
            if rank < 2:  # ranks 0 and 1 are in one group more than the others
                two = dist.new_group([0, 1], use_local_synchronization=True)
                check("two ranks", two, 1.0)
            for again in range(2):
                part = dist.split_group(dist.group.WORLD, [every], timedelta(seconds=5))
                check(f"split {again}", part, total)
                twin = dist.new_group(every, timedelta(seconds=5), use_local_synchronization=True)
                check(f"group {again}", twin, total)
                if rank == 0:
                    time.sleep(0.1)  # another rank meets what a dead group has left, if it does
                dist.destroy_process_group(part)
                dist.destroy_process_group(twin)
        meet("over")
    report(wrong)
    return wrong
