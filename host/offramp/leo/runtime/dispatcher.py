# SPDX-License-Identifier: Apache-2.0
"""The dispatcher of a device: submission and completion queue, watchdog, and the order of requests with one key."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from offramp.device import DEVICE_TIMEOUT_S, Completion, Device, Message, Status
from offramp_base.errors import OfframpError

RETRY_S: Final = 0.02
"""Seconds before a device that is gone is first tried again; doubles up to a second."""
_LONGEST_S: Final = 1.0

Done = Callable[[Completion], None]


@dataclass
class _DeviceTask:
    function: str
    message: Message
    key: int | None
    done: Done
    result: Completion | None = None


@dataclass
class Dispatcher:
    """Feeds a device; belongs to one thread.

    Attributes:
        device: the device that it feeds.
        timeout_s: see ``DEVICE_TIMEOUT_S``; 0: the device's own ``timeout_s``, where it has one.
        resets: number of resets of the device so far.
    """

    device: Device
    timeout_s: float = 0.0
    resets: int = 0
    _tasks: dict[int, _DeviceTask] = field(default_factory=dict)
    _backlog: deque[int] = field(default_factory=deque)
    _keys: dict[int, deque[int]] = field(default_factory=dict)
    _serial: int = 0
    _seen: float = 0.0
    _gone: bool = False
    _retry_at: float = 0.0
    _pause: float = RETRY_S

    def __post_init__(self) -> None:
        """Take the device's own timeout by default."""
        self.timeout_s = self.timeout_s or getattr(self.device, "timeout_s", DEVICE_TIMEOUT_S)

    @property
    def computes(self) -> bool:
        """Whether threads of this machine have work; a waiting loop should then leave them the processor."""
        return bool(self._tasks) and self.device.kind == "cpu"

    @property
    def unfinished(self) -> int:
        """Number of requests that wait or run."""
        return len(self._tasks)

    def submit(self, function: str, message: Message, key: int | None, done: Done) -> None:
        """Have a request executed; ``done`` is called from :meth:`poll`, for one key in the order of submission.

        A message must stay unchanged until then.
        """
        if self._gone and not self._revive():
            done(Completion(0, Status.LOST, b"", 0))
            return
        self._serial += 1
        if not self._tasks:
            self._seen = time.monotonic()
        self._tasks[self._serial] = _DeviceTask(function, message, key, done)
        if key is not None:
            self._keys.setdefault(key, deque()).append(self._serial)
        self._backlog.append(self._serial)
        self._feed()

    def poll(self) -> int:
        """Complete the requests that the device has finished; returns how many."""
        if not self._tasks:
            return 0
        completions = self.device.poll()
        if completions:
            self._seen = time.monotonic()
            self._pause = RETRY_S
        for completion in completions:
            if completion.request in self._tasks:
                self._finish(completion)
        if any(c.status is Status.LOST for c in completions):
            self._lose()
        self._feed()
        if self._tasks and not completions and time.monotonic() - self._seen > self.timeout_s:
            self.reset()
        return len(completions)

    def reset(self) -> None:
        """Abort the running requests; a device that cannot be reset counts as gone."""
        self._seen = time.monotonic()
        self.resets += 1
        try:
            self.device.reset()
        except OfframpError:
            self._lose()

    def _feed(self) -> None:
        while self._backlog:
            serial = self._backlog[0]
            task = self._tasks.get(serial)
            try:
                if task is not None and not self.device.submit(task.function, serial, task.message):
                    return
            except OfframpError:
                self._lose()
                return
            self._backlog.popleft()

    def _finish(self, completion: Completion) -> None:
        task = self._tasks[completion.request]
        task.result = completion
        if task.key is None:
            del self._tasks[completion.request]
            task.done(completion)
            return
        line = self._keys[task.key]
        while line and (result := self._tasks[line[0]].result) is not None:
            self._tasks.pop(line.popleft()).done(result)
        if not line:
            del self._keys[task.key]

    def _lose(self) -> None:
        """Complete everything outstanding as LOST."""
        self._gone = True
        self._retry_at = time.monotonic() + self._pause
        self._pause = min(2 * self._pause, _LONGEST_S)
        for completion in self.device.poll():
            if completion.request in self._tasks:
                self._finish(completion)
        lost = [(s, t.result or Completion(s, Status.LOST, b"", 0)) for s, t in self._tasks.items()]
        tasks, self._tasks = self._tasks, {}
        self._backlog.clear()
        self._keys.clear()
        for serial, completion in lost:
            tasks[serial].done(completion)

    def _revive(self) -> bool:
        if time.monotonic() < self._retry_at:
            return False
        try:
            self.device.reset()
        except OfframpError:
            self._retry_at = time.monotonic() + self._pause
            self._pause = min(2 * self._pause, _LONGEST_S)
            return False
        self.resets += 1
        self._gone = False
        self.device.poll()
        return True
