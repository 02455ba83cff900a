"""One process for each worker on this machine, watched by the process that started them."""

from __future__ import annotations

import multiprocessing
import os
import time
import traceback
from collections.abc import Callable
from enum import IntEnum
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

from offramp.ending.children import ends_with_parent, how_ended, stop
from offramp.ending.left import temporary_folder
from offramp.errors import OfframpError
from offramp.listening import Token

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.process import BaseProcess

    from offramp.train.group import Group

Work = Callable[["Group", Any, Callable[[Any], None]], Any]
"""``work(group, item, report)``: what a worker does with its item; ``report`` sends news to the parent."""

PRELOAD = ["offramp.train.run", "torch._dynamo"]
"""What every worker would otherwise import by itself, for seconds; Adam needs the last."""

STOP_SECONDS = 5.0
GRACE_SECONDS = 1.0
"""How long after the first failure others are heard: the cause may report later than its victims."""


class _Blame(IntEnum):
    """Whose account of a failure to believe: a worker without its peers only sees a closed connection."""

    INPUT = 0
    DEATH = 1
    FAULT = 2
    LOST_PEER = 3


def threads_each(workers: int) -> int:
    """Compute threads of each of ``workers`` processes on this machine."""
    return max(1, len(os.sched_getaffinity(0)) // workers)


def run_workers(work: Work, items: Sequence[Any], report: Callable[[Any], None]) -> Any:
    """Run ``work`` with each of ``items`` in a process of its own; the result is that of rank 0.

    Args:
        work: a module-level function.
        items: one picklable argument for each worker.
        report: gets whatever a worker reports, in this process.

    Raises:
        OfframpError: a worker failed or died; no process is left behind.
    """
    # A server process imports PyTorch once and the workers are its forks; it has no threads and no gRPC.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOAD)
    token = Token.from_environment() or Token.random()  # goes to the workers through multiprocessing's own pipes
    with temporary_folder() as folder:
        store = (Path(folder) / "store").as_uri()
        processes: list[BaseProcess] = []
        pipes: list[Connection] = []
        try:
            for rank, item in enumerate(items):
                ours, theirs = context.Pipe(duplex=False)
                arguments = (work, item, rank, len(items), store, token, theirs)
                process = context.Process(target=_enter, args=arguments, name=f"worker {rank}", daemon=True)
                process.start()
                theirs.close()
                processes.append(process)
                pipes.append(ours)
            return _watch(processes, pipes, report)
        finally:
            _end(processes)


def _watch(processes: list[BaseProcess], pipes: list[Connection], report: Callable[[Any], None]) -> Any:
    """Pass news on until every worker has delivered or one has failed."""
    results: dict[int, Any] = {}
    failures: list[tuple[_Blame, str]] = []
    waiting = {pipe: rank for rank, pipe in enumerate(pipes)}
    deadline = float("inf")
    while waiting and time.monotonic() < deadline:
        for pipe in wait(list(waiting), GRACE_SECONDS):
            assert isinstance(pipe, Connection)
            rank = waiting[pipe]
            try:
                kind, content = pipe.recv()
            except EOFError:
                kind, content = "failed", (_Blame.DEATH, _death(processes[rank], rank))
            if kind == "news":
                report(content)
                continue
            del waiting[pipe]
            if kind == "done":
                results[rank] = content
            else:
                failures.append(content)
                deadline = min(deadline, time.monotonic() + GRACE_SECONDS)
    if failures:
        raise OfframpError(min(failures, key=lambda failure: failure[0])[1])
    return results[0]


def _death(process: BaseProcess, rank: int) -> str:
    how = how_ended(process)
    if how.startswith("killed"):
        return f"worker {rank} was {how}; the run has ended"
    return f"worker {rank} ended with {how} before its result; the run has ended"


def _end(processes: list[BaseProcess]) -> None:
    for process in processes:
        process.terminate()
    for process in processes:
        stop(process, STOP_SECONDS)


def _enter(work: Work, item: Any, rank: int, size: int, store: str, token: Token, parent: Connection) -> None:
    """A worker process from start to end."""
    ends_with_parent()
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    import torch

    from offramp.train.group import GlooGroup

    torch.set_num_threads(threads_each(size))
    try:
        group = GlooGroup(store, rank, size, token)
        result = work(group, item, lambda news: parent.send(("news", news)))
        group.close()
    except Exception as error:
        parent.send(("failed", _failure(error, rank)))
        os._exit(1)
    parent.send(("done", result))


def _failure(error: Exception, rank: int) -> tuple[_Blame, str]:
    from offramp.train.rows.mailbox import PeerLostError

    if isinstance(error, PeerLostError):
        return _Blame.LOST_PEER, str(error)
    if isinstance(error, OfframpError):
        return _Blame.INPUT, str(error)
    message = f"worker {rank}: {type(error).__name__}: {' '.join(str(error).split())}"
    if isinstance(error, RuntimeError) and "gloo" in message:
        return _Blame.LOST_PEER, message
    traceback.print_exception(error)
    return _Blame.FAULT, message
