"""A run's weights and the optimiser's state in a file, to go on from (g3.md section 5.4: equal on every worker)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import torch

from offramp.archive import open_archive
from offramp.documents import parse_json
from offramp.errors import OfframpError
from offramp.wire.objects import sendable

if TYPE_CHECKING:
    from offramp.graph.data import Graph
    from offramp.train.settings import TrainSettings


_MOMENTS: Final = ("exp_avg", "exp_avg_sq")


@sendable
@dataclass(frozen=True)
class Snapshot:
    """A run after some epochs.

    Attributes:
        epoch: the last one that is done.
        arrays: parameters, and Adam's two moments of each, in the order of the model's parameters.
        history: ``(epoch, 2)`` loss and seconds of each epoch, which Sylvie's controller goes by.
    """

    epoch: int
    arrays: Sequence[npt.NDArray[np.floating]]
    history: npt.NDArray[np.float64]

    @classmethod
    def of(
        cls, epoch: int, model: torch.nn.Module, adam: torch.optim.Adam, history: Sequence[tuple[float, float]]
    ) -> Snapshot:
        """Of a model, its optimiser, and what has happened."""
        arrays = []
        for parameter in model.parameters():
            state = adam.state[parameter]
            arrays += [parameter.detach().numpy(), *(state[moment].numpy() for moment in _MOMENTS)]
        return cls(epoch, arrays, np.array(history, np.float64).reshape(-1, 2))

    def into(self, model: torch.nn.Module, adam: torch.optim.Adam) -> None:
        """Give a model and its optimiser this state; they were made from the same settings."""
        arrays = iter(self.arrays)
        for parameter in model.parameters():
            with torch.no_grad():
                parameter.copy_(torch.from_numpy(next(arrays)))
            moments = {moment: torch.from_numpy(next(arrays).copy()) for moment in _MOMENTS}
            adam.state[parameter] = {"step": torch.tensor(float(self.epoch)), **moments}


def facts(graph: Graph, settings: TrainSettings) -> dict[str, Any]:
    """What must be equal for a run to go on from a checkpoint."""
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


def save(path: Path, snapshot: Snapshot, known: Mapping[str, Any]) -> None:
    """Write a checkpoint in one step: a run that is killed leaves the one before.

    Raises:
        OfframpError: the file cannot be written.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.npz")
    arrays = {f"array{number}": array for number, array in enumerate(snapshot.arrays)}
    try:
        np.savez(partial, facts=np.array(json.dumps(known)), epoch=snapshot.epoch, history=snapshot.history, **arrays)  # type: ignore[arg-type]
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise OfframpError(f"--checkpoint {path}: cannot be written: {error.strerror}") from None


def load(path: Path, known: Mapping[str, Any], shapes: Sequence[torch.Size]) -> Snapshot:
    """The checkpoint in a file.

    Args:
        path: of the file.
        known: :func:`facts` of the run that goes on.
        shapes: of the model's parameters.

    Raises:
        OfframpError: not a checkpoint, or of another run; names what differs.
    """
    with open_archive(path) as archive:
        try:
            found = parse_json(str(archive.read("facts", "U", 0)))
            differing = next((name for name in known if found[name] != known[name]), None)
        except (ValueError, KeyError, TypeError):
            raise OfframpError(f"--resume {path}: expected a file that --checkpoint wrote") from None
        if differing is not None:
            raise OfframpError(
                f"--resume {path}: its {differing} is {found[differing]}, this run's is {known[differing]}"
            )
        arrays = [archive.read(f"array{n}", "f", len(shapes[n // 3])) for n in range(3 * len(shapes))]
        epoch, history = archive.scalar("epoch"), archive.read("history", "f", 2)
    if (
        epoch < 1
        or history.shape != (epoch, 2)
        or any(array.shape != tuple(shapes[n // 3]) for n, array in enumerate(arrays))
    ):
        raise OfframpError(f"--resume {path}: expected a file that --checkpoint wrote")
    return Snapshot(epoch, arrays, history)
