# SPDX-License-Identifier: Apache-2.0
"""Mini-batch training of one worker, in step with the others (algorithm 1)."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from offramp.dgs.ledger import TrafficLedger
from offramp.dgs.messenger import Messenger
from offramp.dgs.results import DgsProgress
from offramp.dgs.sampler import BatchSampler
from offramp.dgs.settings import FREE
from offramp.dgs.worker_state import WorkerState
from offramp.train.checkpoint import TrainingSnapshot, keep
from offramp.workers.accelerator import autocast, open_device
from offramp.workers.epochs import EpochLoop, require_finite
from offramp.workers.traffic import Timers

if TYPE_CHECKING:
    import numpy.typing as npt

    from offramp.dgs.masks import Masks
    from offramp.dgs.shard import Shard
    from offramp.dgs.sidecar import Explanations
    from offramp.graph.csr import IntArray
    from offramp.workers.group import Group

TIMED = ("sampling", "computing", "explaining", "waiting")


class MiniBatchTrainer(EpochLoop[DgsProgress]):
    """Data-parallel training: every worker's batch of a step, and the sum of their gradients.

    Attributes:
        model: model with the same weights on every worker.
        masks: masks by which the sampler draws.
        batches: trained, over all epochs.
    """

    def __init__(self, shard: Shard, group: Group, explanations: Explanations | None) -> None:
        """``explanations``: None where nothing is explained, or there is nothing to explain."""
        self._shard, self._settings, self._group = shard, shard.settings, group
        self.epochs = shard.settings.epochs
        self._messenger = Messenger(group)
        self._device = open_device(self._settings.device, group)
        self._sampler = BatchSampler(shard, self._messenger, self._device)
        self._explanations = explanations
        self.model = shard.model().to(self._device)
        self._adam = torch.optim.Adam(self.model.parameters(), lr=self._settings.lr)
        self._timers = Timers()
        self._labels = torch.full((len(shard.owner),), -1, dtype=torch.int64)
        self._labels[shard.vertices] = torch.from_numpy(shard.labels)
        self._labels = self._labels.to(self._device)
        self._chosen = self._settings.chosen_columns(shard.width)
        self.masks: Masks | None = None
        self.batches = 0
        self._pending: int | None = None  # the batch after which masks are due
        self._due: Masks | None = None  # those that a checkpoint had to wait for
        self._history: list[tuple[float, float]] = []
        self._counted = TrafficLedger()  # what agreeing has cost before the first batch belongs to the first epoch
        if shard.snapshot is not None:
            self._resume(shard.snapshot)
        elif shard.masks is not None:
            self._publish(shard.masks)

    def _resume(self, snapshot: TrainingSnapshot) -> None:
        (own,) = snapshot.own
        state, steps = WorkerState.of(own.as_dict()), self._shard.steps
        snapshot.into(self.model, self._adam, steps)
        self.done, self.batches = snapshot.epoch, snapshot.epoch * steps
        self._history = [(loss, seconds) for loss, seconds in snapshot.history.tolist()]
        self._pending, self._due = state.due_after, state.due
        if self._explanations is not None:
            memory = self._explanations.memory
            memory.rows[:], memory.known[:], memory.logits[:] = state.rows, state.known, state.logits
            self._explanations.count, memory.explained[0] = state.explanations, state.explanations > 0
        if state.masks is not None:
            self._publish(state.masks)
        elif self._draws_columns and self.batches % self._settings.period:
            self._publish_columns(self.batches)

    def keep(self, number: int) -> None:
        """Write the checkpoint if one is due; an explanation that is under way is waited for."""
        where = self._settings.checkpoint
        if where is None or (number != self.epochs and number % self._settings.checkpoint_every):
            return
        snapshot = TrainingSnapshot.of(number, self.model, self._adam, self._history)
        own = self._state().arrays(self._shard)
        keep(where, snapshot, self._shard.facts, self.model, self._group, own)

    def _state(self) -> WorkerState:
        blank = WorkerState.blank(self._shard)
        if self._explanations is None:
            return replace(blank, masks=self.masks)
        if self._pending is not None and self._due is None:
            self._due = self._explanations.take(wait=True)
        memory, count = self._explanations.memory, self._explanations.count
        return WorkerState(self.masks, self._due, self._pending, count, memory.rows, memory.known, memory.logits)

    def epoch(self, number: int) -> DgsProgress:
        """Every training vertex once."""
        self._timers.reset()
        start = time.perf_counter()
        shard, size = self._shard, self._settings.batch
        self.model.train()
        order = np.random.default_rng([self._settings.seed, shard.worker, number]).permutation(shard.train)
        loss, vertices, edges = 0.0, 0, 0
        for step in range(shard.steps):
            step_loss, sources, drawn = self.step(order[step * size : (step + 1) * size], shard.batch_sizes(step))
            loss, vertices, edges = loss + step_loss, vertices + sources, edges + drawn
        return self._progress(number, time.perf_counter() - start, loss, vertices, edges)

    def step(self, seeds: IntArray, sizes: IntArray) -> tuple[float, int, int]:
        """One batch of all workers; the sum of the own losses, sources of the own batch and neighbours drawn for it.

        Args:
            seeds: own training vertices; none where the worker has no more.
            sizes: ``(workers,)`` of all workers' batches.
        """
        self.batches += 1
        self._renew()
        self.model.dropout.step = self.batches
        with self._timers("sampling"):
            batch = self._sampler.sample(seeds, self.batches)
            received = self._explanations.cache.received if self._explanations is not None else lambda *_: None
            features = torch.from_numpy(self._sampler.features(batch.sources, self.batches, received)).to(self._device)
        with self._timers("computing"):
            self.model.zero_grad()
            with autocast(self._device, self._settings.precision):
                scores = batch.scores(self.model, features).float()
            total = nn.functional.cross_entropy(scores, self._labels[seeds], reduction="sum")
            (total / int(sizes.sum())).backward()  # type: ignore[no-untyped-call]
        self._sum_gradients()
        with self._timers("computing"):
            self._adam.step()
        self._explain()
        return float(total.detach()), len(batch.sources), batch.edges

    def _sum_gradients(self) -> None:
        """Every worker's loss is its part of the mean over all batches of the step, so gradients are summed."""
        parameters = [p for p in self.model.parameters() if p.grad is not None]
        flat = self._messenger.sum(torch.cat([p.grad.ravel() for p in parameters if p.grad is not None]), "gradients")
        for parameter, part in zip(parameters, torch.split(flat, [p.numel() for p in parameters]), strict=True):
            parameter.grad = part.view_as(parameter).clone()

    def _renew(self) -> None:
        """Prepare a batch: apply masks that are due; samplers without masks may change their random columns."""
        settings, period = self._settings, self._settings.period
        if self._draws_columns and (self.batches - 1) % period == 0:
            self._publish_columns(self.batches)
        if self._pending is None or self._explanations is None:
            return
        free = settings.batches_until_masks == FREE
        if not free and self.batches <= self._pending:
            return
        masks, self._due = self._due, None
        if masks is None:
            with self._timers("waiting"):
                masks = self._explanations.take(wait=not free)
        if masks is not None:
            self._timers.seconds["explaining"] += self._explanations.seconds
            self._pending = None
            self._publish(masks)

    @property
    def _draws_columns(self) -> bool:
        """Whether random columns travel, drawn anew in each period."""
        return not self._settings.rule.masked and self._chosen < self._shard.width

    def _publish_columns(self, batch: int) -> None:
        """Fetch the random columns of this batch's period from now on."""
        version = 1 + (batch - 1) // self._settings.period
        rng = np.random.default_rng([self._settings.seed, self._shard.worker, version])
        columns = np.sort(rng.choice(self._shard.width, self._chosen, replace=False))
        self._sampler.publish(version, None, columns)

    def _publish(self, masks: Masks) -> None:
        self.masks = masks
        columns = masks.columns(self._chosen) if self._chosen < self._shard.width else None
        self._sampler.publish(masks.version, masks if self._settings.node_mask else None, columns)

    def _explain(self) -> None:
        """Begin an explanation after every ``period`` batches, unless one is still running."""
        settings = self._settings
        if not settings.explains or self.batches % settings.period:
            return
        if settings.explain_features == "fetch":
            self._fetch()
        if self._explanations is None or self._pending is not None:
            return
        weights = torch.nn.utils.parameters_to_vector(self.model.parameters()).detach().cpu().numpy()
        version = self.batches // settings.period + (self._shard.masks.version if self._shard.masks else 0)
        with self._timers("waiting"):
            self._explanations.start(weights, version)
        self._pending = self.batches + max(0, settings.batches_until_masks)

    def _fetch(self) -> None:
        """Whole rows of all remote vertices that were never received; all workers at once."""
        shard, explanations = self._shard, self._explanations
        missing = explanations.cache.missing if explanations is not None else shard.halo[:0]
        owners = shard.owner[missing]
        ids = [missing[owners == peer] for peer in range(shard.workers)]
        for theirs, values in zip(ids, self._sampler.pull(ids, self.batches, 0, "explanation"), strict=True):
            if explanations is not None and len(theirs):
                explanations.cache.received(theirs, values, None)

    def _progress(self, number: int, seconds: float, loss: float, vertices: int, edges: int) -> DgsProgress:
        ledger = self._messenger.ledger - self._counted
        self._counted = self._messenger.ledger.copy()
        kinds = list(vars(ledger))
        sums = torch.tensor([loss, vertices, edges, *(getattr(ledger, kind) for kind in kinds)], dtype=torch.float64)
        self._group.sum(sums)
        of = self._timers.seconds
        slowest = torch.tensor([seconds, *(of[name] for name in TIMED)], dtype=torch.float64)
        seconds, sampling_s, computing_s, explaining_s, waiting_s = self._group.max(slowest).tolist()
        loss, vertices, edges, *counts = sums.tolist()
        require_finite(number, loss)
        self._history.append((loss / int(self._shard.train_counts.sum()), seconds))
        weights: npt.NDArray[np.float32] = (
            nn.utils.parameters_to_vector(self.model.parameters()).detach().cpu().numpy().copy()
        )
        return DgsProgress(
            epoch=number,
            loss=loss / int(self._shard.train_counts.sum()),
            ledger=type(ledger)(**{kind: int(count) for kind, count in zip(kinds, counts, strict=True)}),
            seconds=seconds,
            sampling_s=sampling_s,
            computing_s=computing_s,
            explaining_s=explaining_s,
            waiting_s=waiting_s,
            vertices=int(vertices),
            edges=int(edges),
            version=self.masks.version if self.masks is not None else 0,
            explanations=self._explanations.count if self._explanations is not None else 0,
            weights=weights,
        )
