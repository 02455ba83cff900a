# SPDX-License-Identifier: Apache-2.0
"""Arrays of a run by name, in one ``.npz`` file or, each rank its part, in a folder that a URL names.

A URL's folder has one folder for each checkpoint and the file ``latest``, which names it once it is complete.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import torch

from offramp.train.locations import CheckpointLocation, is_url
from offramp_base.archive import Arrays, open_archive
from offramp_base.documents import parse_json
from offramp_base.ending.files import written
from offramp_base.errors import OfframpError
from offramp_base.settings.error import SettingsError
from offramp_base.wire.objects import sendable

if TYPE_CHECKING:
    from offramp.workers.group import Group

_LATEST: Final = "latest"
"""File that names the folder of the last complete checkpoint."""

_FOLDER: Final = re.compile(r"epoch-\d{1,9}-[0-9a-f]{16}")
_MOST_EPOCHS: Final = 1 << 24

ArrayForm = tuple[str, tuple[int, ...]]
"""Type and shape of an array."""


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


@dataclass(frozen=True)
class StoredState:
    """Arrays of a run after some epochs.

    Attributes:
        epoch: the last completed epoch.
        history: ``(epoch, width)`` numbers of each epoch: loss and seconds, in some runs scores as well.
        arrays: what all ranks have alike.
        own: what one rank has besides, by names that no other rank uses.
    """

    epoch: int
    history: npt.NDArray[np.float64]
    arrays: Arrays
    own: Arrays = field(default_factory=dict)


def form_of(array: npt.NDArray[Any]) -> ArrayForm:
    """Type and shape of an array."""
    return str(array.dtype), array.shape


def write_state(path: Path, state: StoredState, known: Mapping[str, Any], field: str = "checkpoint") -> None:
    """Write a file atomically: if the run is killed or the machine fails, the previous one remains.

    Raises:
        OfframpError: the file cannot be written.
    """
    arrays: dict[str, Any] = {**state.arrays, **state.own}
    try:
        with written(path) as file:
            np.savez(file, facts=np.array(json.dumps(known)), epoch=state.epoch, history=state.history, **arrays)
    except OSError as error:
        raise SettingsError(field, f"cannot be written: {error.strerror}", path) from None


def keep_state(
    where: str, state: StoredState, known: Mapping[str, Any], group: Group, field: str = "checkpoint"
) -> None:
    """Write a checkpoint to a file or a URL; every rank calls it. Checkpoints before it at the URL are removed.

    Args:
        where: the file or URL.
        state: state of this rank.
        known: facts that must be equal for a run to resume from it.
        group: the ranks.
        field: the setting that names the place.

    Raises:
        OfframpError: it cannot be written.
    """
    if not is_url(where):
        ranks = group.gather(RankArrays.of(state.own), RankArrays)
        if ranks is not None:
            own = {name: array for each in ranks for name, array in each.as_dict().items()}
            write_state(Path(where), StoredState(state.epoch, state.history, state.arrays, own), known, field)
        return
    from offramp.train.distributed_checkpoint import save_tensors

    location = CheckpointLocation.of(field, where)
    folder = f"epoch-{state.epoch}-{secrets.token_hex(8)}"
    if group.rank == 0:
        location.make(folder)
    folder = group.introduce(folder.encode())[0].decode()
    own_tensors = {name: torch.from_numpy(array.copy()) for name, array in state.own.items()}
    save_tensors(folder, location, _tensors(state, known), group, own_tensors)
    if group.rank == 0:
        location.write(_LATEST, folder.encode())
        for other in location.folders():
            if other != folder and _FOLDER.fullmatch(other):
                location.remove(other)


def _tensors(state: StoredState, known: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    text = torch.frombuffer(bytearray(json.dumps(known).encode()), dtype=torch.uint8)
    arrays = {name: torch.as_tensor(array) for name, array in state.arrays.items()}
    return {**arrays, "epoch": torch.tensor(state.epoch), "history": torch.from_numpy(state.history), "facts": text}


def read_state(
    where: str | Path, known: Mapping[str, Any], forms: Mapping[str, ArrayForm], width: int = 2
) -> StoredState:
    """Read the checkpoint in a file or at a URL.

    Args:
        where: the file or URL.
        known: facts of the run that resumes.
        forms: the arrays to read.
        width: numbers that the history has of each epoch.

    Raises:
        OfframpError: this is not a checkpoint, or one of another run; the message names what differs.
    """
    return _from_url(str(where), known, forms, width) if is_url(where) else _from_file(Path(where), known, forms, width)


def _from_file(path: Path, known: Mapping[str, Any], forms: Mapping[str, ArrayForm], width: int) -> StoredState:
    with open_archive(path) as archive:

        def exactly(name: str, kind: str, shape: tuple[int, ...]) -> npt.NDArray[Any]:
            actual, dtype = archive.header(name)
            if actual != shape or dtype != np.dtype(kind):
                raise foreign(path, f": {name} is {dtype} of shape {actual}, not {kind} of shape {shape}")
            return archive.values(name)

        _expect_same(str(archive.read("facts", "U", 0)), known, path)
        arrays = {name: exactly(name, *form) for name, form in forms.items()}
        epoch = archive.scalar("epoch")
        if epoch < 1:
            raise foreign(path, f": epoch {epoch}")
        return StoredState(epoch, exactly("history", "float64", (epoch, width)), arrays)


def _from_url(where: str, known: Mapping[str, Any], forms: Mapping[str, ArrayForm], width: int) -> StoredState:
    from offramp.train.distributed_checkpoint import StoredTensors

    location = CheckpointLocation.of("resume", where)
    stored = StoredTensors(_latest(location), location)
    _expect_same(bytes(stored.read("facts", torch.uint8).tolist()).decode("utf-8", "replace"), known, where)
    epoch = int(stored.read("epoch", torch.int64, ()))
    if not 1 <= epoch <= _MOST_EPOCHS:
        raise foreign(where, f": epoch {epoch}")
    arrays = {name: stored.read(name, _torch(kind), shape).numpy() for name, (kind, shape) in forms.items()}
    return StoredState(epoch, stored.read("history", torch.float64, (epoch, width)).numpy(), arrays)


def _torch(kind: str) -> torch.dtype:
    return torch.from_numpy(np.zeros(0, kind)).dtype


def _latest(location: CheckpointLocation) -> str:
    folder = location.read(_LATEST, most=80).decode("ascii", "replace")
    if not _FOLDER.fullmatch(folder):
        raise foreign(location.url, f": {_LATEST} names {folder[:40]!r}")
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


def foreign(where: str | Path, how: str = "") -> SettingsError:
    """The error of something that no run wrote as its checkpoint."""
    return SettingsError("resume", "expected a checkpoint" + how, where)


def _expect_same(text: str, known: Mapping[str, Any], where: str | Path) -> None:
    """Refuse a checkpoint of another run, whose facts are ``text``."""
    try:
        of = parse_json(text)
        differing = next((name for name in known if of[name] != known[name]), None)
    except (OfframpError, KeyError, TypeError):
        raise foreign(where) from None
    if differing is not None:
        other = str(of[differing]).splitlines() or [""]
        raise SettingsError("resume", f"its {differing} is {other[0]:.80}, this run's is {known[differing]}", where)
