# SPDX-License-Identifier: Apache-2.0
"""Jobs that arrive at a cluster, and files that list them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final

from offramp.cluster.names import expand
from offramp_base.errors import OfframpError
from offramp_base.settings.document import read_record
from offramp_base.settings.field import Field
from offramp_base.settings.source import SourceFile, parse_source, read_source
from offramp_base.settings.units import BYTES, nanoseconds

MOST_JOBS: Final = 1_000_000
_MOST_SECONDS: Final = 1e12


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        return nanoseconds(text) / 1e9
    if not 0 <= seconds <= _MOST_SECONDS:
        raise ValueError("expected a time such as 5us, 1ms or 2.5, in seconds")
    return seconds


@dataclass(frozen=True, kw_only=True)
class ClusterJob:
    """Training that computes and then communicates, iteration after iteration, on a number of GPUs."""

    name: Annotated[str, Field("Name of the job; train[1-4] are four")]
    gpus: Annotated[int, Field("GPUs", least=1, most=1_000_000)]
    iterations: Annotated[int, Field("Iterations", least=1, most=1_000_000_000)] = 1
    arrival_s: Annotated[float, Field("When it is submitted", key="arrival", parse=_seconds, least=0)] = 0.0
    compute_s: Annotated[float, Field("Computation of an iteration", key="compute", parse=_seconds, least=0)] = 0.0
    all_reduce: Annotated[int, Field("Bytes that all its GPUs sum in an iteration", unit=BYTES, least=0)] = 0
    all_to_all: Annotated[int, Field("Bytes that each GPU sends to the others", unit=BYTES, least=0)] = 0
    overlap: Annotated[float, Field("Share of the computation beside which it may communicate", least=0, most=1)] = 0.0
    every_s: Annotated[
        float | None, Field("Time from one to the next of several jobs of this line", key="every", parse=_seconds)
    ] = None

    @property
    def bytes(self) -> int:
        """Bytes of an iteration, of both kinds."""
        return self.all_reduce + self.all_to_all


def read_jobs(path: str | Path) -> list[ClusterJob]:
    """Jobs of a YAML or TOML file with a list ``jobs``, by arrival.

    Raises:
        OfframpError: names file, line and field.
    """
    return _jobs_of(read_source(Path(path)))


def parse_jobs(text: str, name: str = "jobs.yaml") -> list[ClusterJob]:
    """Jobs from the text of a file.

    Raises:
        OfframpError: as :func:`read_jobs`.
    """
    return _jobs_of(parse_source(text, name))


def _jobs_of(source: SourceFile) -> list[ClusterJob]:
    data = source.data
    rows = data.get("jobs") if isinstance(data, dict) else None
    if not isinstance(rows, list) or not rows:
        raise source.error((), "expected jobs: a list of name, gpus, iterations, compute, all_reduce")
    jobs: list[ClusterJob] = []
    names: set[str] = set()
    for i, row in enumerate(rows):
        place = ("jobs", i)
        first = read_record(source, place, ClusterJob, row)
        try:
            several = expand(first.name)
        except OfframpError as error:
            raise source.error((*place, "name"), str(error)) from None
        for k, name in enumerate(several):
            if name in names:
                raise source.error((*place, "name"), f"{name} is there twice")
            names.add(name)
            jobs.append(replace(first, name=name, arrival_s=first.arrival_s + k * (first.every_s or 0.0)))
        if not (first.compute_s or first.bytes):
            raise source.error(place, "expected compute, all_reduce or all_to_all")
        if len(jobs) > MOST_JOBS:
            raise source.error(place, f"more than {MOST_JOBS} jobs")
    return sorted(jobs, key=lambda job: job.arrival_s)
