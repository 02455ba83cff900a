# SPDX-License-Identifier: Apache-2.0
"""A device of functions that an application has registered for the role ``acc``; they run when it is polled."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from offramp.device import Completion, Message, Status
from offramp.leo.memory import HostMemory
from offramp_base.errors import OfframpError


class FunctionDevice:
    """See the module; a :class:`offramp.device.Device`."""

    kind = "cpu"

    def __init__(
        self,
        functions: Mapping[str, Callable[[bytes], bytes]],
        name: str = "acc",
        memories: Mapping[str, HostMemory] | None = None,
        depth: int = 256,
    ) -> None:
        self.name, self.depth = name, depth
        self._functions, self._memories = dict(functions), dict(memories or {})
        self._queue: list[tuple[int, str, bytes]] = []
        self._aborted: list[Completion] = []
        self._closed = False

    @property
    def functions(self) -> Sequence[str]:
        """Names of the functions."""
        return tuple(self._functions)

    def memory(self, function: str) -> HostMemory:
        """The tables of a function."""
        if function not in self._memories:
            raise OfframpError(f"function {function}: it has no tables")
        return self._memories[function]

    def submit(self, function: str, request: int, message: Message) -> bool:
        """Queue a request; False where the queue is full."""
        if self._closed:
            raise OfframpError(f"device {self.name} is closed")
        if len(self._queue) >= self.depth:
            return False
        self._queue.append((request, function, bytes(message)))
        return True

    def poll(self) -> list[Completion]:
        """Run all queued requests, and return the completions."""
        completions, self._aborted = self._aborted, []
        queue, self._queue = self._queue, []
        return completions + [self._run(*job) for job in queue]

    def reset(self) -> None:
        """Abort all queued requests."""
        if self._closed:
            raise OfframpError(f"device {self.name} is closed")
        self._aborted += [Completion(request, Status.ABORTED, b"", 0) for request, _, _ in self._queue]
        self._queue.clear()

    def close(self) -> None:
        """Take no more requests."""
        self._closed = True
        self._queue.clear()

    def _run(self, request: int, function: str, message: bytes) -> Completion:
        if function not in self._functions:
            return Completion(request, Status.UNKNOWN_FUNCTION, b"", 0)
        begun = time.monotonic_ns()
        try:
            answer = bytes(self._functions[function](message))
        except OfframpError:
            return Completion(request, Status.FAILED, b"", time.monotonic_ns() - begun)
        return Completion(request, Status.OK, answer, time.monotonic_ns() - begun)
