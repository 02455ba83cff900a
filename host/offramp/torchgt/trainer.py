# SPDX-License-Identifier: Apache-2.0
"""The training loop of one rank (specification 2.6)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from offramp.torchgt.attention import SequenceAttention
from offramp.torchgt.gradients import GradientSums
from offramp.torchgt.model import GraphTransformer
from offramp.torchgt.parallel import RankAllToAll, SequenceParallel
from offramp.torchgt.results import TorchGtEpoch
from offramp.torchgt.sequence import Sequence, Tokens
from offramp.torchgt.settings import TorchGtSettings
from offramp.torchgt.tuner import AutoTuner, ladder
from offramp.train.checkpoint import TrainingSnapshot, keep
from offramp.workers.accelerator import autocast, open_device
from offramp.workers.epochs import EpochLoop, require_finite
from offramp_base.wire.objects import sendable

if TYPE_CHECKING:
    from offramp.workers.group import Group


@sendable
@dataclass(frozen=True)
class RankJob:
    """One rank's part of a run.

    Attributes:
        shares: its share of each sequence.
        counts: training tokens of each sequence, over all ranks.
        features, classes: widths of the task; 0 classes: a regression.
        facts: facts about the run, for its checkpoints.
        snapshot: checkpoint from which to resume.
    """

    settings: TorchGtSettings
    shares: list[Sequence]
    counts: list[int]
    features: int
    classes: int
    facts: dict[str, Any]
    snapshot: TrainingSnapshot | None = None


class TransformerTrainer(EpochLoop[TorchGtEpoch]):
    """Training of one rank, in step with the others.

    Attributes:
        model: the model, with the same weights on every rank.
        parallel: its all-to-alls.
        last_step: all-to-alls of the last step, without evaluations.
    """

    def __init__(self, job: RankJob, group: Group) -> None:
        settings = job.settings
        dtype = getattr(torch, settings.dtype)
        self._job, self._settings, self._group = job, settings, group
        self._device = open_device(settings.device, group)
        self.model = GraphTransformer(settings, job.features, job.classes or 1).to(self._device, dtype)
        if settings.compile:
            self.model.compile_dense()
        self.parallel = SequenceParallel(group, torch.bfloat16 if settings.wire == "bfloat16" else None)
        self.last_step: list[RankAllToAll] = []
        self._tokens = [Tokens(s, dtype, regression=not job.classes, device=self._device) for s in job.shares]
        self._attention = [SequenceAttention(share, settings, self._device) for share in job.shares]
        self._sums = GradientSums(group, self.model)
        self._adam = torch.optim.AdamW(self.model.parameters(), settings.lr, weight_decay=settings.weight_decay)
        self._trained = [place for place, count in enumerate(job.counts) if count]
        self.epochs = settings.epochs
        self._steps, self._all_steps = 0, settings.epochs * len(self._trained)
        self._tuner = AutoTuner() if settings.attention == "reformed" and settings.fixed_beta is None else None
        self._history: list[tuple[float, float]] = []
        if job.snapshot is not None:
            self._go_on(job.snapshot)

    def _go_on(self, snapshot: TrainingSnapshot) -> None:
        snapshot.into(self.model, self._adam, len(self._trained))
        self.done, self._steps = snapshot.epoch, snapshot.epoch * len(self._trained)
        for loss, seconds in snapshot.history.tolist():
            self._observe(loss, seconds)

    def _observe(self, loss: float, seconds: float) -> None:
        self._history.append((loss, seconds))
        if self._tuner is not None:
            self._tuner.observe([loss], [seconds])  # the same numbers on all ranks: no broadcast

    def keep(self, number: int) -> None:
        """Write the checkpoint if one is due."""
        where, last = self._settings.checkpoint, number == self.epochs
        if where is not None and (last or number % self._settings.checkpoint_every == 0):
            snapshot = TrainingSnapshot.of(number, self.model, self._adam, self._history)
            keep(where, snapshot, self._job.facts, self.model, self._group)

    def epoch(self, number: int) -> TorchGtEpoch:
        """Make a step for each training sequence, and evaluate."""
        beta = self._beta()
        loss, communication, reduction, sent, pairs, full = 0.0, 0.0, 0.0, 0, 0, 0
        start = time.perf_counter()
        for place in self._trained:
            loss += self.step(place, beta)
            communication += self.parallel.timers.seconds["communication"]
            reduction += self._sums.seconds
            sent += sum(exchange.sent for exchange in self.last_step)
            pairs += self._attention[place].pairs
            full += self._attention[place].is_full
        seconds = time.perf_counter() - start
        totals = torch.tensor([loss, sent], dtype=torch.float64)
        self._group.sum(totals)
        slowest = torch.tensor([seconds, communication, reduction], dtype=torch.float64)
        seconds, communication, reduction = self._group.max(slowest).tolist()
        mean = float(totals[0]) / len(self._trained)
        require_finite(number, mean)
        self._observe(mean, seconds)
        train, val, test = self.evaluate(beta)
        return TorchGtEpoch(
            epoch=number,
            loss=mean,
            train_score=train,
            val_score=val,
            test_score=test,
            seconds=seconds,
            communication_seconds=communication,
            reduction_seconds=reduction,
            sent_bytes=int(totals[1]),
            pairs=pairs,
            steps=len(self._trained),
            full_steps=full,
            beta=self._threshold(beta),
        )

    def step(self, place: int, beta: float | None) -> float:
        """Forward, backward and an update on one sequence; returns this rank's share of the loss."""
        self.model.train()
        self.parallel.begin_step()
        self.model.dropout.step = self._steps
        self._attention[place].begin(self._steps, beta)
        loss = self._loss(self._scores(place), place)
        self._adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self._sums.finish()
        for settings in self._adam.param_groups:  # polynomial decay, as the authors have it
            settings["lr"] = self._settings.lr * (1 - self._steps / self._all_steps)
        self._adam.step()
        self._steps += 1
        self.last_step = list(self.parallel.exchanges)
        return float(loss.detach())

    @torch.no_grad()
    def evaluate(self, beta: float | None) -> list[float]:
        """Training, validation and test score over all sequences, with the declared pattern and without dropout."""
        self.model.eval()
        sums = torch.zeros(2, 3, dtype=torch.float64)
        for place, tokens in enumerate(self._tokens):
            self._attention[place].declare(beta)
            scores = self._scores(place)
            if self._job.classes:
                good = (scores.argmax(1) == tokens.targets).double()
            else:
                good = (scores[:, 0] - tokens.targets).abs().double()
            for part, mask in enumerate(tokens.masks):
                sums[0, part] += float(good[mask].sum())
                sums[1, part] += float(mask.sum())
        self._group.sum(sums)
        means: list[float] = (sums[0] / sums[1].clamp(min=1)).tolist()
        return means

    def _scores(self, place: int) -> torch.Tensor:
        with autocast(self._device, self._settings.precision):
            scores: torch.Tensor = self.model(self._tokens[place], self.parallel, self._attention[place])
        return scores.to(self.model.token.dtype)

    def _loss(self, scores: torch.Tensor, place: int) -> torch.Tensor:
        """This rank's share of the mean over all training tokens of the sequence, for any number of ranks."""
        tokens = self._tokens[place]
        train = tokens.masks[0]
        if self._job.classes:
            total = functional.cross_entropy(scores[train], tokens.targets[train], reduction="sum")
        else:
            total = functional.l1_loss(scores[train, 0], tokens.targets[train], reduction="sum")
        return total / self._job.counts[place]

    def _beta(self) -> float | int | None:
        """A threshold, the tuner's step on each sequence's own ladder, or None without reformation."""
        if self._settings.attention != "reformed":
            return None
        return self._settings.fixed_beta if self._tuner is None else self._tuner.step

    def _threshold(self, beta: float | None) -> float | None:
        if beta is None or self._tuner is None:
            return beta
        return ladder(self._attention[0].density)[int(beta)]
