# SPDX-License-Identifier: Apache-2.0
"""Public logs of GPU clusters as jobs: Microsoft's Philly, SenseTime's Helios, Alibaba's PAI (2020) and openb (2023).

A log says when a job came, how many GPUs it had and for how long, but not what it sent. Its time counts as
computation; each job gets one of :data:`PROFILES` by the seed.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import numpy as np

from offramp_base.documents import parse_json, read_text
from offramp_base.errors import OfframpError
from offramp_sim.cluster.job import MOST_JOBS, ClusterJob

_MOST_BYTES: Final = 4 << 30
_MOST_SECONDS: Final = 1e12
_UNKNOWN: Final = frozenset({"", "-", "na", "n/a", "nan", "nat", "none", "null", "unknown"})
"""What logs have, in any case of letters, in place of a time or number that nobody knows."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What a job of a log does in an iteration: seconds of computation, bytes of gradients."""

    name: str
    compute_s: float
    all_reduce: int


PROFILES: Final = (
    Profile("ResNet-50", 0.12, 102_000_000),
    Profile("VGG-16", 0.20, 553_000_000),
    Profile("BERT-large", 0.35, 1_340_000_000),
    Profile("GPT-2", 0.90, 3_100_000_000),
)
"""Models whose gradients are as large as their parameters in 4 bytes (GPT-2 of 1.5 billion in 2); the seconds are
assumptions, of the order of a batch on one recent GPU."""
_PAI_TASKS: Final = (
    "job_name",
    "task_name",
    "inst_num",
    "status",
    "start_time",
    "end_time",
    "plan_cpu",
    "plan_mem",
    "plan_gpu",
    "gpu_type",
)
"""Columns of PAI's table of tasks, which has no line with their names."""


@dataclass(frozen=True, slots=True)
class LoggedJob:
    """A job of a log: seconds since any time, GPUs, seconds that it ran."""

    name: str
    arrival_s: float
    gpus: int
    seconds: float


@dataclass(frozen=True, slots=True)
class ClusterLog:
    """Jobs of a log, and the number of rows that are none: without GPUs, or without the times of a run."""

    jobs: list[ClusterJob]
    left_out: int


def read_log(path: str | Path, seed: int = 0, most: int | None = None) -> ClusterLog:
    """Jobs of a log with at least one GPU that ran, the first at 0 s.

    Args:
        path: the JSON file of Philly, the table of jobs of Helios, that of tasks of PAI, or of pods of openb; told
            apart by their content.
        seed: which profile each job gets.
        most: only the first jobs.

    Raises:
        OfframpError: it cannot be read, or is none of these; names the file.
    """
    try:
        rows = list(_parse(read_text(Path(path), _MOST_BYTES)))
    except OfframpError as error:
        raise OfframpError(f"{path}: {error}") from None
    ran = [row for row in rows if row is not None and row.gpus > 0 and row.seconds > 0 and _sound(row)]
    jobs = sorted(ran, key=lambda job: job.arrival_s)[: most or MOST_JOBS]
    if not jobs:
        raise OfframpError(f"{path}: no job that had GPUs and ended")
    draws = np.random.default_rng(seed).integers(0, len(PROFILES), len(jobs)).tolist()
    zero = jobs[0].arrival_s
    simulated = [
        ClusterJob(
            name=f"{job.name}-{number}",
            gpus=job.gpus,
            arrival_s=job.arrival_s - zero,
            iterations=max(1, round(job.seconds / PROFILES[draw].compute_s)),
            compute_s=PROFILES[draw].compute_s,
            all_reduce=PROFILES[draw].all_reduce if job.gpus > 1 else 0,
        )
        for number, (job, draw) in enumerate(zip(jobs, draws, strict=True))
    ]
    return ClusterLog(simulated, len(rows) - len(ran))


def _parse(text: str) -> Iterator[LoggedJob | None]:
    if text.lstrip().startswith("["):
        return _philly(text)
    first = text.partition("\n")[0]
    names = [name.strip() for name in first.split(",")]
    if {"gpu_num", "submit_time", "duration"} <= set(names):
        return _rows(text, None, _helios)
    if {"num_gpu", "creation_time", "deletion_time"} <= set(names):
        return _rows(text, None, _openb)
    if names == list(_PAI_TASKS):
        return _rows(text, None, _pai)
    if len(names) == len(_PAI_TASKS):
        return _rows(text, _PAI_TASKS, _pai)
    raise OfframpError("expected a log of Philly (JSON), Helios, PAI or openb (CSV)")


def _rows(
    text: str, names: tuple[str, ...] | None, job_of: Callable[[_Row], LoggedJob | None]
) -> Iterator[LoggedJob | None]:
    reader = csv.DictReader(io.StringIO(text), fieldnames=names, skipinitialspace=True)
    for row in _readable(reader):
        try:
            yield job_of(_Row(row))
        except OfframpError as error:
            raise OfframpError(f"line {reader.line_num}: {error}") from None


class _Row:
    """Fields of a line, converted when they are asked for."""

    def __init__(self, fields: Mapping[str, str | None]) -> None:
        self._fields = {name.strip(): value for name, value in fields.items() if isinstance(name, str)}

    def knows(self, *names: str) -> bool:
        """Whether the log has values of all these fields."""
        return all((self._fields.get(name) or "").strip().lower() not in _UNKNOWN for name in names)

    def text(self, name: str) -> str:
        """A field's text."""
        value = self._fields.get(name)
        if value is None:
            raise OfframpError(f"{name} is missing")
        return value.strip()

    def number(self, name: str) -> float:
        """A field's number."""
        try:
            return float(self.text(name))
        except ValueError:
            raise OfframpError(f"{name} {self.text(name)}: expected a number") from None

    def count(self, name: str) -> int:
        """A field's whole number, which tables of floats write with a point."""
        number = self.number(name)
        if not number.is_integer():
            raise OfframpError(f"{name} {self.text(name)}: expected a whole number")
        return int(number)

    def time(self, name: str) -> float:
        """Seconds of a field's date and time."""
        return _time(name, self.text(name))


def _readable(reader: csv.DictReader[str]) -> Iterator[dict[str, str]]:
    try:
        yield from reader
    except csv.Error as error:
        raise OfframpError(f"line {reader.line_num}: {error}") from None


def _sound(job: LoggedJob) -> bool:
    """Whether both times are numbers that a calendar can hold."""
    return abs(job.arrival_s) <= _MOST_SECONDS and job.seconds <= _MOST_SECONDS


def _helios(row: _Row) -> LoggedJob | None:
    if not row.knows("submit_time", "gpu_num", "duration"):
        return None
    return LoggedJob(row.text("job_id"), row.time("submit_time"), row.count("gpu_num"), row.number("duration"))


def _openb(row: _Row) -> LoggedJob | None:
    if not row.knows("creation_time", "scheduled_time", "deletion_time"):
        return None
    seconds = row.number("deletion_time") - row.number("scheduled_time")
    return LoggedJob(row.text("name"), row.number("creation_time"), row.count("num_gpu"), seconds)


def _pai(row: _Row) -> LoggedJob | None:
    if row.text("status") != "Terminated" or not row.knows("plan_gpu", "inst_num", "start_time", "end_time"):
        return None
    gpus = -(-round(row.number("plan_gpu") * row.number("inst_num")) // 100)  # hundredths of a GPU for each instance
    begun = row.number("start_time")
    return LoggedJob(row.text("job_name")[:40], begun, gpus, row.number("end_time") - begun)


def _philly(text: str) -> Iterator[LoggedJob | None]:
    for i, row in enumerate(parse_json(text)):
        try:
            times = [
                (_time("start_time", each["start_time"]), _time("end_time", each["end_time"]), each["detail"])
                for each in row["attempts"]
                if _known(each.get("start_time")) and _known(each.get("end_time"))
            ]
            gpus = max((sum(len(host["gpus"]) for host in detail) for _, _, detail in times), default=0)
            seconds = sum(end - start for start, end, _ in times)
            known = _known(row["submitted_time"])
            job = (
                LoggedJob(str(row["jobid"]), _time("submitted_time", row["submitted_time"]), gpus, seconds)
                if known
                else None
            )
        except OfframpError as error:
            raise OfframpError(f"job {i}: {error}") from None
        except KeyError as error:
            raise OfframpError(f"job {i}: {error.args[0]} is missing") from None
        except (TypeError, AttributeError):
            raise OfframpError(f"job {i}: expected jobid, submitted_time, and attempts with times and detail") from None
        yield job


def _known(value: object) -> bool:
    return value is not None and str(value).strip().lower() not in _UNKNOWN


def _time(name: str, text: object) -> float:
    """Seconds of ``2017-10-07 01:05:03``, also with an offset, or a number."""
    try:
        return float(text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        pass
    try:
        when = datetime.fromisoformat(str(text).replace(" PDT", "-07:00").replace(" PST", "-08:00"))
    except ValueError:
        raise OfframpError(f"{name} {text}: expected a time such as 2017-10-07 01:05:03") from None
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
