# SPDX-License-Identifier: Apache-2.0
"""A run's weights and the optimiser's state, to resume from (g3.md section 5.4: equal on every worker).

They are where :mod:`offramp.train.stored_state` puts them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import torch

from offramp.train.locations import is_url
from offramp.train.stored_state import RankArrays, StoredState, form_of, keep_state, read_state, write_state
from offramp_base.archive import Arrays
from offramp_base.wire.objects import sendable

if TYPE_CHECKING:
    from offramp.graph.data import Graph
    from offramp.train.settings import TrainSettings
    from offramp.workers.group import Group


MOMENTS: Final = ("exp_avg", "exp_avg_sq")
"""Adam's state of each parameter besides its number of steps."""


@sendable
@dataclass(frozen=True)
class TrainingSnapshot:
    """State of a run after some epochs.

    Attributes:
        epoch: the last completed epoch.
        arrays: parameters, and Adam's two moments of each, in the order of the model's parameters.
        history: ``(epoch, 2)`` loss and seconds of each epoch, for Sylvie's controller and TorchGT's tuner.
        own: what each rank has besides, in rank order, where a trainer keeps such a thing.
    """

    epoch: int
    arrays: Sequence[npt.NDArray[np.floating]]
    history: npt.NDArray[np.float64]
    own: Sequence[RankArrays] = ()

    @classmethod
    def of(
        cls, epoch: int, model: torch.nn.Module, adam: torch.optim.Adam, history: Sequence[tuple[float, float]]
    ) -> TrainingSnapshot:
        """Capture the state of a model and its optimiser, with the history."""
        arrays = []
        for parameter in model.parameters():
            state = adam.state[parameter]
            arrays += [t.detach().cpu().numpy() for t in (parameter, *(state[moment] for moment in MOMENTS))]
        return cls(epoch, arrays, np.array(history, np.float64).reshape(-1, 2))

    def into(self, model: torch.nn.Module, adam: torch.optim.Adam, steps: int = 1) -> None:
        """Restore the state into a model and its optimiser made from the same settings, with ``steps`` per epoch."""
        arrays = iter(self.arrays)
        for parameter in model.parameters():
            with torch.no_grad():
                parameter.copy_(torch.from_numpy(next(arrays)))
            moments = {moment: torch.from_numpy(next(arrays).copy()).to(parameter.device) for moment in MOMENTS}
            adam.state[parameter] = {"step": torch.tensor(float(self.epoch * steps)), **moments}


def facts(graph: Graph, settings: TrainSettings) -> dict[str, Any]:
    """Facts that must be equal for a run to resume from a checkpoint."""
    names = (
        "model",
        "workers",
        "layers",
        "hidden",
        "heads",
        "aggregator",
        "dtype",
        "lr",
        "dropout",
        "seed",
        "codec",
        "schedule",
    )
    size = {"graph": graph.name, "vertices": graph.vertices, "edges": graph.edges, "features": graph.width}
    return {**size, **{name: getattr(settings, name) for name in names}}


def save(path: Path, snapshot: TrainingSnapshot, known: Mapping[str, Any]) -> None:
    """Write a checkpoint atomically: if the run is killed or the machine fails, the previous one remains.

    Raises:
        OfframpError: the file cannot be written.
    """
    own = {_own(rank, name): array for rank, each in enumerate(snapshot.own) for name, array in each.as_dict().items()}
    arrays = {f"array{number}": array for number, array in enumerate(snapshot.arrays)}
    write_state(path, StoredState(snapshot.epoch, snapshot.history, arrays, own), known)


def keep(
    where: str,
    snapshot: TrainingSnapshot,
    known: Mapping[str, Any],
    model: torch.nn.Module,
    group: Group,
    own: Arrays | None = None,
) -> None:
    """Write a checkpoint to a file or a URL; every rank calls it.

    Args:
        where: the file or URL.
        snapshot: state that all ranks have alike.
        known: facts that must be equal for a run to resume from it.
        model: the model.
        group: the ranks.
        own: state of this rank alone.

    Raises:
        OfframpError: it cannot be written.
    """
    if not is_url(where):
        ranks = None if own is None else group.gather(RankArrays.of(own), RankArrays)
        if group.rank == 0:
            save(Path(where), replace(snapshot, own=ranks or ()), known)
        return
    mine = {_own(group.rank, name): array for name, array in (own or {}).items()}
    arrays = dict(zip(_names(model), snapshot.arrays, strict=True))
    keep_state(where, StoredState(snapshot.epoch, snapshot.history, arrays, mine), known, group)


def _own(rank: int, name: str) -> str:
    """Name of an array that one rank has."""
    return f"rank{rank}.{name}"


def _names(model: torch.nn.Module) -> list[str]:
    """Names of a snapshot's arrays, as ``torch.distributed.checkpoint`` calls tensors of a nested dictionary."""
    kinds = ("model", *(f"optimizer.{moment}" for moment in MOMENTS))
    return [f"{kind}.{name}" for name, _ in model.named_parameters() for kind in kinds]


def resumed(
    where: str, known: Mapping[str, Any], model: torch.nn.Module, own: Sequence[Arrays] = ()
) -> TrainingSnapshot:
    """Read the checkpoint in a file or at a URL, for a model like the one that wrote it, on any number of ranks.

    Args:
        where: the file or URL.
        known: facts of the run that resumes.
        model: a model like the one that wrote it.
        own: arrays like those that each rank wrote of its own; their number is then that of the ranks.

    Raises:
        OfframpError: as :func:`load`.
    """
    shapes = [parameter.shape for parameter in model.parameters()]
    return _read(where, known, _names(model), shapes, own) if is_url(where) else load(Path(where), known, shapes, own)


def load(
    path: Path, known: Mapping[str, Any], shapes: Sequence[torch.Size], own: Sequence[Arrays] = ()
) -> TrainingSnapshot:
    """Read the checkpoint in a file.

    Args:
        path: path of the file.
        known: :func:`facts` of the run that resumes.
        shapes: shapes of the model's parameters.
        own: as for :func:`resumed`.

    Raises:
        OfframpError: this is not a checkpoint, or one of another run; the message names what differs.
    """
    return _read(path, known, [f"array{number}" for number in range(3 * len(shapes))], shapes, own)


def _read(
    where: str | Path,
    known: Mapping[str, Any],
    names: Sequence[str],
    shapes: Sequence[torch.Size],
    own: Sequence[Arrays],
) -> TrainingSnapshot:
    sizes = [tuple(shape) for shape in shapes for _ in range(1 + len(MOMENTS))]
    forms = {name: (str(known["dtype"]), size) for name, size in zip(names, sizes, strict=True)}
    forms |= {_own(rank, name): form_of(like) for rank, each in enumerate(own) for name, like in each.items()}
    state = read_state(where, known, forms)
    ranks = [RankArrays(list(each), [state.arrays[_own(rank, name)] for name in each]) for rank, each in enumerate(own)]
    return TrainingSnapshot(state.epoch, [state.arrays[name] for name in names], state.history, ranks)
