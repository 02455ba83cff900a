# SPDX-License-Identifier: Apache-2.0
"""Public logs of GPU clusters as jobs: Microsoft's Philly, SenseTime's Helios, Alibaba's PAI (2020) and openb (2023).

A log says when a job came, how many GPUs it had and for how long, but not what it sent. Its time counts as
computation; each job gets one of :data:`PROFILES` by the seed.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from offramp_base.documents import parse_json, read_text
from offramp_base.errors import OfframpError
from offramp_sim.cluster.job import MOST_JOBS, ClusterJob

_MOST_BYTES: Final = 4 << 30
_MOST_SECONDS: Final = 1e12


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


def read_log(path: str | Path, seed: int = 0, most: int | None = None) -> list[ClusterJob]:
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
        jobs = sorted(_parse(read_text(Path(path), _MOST_BYTES)), key=lambda job: job.arrival_s)[: most or MOST_JOBS]
    except OfframpError as error:
        raise OfframpError(f"{path}: {error}") from None
    if not jobs:
        raise OfframpError(f"{path}: no job that had GPUs and ended")
    draws = np.random.default_rng(seed).integers(0, len(PROFILES), len(jobs)).tolist()
    zero = jobs[0].arrival_s
    return [
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


def is_log(text: str) -> bool:
    """Whether the beginning of a text is that of a log."""
    start = text.lstrip()[:4096]
    return start.startswith("[") or "," in start.partition("\n")[0]


def _parse(text: str) -> Iterator[LoggedJob]:
    if text.lstrip().startswith("["):
        return _philly(text)
    first = text.partition("\n")[0]
    names = [name.strip() for name in first.split(",")]
    if {"gpu_num", "submit_time", "duration"} <= set(names):
        return _rows(text, None, _helios)
    if {"num_gpu", "creation_time", "deletion_time"} <= set(names):
        return _rows(text, None, _openb)
    if len(names) == len(_PAI_TASKS):
        return _rows(text, _PAI_TASKS, _pai)
    raise OfframpError("expected a log of Philly (JSON), Helios, PAI or openb (CSV)")


def _rows(text: str, names: tuple[str, ...] | None, job_of: Any) -> Iterator[LoggedJob]:
    reader = csv.DictReader(io.StringIO(text), fieldnames=names)
    for row in _readable(reader):
        try:
            job = job_of(row)
        except (ValueError, TypeError, KeyError) as error:
            raise OfframpError(f"line {reader.line_num}: {error}") from None
        if job is not None and job.gpus > 0 and job.seconds > 0 and _sound(job):
            yield job


def _readable(reader: csv.DictReader[str]) -> Iterator[dict[str, str]]:
    try:
        yield from reader
    except csv.Error as error:
        raise OfframpError(f"line {reader.line_num}: {error}") from None


def _sound(job: LoggedJob) -> bool:
    """Whether both times are numbers that a calendar can hold."""
    return abs(job.arrival_s) <= _MOST_SECONDS and job.seconds <= _MOST_SECONDS


def _helios(row: Mapping[str, str]) -> LoggedJob:
    return LoggedJob(row["job_id"], _time(row["submit_time"]), int(row["gpu_num"]), float(row["duration"]))


def _openb(row: Mapping[str, str]) -> LoggedJob | None:
    if not row["deletion_time"] or not row["scheduled_time"]:
        return None
    begun = float(row["scheduled_time"])
    return LoggedJob(row["name"], float(row["creation_time"]), int(row["num_gpu"]), float(row["deletion_time"]) - begun)


def _pai(row: Mapping[str, str]) -> LoggedJob | None:
    if row["status"] != "Terminated" or not row["plan_gpu"] or not row["start_time"] or not row["end_time"]:
        return None
    gpus = -(-round(float(row["plan_gpu"]) * float(row["inst_num"])) // 100)  # hundredths of a GPU for each instance
    return LoggedJob(
        row["job_name"][:40], float(row["start_time"]), gpus, float(row["end_time"]) - float(row["start_time"])
    )


def _philly(text: str) -> Iterator[LoggedJob]:
    rows = parse_json(text)
    for i, row in enumerate(rows):
        try:
            attempts = [each for each in row["attempts"] if each.get("start_time") and each.get("end_time")]
            gpus = max((sum(len(host["gpus"]) for host in each["detail"]) for each in attempts), default=0)
            seconds = sum(_time(each["end_time"]) - _time(each["start_time"]) for each in attempts)
            if gpus and seconds > 0:
                job = LoggedJob(str(row["jobid"]), _time(row["submitted_time"]), gpus, seconds)
                if _sound(job):
                    yield job
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise OfframpError(f"job {i}: {type(error).__name__} {error}") from None


def _time(text: str) -> float:
    """Seconds of ``2017-10-07 01:05:03``, also with an offset, or a number."""
    try:
        return float(text)
    except ValueError:
        when = datetime.fromisoformat(text.replace(" PDT", "-07:00").replace(" PST", "-08:00"))
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
