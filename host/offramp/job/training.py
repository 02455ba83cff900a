# SPDX-License-Identifier: Apache-2.0
"""The common base of kinds whose ranks are workers of an ``offramp train`` command with a file of settings."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any, ClassVar, Final

from offramp.job.kind import EpochPrediction, JobKind, JobStart, Measure, PlacedJob, Prediction
from offramp.job.settings import JobSettings
from offramp_base.documents import parse_json, read_text
from offramp_base.errors import OfframpError
from offramp_base.settings.document import read_settings
from offramp_base.settings.error import SettingsError

RESULT: Final = "train.json"
CHECKPOINT: Final = "checkpoint.npz"
_MOST_BYTES: Final = 256 << 20


class Training(JobKind):
    """A training command; a step is an epoch.

    Attributes:
        words: words of the command, behind ``offramp``.
        workers: its field for the number of ranks.
        options: fields that a way sets.
        lossy: ways that the job has to allow.
    """

    words: ClassVar[Sequence[str]]
    workers: ClassVar[str] = "workers"
    options: ClassVar[Mapping[str, Mapping[str, Any]]]
    lossy: ClassVar[frozenset[str]] = frozenset()
    settings_class: Any

    @abstractmethod
    def model_s(self, placed: PlacedJob, way: str) -> float:
        """Seconds of an epoch.

        Raises:
            OfframpError: why a way cannot be taken.
        """

    def network_options(self, placed: PlacedJob, way: str) -> dict[str, Any]:  # noqa: ARG002
        """Fields that follow from the cluster."""
        return {}

    def words_of(self, placed: PlacedJob, way: str, start: JobStart) -> list[str]:
        """Further words of the command: those of its checkpoint."""
        return self.checkpoint_words(self.settings(placed, way), start)

    @staticmethod
    def checkpoint_words(settings: Any, start: JobStart) -> list[str]:
        """Options for the checkpoint that the settings name, or for one in the job's folder, and to resume from it.

        Empty for a calibration.
        """
        if start.rounds is not None:
            return []
        from offramp.train.stored_state import completed_epochs, forget

        where = settings.checkpoint or str(start.folder.absolute() / CHECKPOINT)
        words = ["--checkpoint", where] if settings.checkpoint is None else []
        if start.attempt == 0:
            forget(where)
        else:
            last = getattr(settings, "all_epochs", settings.epochs)  # those of all rounds
            if 0 < completed_epochs(where) < last:  # one that had finished training begins again
                words += ["--resume", where]
        return words

    def rounds(self, placed: PlacedJob, rounds: int | None) -> dict[str, Any]:  # noqa: ARG002
        """Fields that make a run as short as a calibration."""
        return {} if rounds is None else {"epochs": rounds}

    def settings(self, placed: PlacedJob, way: str) -> Any:
        """The settings in the job's file, with the options of the way, for this many ranks.

        Raises:
            OfframpError: names file, line and field; or fields that do not go with the way.
        """
        path = placed.job.file
        assert path is not None
        file_settings = read_settings(path, (self.settings_class,))
        values = {name: each.value for name, each in file_settings.items()} | {self.workers: placed.ranks}
        values |= dict(self.options[way]) | self.network_options(placed, way)
        try:
            return self.settings_class(**values)
        except SettingsError as error:
            place = file_settings[error.field].place if error.field in file_settings else str(path)
            raise OfframpError(f"{place}: {error}") from None

    def predict(self, placed: PlacedJob, measure: Measure | None) -> Prediction:
        """Predict by a model of what travels, or by measured epochs."""
        self.settings(placed, self.ways[0])  # a fault in the file is the job's, not a way's
        return EpochPrediction(self.ways, lambda way: self.model_s(placed, way), placed.job.compute_s).predict(measure)

    def program(self, placed: PlacedJob, way: str, start: JobStart) -> JobSettings:
        """The command, with a result in JSON."""
        job = placed.job
        assert job.file is not None
        self.settings(placed, way)  # refuses what does not go together
        fields = {self.workers: placed.ranks, **self.options[way], **self.network_options(placed, way)}
        fields |= self.rounds(placed, start.rounds)
        words = [sys.executable, "-m", "offramp", *self.words, "--settings", str(job.file.absolute())]
        for name, value in fields.items():
            words += [f"--{name.replace('_', '-')}", str(value)]
        words += self.words_of(placed, way, start)
        return replace(job, command=(*words, "--json", str(start.folder.absolute() / RESULT)))

    def step_s(self, folder: Path) -> float | None:
        """Mean seconds of an epoch, the first one left out; None without a result."""
        rows = result_of(folder).get("per_epoch", [])
        seconds = [float(row["seconds"]) for row in rows[1:] or rows]
        return mean(seconds) if seconds else None


def result_of(folder: Path) -> dict[str, Any]:
    """The results that rank 0 wrote; empty if there are none."""
    path = folder / RESULT
    return dict(parse_json(read_text(path, _MOST_BYTES))) if path.is_file() else {}


def lossless(kind: Training, placed: PlacedJob, way: str) -> None:
    """Refuse a way that changes what is computed, unless the job allows it.

    Raises:
        OfframpError: it does not.
    """
    if way in kind.lossy and not placed.job.lossy:
        raise OfframpError("the job does not allow loss (lossy)")
