# SPDX-License-Identifier: Apache-2.0
"""Full-batch training of a classifier of vertices, with the weights that were best on the validation set."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from offramp.gnn.epochs import GnnEpoch, GnnResult
from offramp.gnn.gradients import global_mean, sum_gradients
from offramp.gnn.loggers import Log, open_loggers
from offramp.gnn.metrics import METRICS
from offramp.gnn.module import DistributedModule, distribute
from offramp.gnn.progress import Best, facts_of, keep_progress, take_progress
from offramp.gnn.stored import open_store
from offramp.gnn.switched import HaloSwitch
from offramp.gnn.weights import make_model, save_weights
from offramp.workers.accelerator import open_device
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp.gnn.parts import Partition
    from offramp.gnn.settings import GnnJob, GnnSettings
    from offramp.workers.group import Group


def train_rank(group: Group, job: GnnJob, report: Callable[[Any], None]) -> GnnResult:
    """One rank's run; rank 0 reports every epoch and writes the weights."""
    with ExitStack() as stack:
        switch = None
        if job.address:
            switch = stack.enter_context(
                HaloSwitch(job.address, job.ports, memory=job.settings.memory, timeout_s=job.settings.timeout_s)
            )
        logs: list[Log] = []
        if group.rank == 0:
            logs = stack.enter_context(open_loggers(job.settings, asdict(job.settings)))
        return _train(group, job.settings, switch, report, logs)


def _train(
    group: Group, settings: GnnSettings, switch: HaloSwitch | None, report: Callable[[Any], None], logs: Sequence[Log]
) -> GnnResult:
    device = open_device(settings.device, group)
    part = open_store(settings.store, group.of_gpus).to(device)
    torch.manual_seed(settings.seed)
    spec = specification(settings, part)
    model = distribute(
        make_model(spec).to(device),
        part,
        codec=settings.codec,
        bits=settings.bits,
        schedule=settings.staleness,
        propagator=switch,
        seed=settings.seed,
    )
    fit = Fit(model, part, settings)
    vertices = int(part.comm.sum(torch.tensor(float(len(part.y)), dtype=torch.float64)))
    known, best, epochs = facts_of(settings, spec, vertices), Best(-1.0, 0, {}), list[GnnEpoch]()
    if settings.resume is not None:
        epochs = take_progress(settings.resume, known, fit, best, settings.epochs)
    for number in range(len(epochs) + 1, settings.epochs + 1):
        epoch = fit.epoch(number)
        epochs.append(epoch)
        if group.rank == 0:
            report(epoch)
        for log in logs:
            log(number, epoch.numbers(settings.metric))
        if epoch.val > best.score:
            best = Best(epoch.val, number, copy.deepcopy(model.state_dict()))
        last = number == settings.epochs or bool(settings.patience and number - best.epoch >= settings.patience)
        if settings.state is not None and (last or number % settings.state_every == 0):
            keep_progress(settings.state, known, fit, epochs, best, group)
        if last:
            break
    if settings.checkpoint is not None and group.rank == 0:
        about = {"model": spec, "epoch": best.epoch, "metric": settings.metric, "history": [asdict(e) for e in epochs]}
        save_weights(settings.checkpoint, best.weights, about)
    return GnnResult(epochs, best.epoch, sum(p.numel() for p in model.parameters()))


def specification(settings: GnnSettings, part: Partition) -> dict[str, Any]:
    """The arguments of :func:`~offramp.gnn.weights.make_model`, equal on all ranks.

    Raises:
        OfframpError: the store has several types, or no features, labels, or one of the fields of edges.
    """
    if not part.homogeneous:
        raise OfframpError(f"{settings.store}: has several types of vertices, expected one; others need their own loop")
    for name in ("x", "y", "train_mask", *settings.edge_fields):
        if not hasattr(part, name):
            raise OfframpError(f"{settings.store}: has no {name}")
    labels = part.y
    classes = labels.shape[1] if labels.dim() == 2 else int(labels.max()) + 1 if len(labels) else 0
    outputs = int(part.comm.max(torch.tensor(float(classes), dtype=torch.float64)))
    names = ("model", "hidden", "layers", "dropout")
    return {
        **{name: getattr(settings, name) for name in names},
        "norm": None if settings.norm == "none" else settings.norm,
        "inputs": int(part.x.shape[1]),
        "outputs": outputs,
        "edge_fields": list(settings.edge_fields),
    }


class Fit:
    """The loop's state.

    Attributes:
        model: the distributed model.
        adam: its optimiser.
        schedule: the schedule of the learning rate; None where it is constant.
    """

    def __init__(self, model: DistributedModule, part: Partition, settings: GnnSettings) -> None:
        self.model, self._part = model, part
        self._metric = METRICS[settings.metric]
        self._edges = [getattr(part, name) for name in settings.edge_fields]
        self.adam = torch.optim.AdamW(model.parameters(), lr=settings.lr, weight_decay=settings.weight_decay)
        self.schedule = _schedule(self.adam, settings)
        known = part.y >= 0 if part.y.dim() == 1 else ~part.y.isnan().any(1)
        rows = torch.zeros(len(part.y), dtype=torch.bool, device=part.y.device)
        self._masks = [getattr(part, f"{name}_mask", rows) & known for name in ("train", "val", "test")]

    def epoch(self, number: int) -> GnnEpoch:
        """One step, and the metric after it."""
        start = time.perf_counter()
        self.model.train()
        self.adam.zero_grad()
        known = self._masks[0]
        loss = global_mean(_losses(self._scores()[known], self._part.y[known]))
        loss.backward()  # type: ignore[no-untyped-call]
        sum_gradients(self.model)
        lr = float(self.adam.param_groups[0]["lr"])
        self.adam.step()
        self.model.eval()
        with torch.no_grad():
            scores = self._scores()
        labels, comm = self._part.y, self._part.comm
        train, val, test = (self._metric(scores[mask], labels[mask], comm) for mask in self._masks)
        if isinstance(self.schedule, torch.optim.lr_scheduler.ReduceLROnPlateau):
            self.schedule.step(val)
        elif self.schedule is not None:
            self.schedule.step()
        if not torch.isfinite(loss.detach()):
            raise OfframpError(f"epoch {number}: the loss is {float(loss.detach())}")
        return GnnEpoch(number, float(loss.detach()), train, val, test, lr, time.perf_counter() - start)

    def _scores(self) -> torch.Tensor:
        scores: torch.Tensor = self.model(self._part.x, self._part.edge_index, *self._edges)
        return scores


def _losses(scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    if labels.dim() == 2:
        losses = nn.functional.binary_cross_entropy_with_logits(scores, labels.to(scores), reduction="none")
        return losses.mean(1)
    return nn.functional.cross_entropy(scores, labels, reduction="none")


def _schedule(adam: torch.optim.Optimizer, settings: GnnSettings) -> Any:
    from torch.optim import lr_scheduler as of

    if settings.lr_schedule == "cosine":
        return of.CosineAnnealingLR(adam, settings.epochs)
    if settings.lr_schedule == "step":
        return of.StepLR(adam, max(1, settings.epochs // 3))
    if settings.lr_schedule == "plateau":
        return of.ReduceLROnPlateau(adam, mode="max", factor=0.5, patience=max(1, settings.patience // 2))
    return None
