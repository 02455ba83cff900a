# SPDX-License-Identifier: Apache-2.0
"""Ranks that are threads of one process."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
import torch

from offramp.workers.group import Group
from offramp.workers.mailbox import Key
from offramp_base.errors import OfframpError
from offramp_sim.switchgnn.thread_group import ThreadGroup, open_threads, run_group


def test_the_fault_that_came_first_is_told_and_not_what_others_made_of_it() -> None:
    """Rank 0's complaint about rank 1 comes later, and first by rank."""
    waits, said = threading.Event(), []

    def work(group: ThreadGroup) -> None:
        box = group.mailbox(900, None)  # nobody waits so long: a rank that fails ends the others
        if group.rank == 1:
            waits.wait()
            raise OfframpError("the cause")
        waits.set()
        try:
            box.wait([(1, Key(0, 0, backward=False, bin=0))])
        except RuntimeError as error:
            said.append(str(error))
            raise

    with pytest.raises(OfframpError, match="the cause"):
        run_group(2, work)
    assert said == ["worker 1 is gone"]


def test_sums_and_maxima_are_those_of_all_ranks_and_in_place() -> None:
    def work(group: ThreadGroup) -> tuple[list[float], list[float], bool]:
        values, greatest = torch.tensor([1.0, 10.0]) * (group.rank + 1), torch.tensor([float(group.rank), -1.0])
        in_place = group.sum(values) is values and group.max(greatest) is greatest
        return values.tolist(), greatest.tolist(), in_place

    assert run_group(3, work) == [([6.0, 60.0], [2.0, -1.0], True)] * 3


def test_items_are_gathered_at_rank_0_and_announced_to_all() -> None:
    def work(group: ThreadGroup) -> tuple[object, list[bytes]]:
        return group.gather(10 * group.rank, None), group.introduce(bytes([group.rank]))

    announced = [b"\x00", b"\x01", b"\x02"]
    assert run_group(3, work) == [([0, 10, 20], announced), (None, announced), (None, announced)]


def test_an_all_to_all_transposes_rows() -> None:
    """Rank r sends r + d rows of the number 10 · r + d to rank d."""

    def work(group: ThreadGroup) -> list[float]:
        me = group.rank
        rows = torch.tensor([[10.0 * me + to] for to in range(3) for _ in range(me + to)]).reshape(-1, 1)
        received = group.all_to_all(rows, [me + to for to in range(3)], [me + other for other in range(3)])
        return received.flatten().tolist()

    assert run_group(3, work) == [[10.0 * r + d for r in range(3) for _ in range(r + d)] for d in range(3)]


def test_the_launcher_returns_rank_0s_result() -> None:
    reported: list[int] = []

    def work(group: Group, job: int, report: Callable[[int], None]) -> int:
        report(job)
        return job + group.size

    with open_threads(7) as launcher:
        result = launcher.run(work, [5, 6], None, reported.append)
    assert result == 7
    assert sorted(reported) == [5, 6]
