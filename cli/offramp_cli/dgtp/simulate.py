# SPDX-License-Identifier: Apache-2.0
"""``offramp simulate dgtp``: where the tasks of a GNN training job go, and what online scheduling makes of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from offramp_base.errors import OfframpError
from offramp_base.settings.field import Field
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import OUTPUT, Plotted
from offramp_cli.stages import stages

if TYPE_CHECKING:
    from rich.console import Console

    from offramp.dgtp.exploration import Exploration
    from offramp.dgtp.problem import IntArray, Problem
    from offramp.dgtp.search import Found, Search
    from offramp.dgtp.setup_file import Setup


_OTHERS: Final = ("fifo", "mrtf", "omcoflow")
_ITERATIONS: Final = 100
_FLOWS: Final = 1_000_000
_FLOW_S: Final = 10e-9
"""About what one flow under way costs a policy other than online execution at each event, for three placements."""
_COMPARED_S: Final = 30.0


def _policies() -> list[str]:
    from offramp_sim.dgtp.policies import POLICIES

    return [*POLICIES, "all"]


@dataclass(frozen=True)
class PlacementSettings:
    """What is placed, how it is searched for, and what it is compared with."""

    setup: Annotated[str, Field("A YAML file of machines and a job, or a setup of the paper; list", position=True)]
    processes: Annotated[int | None, Field("Processes that search; all cores by default", least=1, group="Search")] = (
        None
    )
    dask: Annotated[str | None, Field("Address of a Dask scheduler that searches instead")] = None
    iterations: Annotated[
        int | None,
        Field(
            "Iterations of the comparison, on volumes kept from the search; 100, or fewer for large jobs",
            least=1,
            group="Comparison",
        ),
    ] = None
    policy: Annotated[
        tuple[str, ...],
        Field(
            "Policies of the flows; repeat",
            choices=_policies,
            shown_default="oes, fifo, mrtf, omcoflow; oes for very large jobs",
        ),
    ] = ()


@dataclass(frozen=True)
class Outputs(Plotted):
    """What a search writes."""

    plot: Annotated[
        Path | None,
        Field("Write tasks and flows over time to this .png", group=OUTPUT, written=True, aliases=("gantt",)),
    ] = None
    export: Annotated[Path | None, Field("Write the plan for torchrun and Slurm into this folder", filled=True)] = None


@command(
    PlacementSettings,
    "offramp.dgtp.search:Search",
    "offramp.dgtp.exploration:Exploration",
    Outputs,
    example="simulate dgtp testbed-1 --search paper --steps 100 --json -",
)
def dgtp(settings: PlacementSettings, how: Search, walk: Exploration, outputs: Outputs) -> None:
    """Place the tasks of a training job on machines, and compare online scheduling of its flows with other policies."""
    from offramp.dgtp.search import search
    from offramp_sim.dgtp.native.machine import FastCluster
    from offramp_sim.dgtp.policies import POLICIES
    from offramp_sim.dgtp.setups import NAMES

    if settings.setup == "list":
        for name in NAMES:
            typer.echo(name)
        return
    console = show.console()
    made = _load(settings.setup, how.seed)
    how = replace(how, how=walk)
    compared = _compared(made.problem, settings)
    if "all" in compared.policies:
        compared = replace(compared, policies=tuple(POLICIES))
    with stages(console) as stage:
        stage("searching")
        found = search(made.problem, FastCluster, how, processes=settings.processes, dask=settings.dask)
        stage("simulating")
        numbers = _judge(made, found, how, compared)
        better = _better(made, numbers, how)
        if better is not None:
            found = replace(found, machine=better)
            numbers = _judge(made, found, how, compared)
    _show(console, made, found, numbers)
    _write(made, found, numbers, how.seed, outputs)


def _load(setup: str, seed: int) -> Setup:
    from offramp.dgtp.setup_file import read_setup
    from offramp_sim.dgtp.setups import make_setup

    if setup.endswith((".yaml", ".yml")):
        return read_setup(Path(setup))
    return make_setup(setup, seed)


@dataclass(frozen=True)
class _Compared:
    """What placements are compared by.

    Attributes:
        left_out: policies that are compared by default and would take too long here.
    """

    iterations: int
    policies: tuple[str, ...]
    left_out: tuple[str, ...] = ()


def _compared(problem: Problem, settings: PlacementSettings) -> _Compared:
    """As the settings say; by default what takes about half a minute, which must not depend on the machine."""
    edges = max(1, len(problem.graph.edges))
    iterations = settings.iterations or max(3, min(_ITERATIONS, _FLOWS // edges))
    if settings.policy:
        return _Compared(iterations, tuple(dict.fromkeys(settings.policy)))
    if len(_OTHERS) * iterations * edges**2 * _FLOW_S <= _COMPARED_S:
        return _Compared(iterations, ("oes", *_OTHERS))
    return _Compared(iterations, ("oes",), _OTHERS)


def _judge(setup: Setup, found: Found, how: Search, compared: _Compared) -> dict[str, Any]:
    """The placement's times, bounds and those of the baselines, on volumes that the search has not seen."""
    from offramp.dgtp.bounds import bounds
    from offramp.dgtp.draws import draw
    from offramp.dgtp.relaxation import placements_lower
    from offramp_base.progress import counted
    from offramp_sim.dgtp.native.machine import FastCluster

    problem, iterations = setup.problem, compared.iterations
    held_out = draw(problem.graph, iterations, how.seed + 1_000_003)
    judge = FastCluster(problem, held_out)
    placements: dict[str, IntArray] = {"ours": found.machine, **_baselines(setup, how.seed)}
    seconds: dict[str, dict[str, float]] = {name: {} for name in placements}
    for name, p in counted("simulating", [(name, p) for name in placements for p in compared.policies]):
        seconds[name][p] = judge.makespan(placements[name], p)
    known = bounds(problem, found.machine, held_out, judge.critical_path)
    reached = judge.makespan(found.machine)
    if not reached:
        raise OfframpError(f"{setup.name}: the job takes no time: expected a task or a transfer that takes some")
    return {
        "setup": setup.name,
        "search": {
            "method": how.method,
            "seed": how.seed,
            "iterations": found.iterations,
            "makespan_s": found.makespan,
            "walks_s": [walk.makespan for walk in found.walks],
            "simulated": sum(walk.simulated for walk in found.walks),
        },
        "iterations": iterations,
        "makespan_s": reached,
        "estimate_s": reached / iterations * setup.iterations,
        "training_iterations": setup.iterations,
        "bounds": {
            "competitive_ratio": known.ratio,
            "lower_s": known.lower,
            "critical_path_s": known.upper,
            "at_most_times_optimum": reached / known.lower if known.lower else 1.0,
            "any_placement_lower_s": placements_lower(problem, held_out),
        },
        "seconds": seconds,
        "not_compared": list(compared.left_out),
        "placement": [int(m) for m in found.machine],
    }


def _better(setup: Setup, numbers: dict[str, Any], how: Search) -> IntArray | None:
    """A baseline that is ahead on the volumes that the search has not seen; the paper's search has what it finds."""
    if how.method != "portfolio":
        return None
    reached = {name: seconds.get("oes", min(seconds.values())) for name, seconds in numbers["seconds"].items()}
    best = min(reached, key=lambda name: reached[name])
    return None if reached[best] >= reached["ours"] else _baselines(setup, how.seed)[best]


def _baselines(setup: Setup, seed: int) -> dict[str, IntArray]:
    from offramp.dgtp.colocation import max_colocated
    from offramp.dgtp.packing import initial_feasible

    made = {"first feasible": initial_feasible(setup.problem, seed)}
    kinds = {task.kind for task in setup.problem.graph.tasks}
    if {"sampler", "worker"} <= kinds:
        made["colocated (DistDGL)"] = max_colocated(setup.problem, seed)
    return made


def _show(console: Console, setup: Setup, found: Found, numbers: dict[str, Any]) -> None:
    from offramp.report.units import number
    from offramp_cli.dgtp.tables import machines_table, policies_table

    console.print(machines_table(setup.problem, found.machine))
    console.print()
    console.print(policies_table(numbers))
    known = numbers["bounds"]
    console.print(
        f"\nOnline execution takes {numbers['makespan_s']:.4g} s for {numbers['iterations']} iterations, about "
        f"{numbers['estimate_s']:.4g} s for all {number(numbers['training_iterations'])}."
    )
    console.print(
        f"Bounds of this placement: at most {known['competitive_ratio']} times the optimal schedule by its degrees "
        f"(theorem 1), at most {known['at_most_times_optimum']:.3f} times by the lower bound of "
        f"{known['lower_s']:.4g} s; never beyond its critical path of {known['critical_path_s']:.4g} s (theorem 3). "
        f"No placement of this job ends before {known['any_placement_lower_s']:.4g} s."
    )
    if numbers["not_compared"]:
        left = ", ".join(numbers["not_compared"])
        console.print(f"Not compared, because this job is large: {left}. --policy NAME compares one all the same.")


def _write(setup: Setup, found: Found, numbers: dict[str, Any], seed: int, outputs: Outputs) -> None:
    if outputs.plot is not None:
        from offramp.dgtp.draws import draw
        from offramp_sim.dgtp.gantt import draw_gantt
        from offramp_sim.dgtp.native.machine import FastCluster

        shown = draw(setup.problem.graph, min(numbers["iterations"], 3), seed + 1_000_003)
        times = FastCluster(setup.problem, shown).times(found.machine)
        draw_gantt(setup.problem, found.machine, times, f"{setup.name}: first iterations", outputs.plot)
    if outputs.export is not None:
        from offramp.dgtp.launch import export
        from offramp.dgtp.plan import make_plan

        kept = {name: numbers[name] for name in ("setup", "search", "bounds", "makespan_s", "iterations", "estimate_s")}
        export(make_plan(setup.problem, found.machine, kept), outputs.export)
    outputs.write("offramp.simulate.dgtp/1", numbers)
