# SPDX-License-Identifier: Apache-2.0
"""Long computations say how far they are; who wants to show it listens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")

Listener = Callable[[str, int, int], None]
"""Called with what is done, how much of it, and how much there is."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def report(what: str, done: int, total: int) -> None:
    """Tell whoever listens in this context."""
    listener = _listener.get()
    if listener is not None:
        listener(what, done, total)


def counted(what: str, items: Sequence[T]) -> Iterator[T]:
    """The items one after the other; whoever listens is told how many are done."""
    for done, item in enumerate(items):
        report(what, done, len(items))
        yield item
    report(what, len(items), len(items))


@contextmanager
def listen(listener: Listener) -> Iterator[None]:
    """Be told of all progress inside the context."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
