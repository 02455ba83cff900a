# SPDX-License-Identifier: Apache-2.0
"""The common base of the pipelines of all architectures: what waits for a pass, and the limits of a packet's work."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from offramp_p4.engine.faults import Steps, StepsExhausted
from offramp_p4.records import Digest, SwitchStats
from offramp_p4.tm.stages import Deliver, Emit, no_output

if TYPE_CHECKING:
    from offramp_p4.state import CloneSession


class EnginePipeline(ABC):
    """A compiled program. A packet runs to completion with all its copies before the next one starts.

    Attributes:
        stats: counts since the start or the last reset.
        on_digest: called with each digest.
        source: the generated Python text.
        waiting: packets for another pass and copies for egress, in the order in which they were made.
        max_passes: max passes of a packet and its copies together.
    """

    def __init__(self, *, max_passes: int, max_steps: int, clock: Callable[[], int]) -> None:
        self.stats = SwitchStats()
        self.on_digest: Callable[[Digest], None] | None = None
        self.source = ""
        self.waiting: deque[Any] = deque()
        self.max_passes = max_passes
        self._steps, self._clock = Steps(max_steps), clock
        self._deliver: Deliver = self._leave

    @abstractmethod
    def arrival(self, port: int, frame: bytes) -> Any:
        """A packet from outside, at the entry of the parser.

        Raises:
            OfframpError: there is no such port.
        """

    @abstractmethod
    def _take(self, task: Any, emit: Emit) -> None:
        """Run one of those that wait."""

    @abstractmethod
    def _leave(self, copy: Any, port: int, emit: Emit) -> None:
        """Egress of one copy."""

    def run(self, port: int, frame: bytes, emit: Emit) -> None:
        """Send a frame in at ``port``; ``emit`` gets every frame that leaves, with its port.

        Raises:
            OfframpError: there is no such port.
        """
        arrival = self.arrival(port, frame)
        self.stats.packets_in += 1
        self.waiting.append(arrival)
        self._within_steps(self._run, emit)

    def hold(self, deliver: Deliver) -> None:
        """Hand each copy that is bound for a port to ``deliver``, instead of running its egress at once."""
        self._deliver = deliver

    def ingress(self, task: Any) -> None:
        """One pass; its copies go to the owner of the queues."""
        self._within_steps(self._take, task, no_output)

    def egress(self, copy: Any, port: int, emit: Emit) -> None:
        """Egress and deparser of a copy."""
        self._within_steps(self._leave, copy, port, emit)

    def _run(self, emit: Emit) -> None:
        """Run everything that waits, within the passes of one packet."""
        left = self.max_passes
        while self.waiting:
            if not left:
                self.stats.looped += len(self.waiting)
                self.waiting.clear()
                return
            left -= 1
            self._take(self.waiting.popleft(), emit)

    def _within_steps(self, run: Callable[..., None], *args: Any) -> None:
        self._steps.renew()
        try:
            run(*args)
        except StepsExhausted:
            self.waiting.clear()
            self._exhausted()

    def _cloned(self, session: CloneSession, frame: bytes) -> bytes:
        """The bytes of a session's copies, which count as clones."""
        self.stats.clones += len(session.replicas)
        if session.packet_length and len(frame) > session.packet_length:
            self.stats.truncated += 1
            return frame[: session.packet_length]
        return frame

    def _exhausted(self) -> None:
        self.stats.exhausted += 1


class EngineStages:
    """The halves of a pipeline, apart, as :class:`~offramp_p4.tm.stages.SwitchStages` has them."""

    def __init__(self, pipeline: EnginePipeline) -> None:
        self.again, self.max_passes = pipeline.waiting, pipeline.max_passes
        self.arrival, self.ingress, self.egress = pipeline.arrival, pipeline.ingress, pipeline.egress
