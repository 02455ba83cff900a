# SPDX-License-Identifier: Apache-2.0
"""Whole training runs in one process, in modelled time: the effect of codecs and schedules on accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from offramp.train.planned import plan_run
from offramp.train.propagators.channel import open_channel
from offramp.train.trainer import Trainer
from offramp_sim.switchgnn.thread_group import ThreadGroup, run_group

if TYPE_CHECKING:
    from offramp.graph.data import Graph
    from offramp.train.job import WorkerJob
    from offramp.train.propagators.base import Propagator
    from offramp.train.results import Epoch
    from offramp.train.settings import TrainSettings
    from offramp.workers.mailbox import Mailbox

COMPUTE_S = 0.005
"""Seconds of computation in each epoch, beside communication at :data:`RATE_BPS` for each worker."""

RATE_BPS = 1e8


@dataclass(frozen=True)
class Trained:
    """Result of a run.

    Attributes:
        epochs: one record each; their times are modelled.
        test_accuracy: test accuracy of the final weights, evaluated with unquantised fresh rows.
        payload_bytes: that all workers sent in training.
    """

    epochs: list[Epoch]
    test_accuracy: float
    payload_bytes: int


def train_here(graph: Graph, settings: TrainSettings) -> Trained:
    """Train with all workers as threads; equal settings give equal results, regardless of the machine's load.

    Raises:
        OfframpError: the settings do not fit the graph.
    """
    jobs = plan_run(graph, settings).jobs([])
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return run_group(settings.processes, lambda group: _work(group, jobs[group.rank]))[0]
    finally:
        torch.set_num_threads(threads)


def _work(group: ThreadGroup, job: WorkerJob) -> Trained:
    with open_channel(job, group) as channel:
        trainer = Trainer(job, group, channel, _Clock(channel))
        epochs = trainer.run()
        sent = torch.tensor([channel.traffic.payload_up], dtype=torch.float64)
        group.sum(sent)
        scores = trainer.evaluate()
    right = torch.from_numpy(job.local.labels) == scores.argmax(1)
    hits = torch.tensor([float((right & torch.from_numpy(job.local.masks[2])).sum())], dtype=torch.float64)
    group.sum(hits)
    return Trained(epochs, float(hits) / max(1, int(job.counts[2])), int(sent))


class _Clock:
    """Clock that advances with the bytes that a worker has sent, and by :data:`COMPUTE_S` with each reading."""

    def __init__(self, channel: Propagator | Mailbox) -> None:
        self._channel, self._readings = channel, 0

    def __call__(self) -> float:
        self._readings += 1
        return self._readings * COMPUTE_S + 8 * self._channel.traffic.payload_up / RATE_BPS
