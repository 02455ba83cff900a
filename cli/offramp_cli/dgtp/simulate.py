# SPDX-License-Identifier: Apache-2.0
"""``offramp simulate dgtp``: placement of a GNN training job's tasks, and its time under online scheduling."""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from offramp_base import Field, OfframpError
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import OUTPUT, Plotted
from offramp_cli.stages import stages

if TYPE_CHECKING:
    from rich.console import Console

    from offramp.dgtp import Problem, Search
    from offramp.dgtp.exploration import Exploration
    from offramp.dgtp.replacement import Moves
    from offramp.dgtp.search import SearchResult
    from offramp.dgtp.setup_file import PlacementSetup
    from offramp_sim.dgtp import PlacementComparison


_OTHERS: Final = ("fifo", "mrtf", "omcoflow")
_ITERATIONS: Final = 100
_FLOWS: Final = 1_000_000
_FLOW_S: Final = 10e-9
"""Approximate seconds per active flow and event, for three placements, under policies other than online execution."""
_COMPARED_S: Final = 30.0
_JUDGING, _AFTER, _TAIL = 0.25, 1.2, 0.05
"""Shares of the time budget: for baselines before the search; reserved for judging the placement found, as a multiple
of a baseline's time; for printing and writing."""
_FEWEST: Final = 2.0
"""Least time of a search, as a multiple of the time to judge one placement."""


def _policies() -> list[str]:
    from offramp_sim.dgtp import POLICIES

    return [*POLICIES, "all"]


@dataclass(frozen=True)
class PlacementSettings:
    """The job to place, the search, and the comparison."""

    setup: Annotated[
        str, Field("A YAML file of machines and a job, a setup of the paper, or list, which lists those", position=True)
    ]
    processes: Annotated[
        int | None, Field("Processes that search; one per core by default", least=1, group="Search")
    ] = None
    dask: Annotated[str | None, Field("Dask's address, ray://HEAD:10001, or slurm:OPTIONS, to search there")] = None
    keep: Annotated[
        Path | None,
        Field(
            "An earlier plan.json: if machines have left or joined since, move as few tasks as possible", metavar="PLAN"
        ),
    ] = None
    moves: Annotated[int, Field("With --keep: tasks that may move beyond those that must", least=0)] = 0
    iterations: Annotated[
        int | None,
        Field(
            "Iterations of the comparison, whose volumes the search does not see; 100, or fewer for large jobs",
            least=1,
            group="PlacementComparison",
        ),
    ] = None
    policy: Annotated[
        tuple[str, ...],
        Field(
            "Policies that schedule the flows; repeatable",
            choices=_policies,
            shown_default="oes, fifo, mrtf, omcoflow; oes for very large jobs",
        ),
    ] = ()


@dataclass(frozen=True)
class PlacementOutput(Plotted):
    """Results of a search."""

    plot: Annotated[
        Path | None,
        Field("Write tasks and flows over time to this .png", group=OUTPUT, written=True, aliases=("gantt",)),
    ] = None
    export: Annotated[Path | None, Field("Write the plan for torchrun and Slurm into this folder", filled=True)] = None


@command(
    PlacementSettings,
    "offramp.dgtp.search:Search",
    "offramp.dgtp.exploration:Exploration",
    PlacementOutput,
    example="simulate dgtp testbed-1 --search paper --steps 100 --json -",
    systems=("dgtp",),
)
def dgtp(settings: PlacementSettings, how: Search, walk: Exploration, outputs: PlacementOutput) -> None:
    """Place the tasks of a training job on machines, and compare online scheduling of its flows with other policies."""
    begun = time.monotonic()
    from offramp.dgtp.search import search
    from offramp_sim.dgtp import POLICIES, FastCluster
    from offramp_sim.dgtp.comparison import Comparing
    from offramp_sim.dgtp.setups import NAMES

    if settings.setup == "list":
        for name in NAMES:
            typer.echo(name)
        return
    console = show.console()
    setup = load_setup(settings.setup, how.seed)
    how = replace(how, how=walk)
    compared = _compared(setup.problem, settings, how.within)
    moves: Moves | None = None
    if "all" in compared.policies:
        compared = replace(compared, policies=tuple(POLICIES))
    with stages(console) as stage:
        stage("simulating")
        share = math.inf if how.within is None else _JUDGING * how.within
        judged = Comparing(setup.problem, compared.iterations, compared.policies, how.seed, share)
        stage("searching")
        if how.within is not None:
            how = replace(how, within=_left_s(how.within, time.monotonic() - begun, judged.baseline_s))
        if settings.keep is not None:
            best_walk, moves = _kept(setup.problem, settings, how)
        elif how.within is not None and _too_short(how.within, judged.baseline_s):
            best_walk = judged.best  # a search that cannot simulate twice finds no more
        else:
            best_walk = search(setup.problem, FastCluster, how, processes=settings.processes, dask=settings.dask)
        stage("simulating")
        fixed = how.method != "portfolio" or moves is not None  # the paper's search has what it finds
        best = judged.with_ours(best_walk.machine, fixed=fixed)
    best_walk = replace(best_walk, machine=best.machine)
    numbers = _numbers(setup, best_walk, best, how, compared)
    if moves is not None:
        numbers["moves"] = asdict(moves)
    _show(console, setup, best_walk, numbers)
    _write(setup, best_walk, numbers, how.seed, outputs)


def _left_s(within: float, elapsed_s: float, baseline_s: float) -> float:
    """Time of a search (s): what remains of the budget before and after it, or a twentieth of the budget if less."""
    return max((1 - _TAIL) * within - elapsed_s - _AFTER * baseline_s, 0.05 * within)


def _too_short(search_s: float, baseline_s: float) -> bool:
    """Whether a search could not judge :data:`_FEWEST` placements."""
    return search_s < _FEWEST * baseline_s


def _kept(problem: Problem, settings: PlacementSettings, how: Search) -> tuple[SearchResult, Moves]:
    """Find a placement near that of an earlier plan."""
    from offramp.dgtp import read_plan
    from offramp.dgtp.draws import draw
    from offramp.dgtp.replacement import carried_over, moves_of, place_again
    from offramp.dgtp.search import SearchResult, default_iterations
    from offramp_sim.dgtp import FastCluster

    assert settings.keep is not None
    before, known = carried_over(problem, read_plan(settings.keep))
    iterations = default_iterations(problem)
    judge = FastCluster(problem, draw(problem.graph, iterations, how.seed))
    limit = math.inf if how.within is None else how.within
    machine = place_again(problem, before, judge, moves=settings.moves, seed=how.seed, within=limit)
    return SearchResult(machine, judge.makespan(machine), iterations, ()), moves_of(problem, before, known, machine)


def load_setup(setup: str, seed: int) -> PlacementSetup:
    """A setup from a YAML file, or one of the paper by name.

    Raises:
        OfframpError: a fault in the file, or no such setup.
    """
    from offramp.dgtp.setup_file import read_setup
    from offramp_sim.dgtp import make_setup

    if setup.endswith((".yaml", ".yml")):
        return read_setup(Path(setup))
    return make_setup(setup, seed)


@dataclass(frozen=True)
class _Compared:
    """Policies and iterations by which placements are compared.

    Attributes:
        left_out: policies that are compared by default and would take too long here.
    """

    iterations: int
    policies: tuple[str, ...]
    left_out: tuple[str, ...] = ()


def _compared(problem: Problem, settings: PlacementSettings, within: float | None) -> _Compared:
    """The settings' comparison; by default one that takes about half a minute, independent of the machine."""
    edges = max(1, len(problem.graph.edges))
    most_s = _COMPARED_S if within is None else min(_COMPARED_S, _JUDGING * within)
    iterations = settings.iterations or max(3, min(_ITERATIONS, _FLOWS // edges))
    if settings.policy:
        return _Compared(iterations, tuple(dict.fromkeys(settings.policy)))
    if len(_OTHERS) * iterations * edges**2 * _FLOW_S <= most_s:
        return _Compared(iterations, ("oes", *_OTHERS))
    return _Compared(iterations, ("oes",), _OTHERS)


def _numbers(
    setup: PlacementSetup, placement: SearchResult, best: PlacementComparison, how: Search, compared: _Compared
) -> dict[str, Any]:
    if not best.reached:
        raise OfframpError(f"{setup.name}: the job takes no time: expected a task or a transfer that does")
    known, reached, iterations = best.known, best.reached, compared.iterations
    return {
        "setup": setup.name,
        "search": {
            "method": how.method,
            "seed": how.seed,
            "iterations": placement.iterations,
            "makespan_s": placement.makespan,
            "walks_s": [walk.makespan for walk in placement.walks],
            "simulated": sum(walk.simulated for walk in placement.walks),
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
            "any_placement_lower_s": best.any_lower,
        },
        "seconds": best.seconds,
        "not_compared": list(compared.left_out),
        "placement": [int(m) for m in placement.machine],
    }


def _show(console: Console, setup: PlacementSetup, placement: SearchResult, numbers: dict[str, Any]) -> None:
    from offramp.report.units import number
    from offramp_cli.dgtp.tables import machines_table, policies_table

    console.print(machines_table(setup.problem, placement.machine))
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
    if "moves" in numbers:
        of = numbers["moves"]
        console.print(
            f"Of the earlier plan's tasks, {number(of['kept'])} stay, {number(of['moved'])} move, {number(of['lost'])} "
            f"have lost their machine, {number(of['new'])} are new. Tasks that move have {of['bytes'] / 1e9:.4g} GB "
            f"of memory: {of['seconds']:.4g} s of the busiest card, if all is sent."
        )
    if numbers["not_compared"]:
        left = ", ".join(numbers["not_compared"])
        console.print(f"Not compared, because this job is large: {left}. --policy NAME compares one anyway.")


def _write(
    setup: PlacementSetup, placement: SearchResult, numbers: dict[str, Any], seed: int, outputs: PlacementOutput
) -> None:
    if outputs.plot is not None:
        from offramp.dgtp.draws import draw
        from offramp_sim.dgtp import FastCluster, draw_gantt

        shown = draw(setup.problem.graph, min(numbers["iterations"], 3), seed + 1_000_003)
        times = FastCluster(setup.problem, shown).times(placement.machine)
        draw_gantt(setup.problem, placement.machine, times, f"{setup.name}: first iterations", outputs.plot)
    if outputs.export is not None:
        from offramp.dgtp import make_plan
        from offramp.dgtp.launch import export

        kept = {name: numbers[name] for name in ("setup", "search", "bounds", "makespan_s", "iterations", "estimate_s")}
        export(make_plan(setup.problem, placement.machine, kept), outputs.export)
    outputs.write("offramp.simulate.dgtp/1", numbers)
