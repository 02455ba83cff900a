# SPDX-License-Identifier: Apache-2.0
"""``cpu:N``: N threads of this process as a device; long-running functions release Python's lock."""

from __future__ import annotations

import queue
import threading
import time
from dataclasses import dataclass
from typing import NamedTuple

from offramp.device import Completion, Message, Status
from offramp.leo.devices.options import parse
from offramp.leo.devices.software import DEFAULT_BYTES, SoftwareDevice
from offramp_base.errors import OfframpError


@dataclass(frozen=True)
class CpuOptions:
    """Number of threads of a CPU device, and the number of requests that may be outstanding."""

    threads: int = 1
    depth: int = 256
    table_bytes: int = DEFAULT_BYTES


class WaitingRequest(NamedTuple):
    """A waiting request; ``era`` counts the resets before it."""

    era: int
    request: int
    function: str
    message: bytes


def open_device(options: str, name: str) -> CpuDevice:
    """The device of these options; the first may be ``threads`` alone."""
    return CpuDevice(parse(CpuOptions, options, f"cpu:{options}", "threads"), name)


class CpuDevice(SoftwareDevice):
    """See the module; a :class:`offramp.device.Device`."""

    kind = "cpu"

    def __init__(self, options: CpuOptions, name: str = "cpu") -> None:
        if options.threads < 1 or options.depth < 1:
            raise OfframpError(f"device {name}: expected at least one thread and a depth of 1")
        super().__init__(name, options.depth, options.table_bytes)
        self.options = options
        self._jobs: queue.SimpleQueue[WaitingRequest | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._done: list[Completion] = []
        self._open: dict[int, None] = {}
        self._era = 0
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(options.threads)]
        for thread in self._threads:
            thread.start()

    def submit(self, function: str, request: int, message: Message) -> bool:
        """Queue a request; False where the queue is full."""
        with self._lock:
            self._expect_open()
            if len(self._open) >= self.depth:
                return False
            self._open[request] = None
            era = self._era
        self._jobs.put(WaitingRequest(era, request, function, bytes(message)))
        return True

    def poll(self) -> list[Completion]:
        """Completions since the last call."""
        with self._lock:
            completions, self._done = self._done, []
        return completions

    def reset(self) -> None:
        """Abort everything outstanding; the result of a running function is dropped."""
        with self._lock:
            self._expect_open()
            self._era += 1
            self._done += [Completion(request, Status.ABORTED, b"", 0) for request in self._open]
            self._open.clear()

    def close(self) -> None:
        """End the threads."""
        with self._lock:
            closed, self.closed = self.closed, True
            self._era += 1
        if not closed:
            for _ in self._threads:
                self._jobs.put(None)
            for thread in self._threads:
                thread.join()

    def together(self, most: int) -> list[WaitingRequest] | None:
        """Up to ``most`` waiting requests, at least one, for a thread that batches; None at the end."""
        jobs: list[WaitingRequest] = []
        while len(jobs) < most:
            try:
                job = self._jobs.get(block=not jobs)
            except queue.Empty:
                break
            if job is None:
                if not jobs:
                    return None
                self._jobs.put(None)
                break
            jobs.append(job)
        return jobs

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            if job.era != self._era:
                continue
            begun = time.monotonic_ns()
            status, answer = self.call(job.function, job.message)
            self._complete(job, Completion(job.request, status, answer, time.monotonic_ns() - begun))

    def _complete(self, job: WaitingRequest, completion: Completion) -> None:
        with self._lock:
            if job.era == self._era:
                del self._open[job.request]
                self._done.append(completion)
