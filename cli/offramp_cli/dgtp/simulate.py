# SPDX-License-Identifier: Apache-2.0
"""``offramp simulate placement``: where the tasks of a GNN training job go, and what online scheduling makes of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from offramp_base.errors import OfframpError
from offramp_cli.json_file import expect_writable, write_json
from offramp_cli.switch.stages import stages

if TYPE_CHECKING:
    from rich.console import Console

    from offramp.dgtp.problem import IntArray
    from offramp.dgtp.search import Found, Search
    from offramp.dgtp.setup_file import Setup


def placement(
    setup: Annotated[str, typer.Argument(help="A YAML file of machines and a job, or a setup of the paper; list.")],
    method: Annotated[str, typer.Option("--search", help="paper (IFS and ETP) | portfolio.")] = "portfolio",
    walks: Annotated[
        int | None, typer.Option(help="Walks of the portfolio, in parallel; 4, or 2 for large jobs.")
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Steps of a walk; 10,000 or what seconds allow.")] = None,
    reliefs: Annotated[
        int | None, typer.Option(help="Changes that annealing of the cards' load tries; what seconds allow.")
    ] = None,
    trials: Annotated[int | None, typer.Option(help="Simulations of a refinement; what seconds allow.")] = None,
    beta: Annotated[float, typer.Option(help="Greed of a walk: 1 / the relative cost that it shrugs off.")] = 20.0,
    gamma: Annotated[float, typer.Option(help="Simulate placements within this share of the best path.")] = 0.1,
    mu: Annotated[float, typer.Option(help="Capacities may be exceeded by this share on the way.")] = 1.0,
    iterations: Annotated[
        int, typer.Option(help="Iterations of the comparison, on volumes kept from the search.")
    ] = 100,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="oes | hermod | fifo | fifo-greedy | mrtf | mrtf-exclusive | omcoflow | maxmin; repeat; all."
        ),
    ] = None,
    processes: Annotated[int | None, typer.Option(help="Processes that search; all cores by default.")] = None,
    dask: Annotated[str | None, typer.Option(help="Address of a Dask scheduler that searches instead.")] = None,
    gantt: Annotated[str | None, typer.Option(help="Write tasks and flows over time to this .png.")] = None,
    export: Annotated[str | None, typer.Option(help="Write the plan for torchrun and Slurm into this folder.")] = None,
    seed: Annotated[int, typer.Option(help="Moves everything random.")] = 0,
    json_path: Annotated[str | None, typer.Option("--json", help="Write the numbers to this file.")] = None,
) -> None:
    """Place the tasks of a training job on machines, and compare online scheduling of its flows with other policies."""
    from rich.console import Console

    from offramp.dgtp.exploration import Exploration
    from offramp.dgtp.search import Search, search
    from offramp_sim.dgtp.native.machine import FastCluster
    from offramp_sim.dgtp.policies import POLICIES
    from offramp_sim.dgtp.setups import NAMES

    if setup == "list":
        for name in NAMES:
            typer.echo(name)
        return
    console = Console(highlight=False)
    policies = list(dict.fromkeys(policy or ["oes", "fifo", "mrtf", "omcoflow"]))
    policies = list(POLICIES) if "all" in policies else policies
    for name in policies:
        if name not in POLICIES:
            raise OfframpError(f"--policy {name}: expected all or one of {', '.join(POLICIES)}")
    if iterations < 1:
        raise OfframpError(f"--iterations {iterations}: expected at least 1")
    expect_writable("--gantt", gantt)
    expect_writable("--json", json_path)
    made = _load(setup, seed)
    how = Search(method, walks, steps, reliefs, trials, how=Exploration(beta=beta, gamma=gamma, mu=mu), seed=seed)
    with stages(console) as stage:
        stage("searching")
        found = search(made.problem, FastCluster, how, processes=processes, dask=dask)
        stage("simulating")
        numbers = _judge(made, found, how, iterations, policies)
    _show(console, made, found, numbers)
    _write(made, found, numbers, gantt, export, json_path, iterations, seed)


def _load(setup: str, seed: int) -> Setup:
    from offramp.dgtp.setup_file import read_setup
    from offramp_sim.dgtp.setups import make_setup

    if setup.endswith((".yaml", ".yml")):
        return read_setup(Path(setup))
    return make_setup(setup, seed)


def _judge(setup: Setup, found: Found, how: Search, iterations: int, policies: list[str]) -> dict[str, Any]:
    """The placement's times, bounds and those of the baselines, on volumes that the search has not seen."""
    from offramp.dgtp.bounds import bounds
    from offramp.dgtp.draws import draw
    from offramp_base.progress import counted
    from offramp_sim.dgtp.native.machine import FastCluster

    problem = setup.problem
    held_out = draw(problem.graph, iterations, how.seed + 1_000_003)
    judge = FastCluster(problem, held_out)
    placements: dict[str, IntArray] = {"ours": found.machine, **_baselines(setup, how.seed)}
    seconds: dict[str, dict[str, float]] = {name: {} for name in placements}
    for name, p in counted("simulating", [(name, p) for name in placements for p in policies]):
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
        },
        "seconds": seconds,
        "placement": [int(m) for m in found.machine],
    }


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
        f"{known['lower_s']:.4g} s; never beyond its critical path of {known['critical_path_s']:.4g} s (theorem 3)."
    )


def _write(
    setup: Setup,
    found: Found,
    numbers: dict[str, Any],
    gantt: str | None,
    export: str | None,
    json_path: str | None,
    iterations: int,
    seed: int,
) -> None:
    if gantt is not None:
        from offramp.dgtp.draws import draw
        from offramp_sim.dgtp.gantt import draw_gantt
        from offramp_sim.dgtp.native.machine import FastCluster

        shown = draw(setup.problem.graph, min(iterations, 3), seed + 1_000_003)
        times = FastCluster(setup.problem, shown).times(found.machine)
        draw_gantt(setup.problem, found.machine, times, f"{setup.name}: first iterations", Path(gantt))
    if export is not None:
        from offramp.dgtp.launch import export as write_plan
        from offramp.dgtp.plan import make_plan

        kept = {name: numbers[name] for name in ("setup", "search", "bounds", "makespan_s", "iterations", "estimate_s")}
        write_plan(make_plan(setup.problem, found.machine, kept), Path(export))
    write_json(json_path, numbers)
