# SPDX-License-Identifier: Apache-2.0
"""One local process per worker, watched by the process that started them."""

from __future__ import annotations

import gc
import os
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

from offramp.workers.budget import exceeded
from offramp.workers.place import find_place
from offramp_base.ending import reliance
from offramp_base.ending.children import ended_as, ends_with_parent, fork_server, is_stopped, servers_folder
from offramp_base.ending.early_fork import fork_now
from offramp_base.ending.left import temporary_folder
from offramp_base.errors import OfframpError
from offramp_base.listening import Token
from offramp_base.private_folder import make_private, user_cache

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.context import ForkServerContext
    from multiprocessing.process import BaseProcess

    from offramp.workers.group import Group

Work = Callable[["Group", Any, Callable[[Any], None]], Any]
"""``work(group, item, report)``: what a worker does with its item; ``report`` sends news to the parent."""

PRELOAD = ["offramp.train.run", "torch._dynamo"]
"""Modules that every worker would otherwise spend seconds importing; Adam needs the last."""

STOP_SECONDS = 5.0
GRACE_SECONDS = 1.0
"""Seconds after the first failure in which others are heard: the cause may report later than its victims."""
CAUSE_SECONDS = 0.3
"""The same after a death, which is no consequence of another failure; this process may end by the same signal."""
TIMEOUT_S = 60.0
"""Seconds that a worker may be stopped."""


class _Blame(IntEnum):
    """Credibility of an account of a failure: a worker without its peers only sees a closed connection."""

    RELIED_ON = 0
    INPUT = 1
    DEATH = 2
    FAULT = 3
    LOST_PEER = 4


def threads_each(workers: int) -> int:
    """Number of compute threads of each of ``workers`` processes on this machine."""
    return max(1, len(os.sched_getaffinity(0)) // workers)


def expect_workers(count: int) -> None:
    """Announce that :func:`run_workers` will start ``count`` workers, as forks of this process in its present state.

    This saves them seconds of importing. It is for commands, before they compute anything (:func:`fork_now`). Under
    torchrun or srun, and for a single worker, which has no process of its own, nothing happens.
    """
    if count > 1 and find_place() is None:
        server()
        fork_now(PRELOAD, servers_folder())


def server() -> ForkServerContext:
    """A process that imports PyTorch once, and from which the workers are forked; it has no threads and no gRPC."""
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "FATAL")  # gloo's lines about a peer that is lost; we name it
    _keep_compiled()
    return fork_server(PRELOAD)


def _keep_compiled() -> None:
    """Make PyTorch put the folder for compiled code into the user's cache instead of among temporary files."""
    with suppress(OSError, OfframpError):
        folder = user_cache() / "offramp" / "inductor"
        make_private(folder)  # what lies there is loaded
        os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(folder))


def run_workers(
    work: Work,
    items: Sequence[Any],
    report: Callable[[Any], None],
    *,
    timeout_s: float = TIMEOUT_S,
    names: Sequence[str] | None = None,
) -> Any:
    """Run ``work`` with each of ``items`` in a separate process; returns the result of rank 0.

    Args:
        work: a module-level function.
        items: one picklable argument per worker.
        report: called with whatever a worker reports, in this process.
        timeout_s: seconds that a worker may be stopped.
        names: names of the workers in errors; by default ``worker 0`` and so on.

    Raises:
        OfframpError: a worker, or a process that the run relies on, failed, died or was stopped; no process is left
            behind.
    """
    context = server()
    token = Token.from_environment() or Token.random()  # goes to the workers through multiprocessing's own pipes
    with temporary_folder() as folder:
        processes: list[BaseProcess] = []
        pipes: list[Connection] = []
        try:
            for rank, item in enumerate(items):
                ours, theirs = context.Pipe(duplex=False)
                arguments = (work, item, rank, len(items), folder, token, theirs)
                process = context.Process(target=_enter, args=arguments, name=f"worker {rank}", daemon=True)
                process.start()
                theirs.close()
                processes.append(process)
                pipes.append(ours)
            known = names or [f"worker {rank}" for rank in range(len(items))]
            return _watch(processes, pipes, report, timeout_s, known)
        finally:
            _end(processes)


def _watch(
    processes: list[BaseProcess],
    pipes: list[Connection],
    report: Callable[[Any], None],
    timeout_s: float,
    names: Sequence[str],
) -> Any:
    """Pass on reports until every worker has delivered its result or one has failed."""
    results: dict[int, Any] = {}
    failures: list[tuple[_Blame, str]] = []
    waiting = {pipe: rank for rank, pipe in enumerate(pipes)}
    stopped = _Stopped(timeout_s)
    deadline, reported = float("inf"), False

    def fail(blame: _Blame, what: str, others_s: float) -> None:
        nonlocal deadline
        failures.append((blame, what))
        deadline = min(deadline, time.monotonic() + others_s)

    while waiting and (left := deadline - time.monotonic()) > 0:
        relied = [] if reported else reliance.descriptors()
        ready = wait([*waiting, *relied], max(0.0, min(GRACE_SECONDS, left)))
        for which in ready:
            if isinstance(which, int):
                reported = True
                fail(_Blame.RELIED_ON, f"{reliance.death(which)}; the run has ended", CAUSE_SECONDS)
                continue
            assert isinstance(which, Connection)
            rank = waiting[which]
            try:
                kind, content = which.recv()
            except (EOFError, ConnectionError):
                del waiting[which]
                fail(_Blame.DEATH, _death(processes[rank], names[rank]), CAUSE_SECONDS)
                continue
            if kind == "news":
                report(content)
                continue
            del waiting[which]
            if kind == "done":
                results[rank] = content
            else:
                blame, what = content
                fail(blame, what, GRACE_SECONDS)
        if not ready:
            for rank in stopped.too_long({rank: processes[rank].pid for rank in waiting.values()}):
                what = f"{names[rank]} is stopped, and has not gone on for {timeout_s:g} s; the run has ended"
                fail(_Blame.DEATH, what, 0.0)
    if failures:
        raise OfframpError(min(failures, key=lambda failure: failure[0])[1])
    return results[0]


def _end(processes: list[BaseProcess]) -> None:
    for process in processes:
        process.kill()  # they hold nothing, and a stopped one would ignore any other signal
    for process in processes:
        process.join()
        if process.pid is not None:
            exceeded(process.pid)  # one that is killed leaves its group


class _Stopped:
    """Tracks since when workers have been stopped."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._since: dict[int, float] = {}

    def too_long(self, pids: dict[int, int | None]) -> list[int]:
        """Ranks that have been stopped for longer than allowed."""
        now = time.monotonic()
        self._since = {
            rank: self._since.get(rank, now) for rank, pid in pids.items() if pid is not None and is_stopped(pid)
        }
        return [rank for rank, since in self._since.items() if now - since > self._timeout_s]


def _death(process: BaseProcess, name: str) -> str:
    process.join(STOP_SECONDS)
    budget = exceeded(process.pid) if process.exitcode == -signal.SIGKILL and process.pid is not None else None
    if budget is not None:
        return f"{name} needs more memory than the {budget / 1e6:g} MB that it may take; the run has ended"
    ended = ended_as(name, process.exitcode)
    return f"{ended}; the run has ended" if "killed" in ended else f"{ended} before its result; the run has ended"


def _enter(work: Work, item: Any, rank: int, size: int, folder: str, token: Token, parent: Connection) -> None:
    """Body of a worker process."""
    ends_with_parent()
    tempfile.tempdir = folder  # whatever a library puts there goes with the run
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    import torch

    from offramp.workers.group import GlooGroup

    torch.set_num_threads(threads_each(size))
    gc.freeze()  # a search for garbage writes to all that it looks at: 80 MB that are shared with the server until then
    try:
        with _quiet():
            group = GlooGroup((Path(folder) / "store").as_uri(), rank, size, token)
        result = work(group, item, lambda news: parent.send(("news", news)))
        group.close()
    except Exception as error:
        parent.send(("failed", _failure(error, rank)))
        os._exit(1)
    parent.send(("done", result))


@contextmanager
def _quiet() -> Iterator[None]:
    """Discard what compiled code writes to standard error: gloo logs unreachable peers, which we name ourselves."""
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _failure(error: Exception, rank: int) -> tuple[_Blame, str]:
    from offramp.workers.mailbox import PeerLostError

    if isinstance(error, PeerLostError):
        return _Blame.LOST_PEER, str(error)
    if isinstance(error, OfframpError):
        return _Blame.INPUT, str(error)
    message = f"worker {rank}: {type(error).__name__}: {' '.join(str(error).split())}"
    if isinstance(error, RuntimeError) and "gloo" in message:
        return _Blame.LOST_PEER, message
    traceback.print_exception(error)
    return _Blame.FAULT, message
