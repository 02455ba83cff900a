"""Long computations say how far they are; who wants to show it listens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str, int, int], None]
"""Called with what is done, how much of it, and how much there is."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def report(what: str, done: int, total: int) -> None:
    """Tell whoever listens in this context."""
    listener = _listener.get()
    if listener is not None:
        listener(what, done, total)


@contextmanager
def listen(listener: Listener) -> Iterator[None]:
    """Be told of all progress inside the context."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
