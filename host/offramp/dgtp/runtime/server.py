# SPDX-License-Identifier: Apache-2.0
"""A parameter server: its part of the parameters, by the sum of all workers' gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from offramp.dgtp.runtime.job import ProcessOutcome
from offramp.dgtp.runtime.optimiser import FlatAdam
from offramp.dgtp.runtime.parts import TaskProcess

if TYPE_CHECKING:
    from offramp.dgtp.runtime.inbox import TaskInbox
    from offramp.dgtp.runtime.job import ProcessJob
    from offramp.dgtp.runtime.links import Links


class ServerProcess(TaskProcess):
    """Sums gradients in the order of workers, so that the sum does not depend on which comes first."""

    def __init__(self, job: ProcessJob, links: Links, inbox: TaskInbox) -> None:
        super().__init__(job, links, inbox)
        assert job.state is not None
        self._adam = FlatAdam(job.state, job.settings.lr)
        (task,) = job.tasks
        self._from, self._to = self.inputs(task, "worker"), self.outputs(task, "worker")

    def perform(self, task: int, iteration: int) -> None:  # noqa: ARG002
        """One step of Adam."""
        total = torch.zeros_like(self._adam.parameters)
        for edge in self._from:
            total += torch.from_numpy(np.frombuffer(self.arrived(edge, iteration), np.float32))
        self._adam.step(total)
        if iteration + 1 < self.job.iterations:
            parameters = self._adam.parameters.numpy().tobytes()
            for edge in self._to:
                self.leave(edge, iteration, parameters)

    def outcome(self) -> ProcessOutcome:
        """The parameters and moments at the end."""
        return ProcessOutcome(state=self._adam.state())
