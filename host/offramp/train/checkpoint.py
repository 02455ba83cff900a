# SPDX-License-Identifier: Apache-2.0
"""A run's weights and the optimiser's state in a file, to resume from (g3.md section 5.4: equal on every worker)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import torch

from offramp_base.archive import open_archive
from offramp_base.documents import parse_json
from offramp_base.ending.files import written
from offramp_base.errors import OfframpError
from offramp_base.settings.error import SettingsError
from offramp_base.wire.objects import sendable

if TYPE_CHECKING:
    from offramp.graph.data import Graph
    from offramp.train.settings import TrainSettings


_MOMENTS: Final = ("exp_avg", "exp_avg_sq")


@sendable
@dataclass(frozen=True)
class TrainingSnapshot:
    """State of a run after some epochs.

    Attributes:
        epoch: the last completed epoch.
        arrays: parameters, and Adam's two moments of each, in the order of the model's parameters.
        history: ``(epoch, 2)`` loss and seconds of each epoch, for Sylvie's controller and TorchGT's tuner.
    """

    epoch: int
    arrays: Sequence[npt.NDArray[np.floating]]
    history: npt.NDArray[np.float64]

    @classmethod
    def of(
        cls, epoch: int, model: torch.nn.Module, adam: torch.optim.Adam, history: Sequence[tuple[float, float]]
    ) -> TrainingSnapshot:
        """Capture the state of a model and its optimiser, with the history."""
        arrays = []
        for parameter in model.parameters():
            state = adam.state[parameter]
            arrays += [t.detach().cpu().numpy() for t in (parameter, *(state[moment] for moment in _MOMENTS))]
        return cls(epoch, arrays, np.array(history, np.float64).reshape(-1, 2))

    def into(self, model: torch.nn.Module, adam: torch.optim.Adam, steps: int = 1) -> None:
        """Restore the state into a model and its optimiser made from the same settings, with ``steps`` per epoch."""
        arrays = iter(self.arrays)
        for parameter in model.parameters():
            with torch.no_grad():
                parameter.copy_(torch.from_numpy(next(arrays)))
            moments = {moment: torch.from_numpy(next(arrays).copy()).to(parameter.device) for moment in _MOMENTS}
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
    arrays = {f"array{number}": array for number, array in enumerate(snapshot.arrays)}
    try:
        with written(path) as file:
            np.savez(file, facts=np.array(json.dumps(known)), epoch=snapshot.epoch, history=snapshot.history, **arrays)  # type: ignore[arg-type]
    except OSError as error:
        raise SettingsError("checkpoint", f"cannot be written: {error.strerror}", path) from None


def load(path: Path, known: Mapping[str, Any], shapes: Sequence[torch.Size]) -> TrainingSnapshot:
    """Read the checkpoint in a file.

    Args:
        path: path of the file.
        known: :func:`facts` of the run that resumes.
        shapes: shapes of the model's parameters.

    Raises:
        OfframpError: this is not a checkpoint, or one of another run; the message names what differs.
    """

    def foreign(how: str = "") -> SettingsError:
        return SettingsError("resume", "expected a file that {checkpoint} wrote" + how, path)

    with open_archive(path) as archive:

        def exactly(field: str, kind: str, shape: tuple[int, ...]) -> npt.NDArray[Any]:
            actual, dtype = archive.header(field)
            if actual != shape or dtype != np.dtype(kind):
                raise foreign(f": {field} is {dtype} of shape {actual}, not {kind} of shape {shape}")
            return archive.values(field)

        text = str(archive.read("facts", "U", 0))
        try:
            of = parse_json(text)
            differing = next((name for name in known if of[name] != known[name]), None)
        except (OfframpError, KeyError, TypeError):
            raise foreign() from None
        if differing is not None:
            other = str(of[differing]).splitlines() or [""]
            raise SettingsError("resume", f"its {differing} is {other[0]:.80}, this run's is {known[differing]}", path)
        arrays = [exactly(f"array{n}", known["dtype"], tuple(shapes[n // 3])) for n in range(3 * len(shapes))]
        epoch = archive.scalar("epoch")
        if epoch < 1:
            raise foreign(f": epoch {epoch}")
        history = exactly("history", "float64", (epoch, 2))
    return TrainingSnapshot(epoch, arrays, history)
