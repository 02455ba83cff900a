# SPDX-License-Identifier: Apache-2.0
"""``offramp job export``: a job with its plan for Slurm or Kubernetes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from offramp_base import Field
from offramp_base.arguments import word
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.job.job import Where, forced, plan_lines, plan_of
from offramp_cli.result import OUTPUT, write_file


def _formats() -> dict[str, str]:
    from offramp.job.export import JOB_FORMATS

    return {name: (JOB_FORMATS.get(name).__doc__ or "").split("\n")[0].rstrip(".") for name in JOB_FORMATS.names()}


@dataclass(frozen=True)
class JobExportSettings(Where):
    """A job, its cluster, and the format in which it is written."""

    format: Annotated[str, Field("Format to write", choices=_formats, position=True)]
    job: Annotated[Path, Field("A job file, YAML or TOML", position=True)]
    by: Annotated[str | None, Field("Use this offload, whatever the plan says: gloo, allreduce, hermod, …")] = None
    image: Annotated[str, Field("Kubernetes: image with Offramp and the job's program", parse=word)] = "offramp:latest"
    claim: Annotated[str | None, Field("Kubernetes: volume claim for checkpoints and results", parse=word)] = None
    to: Annotated[Path, Field("Folder in which the job will write logs and reports")] = Path("job-out")
    out: Annotated[
        Path | None, Field("Write this file", group=OUTPUT, written=True, shown_default="standard output")
    ] = None


@command(JobExportSettings, example="job export slurm job.yaml --on cluster.yaml --out job.sbatch")
def export(settings: JobExportSettings) -> None:
    """Write a job with its plan as a script for sbatch, a PyTorchJob or a JobSet."""
    from offramp.job import JobSettings
    from offramp.job.engine import BatchSubmission
    from offramp.job.export import JOB_FORMATS, JobExport
    from offramp.job.kind import PlacedJob, kind_of
    from offramp_base.settings import expect_choice

    job, cluster = JobSettings.read(settings.job), settings.cluster()
    kind = kind_of(job)
    if settings.by is not None:
        expect_choice("by", settings.by, list(kind.ways))
    plan = plan_of(show.console(), job, cluster, measure=False)
    if settings.by is not None:
        plan = forced(plan, settings.by)
    way = str(plan.taken.way)
    submission = BatchSubmission(settings.job, settings.place, way, plan_lines(plan), settings.to)
    given = JobExport(kind, PlacedJob.on(job, cluster), submission, settings.image, settings.claim)
    text = JOB_FORMATS.get(settings.format)(given)
    if settings.out is None:
        typer.echo(text, nl=False)
    else:
        write_file("out", settings.out, text)
