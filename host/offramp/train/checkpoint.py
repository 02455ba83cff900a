# SPDX-License-Identifier: Apache-2.0
"""A run's weights and the optimiser's state, to resume from (g3.md section 5.4: equal on every worker).

They are in one ``.npz`` file, which rank 0 writes, or in a folder that a URL names, where each rank writes its part.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import torch

from offramp.train.locations import CheckpointLocation, is_url
from offramp_base.archive import open_archive
from offramp_base.documents import parse_json
from offramp_base.ending.files import written
from offramp_base.errors import OfframpError
from offramp_base.settings.error import SettingsError
from offramp_base.wire.objects import sendable

if TYPE_CHECKING:
    from offramp.graph.data import Graph
    from offramp.train.settings import TrainSettings
    from offramp.workers.group import Group


_MOMENTS: Final = ("exp_avg", "exp_avg_sq")
_LATEST: Final = "latest"
"""File that names the folder of the last complete checkpoint."""

_FOLDER: Final = re.compile(r"epoch-\d{1,9}-[0-9a-f]{16}")
_MOST_EPOCHS: Final = 1 << 24


Arrays = Mapping[str, npt.NDArray[Any]]
"""Arrays by name."""


@sendable
@dataclass(frozen=True)
class RankArrays:
    """State of one rank beyond what all have alike: names, and an array for each."""

    names: list[str]
    arrays: list[npt.NDArray[Any]]

    @classmethod
    def of(cls, arrays: Arrays) -> RankArrays:
        """Copies of these arrays."""
        return cls(list(arrays), [array.copy() for array in arrays.values()])

    def as_dict(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays by name."""
        return dict(zip(self.names, self.arrays, strict=True))


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
    for rank, own in enumerate(snapshot.own):
        arrays |= {_own(rank, name): array for name, array in own.as_dict().items()}
    try:
        with written(path) as file:
            np.savez(file, facts=np.array(json.dumps(known)), epoch=snapshot.epoch, history=snapshot.history, **arrays)  # type: ignore[arg-type]
    except OSError as error:
        raise SettingsError("checkpoint", f"cannot be written: {error.strerror}", path) from None


def keep(
    where: str,
    snapshot: TrainingSnapshot,
    known: Mapping[str, Any],
    model: torch.nn.Module,
    group: Group,
    own: Arrays | None = None,
) -> None:
    """Write a checkpoint to a file or a URL; every rank calls it.

    A URL's folder has one folder for each checkpoint and the file ``latest``, which names it once it is complete. The
    ones before are then removed.

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
    from offramp.train.distributed_checkpoint import save_tensors

    location = CheckpointLocation.of("checkpoint", where)
    folder = f"epoch-{snapshot.epoch}-{secrets.token_hex(8)}"
    if group.rank == 0:
        location.make(folder)
    folder = group.introduce(folder.encode())[0].decode()
    mine = {_own(group.rank, name): torch.from_numpy(array.copy()) for name, array in (own or {}).items()}
    save_tensors(folder, location, _tensors(snapshot, known, model), group, mine)
    if group.rank == 0:
        location.write(_LATEST, folder.encode())
        for other in location.folders():
            if other != folder and _FOLDER.fullmatch(other):
                location.remove(other)


def _own(rank: int, name: str) -> str:
    """Name of an array that one rank has."""
    return f"rank{rank}.{name}"


def _names(model: torch.nn.Module) -> list[str]:
    """Names of a snapshot's arrays, as ``torch.distributed.checkpoint`` calls tensors of a nested dictionary."""
    kinds = ("model", *(f"optimizer.{moment}" for moment in _MOMENTS))
    return [f"{kind}.{name}" for name, _ in model.named_parameters() for kind in kinds]


def _tensors(snapshot: TrainingSnapshot, known: Mapping[str, Any], model: torch.nn.Module) -> dict[str, torch.Tensor]:
    arrays = {name: torch.as_tensor(array) for name, array in zip(_names(model), snapshot.arrays, strict=True)}
    text = torch.frombuffer(bytearray(json.dumps(known).encode()), dtype=torch.uint8)
    history = torch.from_numpy(snapshot.history)
    return {**arrays, "epoch": torch.tensor(snapshot.epoch), "history": history, "facts": text}


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
    if not is_url(where):
        return load(Path(where), known, [parameter.shape for parameter in model.parameters()], own)
    from offramp.train.distributed_checkpoint import StoredTensors

    location = CheckpointLocation.of("resume", where)
    stored = StoredTensors(_latest(location), location)
    _expect_same(bytes(stored.read("facts", torch.uint8).tolist()).decode("utf-8", "replace"), known, where)
    epoch = int(stored.read("epoch", torch.int64, ()))
    if not 1 <= epoch <= _MOST_EPOCHS:
        raise _foreign(where, f": epoch {epoch}")
    shapes = [parameter.shape for parameter in model.parameters() for _ in range(1 + len(_MOMENTS))]
    dtype = getattr(torch, known["dtype"])
    arrays = [stored.read(name, dtype, shape).numpy() for name, shape in zip(_names(model), shapes, strict=True)]
    history = stored.read("history", torch.float64, (epoch, 2)).numpy()

    def of_rank(rank: int, name: str, like: npt.NDArray[Any]) -> npt.NDArray[Any]:
        values: npt.NDArray[Any] = stored.read(_own(rank, name), torch.from_numpy(like).dtype, like.shape).numpy()
        return values

    return TrainingSnapshot(epoch, arrays, history, _each_rank(own, of_rank))


def _each_rank(
    own: Sequence[Arrays], read: Callable[[int, str, npt.NDArray[Any]], npt.NDArray[Any]]
) -> list[RankArrays]:
    return [
        RankArrays(list(arrays), [read(rank, name, like) for name, like in arrays.items()])
        for rank, arrays in enumerate(own)
    ]


def _latest(location: CheckpointLocation) -> str:
    folder = location.read(_LATEST, most=80).decode("ascii", "replace")
    if not _FOLDER.fullmatch(folder):
        raise _foreign(location.url, f": {_LATEST} names {folder[:40]!r}")
    return folder


def completed_epochs(where: str) -> int:
    """Epochs of the checkpoint in a file or at a URL; 0 where there is none that can be read."""
    try:
        if is_url(where):
            return int(_latest(CheckpointLocation.of("checkpoint", where)).split("-")[1])
        with open_archive(Path(where)) as archive:
            return archive.scalar("epoch")
    except OfframpError:
        return 0


def forget(where: str) -> None:
    """Remove the checkpoint in a file or at a URL, if there is one."""
    if is_url(where):
        location = CheckpointLocation.of("checkpoint", where)
        for name in location.folders():
            if name == _LATEST or _FOLDER.fullmatch(name):
                location.remove(name)
    else:
        Path(where).unlink(missing_ok=True)


def _foreign(where: str | Path, how: str = "") -> SettingsError:
    return SettingsError("resume", "expected a file that {checkpoint} wrote" + how, where)


def _expect_same(text: str, known: Mapping[str, Any], where: str | Path) -> None:
    """Refuse a checkpoint of another run, whose facts are ``text``."""
    try:
        of = parse_json(text)
        differing = next((name for name in known if of[name] != known[name]), None)
    except (OfframpError, KeyError, TypeError):
        raise _foreign(where) from None
    if differing is not None:
        other = str(of[differing]).splitlines() or [""]
        raise SettingsError("resume", f"its {differing} is {other[0]:.80}, this run's is {known[differing]}", where)


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
    with open_archive(path) as archive:

        def exactly(field: str, kind: str, shape: tuple[int, ...]) -> npt.NDArray[Any]:
            actual, dtype = archive.header(field)
            if actual != shape or dtype != np.dtype(kind):
                raise _foreign(path, f": {field} is {dtype} of shape {actual}, not {kind} of shape {shape}")
            return archive.values(field)

        _expect_same(str(archive.read("facts", "U", 0)), known, path)
        arrays = [exactly(f"array{n}", known["dtype"], tuple(shapes[n // 3])) for n in range(3 * len(shapes))]
        epoch = archive.scalar("epoch")
        if epoch < 1:
            raise _foreign(path, f": epoch {epoch}")
        history = exactly("history", "float64", (epoch, 2))
        ranks = _each_rank(own, lambda rank, name, like: exactly(_own(rank, name), str(like.dtype), like.shape))
    return TrainingSnapshot(epoch, arrays, history, ranks)
