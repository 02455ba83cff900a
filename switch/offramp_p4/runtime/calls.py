# SPDX-License-Identifier: Apache-2.0
"""The open calls of a server, and how it deals with those that keep it waiting."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from offramp_base.p4rt.status import Code, RpcError

MAX_SILENT: Final = 256
"""Calls that have sent nothing yet: each holds a thread."""
SILENT_S: Final = 5.0
"""Seconds that a call may take before its first message."""
GRACE_S: Final = 0.25
"""The same in seconds when others wait for its place."""
_LOG = logging.getLogger(__name__)


class Refusals:
    """Counts of refused calls; of each kind the log names the first, the second, the fourth and so on."""

    def __init__(self, protocol: str) -> None:
        self._protocol = protocol
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    @property
    def counts(self) -> dict[str, int]:
        """Number of refusals by reason."""
        with self._lock:
            return dict(self._counts)

    def note(self, reason: str, peer: str) -> None:
        """Count a refusal."""
        with self._lock:
            self._counts[reason] += 1
            count = self._counts[reason]
        if count & (count - 1) == 0:
            _LOG.warning("%s: %s from %s refused (%d so far)", self._protocol, reason, peer, count)


class Silent:
    """Calls that have been opened and have not said anything; the oldest makes room for the next."""

    def __init__(self, refusals: Refusals, clock: Callable[[], float] = time.monotonic) -> None:
        self._refusals, self._clock = refusals, clock
        self._changed = threading.Condition()
        self._since: dict[Any, float] = {}  # by context
        self._closed = False

    @contextmanager
    def waiting(self, context: Any) -> Iterator[None]:
        """Within the context, a call waits for its first message, or a stream to become a controller's."""
        with self._changed:
            while len(self._since) >= MAX_SILENT:
                oldest, since = min(self._since.items(), key=lambda call: call[1])
                age = self._clock() - since
                if age >= GRACE_S:
                    self._end(oldest)
                else:
                    self._changed.wait(GRACE_S - age)
            self._since[context] = self._clock()
        try:
            yield
        finally:
            self.spoke(context)

    @contextmanager
    def heard(self, context: Any) -> Iterator[None]:
        """Within the context, the server works on what a call has said, which may take longer than silence may."""
        since, began = self.spoke(context), self._clock()
        yield
        if since is not None:
            with self._changed:
                self._since[context] = since + self._clock() - began

    def spoke(self, context: Any) -> float | None:
        """A call is no longer silent; returns since when it was, None if it has spoken or was ended."""
        with self._changed:
            since = self._since.pop(context, None)
            if since is not None:
                self._changed.notify()
            return since

    def watch(self) -> None:
        """End the calls that stay silent, until :meth:`close`; for a thread."""
        looked = self._clock()
        with self._changed:
            while not self._closed:
                now = self._clock()
                stood_still = max(now - looked - SILENT_S / 5, 0.0)  # the whole machine, and so nobody could speak
                self._since = {context: since + stood_still for context, since in self._since.items()}
                late = [context for context, since in self._since.items() if now - since >= SILENT_S]
                for context in late:
                    self._end(context)
                looked = now
                self._changed.wait(SILENT_S / 10)

    def close(self) -> None:
        """End :meth:`watch`."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _end(self, context: Any) -> None:
        self._since.pop(context, None)
        self._refusals.note("a silent call", context.peer())
        context.cancel()


class InHand:
    """Bytes of the requests that the server is working on, or is about to."""

    def __init__(self, most: int) -> None:
        self._most, self._bytes = most, 0
        self._lock = threading.Lock()

    @contextmanager
    def holding(self, size: int, refuse: Callable[[str], None]) -> Iterator[None]:
        """Hold ``size`` bytes.

        Raises:
            RpcError: RESOURCE_EXHAUSTED, there is no room for them.
        """
        with self._lock:
            room = self._bytes + size <= self._most
            self._bytes += size if room else 0
        if not room:
            refuse("a request beyond the memory for requests")
            raise RpcError(Code.RESOURCE_EXHAUSTED, f"requests of more than {self._most >> 20} MB are under way")
        try:
            yield
        finally:
            with self._lock:
                self._bytes -= size
