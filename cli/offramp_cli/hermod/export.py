# SPDX-License-Identifier: Apache-2.0
"""``offramp hermod export``: a job's DAG as Chakra execution traces."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from offramp_base import Field
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.hermod.plan import JOB
from offramp_cli.result import OUTPUT


@dataclass(frozen=True)
class ExportSettings:
    """A job, and how its DAG is written."""

    job: Annotated[str, Field(JOB, position=True)]
    out: Annotated[Path, Field("Folder for trace.RANK.et, one per worker", group=OUTPUT, filled=True)]
    iterations: Annotated[int, Field("Number of iterations to write", least=1)] = 1
    text: Annotated[bool, Field("JSON in place of protobuf")] = False
    seed: Annotated[int, Field("Random seed", least=0)] = 0


@command(ExportSettings, example="hermod export mixtral-8x22b --out traces")
def export(settings: ExportSettings) -> None:
    """Write a job's computation and coflows as MLCommons Chakra traces, for other simulators."""
    from offramp.hermod import load_job
    from offramp.hermod.build import job_dag
    from offramp.hermod.chakra import export_dag

    console = show.console()
    with console.status("the job's DAG"):
        dag = job_dag(load_job(settings.job), settings.iterations, tensor_parallel=True, seed=settings.seed)
        paths = export_dag(dag, settings.out, "json" if settings.text else "et")
    console.print(f"{len(dag.tasks)} tasks in {len(paths)} traces: {paths[0]} to {paths[-1]}")
