# SPDX-License-Identifier: Apache-2.0
"""A worker: the gradient of its samplers' batches, with parameters from servers, or its part of a ring all-reduce."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from offramp.dgtp.runtime.batch import LossGradient, SampledBatch, batch_size
from offramp.dgtp.runtime.job import ProcessOutcome
from offramp.dgtp.runtime.optimiser import FlatAdam, cuts
from offramp.dgtp.runtime.parts import TaskProcess
from offramp_base.wire.objects import unpack

if TYPE_CHECKING:
    from offramp.dgtp.runtime.inbox import TaskInbox
    from offramp.dgtp.runtime.job import ProcessJob, WorkerContent
    from offramp.dgtp.runtime.links import Links


class WorkerProcess(TaskProcess):
    """Computes, and lays out gradients: for each server its part, or for the ring the chunk that it begins with."""

    def __init__(self, job: ProcessJob, links: Links, inbox: TaskInbox) -> None:
        super().__init__(job, links, inbox)
        assert job.worker is not None
        assert job.state is not None
        self._content: WorkerContent = job.worker
        self._gradient = LossGradient(job.settings, self._content.features, self._content.classes, self._content.degree)
        self._losses: list[float] = []
        task = job.tasks[0]
        self._batches = self.inputs(task, "sampler")
        self._from_servers, self._to_servers = self.inputs(task, "ps"), self.outputs(task, "ps")
        self._adam = None if self._to_servers else FlatAdam(job.state, job.settings.lr)
        self._parameters = torch.from_numpy(job.state.parameters.copy())
        self._ring = RingSteps(self, self._content) if self._content.ring > 1 else None

    def prepare(self) -> None:
        """Compute once, on one vertex without neighbours: the first computation of a process takes longest."""
        alone, none, hops = np.zeros(1, np.int64), np.empty(0, np.int64), len(self.job.settings.fanout)
        features = np.zeros((1, self._content.features), np.float32)
        batch = SampledBatch(alone, alone, alone, [1] * hops, [alone] * hops, [none] * hops, features)
        self._gradient(self._parameters, [batch], 0, 1)

    def perform(self, task: int, iteration: int) -> None:
        """Compute, or take a step of the ring."""
        if task != self.job.tasks[0]:
            assert self._ring is not None
            if self._ring.step(task, iteration):
                self._apply(self._ring.sum)
            return
        if iteration and self._from_servers:
            came = b"".join(self.arrived(edge, iteration - 1) for edge in self._from_servers)
            self._parameters = torch.from_numpy(np.frombuffer(bytearray(came), np.float32))
        batches = [unpack(self.arrived(edge, iteration), SampledBatch, "sampler") for edge in self._batches]
        number, content = self.job.first + iteration, self._content
        size = batch_size(self.job.settings, content.samplers, number, content.train)
        loss, gradient = self._gradient(self._parameters, batches, number, size)
        self._losses.append(loss)
        if self._ring is not None:
            self._ring.begin(iteration, gradient)
        elif self._adam is not None:
            self._apply(gradient)
        places = cuts(len(gradient), max(1, len(self._to_servers)))
        for edge, begin, end in zip(self._to_servers, places, places[1:], strict=False):
            self.leave(edge, iteration, gradient[begin:end].numpy().tobytes())

    def _apply(self, gradient: torch.Tensor) -> None:
        assert self._adam is not None
        self._adam.step(gradient)
        self._parameters = self._adam.parameters

    def outcome(self) -> ProcessOutcome:
        """The losses; without servers also the parameters."""
        return ProcessOutcome(np.array(self._losses), self._adam.state() if self._adam is not None else None)


class RingSteps:
    """The steps of a ring all-reduce at one worker: W - 1 that add, then W - 1 that copy (section III-B).

    Chunk c begins at the worker at place c. At step s the worker at place i receives chunk i - s.

    Attributes:
        sum: ``(p,)`` the gradients of all workers, once the last step is done.
    """

    def __init__(self, process: TaskProcess, content: WorkerContent) -> None:
        self._process, self._size, self._position = process, content.ring, content.position
        self._tasks = process.job.tasks[1:]
        self.sum = torch.empty(0)
        self._places: list[int] = []

    def begin(self, iteration: int, gradient: torch.Tensor) -> None:
        """Lay out the chunk that this worker sends first."""
        self.sum = gradient.clone()
        self._places = cuts(len(gradient), self._size)
        self._send(self._process.job.tasks[0], iteration, self._chunk(0))

    def step(self, task: int, iteration: int) -> bool:
        """Take the step of a task; returns whether it is the last."""
        number = self._tasks.index(task) + 1
        (edge,) = [e for kind in ("worker", "ring") for e in self._process.inputs(task, kind)]
        arrived = torch.from_numpy(np.frombuffer(self._process.arrived(edge, iteration), np.float32))
        chunk = self._chunk(number)
        if number < self._size:
            chunk += arrived
        else:
            chunk.copy_(arrived)
        last = number == len(self._tasks)
        if not last:
            self._send(task, iteration, chunk)
        return last

    def _send(self, task: int, iteration: int, chunk: torch.Tensor) -> None:
        (edge,) = self._process.outputs(task, "ring")
        self._process.leave(edge, iteration, chunk.numpy().tobytes())

    def _chunk(self, step: int) -> torch.Tensor:
        c = (self._position - step) % self._size
        return self.sum[self._places[c] : self._places[c + 1]]
