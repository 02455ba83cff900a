# SPDX-License-Identifier: Apache-2.0
"""``offramp demo``: the main job on real data, four ways, with a report."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from offramp_base.errors import OfframpError
from offramp_base.settings.field import Field
from offramp_base.settings.units import BYTES
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import OUTPUT

if TYPE_CHECKING:
    from offramp.graph.boundary import Boundary
    from offramp.graph.data import Graph
    from offramp.report import Check, Occupancy, Run, Table
    from offramp.train.predict import RunTraffic
    from offramp.train.settings import TrainSettings

ACCURACY_POINTS = 0.5
"""How far the switch run's test accuracy may be from the single-process run's."""

_NOTE = (
    "Payload is features. The wire adds headers, check sequence, preamble and gap, and for the switch the zeros that "
    "fill a packet: 202 bytes for up to 128 of features through the switch, 1106 for up to 1024 under p2p. The sums "
    "of the weight gradients and the agreed scales travel between the workers in every run alike, and are not "
    "counted. Seconds are those of a software switch that shares this machine's cores with the workers; they say "
    "nothing about hardware."
)


@dataclass(frozen=True)
class DemoSettings:
    """Settings of the demo; each of its runs has them."""

    graph: Annotated[str, Field("Graph, as of offramp train")] = "digits"
    workers: Annotated[int, Field("Worker processes", least=1)] = 4
    epochs: Annotated[int, Field("Full-batch steps of each run", least=1)] = 30
    hidden: Annotated[int, Field("Width of the hidden layer; 32 fill one packet", least=1)] = 32
    lr: Annotated[float, Field("Learning rate of Adam", above=0)] = 0.02
    partition: Annotated[str, Field("hash (as graph stores do), or as of offramp train")] = "hash"
    memory: Annotated[int, Field("Aggregator memory of the switch", least=1, unit=BYTES)] = 128_000
    seed: Annotated[int, Field("Moves everything random", least=0)] = 0


@dataclass(frozen=True)
class Outputs:
    """Where the report goes."""

    out: Annotated[Path, Field("Folder for the report", group=OUTPUT, filled=True)] = Path("out/demo")


@command(DemoSettings, Outputs, example="demo --epochs 5 --out report")
def demo(settings: DemoSettings, outputs: Outputs) -> None:
    """Train on one process, by p2p, through a best-effort switch and through SwitchGNN; compare and report."""
    from offramp.report import Note, Report, write_report
    from offramp.report.console import runs_table
    from offramp.report.origin import origin
    from offramp.train.settings import TrainSettings
    from offramp.workers.processes import expect_workers
    from offramp_cli.train import command_line, describe

    base = TrainSettings(**asdict(settings))
    expect_workers(base.workers)
    console = show.console()
    loaded = base.load()
    replayed = occupancies(loaded, base)  # first: it plans every run, so settings that cannot work end here
    runs = run_all(loaded, base, console.print)
    claims = checks(runs)
    predicted = predict_partitions(loaded, base)
    report = Report(
        title="Training a graph neural network through a P4 switch",
        summary=describe(runs[-1].result) + f" {BYTES.shown(base.memory)} of aggregator memory.",
        runs=runs,
        command=command_line(),
        checks=claims,
        occupancy=replayed,
        tables=[predictions(predicted)],
        notes=[Note("What is counted", _NOTE)],
        advice=advice(predicted, base.partition),
        origin=origin(),
    )
    page, data = write_report(report, outputs.out / "report.html")
    console.print(runs_table(runs))
    console.print()
    for claim in claims:
        console.print(f"{'[green]yes[/]' if claim.holds else '[red]NO [/]'} {claim.claim}", soft_wrap=True)
    console.print(f"\nreport: {page}\ndata:   {data}", soft_wrap=True)
    if not all(claim.holds for claim in claims):
        raise OfframpError("demo: not everything that it shows holds; the lines above say what")


def settings_of(base: TrainSettings) -> list[TrainSettings]:
    """The four runs: the strawman uploads in random order, as the paper's does."""
    return [
        replace(base, propagator="local"),
        replace(base, propagator="p2p"),
        replace(base, propagator="strawman", order="random"),
        replace(base, propagator="switch"),
    ]


def run_all(graph: Graph, base: TrainSettings, say: Any) -> list[Run]:
    """Every run, one after another."""
    from offramp.report import Run
    from offramp.report.units import percent
    from offramp_cli.train import run, switch_opener

    runs = []
    for settings in settings_of(base):
        result = run(graph, settings, switch_opener(settings), lines=False)
        if result is None:
            raise OfframpError("demo: starts its own workers; run it without torchrun")
        accuracy, seconds = percent(result["test_accuracy"]), result["seconds"]
        say(f"{settings.propagator:9} test accuracy {accuracy}  loss {result['loss']:.4f}  {seconds:.1f} s")
        runs.append(Run(settings.propagator, result))
    return runs


def checks(runs: list[Run]) -> list[Check]:
    """What the demo claims: the same accuracy, and fewer bytes than p2p."""
    from offramp.report import Check
    from offramp.report.units import percent, si

    local, p2p, _, switch = (run.result for run in runs)
    apart = 100 * abs(switch["test_accuracy"] - local["test_accuracy"])
    claims = [
        Check(
            f"Test accuracy through the switch is {apart:.2f} points from the single process's "
            f"{percent(local['test_accuracy'])} (at most {ACCURACY_POINTS}).",
            apart <= ACCURACY_POINTS,
        )
    ]
    for kind, name in (("bytes", "Payload"), ("wire_bytes", "Wire")):
        ours, theirs = (r[f"{kind}_up"] + r[f"{kind}_down"] for r in (switch, p2p))
        claims.append(
            Check(
                f"{name} bytes, up and down, are {si(ours, 'B')} through the switch and {si(theirs, 'B')} by p2p.",
                ours < theirs,
            )
        )
    overflows = switch["overflows"]
    claims.append(Check(f"The switch refused {overflows} features for want of an aggregator.", overflows == 0))
    return claims


def predict_partitions(graph: Graph, base: TrainSettings) -> dict[str, tuple[Boundary, RunTraffic]]:
    """Boundary and bytes of a run for the settings' partition and for others, by name."""
    from offramp.graph.boundary import Boundary
    from offramp.graph.kahypar import available
    from offramp.graph.partition import partition
    from offramp.train.job import layer_widths
    from offramp.train.predict import predict_run

    found = {}
    for method in (base.partition, "hash", "metis", "metis-volume", *(["kahypar"] if available() else [])):
        if method not in found:
            boundary = Boundary(graph, partition(graph, base.workers, method, base.seed), base.workers)
            found[method] = boundary, predict_run(boundary, base, layer_widths(graph, base))
    return found


def advice(predicted: dict[str, tuple[Boundary, RunTraffic]], used: str) -> str:
    """What the best other partition does to both ways, and what the seconds do not say."""
    from offramp.report.units import percent

    ways = {name: traffic for name, (_, traffic) in predicted.items()}
    base = ways[used].p2p_wire
    best = min(ways, key=lambda name: ways[name].p2p_wire)
    text = "The seconds are of a software switch on this machine's cores; offramp plan predicts those of hardware."
    if best != used and base:
        winner = "the switch" if ways[best].switch_wire < ways[best].p2p_wire else "p2p"
        text += (
            f" These runs partition by {used}. By {best}, p2p is predicted to need "
            f"{percent(ways[best].p2p_wire / base)} and the switch {percent(ways[best].switch_wire / base)} of the "
            f"bytes that p2p has here: there {winner} has fewer."
        )
    return text


def predictions(predicted: dict[str, tuple[Boundary, RunTraffic]]) -> Table:
    """Bytes of a run for other partitions: where the switch saves nothing, this says so."""
    from offramp.report import Table
    from offramp.report.units import si

    rows: list[list[str | int | float]] = [
        [
            method,
            boundary.B,
            f"{boundary.R / max(boundary.B, 1):.2f}",
            si(traffic.p2p_payload, "B"),
            si(traffic.switch_payload, "B"),
            si(traffic.p2p_wire, "B"),
            si(traffic.switch_wire, "B"),
            "switch" if traffic.switch_wire < traffic.p2p_wire else "p2p",
        ]
        for method, (boundary, traffic) in predicted.items()
    ]
    columns = (
        "partition", "boundary vertices", "remote workers each", "p2p payload", "switch payload", "p2p wire",
        "switch wire", "fewer wire bytes",
    )  # fmt: skip
    note = (
        "Predicted for one run, up and down, all links. The switch saves in proportion to the number of remote "
        "workers that need a vertex: a partition that cuts little leaves it nothing to save, and its smaller "
        "packets then cost more than p2p's copies."
    )
    return Table("The same graph under other partitions", columns, rows, note)


def occupancies(graph: Graph, base: TrainSettings) -> list[Occupancy]:
    """Open aggregators during the first exchange of an epoch, in the reference model of the switch."""
    import numpy as np

    from offramp.report import Occupancy
    from offramp.switchgnn.plan import AGGREGATOR_BYTES
    from offramp.train.planned import plan_run
    from offramp_sim.switchgnn.lockstep import Lockstep
    from offramp_sim.switchgnn.reference import ReferenceSwitch
    from offramp_sim.switchgnn.strawman_reference import ReferenceStrawman

    shown = []
    capacity = base.memory // AGGREGATOR_BYTES
    for settings in settings_of(base)[2:]:
        planned = plan_run(graph, settings)
        assert planned.exchanges is not None
        plans = planned.exchanges.plans
        ports = list(range(base.workers))
        strawman = settings.propagator == "strawman"
        switch = ReferenceStrawman(plans, ports, capacity) if strawman else ReferenceSwitch(plans, ports)
        workers = Lockstep(plans, ports, switch.process, window=32)
        workers.start()
        switch.occupancy.clear()
        first = planned.exchanges.plan_of_width[min(graph.width, base.hidden)]
        values = [np.zeros((len(e.boundaries[first]), 1), np.int32) for e in workers.endpoints]
        workers.exchange(first, values)
        shown.append(Occupancy(settings.propagator, switch.occupancy, capacity))
    return shown
