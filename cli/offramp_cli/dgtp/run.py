# SPDX-License-Identifier: Apache-2.0
"""``offramp dgtp run``: a training job whose processes DGTP places and whose flows it schedules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from offramp_base import Field
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.dgtp.simulate import load_setup
from offramp_cli.result import Result
from offramp_cli.stages import stages

if TYPE_CHECKING:
    from rich.console import Console

    from offramp.dgtp.runtime.settings import PlacedTraining
    from offramp_sim.dgtp.measure import MeasuredTraining


def _networks() -> dict[str, str]:
    from offramp_sim.dgtp.laboratory import NETWORKS

    return dict(NETWORKS)


def _methods() -> dict[str, str]:
    from offramp.dgtp.search import methods

    return methods()


@dataclass(frozen=True)
class DgtpRunOptions:
    """The job, where it runs, and with what it is compared."""

    setup: Annotated[str, Field("A YAML file of machines and a job, or a setup of the paper", position=True)]
    search: Annotated[str, Field("Method that places what is not profiled", choices=_methods, group="Placement")] = (
        "portfolio"
    )
    compare: Annotated[
        bool,
        Field(
            "Do the same iterations on DistDGL's placement, with these rates of flows (auto: oes) and with FIFO queues"
        ),
    ] = False
    network: Annotated[str, Field("Network between machines", choices=_networks, group="Network")] = "auto"


@command(
    DgtpRunOptions,
    "offramp.dgtp.runtime.settings:PlacedTraining",
    Result,
    example="dgtp run testbed-products-ps --rates 0.01 --graph sbm:n=4000,k=8 --iterations 20 --profile 10 --json -",
)
def run(wanted: DgtpRunOptions, settings: PlacedTraining, outputs: Result) -> None:
    """Train GraphSAGE with stores, samplers, workers and servers as processes: profiled, then placed and scheduled."""
    from offramp.dgtp.runtime.settings import AUTO
    from offramp.workers import expect_workers
    from offramp_sim.dgtp.measure import expect_processes, measure

    problem = load_setup(wanted.setup, settings.seed).problem
    expect_workers(expect_processes(problem))
    beside = dict.fromkeys(("oes" if settings.policy == AUTO else settings.policy, "fifo"))
    others = [("colocated", policy) for policy in beside] if wanted.compare else []
    console = show.console()
    with stages(console) as stage:
        stage("graph")
        graph = settings.load()
        stage("starting")
        training = measure(problem, graph, settings, network=wanted.network, method=wanted.search, others=others)
        stage("evaluating")
        numbers = _numbers(training, settings)
        numbers["test_accuracy"] = _accuracy(training, settings, graph, len(problem.cluster))
    _show(console, training, numbers)
    outputs.write("offramp.dgtp.run/1", {"setup": wanted.setup, "settings": settings.as_dict(), **numbers})


def _accuracy(training: MeasuredTraining, settings: PlacedTraining, graph: Any, stores: int) -> float:
    from offramp.dgs.evaluator import ModelEvaluator

    return ModelEvaluator(graph, settings.sampling(stores)).accuracies(training.runs[0].run.state.parameters)[2]


def _numbers(training: MeasuredTraining, settings: PlacedTraining) -> dict[str, Any]:
    from offramp_sim.dgtp.measure import same_losses

    def row(each: Any, iterations: int) -> dict[str, Any]:
        return {
            "placement": each.placement,
            "flows": each.policy,
            "iterations": iterations,
            "planned_s": each.planned_s,
            "measured_s": each.measured_s,
            "machine": each.machine.tolist(),
        }

    more = settings.iterations - settings.profile
    profile, ours = training.profile, training.runs[0]
    tasks = training.problem.graph.tasks
    kinds = dict.fromkeys(task.kind for task in tasks)
    return {
        "network": training.network or "laboratory",
        "profile": row(profile, settings.profile)
        | {
            "seconds": {
                kind: sum(t.seconds for t in tasks if t.kind == kind) / sum(t.kind == kind for t in tasks)
                for kind in kinds
            },
            "flow_bytes": int(profile.run.times.flow_bytes.sum()),
            "structure_bytes": profile.run.structure_bytes,
        },
        "moved": training.moved,
        "runs": [row(each, more) | {"saved": 1 - ours.measured_s / each.measured_s} for each in training.runs],
        "same_losses": same_losses(training),
        "losses": training.losses,
    }


def _show(console: Console, training: MeasuredTraining, numbers: dict[str, Any]) -> None:
    from offramp.report.units import percent, si
    from offramp_cli.dgtp.tables import machines_table

    console.print(machines_table(training.problem, training.runs[0].machine))
    profile = numbers["profile"]
    seconds = ", ".join(f"{kind} {1e3 * s:.3g} ms" for kind, s in profile["seconds"].items())
    console.print(
        f"\nProfiled in {profile['iterations']} iterations, {profile['measured_s']:.4g} s: {seconds}; "
        f"{si(profile['flow_bytes'], 'B')} in flows, {si(profile['structure_bytes'], 'B')} about neighbours. "
        f"Our placement moves {numbers['moved']} tasks."
    )
    table = show.table("placement", "flows", "planned", "measured", "beside planned", "ours saves")
    for each, row in zip(training.runs, numbers["runs"], strict=True):
        times = (f"{row['planned_s']:.4g} s", f"{row['measured_s']:.4g} s")
        table.add_row(row["placement"], row["flows"], *times, percent(each.beside_planned), percent(row["saved"]))
    console.print(table)
    losses = numbers["losses"]
    same = "" if len(numbers["runs"]) == 1 else f"; the same losses on all: {'yes' if numbers['same_losses'] else 'NO'}"
    console.print(
        f"loss {losses[0]:.4g} at first, {losses[-1]:.4g} at the end, "
        f"test accuracy {percent(numbers['test_accuracy'])}{same}."
    )
    if training.network:
        console.print(f"Network: {training.network}; the scheduler alone keeps rates on loopback.")
