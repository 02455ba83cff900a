# SPDX-License-Identifier: Apache-2.0
"""Progress of long computations, for listeners that want to show it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")

Listener = Callable[[str, int, int], None]
"""Called with a description, the amount done, and the total."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def report(what: str, done: int, total: int) -> None:
    """Report progress to the listeners of this context."""
    listener = _listener.get()
    if listener is not None:
        listener(what, done, total)


def counted(what: str, items: Sequence[T]) -> Iterator[T]:
    """Iterate over the items, reporting how many are done."""
    for done, item in enumerate(items):
        report(what, done, len(items))
        yield item
    report(what, len(items), len(items))


@contextmanager
def listen(listener: Listener) -> Iterator[None]:
    """Receive all progress reports inside the context."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
