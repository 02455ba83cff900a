# SPDX-License-Identifier: Apache-2.0
"""What processes do when an iteration of one of their tasks starts: one class for each kind of process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from offramp.dgtp.runtime.inbox import TaskInbox
from offramp.dgtp.runtime.job import ProcessOutcome

if TYPE_CHECKING:
    from offramp.dgtp.runtime.job import ProcessJob
    from offramp.dgtp.runtime.links import Links

Payload = bytes | bytearray | memoryview
NEXT: Final = "flow"


class TaskProcess(ABC):
    """A process' part in the run.

    What arrives over an edge lies in the inbox under ``("flow", edge, iteration of the source)``; what leaves is asked
    for when its flow starts.

    Attributes:
        waited_s: seconds in which the last iteration waited for what no edge brings.
    """

    waited_s = 0.0

    def __init__(self, job: ProcessJob, links: Links, inbox: TaskInbox) -> None:
        self.job, self.links, self.inbox = job, links, inbox
        self.placed = job.placed
        self._outbox: dict[tuple[int, int], Payload] = {}

    def threads(self) -> list[Callable[[], None]]:
        """What runs beside the tasks, until the connections are closed."""
        return []

    def prepare(self) -> None:  # noqa: B027 - most have nothing to prepare
        """Do once, before the first task starts, what the first iteration would else do beside its work."""

    @abstractmethod
    def perform(self, task: int, iteration: int) -> None:
        """Do an iteration of a task; the iteration counts from the beginning of this run."""

    def payload(self, edge: int, iteration: int) -> Payload:
        """The bytes of a flow, which are not needed again."""
        return self._outbox.pop((edge, iteration))

    def outcome(self) -> ProcessOutcome:
        """What the process has at the end."""
        return ProcessOutcome()

    def inputs(self, task: int, kind: str) -> list[int]:
        """Edges with bytes into a task from tasks of a kind, in the order of their sources."""
        return self._edges(self.placed.target, self.placed.source, task, kind)

    def outputs(self, task: int, kind: str) -> list[int]:
        """Edges with bytes from a task to tasks of a kind, in the order of their targets."""
        return self._edges(self.placed.source, self.placed.target, task, kind)

    def _edges(self, mine: Any, other: Any, task: int, kind: str) -> list[int]:
        names = self.placed.names
        edges = [e for e in range(len(mine)) if mine[e] == task and self.placed.data[e]]
        return sorted((e for e in edges if names[other[e]].startswith(f"{kind} ")), key=lambda e: int(other[e]))

    def arrived(self, edge: int, iteration: int) -> bytearray:
        """What has come over an edge."""
        content: bytearray = self.inbox.take((NEXT, edge, iteration))
        return content

    def leave(self, edge: int, iteration: int, payload: Payload) -> None:
        """Lay out what will go over an edge."""
        self._outbox[edge, iteration] = payload
