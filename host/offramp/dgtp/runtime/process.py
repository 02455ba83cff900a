# SPDX-License-Identifier: Apache-2.0
"""The body of every process of a run: orders from the scheduler, tasks one after the other, a thread for each flow."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch

from offramp.dgtp.runtime.inbox import TaskInbox
from offramp.dgtp.runtime.job import ProcessOutcome
from offramp.dgtp.runtime.links import Links
from offramp.dgtp.runtime.pacer import FlowPacer
from offramp.dgtp.runtime.parts import NEXT
from offramp.dgtp.runtime.sampler import SamplerProcess
from offramp.dgtp.runtime.scheduler import FlowScheduler
from offramp.dgtp.runtime.server import ServerProcess
from offramp.dgtp.runtime.store import GraphStoreProcess
from offramp.dgtp.runtime.wire import (
    FLOW_HEADER_BYTES,
    FRAME_BYTES,
    ControlFrame,
    FrameKind,
    flow_header,
    read_exactly,
    read_flow,
    send_all,
)
from offramp.dgtp.runtime.worker import WorkerProcess
from offramp_base.errors import OfframpError
from offramp_base.iproute import enter_namespace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from offramp.dgtp.runtime.job import ProcessJob
    from offramp.dgtp.runtime.parts import TaskProcess
    from offramp.workers.group import Group

PROCESSES: Final[Mapping[str, type[TaskProcess]]] = {
    "store": GraphStoreProcess,
    "sampler": SamplerProcess,
    "worker": WorkerProcess,
    "ps": ServerProcess,
}
"""What runs a process, by the kind of its task."""
_NS: Final = 1e9


def run_process(group: Group, job: ProcessJob, report: Callable[[Any], None]) -> list[ProcessOutcome] | None:
    """Run one process from the first iteration to the last; returns everyone's outcome on rank 0."""
    if job.namespace:
        enter_namespace(job.namespace)
    with Links(group, job) as links:
        body = _ProcessBody(job, links)
        scheduler = FlowScheduler(job, links.controls, report) if group.rank == 0 else None
        body.start()
        body.process.prepare()
        group.max(torch.zeros(1))
        if scheduler is not None:
            scheduler.start()
        body.work()
        outcome = body.outcome()
        if scheduler is not None:
            scheduler.join()
            if scheduler.fault is not None:
                raise scheduler.fault
            outcome = replace(outcome, times=scheduler.times())
        outcomes = group.gather(outcome, ProcessOutcome)
        group.max(torch.zeros(1))  # who left before the others are told of the end would look lost to them
        return outcomes


class _ProcessBody:
    """Threads of one process; the thread that calls :meth:`work` does the tasks."""

    def __init__(self, job: ProcessJob, links: Links) -> None:
        self._job, self._links = job, links
        self._inbox = TaskInbox()
        self._orders: SimpleQueue[ControlFrame | BaseException] = SimpleQueue()
        self._sending: dict[int, SimpleQueue[int]] = {edge: SimpleQueue() for edge in links.outgoing}
        self._pacers = {edge: FlowPacer() for edge in links.outgoing}
        self._control = threading.Lock()
        self.process = PROCESSES[job.kind](job, links, self._inbox)
        self._crosses = job.placed.crosses.tolist()
        self._ended = False
        self._local: list[tuple[int, int]] = []

    def start(self) -> None:
        """Start the threads."""
        bodies: list[Callable[[], None]] = [self._obey, *self.process.threads()]
        bodies += [partial(self._send, edge) for edge in self._links.outgoing]
        bodies += [partial(self._receive, edge) for edge in self._links.incoming]
        for body in bodies:
            threading.Thread(target=self._guarded, args=(body,), daemon=True).start()

    def work(self) -> None:
        """Do tasks as they are ordered, until the end.

        Raises:
            OfframpError: another process is gone, or what a task raises.
        """
        names = self._job.placed.names
        least_s = dict(zip(self._job.tasks, self._job.seconds, strict=True))
        while True:
            order = self._orders.get()
            if isinstance(order, BaseException):
                raise order
            if order.kind is FrameKind.END:
                self._ended = True
                return
            task, iteration = order.subject, order.iteration
            if order.kind is not FrameKind.START_TASK or task not in least_s:
                raise OfframpError(f"{self._job.name}: an order that is not for it: {order.kind.name} {names[task]}")
            begun = time.monotonic()
            self.process.perform(task, iteration)
            waited_s = self.process.waited_s
            time.sleep(max(0.0, begun + waited_s + least_s[task] - time.monotonic()))
            self._to_neighbours(task, iteration)
            self._report(ControlFrame(FrameKind.TASK_DONE, task, iteration, round(waited_s * _NS)))

    def outcome(self) -> ProcessOutcome:
        """What the process has at the end."""
        local = np.array(self._local, np.int64).reshape(-1, 2)
        return replace(self.process.outcome(), local_edge=local[:, 0].copy(), local_bytes=local[:, 1].copy())

    def _to_neighbours(self, task: int, iteration: int) -> None:
        """Send at once what stays on this machine."""
        placed = self._job.placed
        for edge in self._links.outgoing:
            inside = placed.source[edge] == task and not self._crosses[edge]
            if inside and iteration + placed.lag[edge] < self._job.iterations:
                self._sending[edge].put(iteration)

    def _guarded(self, body: Callable[[], None]) -> None:
        """Run a thread's body; what it raises ends the process, unless all is done."""
        try:
            body()
        except BaseException as fault:
            if not self._ended:
                self._inbox.fail(fault)
                self._orders.put(fault)

    def _obey(self) -> None:
        """Take the scheduler's orders."""
        while True:
            frame = ControlFrame.unpack(read_exactly(self._links.control, FRAME_BYTES, "the scheduler"))
            if frame.kind in (FrameKind.START_FLOW, FrameKind.RATE):
                if frame.subject not in self._sending:
                    raise OfframpError(f"{self._job.name}: an order for flow {frame.subject}, which is not its own")
                self._pacers[frame.subject].set_rate(frame.amount)
                if frame.kind is FrameKind.START_FLOW:
                    self._sending[frame.subject].put(frame.iteration)
                continue
            self._orders.put(frame)
            if frame.kind is FrameKind.END:
                self._ended = True
                return

    def _send(self, edge: int) -> None:
        sock, who = self._links.outgoing[edge], self._job.placed.names[self._job.placed.target[edge]]
        while True:
            iteration = self._sending[edge].get()
            payload = self.process.payload(edge, iteration)
            send_all(sock, flow_header(iteration, len(payload)), who)
            for piece in self._pacers[edge].pieces(payload):
                send_all(sock, piece, who)

    def _receive(self, edge: int) -> None:
        sock, who = self._links.incoming[edge], self._job.placed.names[self._job.placed.source[edge]]
        while True:
            iteration, content = read_flow(sock, who)
            self._inbox.put((NEXT, edge, iteration), content)
            done = len(content) + FLOW_HEADER_BYTES
            if not self._crosses[edge]:
                self._local.append((edge, done))
            else:
                self._report(ControlFrame(FrameKind.FLOW_DONE, edge, iteration, done))

    def _report(self, frame: ControlFrame) -> None:
        with self._control:
            send_all(self._links.control, frame.pack(), "the scheduler")
