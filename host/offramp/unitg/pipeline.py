# SPDX-License-Identifier: Apache-2.0
"""One stage of the pipeline: F-then-B over the microbatches, exchanging states and gradients with its neighbours."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import torch
from torch import nn

from offramp.g3.block import BipartiteBlock
from offramp.models.base import Features, dense
from offramp.models.neighbourhood import as_features
from offramp.train.parameter_arrays import parameter_arrays, restore_parameters
from offramp.unitg.schedule import Op
from offramp.unitg.settings import RECOMPUTED
from offramp.unitg.stage import StageModel
from offramp.workers.accelerator import autocast
from offramp.workers.mailbox import Key
from offramp_base.wire.objects import sendable

if TYPE_CHECKING:
    from offramp.unitg.gate import Gate
    from offramp.unitg.job import UnitgJob
    from offramp.unitg.microbatches import Microbatch
    from offramp.workers.mailbox import Mailbox
    from offramp_base.archive import Arrays

T = TypeVar("T")


@sendable
class Done(NamedTuple):
    """An operation of this stage, from ``start`` to ``end`` of :func:`time.perf_counter`."""

    step: int
    op: Op
    start: float
    end: float


class Stage:
    """A rank's layers and its connection to its neighbours.

    Attributes:
        spans: operations of the training passes, the latest iterations.
        live: largest number of microbatches whose activations were held at once.
        scores: ``(n, classes)`` class scores of the last evaluation, at the last stage.
    """

    def __init__(self, job: UnitgJob, mailbox: Mailbox, gate: Gate, device: torch.device | None = None) -> None:
        settings = job.settings
        self._job, self._place, self._mailbox, self._gate = job, job.place, mailbox, gate
        self._dtype, self._device = getattr(torch, settings.dtype), device or torch.device("cpu")
        model = settings.make_model(job.widths).to(self._device, self._dtype)
        self.part = StageModel(model, job.layers, recomputes=settings.activations == RECOMPUTED)
        self._views = [self._view(piece) for piece in job.microbatches]
        self._ids = [torch.from_numpy(piece.ids).to(self._device) for piece in job.microbatches]
        self._features: list[Features] = []
        if job.place.first:
            assert job.features is not None, "the first stage has the features"
            rows = [job.features[piece.ids] for piece in job.microbatches]
            self._features = [as_features(own, self._dtype, self._device) for own in rows]
        if job.labels is not None and job.masks is not None:
            self._labels = torch.from_numpy(job.labels).to(self._device)
            self._masks = torch.from_numpy(job.masks).to(self._device)
            self._trained = int(job.masks[0].sum())
        self._adam = torch.optim.Adam(self.part.parameters, lr=settings.lr) if self.part.parameters else None
        self._forward_s = settings.device_ms / 1000
        self._pseudo: tuple[torch.Tensor, float] | None = None
        self.spans: list[Done] = []
        self.live = 0
        self.scores: torch.Tensor | None = None

    def use(self, features: torch.Tensor) -> None:
        """Use other input features ``(n, F)`` from now on; at the first stage."""
        self._features = [features[ids.cpu()].to(self._device, self._dtype) for ids in self._ids]

    def arrays(self) -> dict[str, Any]:
        """Weights of this stage's layers and the optimiser's state, for a checkpoint."""
        return parameter_arrays("", self.part.named, self._adam)

    def restore(self, arrays: Arrays) -> None:
        """Take over what :meth:`arrays` returned."""
        restore_parameters("", self.part.named, self._adam, arrays)

    def learn_from(self, pseudo: torch.Tensor, weight: float) -> None:
        """Learn pseudo-labels as well from now on (GLEM's M-step); at the last stage.

        Args:
            pseudo: ``(n, classes)`` probabilities of all vertices, of which those without a training label count.
            weight: their weight in the loss; training labels have the rest.
        """
        self._pseudo = pseudo.to(self._device), weight

    def numeric(self) -> torch.Tensor:
        """The data set's own features ``(n, F)``, dense."""
        return dense(as_features(self._job.features, self._dtype))

    def iteration(self, step: int) -> list[float]:
        """Make one step of the weights; the last stage returns loss and correct vertices per split, others zeros."""
        model = self.part.model
        model.train()
        model.dropout.step = step
        self._mailbox.forget(step)
        inputs: dict[int, torch.Tensor] = {}
        outputs: dict[int, torch.Tensor] = {}
        sums = torch.zeros(4, dtype=torch.float64)
        for parameter in self.part.parameters:
            parameter.grad = None
        for op in self._place.order():
            if op.backward:
                self._backward(step, op, inputs.pop(op.microbatch, None), outputs.pop(op.microbatch))
            else:
                outputs[op.microbatch] = self._forward(step, op, inputs, sums)
                self.live = max(self.live, len(outputs))
        if self._adam is not None:
            self._adam.step()
        return sums.tolist()

    @torch.no_grad()
    def evaluate(self, step: int) -> list[float]:
        """Run the forward half of :meth:`iteration` without dropout, over the same pieces or over the whole graph."""
        return self._evaluate(step, list(zip(range(len(self._views)), self._views, self._ids, strict=True)))

    @torch.no_grad()
    def evaluate_whole(self, step: int) -> list[float]:
        """Evaluate with the edges between microbatches."""
        whole = self._job.whole
        ids = torch.from_numpy(whole.ids).to(self._device)
        if self._features:
            joined = torch.cat([dense(piece) for piece in self._features])
            places = torch.cat(self._ids)
            self._features = [joined[torch.argsort(places)]]
        return self._evaluate(step, [(0, self._view(whole), ids)])

    def _evaluate(self, step: int, pieces: list[tuple[int, BipartiteBlock, torch.Tensor]]) -> list[float]:
        self.part.model.eval()
        self._mailbox.forget(step)
        sums = torch.zeros(4, dtype=torch.float64)
        rows = sum(len(ids) for _, _, ids in pieces)
        for number, view, ids in pieces:
            op = Op(backward=False, microbatch=number)
            x = self._features[number] if self._place.first else self._receive(step, op, len(ids))
            if number == 0:
                self._gate.pause()
            out = self._computed(x, view)
            if self._place.last:
                self._score(out, ids, sums)
                if number == 0:
                    self.scores = out.new_zeros(rows, out.shape[1])
                assert self.scores is not None
                self.scores[ids] = out
            else:
                self._send(step, op, out)
        return sums.tolist()

    def _forward(self, step: int, op: Op, inputs: dict[int, torch.Tensor], sums: torch.Tensor) -> torch.Tensor:
        m = op.microbatch
        if self._place.first:
            x: Features = self._features[m]
        else:
            x = inputs[m] = self._receive(step, op, len(self._ids[m])).requires_grad_()

        def work() -> torch.Tensor:
            out = self._computed(x, self._views[m])
            return self._loss(out, self._ids[m], sums) if self._place.last else out

        out = self._timed(step, op, self._forward_s, work)
        if not self._place.last:
            self._send(step, op, out.detach())
        return out

    def _backward(self, step: int, op: Op, x: torch.Tensor | None, out: torch.Tensor) -> None:
        gradient = None if self._place.last else self._receive(step, op, len(out))

        def work() -> None:
            if out.requires_grad:  # not so of first layers without parameters
                torch.autograd.backward(out, gradient)

        self._timed(step, op, 2 * self._forward_s, work)
        if x is not None:
            assert x.grad is not None
            self._send(step, op, x.grad)

    def _computed(self, x: Features, view: BipartiteBlock) -> torch.Tensor:
        with autocast(self._device, self._job.settings.precision):
            return self.part.forward(x, view).to(self._dtype)

    def _view(self, piece: Microbatch) -> BipartiteBlock:
        targets = np.arange(len(piece.ids))
        return BipartiteBlock(piece.adjacency, targets, piece.ids, piece.degree, self._dtype, self._device)

    def _timed(self, step: int, op: Op, seconds: float, work: Callable[[], T]) -> T:
        """Run ``work`` on the device; the gate opens and closes at the boundaries of bubbles."""
        if self._place.pauses_before(op):
            self._gate.pause()
        start = time.perf_counter()
        with self._gate.device.work(seconds):
            result = work()
        self.spans.append(Done(step, op, start, time.perf_counter()))
        if self._place.resumes_after(op):
            self._gate.resume()
        return result

    def _loss(self, scores: torch.Tensor, ids: torch.Tensor, sums: torch.Tensor) -> torch.Tensor:
        """A piece's share of the loss, which is a mean over training vertices, with one over pseudo-labels."""
        gold = self._score(scores, ids, sums) / max(1, self._trained)
        if self._pseudo is None:
            return gold
        pseudo, weight = self._pseudo
        rest = ~self._masks[0, ids]
        total = nn.functional.cross_entropy(scores[rest], pseudo[ids][rest].to(scores.dtype), reduction="sum")
        return (1 - weight) * gold + weight * total / max(1, len(self._labels) - self._trained)

    def _score(self, scores: torch.Tensor, ids: torch.Tensor, sums: torch.Tensor) -> torch.Tensor:
        """The sum of the losses of a piece's training vertices, 0 if it has none."""
        labels, masks = self._labels[ids], self._masks[:, ids]
        total = nn.functional.cross_entropy(scores[masks[0]], labels[masks[0]], reduction="sum")
        right = scores.detach().argmax(1) == labels
        totals = [float(total.detach()), *((right & mask).sum().item() for mask in masks)]
        sums += torch.tensor(totals, dtype=torch.float64)
        return total

    def _send(self, step: int, op: Op, values: torch.Tensor) -> None:
        peer = self._place.stage + (-1 if op.backward else 1)
        self._mailbox.post(peer, _key(step, op), values.contiguous().view(torch.uint8).flatten())

    def _receive(self, step: int, op: Op, rows: int) -> torch.Tensor:
        label = self._place.stage + (1 if op.backward else -1), _key(step, op)
        self._mailbox.wait([label])
        payload = self._mailbox.take(label)
        assert payload is not None
        return payload.view(self._dtype).view(rows, -1).to(self._device)


def _key(step: int, op: Op) -> Key:
    return Key(step, 0, op.backward, op.microbatch)
