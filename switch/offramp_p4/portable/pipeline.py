# SPDX-License-Identifier: Apache-2.0
"""The common base of the pipelines of PSA and PNA: packets that wait for a pass, copies that wait for egress."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, Final

from offramp_p4.engine.faults import CheckFailed
from offramp_p4.engine.generator import Generator, Generators
from offramp_p4.engine.pipeline import EnginePipeline, EngineStages
from offramp_p4.engine.work import PASS_STEPS
from offramp_p4.portable.functions import CPU, RECIRCULATE
from offramp_p4.portable.objects import PortableObjects
from offramp_p4.portable.target import MoreExterns, PortableTarget, no_more
from offramp_p4.portable.thread import PortableThread, Signature
from offramp_p4.tm.stages import Deliver, Emit, SwitchStages, no_output

if TYPE_CHECKING:
    from offramp_p4 import ir
    from offramp_p4.engine.layout import Memory
    from offramp_p4.engine.walk import Block

_LOG: Final = logging.getLogger(__name__)
MAX_PORT: Final = 0xFFFF
"""Above it there are no ports, but the one for recirculation and, where the switch has one, the CPU's."""
LOOP: Final = MAX_PORT + 1
"""The port for recirculation by a number that queues can be numbered by."""

Cells = list[Any]
"""Metadata that a packet brings with it."""


@dataclass(slots=True)
class PortableArrival:
    """A packet at the entry of the parser.

    Attributes:
        path: how it came there, a member of the architecture's enum.
        carried: metadata that a pass before has left for this one.
        passes: number of passes that the packet has made.
        recirculated: whether it comes from behind the queues; else it never left ingress.
    """

    frame: bytes
    port: int
    path: str
    carried: Cells | None = None
    passes: int = 0
    recirculated: bool = False


@dataclass(slots=True)
class PortableCopy:
    """A packet between ingress and egress.

    Attributes:
        path: how it came there, a member of the architecture's enum.
        carried: metadata that ingress, or the egress that has cloned it, has left for egress.
    """

    frame: bytes
    path: str
    port: int = 0
    cos: int = 0
    instance: int = 0
    carried: Cells | None = None


class PortablePipeline(EnginePipeline):
    """A compiled program of a portable architecture.

    Attributes:
        objects: the state that outlives packets.
        recirculates: whether a copy comes back by the port PSA_PORT_RECIRCULATE.
    """

    recirculates: ClassVar[bool] = False

    def __init__(
        self,
        program: ir.Program,
        *,
        seed: int,
        max_passes: int,
        max_steps: int,
        clock: Callable[[], int],
        cpu_port: int | None = None,
        generator: Generators = Generator,
    ) -> None:
        super().__init__(max_passes=max_passes, max_steps=max_steps, clock=clock)
        self.objects, self._generator = PortableObjects(program), generator
        self._program, self._random, self._cpu_port = program, Random(seed), cpu_port
        self._deliver = lambda copy, _, __: self.waiting.append(copy)

    def _thread(self, blocks: Sequence[tuple[Block, Signature]], more: MoreExterns = no_more) -> PortableThread:
        target = self.make_target(
            self._program, self.objects, random=self._random, clock=self._clock, steps=self._steps, more=more
        )
        thread = PortableThread(self._program, blocks, target, self._generator)
        self.source += thread.source
        return thread

    def make_target(self, program: ir.Program, objects: PortableObjects, **options: Any) -> PortableTarget:
        """The target to which the generated code of a thread refers."""
        return PortableTarget(program, objects, **options)

    @abstractmethod
    def _enter(self, arrival: PortableArrival) -> None:
        """One pass through ingress."""

    def split(self, deliver: Deliver) -> SwitchStages:
        """The halves; ingress hands each copy for a port to ``deliver``."""
        self.hold(deliver)
        return PortableStages(self)

    def egress(self, copy: PortableCopy, port: int, emit: Emit) -> None:
        """The egress of one copy."""
        self._within_steps(self._checked, self._leave, copy, port, emit)

    def _run(self, emit: Emit) -> None:
        """Run everything that waits; the egress of copies is no pass."""
        left = self.max_passes
        while self.waiting:
            task = self.waiting.popleft()
            if isinstance(task, PortableArrival):
                if not left:
                    self.stats.looped += 1
                    continue
                left -= 1
            self._take(task, emit)

    def _take(self, task: PortableArrival | PortableCopy, emit: Emit) -> None:
        if isinstance(task, PortableCopy):
            self._checked(self._leave, task, task.port, emit)
        else:
            self._pass(task)

    def _pass(self, arrival: PortableArrival) -> None:
        self.stats.passes += 1
        self._steps.take(PASS_STEPS)
        self.objects.flows.expire(self._clock())
        self._checked(self._enter, arrival)

    def _checked(self, run: Callable[..., None], *args: Any) -> None:
        try:
            run(*args)
        except CheckFailed as failure:
            _LOG.error("%s: packet dropped", failure)
            self.stats.failed_checks += 1
            self._drop(str(failure))

    def _drop(self, reason: str) -> None:
        """Count a packet or a copy that ends here."""
        del reason
        self.stats.dropped += 1

    def _lose(self, copy: PortableCopy) -> None:
        """Count a copy to a port that does not exist."""
        del copy
        self.stats.dropped += 1

    def _send_copies(self, copies: Iterable[PortableCopy]) -> None:
        """Send each on to its port, if there is one."""
        for copy in copies:
            self._steps.take(PASS_STEPS)
            if copy.port == CPU and self._cpu_port is not None:
                copy.port = self._cpu_port
            elif copy.port == RECIRCULATE and self.recirculates:
                copy.port = LOOP
            elif copy.port > MAX_PORT:
                self._lose(copy)
                continue
            self._deliver(copy, copy.port, no_output)

    def _clone(self, number: int, frame: bytes, path: str, carried: Cells) -> None:
        """Send the copies of a clone session, which need not exist."""
        session = self.objects.pre.clones.get(number)
        if session is None:
            return
        frame, cos = self._cloned(session, frame), session.class_of_service
        self._send_copies(PortableCopy(frame, path, r.port, cos, r.instance, carried) for r in session.replicas)

    def _notify(self, m: Memory, cell: int) -> None:
        if m[cell] and self.on_digest is not None:
            for digest in m[cell]:
                self.on_digest(digest)

    def _shown(self, port: int) -> int:
        """The number of a port for the program."""
        return CPU if port == self._cpu_port else RECIRCULATE if port == LOOP else port


class PortableStages(EngineStages):
    """The halves of a PSA switch or a PNA card, which show nothing of a queue to the program."""

    def recirculated(self, arrival: PortableArrival) -> bool:
        """Whether the packet comes back from egress; else it was resubmitted and never left ingress."""
        return arrival.recirculated

    def queue(self, copy: PortableCopy) -> int:
        """The queue that a copy asks for: its class of service."""
        return copy.cos

    def frame_bytes(self, copy: PortableCopy) -> int:
        """Size of a copy between ingress and egress."""
        return len(copy.frame)

    def enters_queue(self, copy: PortableCopy, now_us: int, depth: int, depth_bytes: int) -> None:
        """Do nothing: no metadata reports it."""

    def leaves_queue(self, copy: PortableCopy, waited_us: int, depth: int, depth_bytes: int) -> None:
        """Do nothing: no metadata reports it."""
