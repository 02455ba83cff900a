# SPDX-License-Identifier: Apache-2.0
"""A process that dies brings a job back from its last checkpoint, with the same model to the bit.

``tests/support/job_kills.py`` does the same at random moments, in namespaces, with an agent as well.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import job_rank
from offramp.job.network import ReductionNetwork
from offramp.job.run import deployed, run_job
from offramp_base.ending.owner import is_process

pytestmark = pytest.mark.full

STEPS, RANKS = 30, 4
PROGRAM = str(Path(job_rank.__file__))


@contextmanager
def looked_after(keeper) -> Iterator[None]:
    """The keeper at work, as in a laboratory's own process."""
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.05):
            keeper.look()

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def when(ready: Callable[[], object], act: Callable[[], object], over: threading.Event) -> threading.Thread:
    """Do something as soon as something else holds."""

    def wait() -> None:
        while not over.is_set() and not ready():
            time.sleep(0.005)
        if not over.is_set():
            act()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def kill_switch(keeper, name: str) -> None:
    os.kill(int(keeper.lab.processes[f"switch {name}"].split(".")[0]), signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize("first", ["leaf1", pytest.param("spine", marks=pytest.mark.slow)])
def test_a_switch_and_then_a_rank(keeper, lab, states, job, tmp_path, first):
    before = states()
    job = replace(job, command=(sys.executable, PROGRAM, str(STEPS), "0.02"), restarts=3)
    over, events = threading.Event(), []
    with ExitStack() as stack:
        stack.enter_context(looked_after(keeper))
        threads = [
            when(lambda: job_rank.reached(tmp_path) >= 5, lambda: kill_switch(keeper, first), over),
            when(
                lambda: job_rank.pid_of(tmp_path, 2, 1) and job_rank.reached(tmp_path) >= 15,
                lambda: os.kill(job_rank.pid_of(tmp_path, 2, 1), signal.SIGKILL),
                over,
            ),
        ]
        try:
            outcome = run_job(
                job, lab, ReductionNetwork.SWITCH, tmp_path, lambda what, name: events.append(f"{what} {name}")
            )
        finally:
            over.set()
            for thread in threads:
                thread.join()
    models = [np.load(tmp_path / f"model-{rank}.npy") for rank in range(RANKS)]
    assert all((model == job_rank.expected(STEPS, RANKS)).all() for model in models)
    restarts = [event for event in events if event.startswith("restart ")]
    assert outcome.attempts == 1 + len(restarts) == 3
    assert keeper.lab.restarts[f"switch {first}"] == 1
    assert "rank 2 on h3 was killed by SIGKILL" in restarts[1]
    assert states() == before


def test_a_switch_that_lost_its_program_is_noticed_without_any_rank(keeper, lab, states, job, tmp_path):
    """Ranks that are waiting for something else say nothing: the switches are asked."""
    before = states()
    with looked_after(keeper), deployed(job, lab, [ReductionNetwork.SWITCH], tmp_path) as there:
        assert there.lost() == ""
        kill_switch(keeper, "leaf2")
        deadline = time.monotonic() + 30
        while not there.lost() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert "leaf2" in there.lost()
        while "leaf2" not in str(keeper.lab.restarts) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert "leaf2 was started anew: it has lost what the job had there" in there.lost()
    assert all(map(is_process, keeper.lab.processes.values()))
    assert states() == before


def test_two_jobs_come_back_to_a_switch_that_both_were_on(keeper, lab, states, job, tmp_path):
    before = states()
    folders = [tmp_path / "a", tmp_path / "b"]
    outcomes: dict[int, object] = {}

    def run(number: int) -> None:
        mine = replace(
            job,
            name=f"job {number}",
            hosts=("h1,h3", "h2,h4")[number],
            command=(sys.executable, PROGRAM, str(STEPS), "0.02"),
            restarts=3,
        )
        outcomes[number] = run_job(mine, lab, ReductionNetwork.SWITCH, folders[number])

    over = threading.Event()
    with looked_after(keeper):
        for folder in folders:
            folder.mkdir()
        threads = [threading.Thread(target=run, args=(number,)) for number in range(2)]
        threads.append(
            when(
                lambda: all(job_rank.reached(folder) >= 3 for folder in folders),
                lambda: kill_switch(keeper, "spine"),
                over,
            )
        )
        for thread in threads[:2]:
            thread.start()
        for thread in threads[:2]:
            thread.join()
        over.set()
        threads[2].join()
    for folder in folders:
        assert (np.load(folder / "model-1.npy") == job_rank.expected(STEPS, 2)).all()
    assert all(outcome.attempts == 2 for outcome in outcomes.values())
    assert states() == before


def test_a_job_without_restarts_says_what_died(keeper, lab, states, job, tmp_path):
    job = replace(job, command=("sleep", "60"))
    over = threading.Event()
    with looked_after(keeper):
        thread = when((tmp_path / "rank-3.log").exists, lambda: kill_switch(keeper, "leaf1"), over)
        with pytest.raises(Exception, match="job job: leaf1 "):
            run_job(job, lab, ReductionNetwork.SWITCH, tmp_path)
        over.set()
        thread.join()
