# SPDX-License-Identifier: Apache-2.0
"""Work in a child process, so that neither a crash of machine code nor an endless loop ends the fuzzer."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import wait
from typing import Any, Generic, TypeVar

_T = TypeVar("_T")
_K = TypeVar("_K")


@dataclass(frozen=True, slots=True)
class IsolatedOutcome(Generic[_T]):
    """The outcome of the work: ``value``, or ``death``, the signal or ``"no end in N s"``."""

    value: _T | None
    death: str = ""


class _Child(Generic[_T]):
    """Work under way in a copy of this process."""

    def __init__(self, work: Callable[[], _T], limit_s: float) -> None:
        context = multiprocessing.get_context("fork")
        self.receiver, sender = context.Pipe(duplex=False)
        self._process = context.Process(target=_run, args=(sender, work), daemon=True)
        self._process.start()
        sender.close()
        self._limit_s, self._deadline = limit_s, time.monotonic() + limit_s

    @property
    def left_s(self) -> float:
        """Seconds that it may still take."""
        return max(0.0, self._deadline - time.monotonic())

    def end(self) -> IsolatedOutcome[_T]:
        """The outcome, at the child's end or at its limit; waits for that."""
        try:
            if not self.receiver.poll(self.left_s):
                return IsolatedOutcome(None, f"no end in {self._limit_s:g} s")
            value: _T = self.receiver.recv()
            return IsolatedOutcome(value)
        except EOFError:
            self._process.join()
            code = self._process.exitcode or 0
            return IsolatedOutcome(None, signal.Signals(-code).name if code < 0 else f"exit code {code}")
        finally:
            self.kill()

    def kill(self) -> None:
        """End it; without effect once it has ended."""
        self._process.kill()
        self._process.join()
        self.receiver.close()


def isolated(work: Callable[[], _T], limit_s: float) -> IsolatedOutcome[_T]:
    """Do ``work`` in a copy of this process; its value must be picklable."""
    return _Child(work, limit_s).end()


def in_parallel(
    works: Iterable[tuple[_K, Callable[[], _T]]], limit_s: float, jobs: int
) -> Iterator[tuple[_K, IsolatedOutcome[_T]]]:
    """Do pieces of work, ``jobs`` at a time, each as :func:`isolated` does; what ends first comes first."""
    waiting = iter(works)
    under_way: list[tuple[_K, _Child[_T]]] = []
    try:
        while True:
            under_way += [(key, _Child(work, limit_s)) for key, work in islice(waiting, jobs - len(under_way))]
            if not under_way:
                return
            ready = wait([child.receiver for _, child in under_way], min(child.left_s for _, child in under_way))
            for key, child in list(under_way):
                if child.receiver in ready or not child.left_s:
                    under_way.remove((key, child))
                    yield key, child.end()
    finally:
        for _, child in under_way:
            child.kill()


def _run(sender: Any, work: Callable[[], Any]) -> None:
    sender.send(work())
    sender.close()
