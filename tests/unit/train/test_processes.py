# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from offramp.workers.processes import run_workers
from offramp_base.ending.reliance import relied_on
from offramp_base.errors import OfframpError

WORKLOADS = Path(__file__).parent / "workloads"


@pytest.fixture
def work(monkeypatch):
    monkeypatch.syspath_prepend(str(WORKLOADS))
    return importlib.import_module("faulty_work")


def alive(pid: int) -> bool:
    """Whether a process runs; zombies that nobody has waited for do not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone(pids: list[int], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while any(map(alive, pids)) and time.monotonic() < end:
        time.sleep(0.02)
    return not any(map(alive, pids))


def test_workers_share_a_group_and_report(work) -> None:
    news: list[tuple[int, int]] = []
    assert run_workers(work.add, [1, 20, 300], news.append) == 321.0
    assert sorted(rank for rank, _ in news) == [0, 1, 2]
    assert gone([pid for _, pid in news], 5)


def test_a_search_for_garbage_copies_no_memory_of_the_server(work) -> None:
    grown: list[int] = []
    run_workers(work.collect, [None, None], grown.append)
    assert len(grown) == 2
    assert max(grown) < 10_000  # of 60,000 and more


@pytest.mark.parametrize("culprit", [0, 2])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("refuse", "worker {}: no such link"),
        ("die", "worker {} was killed by SIGKILL; the run has ended"),
        ("leave", "worker {} ended with exit code 7 before its result; the run has ended"),
        ("stumble", "worker {}: ZeroDivisionError: one over zero"),
    ],
)
def test_one_failing_worker_ends_the_run_with_one_line(work, name: str, culprit: int, message: str) -> None:
    before = time.monotonic()
    with pytest.raises(OfframpError) as caught:
        run_workers(getattr(work, name), [culprit] * 3, lambda _: None)
    assert str(caught.value) == message.format(culprit)
    assert time.monotonic() - before < 20
    assert not multiprocessing.active_children()


def test_a_worker_beyond_its_memory_is_named_with_its_budget_and_leaves_no_group(work) -> None:
    limits: list[str] = []
    try:
        run_workers(work.need_more, [1, 1], limits.append)
    except OfframpError as error:
        message = str(error)
    if not limits[0].startswith("control group"):
        pytest.skip("no control group of memory can be made")
    assert message == "worker 1 needs more memory than the 16.7772 MB that it may take; the run has ended"
    assert not list(Path("/sys/fs/cgroup").rglob("offramp-*-memory"))


def test_a_stopped_worker_is_named_once_patience_ends(work) -> None:
    with pytest.raises(OfframpError, match=r"worker 1 is stopped, and has not gone on for 0\.5 s; the run has ended"):
        run_workers(work.stop, [1, 1], lambda _: None, timeout_s=0.5)
    assert not multiprocessing.active_children()


@pytest.mark.parametrize(
    ("end", "how"), [("kill -9 $$", "was killed by SIGKILL"), ("exit 3", "ended with exit code 3")]
)
def test_a_process_that_workers_rely_on_is_named_within_a_second(work, end: str, how: str) -> None:
    relied = subprocess.Popen(["sh", "-c", f"read line; {end}"], stdin=subprocess.PIPE, text=True)
    died: list[float] = []

    def hear(_: int) -> None:  # a worker works
        if not died:
            relied.stdin.close()
            died.append(time.monotonic())

    with relied_on("the switch", relied), pytest.raises(OfframpError, match=f"the switch {how}; the run has ended"):
        run_workers(work.sleep, [0, 0], hear)
    assert time.monotonic() - died[0] < 1
    assert not multiprocessing.active_children()


def test_a_process_that_says_that_it_ends_is_named_however_long_that_takes(work, tmp_path: Path) -> None:
    """A process that ends in its own time ends its workers first."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    script = f"exec 3<>{pipe}; echo here; read line; echo ending; exec 3>&-; sleep 2; exit 4"
    relied = subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert relied.stdin is not None
    assert relied.stdout is not None
    relied.stdout.readline()
    with (
        relied_on("the switch", relied),
        pytest.raises(OfframpError, match=r"^the switch ended with exit code 4; the run has ended$"),
    ):
        run_workers(work.read, [str(pipe)] * 2, lambda _: relied.stdin.close())
    assert not multiprocessing.active_children()


@pytest.mark.full
def test_workers_end_with_the_process_that_started_them() -> None:
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import faulty_work\n"
        "from offramp.workers.processes import run_workers\n"
        "run_workers(faulty_work.sleep, [0, 0], lambda pid: print(pid, flush=True))\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script, str(WORKLOADS)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pids = [int(parent.stdout.readline()) for _ in range(2)]
    assert all(map(alive, pids))
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    assert gone(pids, 10)
