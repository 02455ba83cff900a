# SPDX-License-Identifier: Apache-2.0
"""Processes that take the steps of a measurement together, each time the parent asks."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any, NamedTuple

from offramp_base.ending.children import ended_as
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess


class StepWorker(NamedTuple):
    """A worker process, and the pipe to it."""

    process: BaseProcess
    pipe: Connection


@contextmanager
def peers(work: Callable[..., None], items: Sequence[tuple[Any, ...]]) -> Iterator[list[StepWorker]]:
    """Start a process for each item, which calls ``work(pipe, *item)``.

    They synchronise by pipes, because a kill would leave semaphores behind.
    """
    context = multiprocessing.get_context("spawn")  # the child belongs to this thread's namespace
    started: list[StepWorker] = []
    try:
        for item in items:
            ours, theirs = context.Pipe()
            process = context.Process(target=work, args=(theirs, *item), daemon=True)
            process.start()
            theirs.close()
            started.append(StepWorker(process, ours))
        yield started
    finally:
        for peer in started:  # each has delivered, or is of no more use
            peer.process.kill()
            peer.process.join()
            peer.pipe.close()


def ask(group: list[StepWorker], request: object, what: str, timeout_s: float) -> list[Any]:
    """Send a request to all; returns their answers, as :func:`answers`."""
    for peer in group:
        with suppress(BrokenPipeError):  # its answer says why
            peer.pipe.send(request)
    return answers(group, what, timeout_s)


def answers(group: list[StepWorker], what: str, timeout_s: float) -> list[Any]:
    """Collect one answer of each worker; a string is an error.

    Raises:
        OfframpError: a worker failed, died or does not answer; begins with ``what``.
    """
    pending = {peer.pipe: index for index, peer in enumerate(group)}
    replies: dict[int, Any] = {}
    deadline = time.monotonic() + timeout_s
    while pending:
        ready = wait(list(pending), max(0.0, deadline - time.monotonic()))
        if not ready:
            raise OfframpError(f"{what}: worker {min(pending.values())} does not answer")
        for pipe in ready:
            assert isinstance(pipe, Connection)
            index = pending.pop(pipe)
            try:
                replies[index] = pipe.recv()
            except (EOFError, ConnectionError):
                group[index].process.join()
                died = ended_as(f"worker {index}", group[index].process.exitcode)
                raise OfframpError(f"{what}: {died}") from None
            if isinstance(replies[index], str):
                raise OfframpError(f"{what}: {replies[index]}")
    return [replies[index] for index in range(len(group))]
