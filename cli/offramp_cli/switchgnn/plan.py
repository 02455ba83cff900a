# SPDX-License-Identifier: Apache-2.0
"""``offramp plan``: cost of a graph's exchange, host-based and through a switch with a given memory."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from offramp_base import Field, SettingsError
from offramp_base.settings import BYTES
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import OUTPUT, Result
from offramp_cli.stages import stages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from offramp.graph import Boundary, Graph
    from offramp.switchgnn import Planner, Rates, Scheme
    from offramp.switchgnn.planner import Option


def _lanes() -> list[str]:
    from offramp.switchgnn.chunks import WIDTHS

    return [str(lanes) for lanes in WIDTHS]


@dataclass(frozen=True)
class SwitchGnnPlanSettings:
    """The graph, the partition and the switch of a plan."""

    graph: Annotated[str, Field("digits, FILE.npz, an edge list, sbm:n=…, pyg:CLASS/NAME", position=True)]
    workers: Annotated[int, Field("Workers that share the graph", least=1)] = 4
    memory: Annotated[int, Field("Aggregator memory of the switch: 4MB, 512KiB", least=0, unit=BYTES)] = 4_000_000
    width: Annotated[int | None, Field("Features on the wire; the graph's by default")] = None
    partition: Annotated[
        str,
        Field(
            "auto | kahypar | metis | metis-volume | g3 | g3-best | g3-literal | hash | chunk | random, or "
            "a file: the worker of each vertex, one per line (METIS's format)"
        ),
    ] = "auto"
    racks: Annotated[int, Field("Racks of workers, each with a leaf switch", least=1)] = 1
    order: Annotated[str, Field("Upload order: gamr | degree | bfs | random | id")] = "gamr"
    seed: Annotated[int, Field("Random seed", least=0)] = 0
    scheme: Annotated[
        str,
        Field(
            "paper, auto (least predicted time), or some of pairwise, chunk-major, hybrid, balanced, binned, q16, q8 "
            "joined by +"
        ),
    ] = "paper"
    lanes: Annotated[
        str,
        Field(
            "32-bit lanes of an aggregator, and at most of a packet; the paper has 32",
            choices=_lanes,
        ),
    ] = "32"
    compare: Annotated[bool | None, Field("Compare all schemes; by default if at most 200,000 edges are cut")] = None
    rates: Annotated[
        Path | None,
        Field("Rates for predictions, JSON or a file of it: link_bps, delay_s, passes_pps, host_pps, round_s"),
    ] = None
    update: Annotated[
        Path | None, Field("Keep the blocks of this plan (--save) that an earlier state of the graph had and still fit")
    ] = None
    measure: Annotated[bool, Field("Also run each compared scheme through the embedded switch")] = False


@dataclass(frozen=True)
class PlanOutput(Result):
    """Results of a plan."""

    calibrate: Annotated[
        Path | None,
        Field("With --measure: write the rates that fit the measured times", written=True, group=OUTPUT),
    ] = None
    save: Annotated[Path | None, Field("Write the plan of the blocks to this .npz file", written=True)] = None
    save_partition: Annotated[Path | None, Field("Write the worker of each vertex to this file", written=True)] = None


@command(SwitchGnnPlanSettings, PlanOutput, example="plan karate --workers 2 --memory 64KB --json -")
def plan(settings: SwitchGnnPlanSettings, outputs: PlanOutput) -> None:
    """Partition a graph, cut its boundary into blocks and compare the traffic of one exchange."""
    from offramp.graph import Boundary
    from offramp.graph.load import load
    from offramp.graph.partition import partition as give_owners
    from offramp.graph.partition_file import write_partition
    from offramp.switchgnn import Planner, Rates, Scheme, load_rates, parse_scheme
    from offramp.switchgnn.chunks import chunks_for
    from offramp.switchgnn.leaf_spine import even_racks
    from offramp.switchgnn.plan_file import save_plan
    from offramp_base.freed_memory import keep_freed_memory

    keep_freed_memory()
    console = show.console()
    workers, racks, seed, partition = settings.workers, settings.racks, settings.seed, settings.partition
    wanted, free = parse_scheme(settings.scheme)  # what is wrong is said before the work
    if outputs.calibrate is not None and not settings.measure:
        raise SettingsError("calibrate", "goes with {measure} only", str(outputs.calibrate))
    lanes = int(settings.lanes)
    given_rates = load_rates(settings.rates) if settings.rates is not None else Rates()
    network = even_racks(workers, racks) if racks != 1 else None
    with stages(console) as stage:
        stage("loading the graph")
        data = load(settings.graph, seed)
        features = data.width if settings.width is None else settings.width
        chunks_for(features, lanes)
        stage("partitioning the graph")
        owner = give_owners(data, workers, partition, seed, racks)
        if outputs.save_partition is not None:
            write_partition(outputs.save_partition, data, owner)
        stage("finding the boundary")
        boundary = Boundary(data, owner, workers)
        stage("cutting the boundary into blocks")
        planner = Planner(boundary, settings.memory, settings.order, seed, given_rates, lanes)
        compared = _compared(settings, boundary, free=free)
        cut = Scheme() if compared else wanted.cut
        kept = _adopted(settings, planner, cut, features) if settings.update is not None else None
        blocks = planner.option(cut, features)
    planned = blocks.scheme_plan.plan
    numbers = {
        "settings": _given(settings, features, given_rates),
        "cut": str(cut),
        "kept_blocks": kept,
        **summarise(data, boundary, blocks, features, given_rates),
        "seconds": {name: {"clock": wall, "processor": used} for name, (wall, used) in stage.seconds.items()},
    }
    if network is not None:
        numbers["cross_rack"] = _between_racks(settings, data, boundary, blocks, network.racks)
    _show(console, data, numbers)
    took = ", ".join(f"{name} {times['clock']:.1f} s" for name, times in numbers["seconds"].items())
    console.print(f"Time: {took}")
    _schemes(console, settings, outputs, planner, numbers, compared=compared)
    if outputs.save is not None:
        save_plan(planned, outputs.save)
    outputs.write("offramp.plan/1", numbers)


def _between_racks(
    settings: SwitchGnnPlanSettings, graph: Graph, boundary: Boundary, blocks: Option, racks: Sequence[int]
) -> dict[str, Any]:
    """Vectors and copies that travel between racks, and the copies if METIS had cut straight into workers."""
    from offramp.graph.partition import partition
    from offramp.graph.racks import cross_rack as copies_between
    from offramp.switchgnn.leaf_spine import cross_rack

    flat = partition(graph, settings.workers, "metis", settings.seed)
    return {
        "racks": list(racks),
        "vectors": asdict(cross_rack(blocks.scheme_plan.plan, boundary, racks)),
        "copies": copies_between(graph, boundary.owner, settings.workers, settings.racks),
        "copies_metis": copies_between(graph, flat, settings.workers, settings.racks),
    }


def _compared(settings: SwitchGnnPlanSettings, boundary: Boundary, *, free: bool) -> bool:
    """Whether all schemes are compared: as the settings say, or where one is to be chosen, or where it is quick."""
    from offramp_cli.switchgnn.schemes import MAX_CUT_EDGES

    return settings.compare if settings.compare is not None else free or boundary.C <= MAX_CUT_EDGES


def _adopted(settings: SwitchGnnPlanSettings, planner: Planner, cut: Scheme, features: int) -> int:
    """Let the planner take over what still fits of the settings' earlier plan; returns how many blocks stay."""
    from offramp.switchgnn.chunks import aggregator_bytes
    from offramp.switchgnn.plan_file import load_plan
    from offramp.switchgnn.plan_update import updated

    assert settings.update is not None
    before = load_plan(settings.update)
    chunks = cut.chunks_a_round(features, planner.lanes)
    now = (settings.memory // aggregator_bytes(planner.lanes), planner.lanes, chunks)
    if (before.aggregators, before.lanes, before.chunks) != now:
        dimensions = (
            f"made for {before.aggregators} aggregators of {before.lanes} lanes and {before.chunks} packets per vertex"
        )
        raise SettingsError("update", f"{dimensions}, expected {now[0]}, {now[1]} and {now[2]}", settings.update)
    update = updated(before, planner.boundary, settings.order, settings.seed)
    planner.adopt(cut, update.plan)
    return update.kept


def _given(settings: SwitchGnnPlanSettings, features: int, rates: Rates) -> dict[str, Any]:
    """The settings as they were given, ready for JSON."""
    names = ("graph", "workers", "partition", "racks", "order", "seed", "scheme", "lanes")
    values = {name: getattr(settings, name) for name in names}
    return {**values, "memory_bytes": settings.memory, "width": features, "rates": asdict(rates)}


def _schemes(
    console: Console,
    settings: SwitchGnnPlanSettings,
    outputs: PlanOutput,
    planner: Planner,
    numbers: dict[str, Any],
    *,
    compared: bool,
) -> None:
    """Compare schemes, choose the fastest allowed one, and measure them if asked."""
    from offramp.switchgnn import Scheme, parse_scheme
    from offramp.switchgnn.calibrate import calibrated
    from offramp.switchgnn.cost import save_rates
    from offramp.switchgnn.planner import fastest
    from offramp.switchgnn.scheme import candidates
    from offramp_cli.switchgnn import schemes as plan_schemes

    features, boundary = numbers["settings"]["width"], planner.boundary
    wanted, free = parse_scheme(settings.scheme)
    if compared:
        options = plan_schemes.compare(console, planner, candidates(Scheme(), all_bits=True), features)
    else:
        options = [planner.option(wanted, features)]
    allowed = set(candidates(wanted)) if free else {wanted}
    fitting = [option for option in options if option.scheme_plan.scheme in allowed]
    if not fitting:
        fitting = [planner.option(wanted, features)]
        options += fitting
    chosen = fastest(fitting)
    if boundary.C:
        measured = plan_schemes.measure(console, options, settings.seed) if settings.measure else []
        numbers["schemes"] = plan_schemes.as_numbers(options, measured)
        numbers["chosen"] = str(chosen.scheme_plan.scheme)
        console.print()
        plan_schemes.print_schemes(console, numbers["schemes"], numbers["chosen"])
        if outputs.calibrate is not None:
            timed = [(o.scheme_plan, m["seconds"]) for o, m in zip(options, measured, strict=True)]
            save_rates(calibrated(timed), outputs.calibrate)


def summarise(graph: Graph, boundary: Boundary, blocks: Option, width: int, rates: Rates) -> dict[str, Any]:
    """The numbers of a plan, ready for JSON; volumes are of one exchange in one direction."""
    import numpy as np

    from offramp.graph.blocks import imbalance
    from offramp.switchgnn.cost import predict
    from offramp.switchgnn.scheme_plan import p2p_of
    from offramp.switchgnn.volume import host_volume, plan_volume, unlimited_volume

    plan = blocks.scheme_plan.plan
    seconds = {"p2p": predict(p2p_of(blocks.scheme_plan), rates).seconds, "switchgnn": blocks.prediction.seconds}
    volumes = {
        "p2p": asdict(host_volume(boundary, width)),
        "unlimited": asdict(unlimited_volume(boundary, width, plan.lanes)),
        "switchgnn": asdict(plan_volume(plan, width)),
    }
    sizes = np.array([len(block.vertices) for block in plan.blocks])
    loads = np.array([imbalance(block.vertices, boundary.owner, plan.workers) for block in plan.blocks])
    return {
        "vertices": graph.vertices,
        "edges": graph.edges,
        "symmetrised": bool(graph.metadata["symmetrised"]),
        "B": boundary.B,
        "C": boundary.C,
        "R": boundary.R,
        "r": boundary.R / boundary.B if boundary.B else 0.0,
        "lanes": plan.lanes,
        "chunks": plan.chunks,
        "aggregators": plan.aggregators,
        "aggregators_peak": plan.aggregators_peak,
        "blocks": len(plan.blocks),
        "levels": plan.levels,
        "S": plan.uploads,
        "passes": plan.passes,
        "recirculations": plan.recirculations,
        "imbalance": float((loads * sizes).sum() / sizes.sum()) if len(sizes) else 1.0,
        "table_entries": {"v2agg": 2 * boundary.C, "slots": plan.uploads, "hosts": plan.workers},
        "volumes": volumes,
        "predicted_seconds": seconds,
        "switch_wins": volumes["switchgnn"]["wire_bytes"] < volumes["p2p"]["wire_bytes"]
        and seconds["switchgnn"] < seconds["p2p"],
    }


def _show(console: Console, graph: Graph, numbers: dict[str, Any]) -> None:
    from offramp.report.units import number, percent, si

    loops = graph.metadata["self_loops_dropped"]
    source = ", symmetrised" if numbers["symmetrised"] else ""
    source += f", {loops} self-loops dropped" if loops else ""
    facts = [
        (f"vertices{source}", number(numbers["vertices"])),
        ("edges", number(numbers["edges"])),
        ("boundary vertices B", number(numbers["B"])),
        ("cut edges C", number(numbers["C"])),
        ("copies under p2p R", number(numbers["R"])),
        ("copies a boundary vertex r", f"{numbers['r']:.2f}"),
        ("packets per vertex", number(numbers["chunks"])),
        ("aggregators used, of", f"{number(numbers['aggregators_peak'])}, {number(numbers['aggregators'])}"),
        ("blocks", number(numbers["blocks"])),
        *(
            [("blocks kept from the earlier plan", number(kept))]
            if (kept := numbers["kept_blocks"]) is not None
            else []
        ),
        ("levels", number(numbers["levels"])),
        ("uploads S", number(numbers["S"])),
        ("pipeline passes", number(numbers["passes"])),
        ("load of the busiest worker, over the mean", f"{numbers['imbalance']:.2f}"),
        *((f"entries of table {name}", number(count)) for name, count in numbers["table_entries"].items()),
    ]
    headings = ("vectors", "packets", "payload up", "payload down", "wire up", "wire down", "wire to p2p")
    volumes = show.table("", *headings, title="one exchange, all workers")
    base = numbers["volumes"]["p2p"]["wire_bytes"]
    for name, volume in numbers["volumes"].items():
        payload, wire = si(volume["payload_bytes"], "B"), si(volume["wire_bytes"], "B")
        share = percent(volume["wire_bytes"] / base) if base else "-"
        volumes.add_row(name, number(volume["vectors"]), number(volume["packets"]), payload, payload, wire, wire, share)
    console.print(show.facts(facts))
    console.print()
    console.print(volumes)
    console.print(f"\n{_verdict(numbers)}")
    if "cross_rack" in numbers:
        between = numbers["cross_rack"]["vectors"]
        console.print(
            f"Between racks: {number(between['partial'])} partial sums, as many as uploads sent once to each leaf that "
            f"needs them ({number(between['multicast'])}); {number(between['host'])} copies under p2p. "
            f"Vertices that another rack needs, once for each: {number(numbers['cross_rack']['copies'])}, with METIS "
            f"straight into workers {number(numbers['cross_rack']['copies_metis'])}."
        )


def _verdict(numbers: dict[str, Any]) -> str:
    """A sentence on whether the switch wins, in bytes and in predicted time, and if not, why."""
    from offramp.report.units import duration, number, percent

    if not numbers["C"]:
        return "No edge is cut: nothing travels."
    volumes = numbers["volumes"]
    switch, host = volumes["switchgnn"]["wire_bytes"], volumes["p2p"]["wire_bytes"]
    ours, theirs = (duration(numbers["predicted_seconds"][name]) for name in ("switchgnn", "p2p"))
    if numbers["switch_wins"]:
        return (
            f"The switch wins: it puts {percent(1 - switch / host)} fewer bytes on the wire than p2p, "
            f"and is predicted to take {ours} where p2p takes {theirs}."
        )
    if switch < host:
        return (
            f"p2p wins: it is predicted to take {theirs}, the switch {ours} for {number(numbers['passes'])} passes, "
            f"though it puts {percent(1 - switch / host)} fewer bytes on the wire."
        )
    even = host * numbers["S"] // switch
    reason = (
        f"even unlimited memory would not help: packets of {4 * numbers['lanes']} bytes cost more than the copies that "
        "they save"
        if volumes["unlimited"]["wire_bytes"] >= host
        else "more memory makes fewer blocks and so fewer uploads"
    )
    return (
        f"The switch loses: it puts {percent(switch / host - 1)} more bytes on the wire than p2p. "
        f"It breaks even at S = {number(even)} uploads, the plan has {number(numbers['S'])}; {reason}."
    )
