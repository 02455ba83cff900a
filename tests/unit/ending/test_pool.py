# SPDX-License-Identifier: Apache-2.0
"""Cases in processes: results, what a case raises, a process that dies, and an iteration that is given up."""

from __future__ import annotations

import math
import multiprocessing
import os
import time
from collections.abc import Iterator
from multiprocessing.context import BaseContext
from pathlib import Path

import pytest

from offramp_base.ending import pool
from offramp_base.ending.pool import each_in_process
from offramp_base.errors import OfframpError


@pytest.fixture(scope="module")
def context() -> BaseContext:
    return multiprocessing.get_context("forkserver")


def pid_then_sleep(case: float) -> tuple[int, float]:
    time.sleep(case)
    return os.getpid(), case


def refuse(case: str) -> None:
    raise OfframpError(case)


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def test_every_case_has_its_result_by_as_many_processes_as_asked(context: BaseContext) -> None:
    answers = dict(each_in_process(pid_then_sleep, [0.01 * (n % 3) for n in range(9)], 2, context))
    assert {number: case for number, (_, case) in answers.items()} == {n: 0.01 * (n % 3) for n in range(9)}
    pids = {pid for pid, _ in answers.values()}
    assert len(pids) == 2
    assert not any(map(alive, pids))
    assert list(each_in_process(math.factorial, [5], 8, context)) == [(0, 120)]


def test_what_a_case_raises_comes_with_its_place(context: BaseContext) -> None:
    with pytest.raises(ValueError, match="math domain error") as caught:
        list(each_in_process(math.sqrt, [4, -1], 1, context))
    assert "pool.py" in caught.value.__notes__[0]
    with pytest.raises(OfframpError, match="no such case") as refused:
        list(each_in_process(refuse, ["no such case"], 1, context))
    assert not hasattr(refused.value, "__notes__")


class Pipe:
    """The end of a pipe that a process has: cases come from a list, then the caller hangs up."""

    def __init__(self, cases: list[object], *, broken: bool = False) -> None:
        self._cases, self._broken = iter(enumerate(cases)), broken
        self.sent: list[tuple[int, object, BaseException | None]] = []

    def recv(self) -> tuple[int, object]:
        """The next case."""
        for each in self._cases:
            return each
        raise EOFError

    def send(self, answer: tuple[int, object, BaseException | None]) -> None:
        """An answer that somebody takes, or nobody."""
        self.sent.append(answer)
        if self._broken:
            raise BrokenPipeError


def test_a_process_answers_case_after_case_until_the_caller_hangs_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "ends_with_parent", lambda: None)
    pipe = Pipe([9, -1, 16])
    pool._work(pipe, math.sqrt)  # type: ignore[arg-type]
    assert [answer[:2] for answer in pipe.sent] == [(0, 3.0), (1, None), (2, 4.0)]
    assert "math domain error" in pipe.sent[1][2].__notes__[0]  # type: ignore[union-attr]
    broken = Pipe([9, 16], broken=True)
    pool._work(broken, math.sqrt)  # type: ignore[arg-type]
    assert broken.sent == [(0, 3.0, None)]


def test_a_process_that_dies_is_named_by_its_end(context: BaseContext) -> None:
    with pytest.raises(OfframpError, match="a process ended with exit code 7 before its result"):
        list(each_in_process(os._exit, [7], 1, context))


def test_processes_end_with_an_iteration_that_is_given_up(context: BaseContext) -> None:
    cases: Iterator[tuple[int, tuple[int, float]]] = each_in_process(pid_then_sleep, [0.0, 600.0, 600.0], 1, context)
    _, (pid, _) = next(cases)
    assert alive(pid)
    cases.close()  # type: ignore[attr-defined]
    assert not alive(pid)
