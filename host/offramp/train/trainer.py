# SPDX-License-Identifier: Apache-2.0
"""The training loop of one worker, the same however and whenever features are exchanged."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from offramp.g3.engine import HaloEngine
from offramp.g3.schedule import schedule_of
from offramp.g3.store import MappedStore, TensorStore
from offramp.models import make_model
from offramp.models.neighbourhood import as_features
from offramp.train.checkpoint import TrainingSnapshot, keep
from offramp.train.computation import PlainComputation
from offramp.train.control import AdaptiveControl, open_codec
from offramp.train.hybrid import HybridComputation
from offramp.train.propagators.base import Propagator
from offramp.train.results import Epoch
from offramp.train.settings import KEPT
from offramp.workers.accelerator import autocast, open_device
from offramp.workers.epochs import EpochLoop, require_finite
from offramp.workers.reduction import LayerwiseSum
from offramp.workers.traffic import Timers
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp.models.base import Model
    from offramp.train.computation import Computation
    from offramp.train.job import WorkerJob
    from offramp.workers.budget import MemoryBudget
    from offramp.workers.group import Group
    from offramp.workers.mailbox import Mailbox
    from offramp_base.archive import Arrays

OnEpoch = Callable[[Epoch], None]
_WAITING = 16
"""Part of a limit on memory that may wait to be written to files."""


class Trainer(EpochLoop[Epoch]):
    """Full-batch training on one worker's share, in step with the other workers."""

    def __init__(
        self,
        job: WorkerJob,
        group: Group,
        channel: Propagator | Mailbox,
        clock: Callable[[], float] = time.perf_counter,
        budget: MemoryBudget | None = None,
    ) -> None:
        """Args: job: the worker's share; group: all workers; others as follows.

        channel: of :func:`~offramp.train.propagators.channel.open_channel`.
        clock: seconds, for epochs.
        budget: limit on memory, within which bins are streamed.
        """
        self._budget = budget
        self._clock = clock
        settings = job.settings
        self._settings = settings
        self._group = group
        self._channel = channel
        self._timers = Timers()
        self._counts = torch.from_numpy(job.counts).double()
        self._device = device = open_device(settings.device, group)
        self._labels = torch.from_numpy(job.local.labels).to(device)
        self._masks = torch.from_numpy(job.local.masks).to(device)
        dtype = self._dtype = getattr(torch, settings.dtype)
        self.model: Model = make_model(settings, job.widths).to(device, dtype)
        rows = settings.by_halo_features and schedule_of(settings.schedule).asynchronous
        self._sum = LayerwiseSum(group, overlapped=rows, mailbox=None if isinstance(channel, Propagator) else channel)
        self._control = AdaptiveControl.of(settings)
        self._computation: Computation
        self._engine: HaloEngine | None = None
        store = self._store(dtype, device)
        if isinstance(channel, Propagator):
            features = as_features(job.local.features, dtype, device)
            if settings.first_sums == KEPT and not self.model.trains_first_message:
                channel.keep_first(self.model.layers, store if store.streams else None)
            self._computation = PlainComputation(self.model, features, job.local, channel, dtype, device, store)
        elif job.hybrid is not None:
            whole = TensorStore(dtype, device).stacked([job.local.features, job.received_features])
            features = as_features(whole, dtype, device)
            self._computation = HybridComputation(self.model, job.hybrid, features, channel, dtype, device)
        else:
            assert job.rows is not None
            features = as_features(store.stacked([job.local.features, job.received_features]), dtype, device)
            codec = open_codec(settings, job.rows, group.rank)
            schedule = schedule_of(settings.schedule)
            engine = HaloEngine(self.model, job.rows, features, schedule, channel, codec, dtype, device, store)
            self._control.govern(engine, codec)
            self._computation = self._engine = engine
        self._adam = torch.optim.Adam(self.model.parameters(), lr=settings.lr)
        self._facts, self.epochs = job.facts, settings.epochs
        if job.snapshot is not None:
            job.snapshot.into(self.model, self._adam)
            if job.snapshot.own:
                self._restore(job.snapshot.own[0].as_dict())
            self.done = job.snapshot.epoch
            for loss, seconds in job.snapshot.history.tolist():
                self._control.observe(loss, seconds)

    def _store(self, dtype: torch.dtype, device: torch.device | None) -> TensorStore:
        """Where the tensors of the whole worker live."""
        if self._budget is None:
            return TensorStore(dtype, device)
        return MappedStore(dtype, (self._settings.worker_memory or 0) // _WAITING)

    def keep(self, number: int) -> None:
        """Write the checkpoint if one is due."""
        where, last = self._settings.checkpoint, number == self._settings.epochs
        if where is not None and (last or number % self._settings.checkpoint_every == 0):
            snapshot = TrainingSnapshot.of(number, self.model, self._adam, self._control.history)
            own = None if self._settings.is_exact else self._arrays()
            keep(where, snapshot, self._facts, self.model, self._group, own)

    def _arrays(self) -> Arrays:
        """What the next epoch of this worker depends on besides the weights, as a planned run expects it."""
        if self._engine is not None:
            return self._engine.arrays()
        draws = self._channel.draws if isinstance(self._channel, Propagator) else 0
        return {"draws": np.array([draws], np.int64)}

    def _restore(self, arrays: Arrays) -> None:
        if self._engine is not None:
            self._engine.restore(arrays)
        elif isinstance(self._channel, Propagator):
            self._channel.draws = int(arrays["draws"][0])
            if self._channel.draws < 0:
                raise OfframpError(f"a checkpoint of {self._channel.draws} draws: expected at least 0")

    def epoch(self, number: int) -> Epoch:
        """Make one forward and backward pass over the whole graph, and one step of the weights."""
        self._timers.reset()
        self._channel.begin_epoch()
        start, processor = self._clock(), time.process_time()
        self.model.train()
        self.model.dropout.step = number
        scores = self._forward()
        train = self._masks[0]
        total = nn.functional.cross_entropy(scores[train], self._labels[train], reduction="sum")
        loss = total / self._counts[0]  # the mean over the whole graph: the partition must not matter
        self._computation.backward(loss, self._sum.start)
        with self._timers("reduction"):
            self._sum.finish()
        self._adam.step()
        seconds = (
            self._clock() - start,
            self._channel.timers.seconds["communication"],
            self._timers.seconds["reduction"],
        )
        processor = time.process_time() - processor
        if self._settings.dropout or self._settings.sample < 1:
            scores = self.evaluate()
        return self._record(number, float(loss.detach()), scores.detach(), seconds, processor)

    @torch.no_grad()
    def evaluate(self) -> torch.Tensor:
        """Class scores ``(n, classes)`` of the local vertices, without dropout."""
        self.model.eval()
        return self._forward()

    def _forward(self) -> torch.Tensor:
        with autocast(self._device, self._settings.precision):
            return self._computation.forward().to(self._dtype)

    def _record(
        self, number: int, loss: float, scores: torch.Tensor, seconds: tuple[float, float, float], processor: float
    ) -> Epoch:
        right = scores.argmax(1) == self._labels
        hits = [float((right & mask).sum()) for mask in self._masks]
        sums = torch.tensor([loss, processor, *hits], dtype=torch.float64)
        self._group.sum(sums)
        peak = self._budget.peak() if self._budget else 0
        largest = self._group.max(torch.tensor([*seconds, peak], dtype=torch.float64))
        time_s, waited_s, reduced_s, peak_bytes = largest.tolist()
        require_finite(number, float(sums[0]))
        train, val, test = (sums[2:] / self._counts.clamp(min=1)).tolist()
        bits, stale = self._control.used
        self._control.observe(float(sums[0]), time_s)
        return Epoch(
            epoch=number,
            loss=float(sums[0]),
            train_accuracy=train,
            val_accuracy=val,
            test_accuracy=test,
            seconds=time_s,
            communication_seconds=waited_s,
            reduction_seconds=reduced_s,
            processor_seconds=float(sums[1]),
            bits=bits,
            stale=stale,
            peak_bytes=int(peak_bytes),
            limited_by=self._budget.by if self._budget else "",
        )
