# SPDX-License-Identifier: Apache-2.0
"""``offramp simulate cluster``: many jobs on one fabric over time."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from offramp_base import Field
from offramp_base.settings import BITS_PER_SECOND, expect_choice
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import OUTPUT, Plotted, write_file

if TYPE_CHECKING:
    from offramp.fabric import Fabric
    from offramp_sim.cluster import ClusterJob


@dataclass(frozen=True)
class ClusterStudy:
    """Jobs, the fabric that they share, and how they are placed and ordered."""

    jobs: Annotated[
        Path, Field("A YAML or TOML file of jobs, or a log of Philly, Helios or Alibaba (JSON, CSV)", position=True)
    ]
    on: Annotated[
        str,
        Field(
            "A cluster file, or a shape such as leaf-spine:4x2x8: star, leaf-spine, fat-tree, rails",
            metavar="FILE|SHAPE",
            group="Fabric",
        ),
    ] = "leaf-spine:4x2x8"
    gpus: Annotated[int, Field("GPUs of each host of a shape", least=1, most=1024)] = 8
    rate: Annotated[int, Field("Rate of the hosts' links of a shape", unit=BITS_PER_SECOND, above=0)] = 400 * 10**9
    uplink: Annotated[
        int | None,
        Field("Rate of its links between switches", unit=BITS_PER_SECOND, above=0, shown_default="as the hosts'"),
    ] = None
    routing: Annotated[
        str, Field("How its switches choose among equal paths", choices=("destination", "ecmp", "spray", "adaptive"))
    ] = "ecmp"
    placement: Annotated[
        str,
        Field(
            "Which GPUs a job gets, separated by commas: dgtp, packed, quiet, rack, random, spread",
            group="Jobs",
        ),
    ] = "packed"
    order: Annotated[
        str,
        Field("Priorities in the network, separated by commas: cassini, crux, fair, fifo, hermod, sebf, sincronia"),
    ] = "fair,crux"
    backfill: Annotated[bool, Field("Let a job that fits go before those that wait for more GPUs")] = False
    sample: Annotated[
        int,
        Field("Iterations of jobs that contend which stand for the rest of them; 0: all are simulated", least=0),
    ] = 20
    checkpoint: Annotated[int, Field("Iterations between checkpoints, to which jobs cut off go back", least=1)] = 100
    restart: Annotated[float, Field("Seconds until such a job goes on", least=0)] = 60.0
    most: Annotated[int | None, Field("Only the first jobs of a log", least=1)] = None
    seed: Annotated[int, Field("Seed of profiles for logs, and of placements that draw", least=0)] = 0
    seeds: Annotated[int, Field("Placements that draw are simulated with so many seeds", least=1, group="Sweep")] = 1
    processes: Annotated[int, Field("Simulations at the same time", least=1)] = 1
    dask: Annotated[str | None, Field("Dask's address, ray://HEAD:10001, or slurm:OPTIONS, to simulate there")] = None


@dataclass(frozen=True)
class ClusterOutput(Plotted):
    """Results of the simulation."""

    timeline: Annotated[
        Path | None,
        Field("Write the jobs over time for Perfetto, of the first order", group=OUTPUT, written=True),
    ] = None


@command(
    ClusterStudy,
    ClusterOutput,
    example="simulate cluster jobs.yaml --on cluster.yaml --order fair,crux,cassini --plot links.png",
)
def cluster(study: ClusterStudy, outputs: ClusterOutput) -> None:
    """Simulate many jobs on one fabric: arrivals, placement, priorities among jobs, failed links."""
    from offramp_cli.stages import stages
    from offramp_sim.cluster import ORDERS, PLACEMENTS, ClusterOptions
    from offramp_sim.cluster.results import job_rows, summary, timeline
    from offramp_sim.cluster.simulate import CASSINI
    from offramp_sim.cluster.sweep import cluster_cases, run_cases

    orders = _names("order", study.order, [*ORDERS.names(), CASSINI])
    placements = _names("placement", study.placement, PLACEMENTS.names())
    fabric, jobs = _fabric(study), _jobs(study)
    options = ClusterOptions(
        backfill=study.backfill,
        sample=study.sample,
        checkpoint=study.checkpoint,
        restart_s=study.restart,
        seed=study.seed,
    )
    pictures = outputs.plot is not None or outputs.timeline is not None
    cases = cluster_cases(fabric, jobs, options, placements, orders, study.seeds, pictures=pictures)
    with stages(show.console(errors=True)):
        runs = run_cases(cases, processes=study.processes, dask=study.dask)
    results = {name: summary(run) for name, run in runs.items()}
    _show(study, fabric, len(jobs), results)
    if outputs.timeline is not None:
        write_file("timeline", outputs.timeline, json.dumps(timeline(runs[cases[0].name])) + "\n")
    if outputs.plot is not None:
        from offramp_sim.cluster.picture import draw

        outputs.draw(lambda path: draw(runs, path))
    settings = {"on": study.on, "placement": study.placement, "seed": study.seed, "sample": study.sample}
    rows = {name: {"summary": results[name], "jobs": job_rows(run)} for name, run in runs.items()}
    outputs.write("offramp.simulate.cluster/1", {"settings": settings, "orders": rows})


def _names(field: str, text: str, known: list[str]) -> list[str]:
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in names or [""]:
        expect_choice(field, name, sorted(known))
    return names


def _fabric(study: ClusterStudy) -> Fabric:
    from offramp.fabric import SHAPES, fabric_of, make_cluster, read_fabric

    if study.on.partition(":")[0] not in SHAPES:
        return read_fabric(study.on)
    shape = partial(make_cluster, study.on, rate_bps=study.rate, uplink_bps=study.uplink)
    return fabric_of(shape(gpus=study.gpus, routing=study.routing))


def _jobs(study: ClusterStudy) -> list[ClusterJob]:
    from offramp_sim.cluster import read_jobs
    from offramp_sim.cluster.logs import read_log

    if study.jobs.suffix in (".yaml", ".yml", ".toml"):
        return read_jobs(study.jobs)
    log = read_log(study.jobs, study.seed, study.most)
    if log.left_out:
        show.console(errors=True).print(f"{study.jobs}: {log.left_out} left out, without GPUs or the times of a run")
    return log.jobs


def _show(study: ClusterStudy, fabric: Fabric, jobs: int, results: dict[str, dict[str, Any]]) -> None:
    from offramp.report.units import duration

    headings = ("", "completion", "p95", "wait", "slowdown", "worst", "GPUs")
    title = f"{show.count(jobs, 'job')} on {fabric.ranks} GPUs of {fabric.cluster.name}: {study.placement}, means"
    table = show.table(*headings, title=title)
    for name, row in results.items():
        table.add_row(
            name,
            duration(row["mean_completion_s"]),
            duration(row["p95_completion_s"]),
            duration(row["mean_wait_s"]),
            f"{row['mean_slowdown']:.3f}",
            f"{row['most_slowdown']:.3f}",
            f"{row['gpu_share']:.0%}",
        )
    console = show.console()
    show.print_table(console, table)
    console.print("slowdown: time on its GPUs for that of the job alone on the same GPUs")
