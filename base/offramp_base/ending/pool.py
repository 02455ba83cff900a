# SPDX-License-Identifier: Apache-2.0
"""Functions in processes of their own, which end when the caller does, whatever they are computing."""

from __future__ import annotations

import multiprocessing
import traceback
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from typing import TYPE_CHECKING, Any, TypeVar

from offramp_base.ending.children import ended_as, ends_with_parent, stop
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

_C = TypeVar("_C")
_R = TypeVar("_R")


def each_in_process(
    function: Callable[[_C], _R], cases: Sequence[_C], count: int, context: BaseContext | None = None
) -> Iterator[tuple[int, _R]]:
    """Number and result of each case, as they are done, by ``count`` processes; they end with the iteration.

    Unlike :class:`concurrent.futures.ProcessPoolExecutor` this has no threads and no named semaphores: nothing that a
    kill could leave, and nobody who waits for a case that no one wants any more.

    Args:
        function: function of a module, so that other processes can import it.
        cases: can be pickled.
        count: number of processes.
        context: how they are started; anew by default, as this process may have threads and machine code.

    Raises:
        OfframpError: a process died; whatever ``function`` raises.
    """
    context = context or multiprocessing.get_context("spawn")
    waiting = iter(enumerate(cases))
    processes: dict[Connection, BaseProcess] = {}
    try:
        for _, case in zip(range(count), waiting, strict=False):
            ours, theirs = context.Pipe()
            process = context.Process(target=_work, args=(theirs, function), daemon=True)  # type: ignore[attr-defined]
            process.start()
            theirs.close()
            processes[ours] = process
            ours.send(case)
        while processes:
            for pipe in wait(list(processes)):
                assert isinstance(pipe, Connection)
                number, result, fault = _answer(pipe, processes[pipe])
                if fault is not None:
                    raise fault
                yield number, result
                following = next(waiting, None)
                if following is not None:
                    pipe.send(following)
                else:
                    pipe.close()
                    processes.pop(pipe).join()
    finally:
        for process in processes.values():
            process.kill()
        for process in processes.values():
            stop(process, 0)


def _answer(pipe: Connection, process: BaseProcess) -> tuple[int, Any, BaseException | None]:
    try:
        answer: tuple[int, Any, BaseException | None] = pipe.recv()
    except (EOFError, ConnectionError):
        process.join()
        raise OfframpError(f"{ended_as('a process', process.exitcode)} before its result") from None
    return answer


def _work(pipe: Connection, function: Callable[[Any], Any]) -> None:
    """A process: one case after the other until the caller hangs up."""
    ends_with_parent()
    while True:
        try:
            number, case = pipe.recv()
        except EOFError:
            return
        answer: tuple[int, Any, BaseException | None]
        try:
            answer = number, function(case), None
        except Exception as error:
            if not isinstance(error, OfframpError):
                error.add_note(traceback.format_exc())
            answer = number, None, error
        try:
            pipe.send(answer)
        except BrokenPipeError:
            return
