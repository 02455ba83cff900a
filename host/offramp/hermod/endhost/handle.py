# SPDX-License-Identifier: Apache-2.0
"""The handle of an operation that has been started: a way to wait for its end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Handle(Generic[T]):
    """An operation on its way, with the methods of ``torch.distributed``'s Work.

    Args:
        future: its end.
        timeout_s: seconds that :meth:`wait` waits unless told otherwise.
        late: called with the seconds when that is over; raises.
        finish: turns the future's result into the operation's, once, in the thread that first waits.
    """

    def __init__(
        self,
        future: Future[Any],
        timeout_s: float,
        late: Callable[[float], Exception],
        finish: Callable[[Any], T],
    ) -> None:
        self._future, self._timeout_s, self._late, self._finish = future, timeout_s, late, finish
        self._lock = threading.Lock()
        self._results: list[T] = []

    def wait(self, timeout_s: float | None = None) -> T:
        """The result, when the buffers may be used again.

        Raises:
            OfframpError: the operation failed, or is not over in time; then the endpoint or operator has failed too.
        """
        limit = self._timeout_s if timeout_s is None else timeout_s
        try:
            raw = self._future.result(limit)
        except FutureTimeoutError:
            if not self._future.done():
                raise self._late(limit) from None
            raw = self._future.result()
        with self._lock:
            if not self._results:
                self._results.append(self._finish(raw))
        return self._results[0]

    def is_completed(self) -> bool:
        """Whether :meth:`wait` would return or raise at once."""
        return self._future.done()

    def when_done(self, call: Callable[[], None]) -> None:
        """Call a function that does not wait when the operation is over, from the thread that ends it; or at once."""
        self._future.add_done_callback(lambda _: call())
