# SPDX-License-Identifier: Apache-2.0
"""Progress of a training run between two epochs, as arrays from which another run goes on to the same bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch

from offramp.gnn.epochs import GnnEpoch
from offramp.train.parameter_arrays import parameter_arrays, restore_parameters
from offramp.train.stored_state import StoredState, foreign, form_of, keep_state, read_state
from offramp_base.archive import Arrays
from offramp_base.errors import first_line
from offramp_base.settings.error import SettingsError

if TYPE_CHECKING:
    from offramp.gnn.fit import Fit
    from offramp.gnn.settings import GnnSettings
    from offramp.workers.group import Group

_COLUMNS: Final = len(GnnEpoch.__dataclass_fields__) - 1
_OF_A_RUN: Final = (
    "hidden", "layers", "norm", "dropout", "edge_fields", "lr", "lr_schedule", "weight_decay", "patience", "metric",
    "seed", "codec", "bits",
)  # fmt: skip
_OVER_ALL_EPOCHS: Final = frozenset({"cosine", "step"})
"""Schedules of the learning rate that depend on the number of epochs."""
_OF_SCHEDULES: Final = ("last_epoch", "_step_count", "best", "num_bad_epochs", "cooldown_counter")


@dataclass
class Best:
    """The epoch whose weights are kept.

    Attributes:
        score: its metric in validation.
        epoch: its number; 0: none yet.
        weights: the model's ``state_dict`` after it.
    """

    score: float
    epoch: int
    weights: dict[str, torch.Tensor]


def facts_of(settings: GnnSettings, spec: Mapping[str, Any], vertices: int) -> dict[str, Any]:
    """Facts that must be equal for a run to resume from a checkpoint; the number of ranks is not among them."""
    known = {name: getattr(settings, name) for name in _OF_A_RUN}
    known |= {name: spec[name] for name in ("model", "inputs", "outputs")} | {"vertices": vertices}
    known["edge_fields"] = list(settings.edge_fields)
    return known | {"epochs": settings.epochs} if settings.lr_schedule in _OVER_ALL_EPOCHS else known


def keep_progress(
    where: str, known: Mapping[str, Any], fit: Fit, epochs: Sequence[GnnEpoch], best: Best, group: Group
) -> None:
    """Write the progress to a file or a URL; every rank calls it.

    Raises:
        OfframpError: it cannot be written.
    """
    history = np.array([astuple(epoch)[1:] for epoch in epochs], np.float64)
    keep_state(where, StoredState(len(epochs), history, _arrays(fit, best)), known, group, "state")


def take_progress(where: str, known: Mapping[str, Any], fit: Fit, best: Best, most: int) -> list[GnnEpoch]:
    """Restore what :func:`keep_progress` wrote into a new run and ``best``; its epochs.

    Raises:
        OfframpError: it is no such thing, or of another run, or has ``most`` epochs already.
    """
    stored = read_state(
        where, known, {name: form_of(array) for name, array in _arrays(fit, best).items()}, width=_COLUMNS
    )
    if stored.epoch >= most:
        raise SettingsError("resume", f"has {stored.epoch} epochs, expected {{epochs}} above that", where)
    score, number = stored.arrays["best"]
    if not 0 <= number <= stored.epoch:
        raise foreign(where, f": best epoch {number:g} of {stored.epoch}")
    try:
        _restore(fit, stored.arrays, stored.epoch)
    except (RuntimeError, ValueError, OverflowError) as error:  # no state of a generator, no number of an epoch
        raise foreign(where, f": {first_line(error)}") from None
    best.score, best.epoch = float(score), int(number)
    best.weights = {name: torch.from_numpy(stored.arrays[f"best.{name}"].copy()) for name in fit.model.state_dict()}
    return [GnnEpoch(n, *row) for n, row in enumerate(stored.history.tolist(), 1)]


def _arrays(fit: Fit, best: Best) -> dict[str, Any]:
    weights = best.weights or fit.model.state_dict()
    buffers = {f"buffer.{name}": buffer.cpu().numpy() for name, buffer in fit.model.named_buffers()}
    return {
        **parameter_arrays("", dict(fit.model.named_parameters()), fit.adam),
        **buffers,
        **{f"best.{name}": value.detach().cpu().numpy() for name, value in weights.items()},
        "best": np.array([best.score, best.epoch], np.float64),
        "schedule": np.array([fit.adam.param_groups[0]["lr"], *_schedule_state(fit).values()], np.float64),
        "random": torch.get_rng_state().numpy(),
    }


def _schedule_state(fit: Fit) -> dict[str, Any]:
    state = {} if fit.schedule is None else fit.schedule.state_dict()
    return {name: state[name] for name in _OF_SCHEDULES if name in state}


def _restore(fit: Fit, arrays: Arrays, epoch: int) -> None:
    restore_parameters("", dict(fit.model.named_parameters()), fit.adam, arrays)
    for name, buffer in fit.model.named_buffers():
        buffer.copy_(torch.from_numpy(arrays[f"buffer.{name}"].copy()))
    lr, *progress = arrays["schedule"].tolist()
    fit.adam.param_groups[0]["lr"] = lr
    known = _schedule_state(fit)
    if fit.schedule is not None:
        kinds = {name: type(value) for name, value in known.items()}
        taken = {name: kinds[name](value) for name, value in zip(known, progress, strict=True)}
        fit.schedule.load_state_dict(fit.schedule.state_dict() | taken)
    torch.set_rng_state(torch.from_numpy(arrays["random"].copy()))
    fit.model.step = epoch
