# SPDX-License-Identifier: Apache-2.0
"""Algorithm 1 over the network: starts tasks and flows of all processes, and gives flows their rates.

It sees what has ended and who sends to whom, and no sizes. It is a thread of rank 0.
"""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import numpy as np

from offramp.dgtp.oes import RunningFlow, TaskDispatcher
from offramp.dgtp.policies import BLIND
from offramp.dgtp.runtime.job import MeasuredTimes
from offramp.dgtp.runtime.wire import FRAME_BYTES, ControlFrame, FrameKind
from offramp.workers.mailbox import PeerLostError
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp.dgtp.runtime.job import ProcessJob

_READ: Final = 1 << 16
_SAME: Final = 1e-3
"""Relative change of a rate that is not worth a frame."""
_UNKNOWN: Final = float("nan")
_NS: Final = 1e9


class FlowScheduler(threading.Thread):
    """Schedules one run.

    Attributes:
        fault: what ended it early.
    """

    def __init__(
        self, job: ProcessJob, controls: Mapping[int, socket.socket], on_iteration: Callable[[int], None]
    ) -> None:
        """Take over the connections of all ranks.

        Args:
            job: job of rank 0.
            controls: connections by rank.
            on_iteration: called with the number of iterations that every task has done, whenever it grows.
        """
        super().__init__(name="scheduler", daemon=True)
        placed = self._placed = job.placed
        self._sockets, self._on_iteration = controls, on_iteration
        self._machine, self._rank = placed.machine.tolist(), placed.rank.tolist()
        self._source, self._target = placed.source.tolist(), placed.target.tolist()
        self._ingress, self._egress = placed.ingress.tolist(), placed.egress.tolist()
        self._dispatcher = TaskDispatcher(placed.problem(), placed.machine.tolist(), job.iterations)
        self._policy = BLIND[job.policy]
        self._flows: dict[int, RunningFlow] = {}
        self._rates: dict[int, float] = {}
        self._out: dict[int, bytearray] = defaultdict(bytearray)
        self._begun: dict[tuple[FrameKind, int], float] = {}
        self._tasks: list[tuple[int, int, float, float, float]] = []
        self._sent: list[tuple[int, int, int, float, float, float]] = []
        self._granted: dict[int, float] = defaultdict(float)
        self._granted_at = 0.0
        self._done = np.zeros(len(placed.names), np.int64)
        self._zero = 0.0
        self.fault: BaseException | None = None

    def run(self) -> None:
        """Schedule until everything is done."""
        try:
            self._run()
        except BaseException as fault:
            self.fault = fault
        finally:
            if self.fault is not None:
                for sock in self._sockets.values():
                    with suppress(OSError):
                        sock.shutdown(socket.SHUT_RDWR)

    def times(self) -> MeasuredTimes:
        """When everything began and ended."""
        tasks, flows = np.array(self._tasks).reshape(-1, 5), np.array(self._sent).reshape(-1, 6)
        whole = [column.astype(np.int64) for column in (*tasks.T[:2], *flows.T[:3])]
        return MeasuredTimes(*whole[:2], *tasks.T[2:].copy(), *whole[2:], *flows.T[3:].copy())

    def _run(self) -> None:
        buffers: dict[int, bytearray] = {rank: bytearray() for rank in self._sockets}
        with selectors.DefaultSelector() as selector:
            for rank, sock in self._sockets.items():
                selector.register(sock, selectors.EVENT_READ, rank)
            self._zero = time.monotonic()
            self._start(self._dispatcher.begin(), [])
            self._flush()
            while not self._dispatcher.finished:
                for key, _ in selector.select():
                    self._read(key.data, buffers[key.data])
                self._flush()
        for rank in self._sockets:
            self._out[rank] += ControlFrame(FrameKind.END).pack()
        self._send()

    def _read(self, rank: int, buffer: bytearray) -> None:
        try:
            data = self._sockets[rank].recv(_READ)
        except OSError:
            data = b""
        if not data:
            raise PeerLostError(f"rank {rank} is gone")
        buffer += data
        whole = len(buffer) // FRAME_BYTES * FRAME_BYTES
        for at in range(0, whole, FRAME_BYTES):
            self._hear(ControlFrame.unpack(buffer[at : at + FRAME_BYTES]))
        del buffer[:whole]

    def _hear(self, frame: ControlFrame) -> None:
        begun = self._begun.pop((frame.kind, frame.subject), None)
        if begun is None:
            raise OfframpError(f"control: {frame.kind.name} of {frame.subject}, which is not under way")
        now = self._now
        if frame.kind is FrameKind.TASK_DONE:
            self._tasks.append((frame.subject, frame.iteration, begun, now, frame.amount / _NS))
            self._count(frame.subject)
            self._start(*self._dispatcher.task_done(frame.subject))
            return
        rate = self._rates.pop(frame.subject, 0.0)
        granted = self._granted.pop(frame.subject, 0.0) + rate * (now - self._granted_at)
        self._sent.append((frame.subject, frame.iteration, frame.amount, begun, now, granted))
        del self._flows[frame.subject]
        self._start(*self._dispatcher.flow_done(frame.subject))

    def _count(self, task: int) -> None:
        before = self._done.min()
        self._done[task] += 1
        if (after := self._done.min()) > before:
            self._on_iteration(int(after))

    @property
    def _now(self) -> float:
        return time.monotonic() - self._zero

    def _start(self, tasks: list[tuple[int, int]], flows: list[tuple[int, int]]) -> None:
        now = self._now
        for task, iteration in tasks:
            self._begun[FrameKind.TASK_DONE, task] = now
            self._say(self._rank[task], ControlFrame(FrameKind.START_TASK, task, iteration))
        for edge, iteration in flows:
            ends = self._machine[self._source[edge]], self._machine[self._target[edge]]
            self._flows[edge] = RunningFlow(edge, iteration, *ends, _UNKNOWN, now)
            self._begun[FrameKind.FLOW_DONE, edge] = now

    def _flush(self) -> None:
        """Give every flow its rate by what is under way now, and send what there is to say."""
        now = self._now
        for edge, rate in self._rates.items():
            self._granted[edge] += rate * (now - self._granted_at)
        self._granted_at = now
        flows = sorted(self._flows.values(), key=lambda flow: (flow.arrived, flow.edge))
        for flow, rate in zip(flows, self._policy(flows, self._ingress, self._egress), strict=True):
            known = self._rates.get(flow.edge)
            if not rate or (known is not None and abs(rate - known) <= _SAME * known):
                continue
            kind = FrameKind.START_FLOW if known is None else FrameKind.RATE
            self._rates[flow.edge] = rate
            sender = self._rank[self._source[flow.edge]]
            self._say(sender, ControlFrame(kind, flow.edge, flow.iteration, max(1, round(rate))))
        self._send()

    def _say(self, rank: int, frame: ControlFrame) -> None:
        self._out[rank] += frame.pack()

    def _send(self) -> None:
        for rank, frames in self._out.items():
            try:
                self._sockets[rank].sendall(frames)
            except OSError as error:
                raise PeerLostError(f"rank {rank} is gone: {error.strerror}") from None
        self._out.clear()
