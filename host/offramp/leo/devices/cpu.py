# SPDX-License-Identifier: Apache-2.0
"""``cpu:N``: N threads of this process as a device; what takes long runs without Python's lock."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from offramp.device import CompiledFunction, Completion, Message, Status
from offramp.leo.devices.options import parse
from offramp.leo.devices.software import DEFAULT_BYTES, Software
from offramp.leo.memory import HostMemory
from offramp_base.errors import OfframpError


@dataclass(frozen=True)
class Options:
    """Of a CPU device."""

    threads: int = 1
    depth: int = 256
    table_bytes: int = DEFAULT_BYTES


class _Job(NamedTuple):
    era: int
    request: int
    function: str
    message: bytes


def open_device(options: str, name: str) -> CpuDevice:
    """The device of these options; the first may be ``threads`` alone."""
    return CpuDevice(parse(Options, options, f"cpu:{options}", "threads"), name)


class CpuDevice:
    """See the module; a :class:`offramp.device.Device`."""

    kind = "cpu"

    def __init__(self, options: Options, name: str = "cpu") -> None:
        if options.threads < 1 or options.depth < 1:
            raise OfframpError(f"device {name}: expected at least one thread and a depth of 1")
        self.name, self.options = name, options
        self._software = Software(options.table_bytes)
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._done: list[Completion] = []
        self._open: dict[int, None] = {}
        self._era = 0
        self._closed = False
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(options.threads)]
        for thread in self._threads:
            thread.start()

    @property
    def functions(self) -> Sequence[str]:
        """Names of what it can do."""
        return self._software.names

    @property
    def depth(self) -> int:
        """Requests that may be unfinished."""
        return self.options.depth

    def memory(self, function: str) -> HostMemory:
        """The tables of a function."""
        return self._software.memory(function)

    def compiled(self, function: str) -> CompiledFunction | None:
        """The function in machine code, None where it is not."""
        return self._software.compiled(function)

    def submit(self, function: str, request: int, message: Message) -> bool:
        """Queue a request; False where the queue is full."""
        with self._lock:
            if self._closed:
                raise OfframpError(f"device {self.name} is closed")
            if len(self._open) >= self.options.depth:
                return False
            self._open[request] = None
            era = self._era
        self._jobs.put(_Job(era, request, function, bytes(message)))
        return True

    def poll(self) -> list[Completion]:
        """What is finished by now."""
        with self._lock:
            found, self._done = self._done, []
        return found

    def reset(self) -> None:
        """Abort everything unfinished; a function that runs ends unseen."""
        with self._lock:
            if self._closed:
                raise OfframpError(f"device {self.name} is closed")
            self._era += 1
            self._done += [Completion(request, Status.ABORTED, b"", 0) for request in self._open]
            self._open.clear()

    def close(self) -> None:
        """End the threads."""
        with self._lock:
            closed, self._closed = self._closed, True
            self._era += 1
        if not closed:
            for _ in self._threads:
                self._jobs.put(None)
            for thread in self._threads:
                thread.join()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            if job.era != self._era:
                continue
            begun = time.monotonic_ns()
            status, answer = self._software.call(job.function, job.message)
            completion = Completion(job.request, status, answer, time.monotonic_ns() - begun)
            with self._lock:
                if job.era == self._era:
                    del self._open[job.request]
                    self._done.append(completion)
