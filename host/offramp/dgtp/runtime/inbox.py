# SPDX-License-Identifier: Apache-2.0
"""What has arrived at a process, and what it waits for."""

from __future__ import annotations

import threading
from typing import Any, Final

from offramp_base.errors import OfframpError

TIMEOUT_S: Final = 600.0
Key = tuple[object, ...]


class TaskInbox:
    """Contents by key, put by threads that receive and taken once; a fault in any of them reaches who waits."""

    def __init__(self, timeout_s: float = TIMEOUT_S) -> None:
        self._contents: dict[Key, Any] = {}
        self._changed = threading.Condition()
        self._fault: BaseException | None = None
        self._timeout_s = timeout_s

    def put(self, key: Key, content: Any) -> None:
        """Add what has arrived."""
        with self._changed:
            self._contents[key] = content
            self._changed.notify_all()

    def take(self, key: Key) -> Any:
        """Wait for what has this key, and remove it.

        Raises:
            OfframpError: it does not come in time, or nothing will come any more.
        """
        with self._changed:
            self._expect(key)
            return self._contents.pop(key)

    def expect(self, key: Key) -> None:
        """Wait for what has this key, and leave it.

        Raises:
            OfframpError: as :meth:`take`.
        """
        with self._changed:
            self._expect(key)

    def _expect(self, key: Key) -> None:
        if not self._changed.wait_for(lambda: key in self._contents or self._fault is not None, self._timeout_s):
            raise OfframpError(f"{' '.join(map(str, key))}: nothing has come for {self._timeout_s:g} s")
        if self._fault is not None:
            raise self._fault

    def fail(self, fault: BaseException) -> None:
        """Record that nothing will come any more; the first fault counts."""
        with self._changed:
            self._fault = self._fault or fault
            self._changed.notify_all()
