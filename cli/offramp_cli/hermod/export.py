# SPDX-License-Identifier: Apache-2.0
"""``offramp coflow export``: a job's DAG as Chakra execution traces."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from offramp_base.errors import OfframpError


def export(
    job: Annotated[str, typer.Argument(help="A YAML or TOML file, or a model of table 5.5.")],
    folder: Annotated[str, typer.Option("--out", help="Folder for trace.RANK.et, one a worker.")],
    iterations: Annotated[int, typer.Option(help="How many to write.")] = 1,
    as_json: Annotated[bool, typer.Option("--text", help="JSON in place of protobuf.")] = False,
    seed: Annotated[int, typer.Option(help="Moves everything random.")] = 0,
) -> None:
    """Write a job's computation and coflows as MLCommons Chakra traces, for other simulators."""
    from rich.console import Console

    from offramp.hermod.build import job_dag
    from offramp.hermod.chakra import export_dag
    from offramp.hermod.job_file import load_job

    if iterations < 1:
        raise OfframpError(f"--iterations {iterations}: expected at least 1")
    console = Console(highlight=False)
    with console.status("the job's DAG"):
        dag = job_dag(load_job(job), iterations, tensor_parallel=True, seed=seed)
        paths = export_dag(dag, Path(folder), "json" if as_json else "et")
    console.print(f"{len(dag.tasks)} tasks in {len(paths)} traces: {paths[0]} to {paths[-1]}")
