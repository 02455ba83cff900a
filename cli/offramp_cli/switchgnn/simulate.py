# SPDX-License-Identifier: Apache-2.0
"""``offramp simulate switchgnn``: an exchange of a graph's boundary on a network, packet by packet."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

from offramp_base import Field, SettingsError
from offramp_base.settings import BYTES
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.packets.network import PacketNetworkSettings, network_field
from offramp_cli.result import Result
from offramp_cli.stages import stages

if TYPE_CHECKING:
    from offramp.graph import Boundary
    from offramp_sim.packets import PacketRun, Topology

SCHEMES: Final = ("switchgnn", "strawman", "bns-gcn")
_UNLIMITED: Final = 1 << 40
"""Bytes of memory that every plan fits into in one block."""
_NUMBERS: Final = (
    "up_bytes",
    "down_bytes",
    "core_bytes",
    "ack_bytes",
    "peak_port_bytes",
    "packets",
    "dropped",
    "lost",
    "marked",
    "fetches",
    "cuts",
)


def _acks() -> tuple[str, ...]:
    from offramp_sim.packets.exchange import ACKS

    return ACKS


@dataclass(frozen=True)
class ExchangeStudy(PacketNetworkSettings):
    """A graph, the network that its workers share, and ways to exchange its boundary."""

    graph: Annotated[str, Field("digits, FILE.npz, an edge list, sbm:n=…, pyg:CLASS/NAME", position=True)] = "karate"
    network: Annotated[tuple[str, tuple[int, ...]], network_field("star:8")] = ("star", (8,))
    scheme: Annotated[
        tuple[str, ...],
        Field(
            "Sums in switches, by blocks or (strawman, a star) with aggregators on demand, or streams between hosts; "
            "repeatable",
            choices=SCHEMES,
            shown_default="switchgnn, bns-gcn",
        ),
    ] = ("switchgnn", "bns-gcn")
    width: Annotated[int | None, Field("Features on the wire; the graph's by default", least=1)] = None
    memory: Annotated[int, Field("Aggregator memory of each switch: 4MB, 512KiB", least=0, unit=BYTES)] = 4_000_000
    partition: Annotated[str, Field("As in offramp plan: auto | metis | g3 | hash | random | …, or a file")] = "auto"
    acks: Annotated[
        str, Field("Sums that are acknowledged to all who contributed; all is the paper's rule", choices=_acks)
    ] = "all"
    control_rate: Annotated[bool, Field("Let hosts slow down when sums come back marked")] = True
    passes: Annotated[float | None, Field("Pipeline passes of a switch per second; free by default", above=0)] = None
    cores: Annotated[int, Field("Cores that simulate; the result does not depend on it", least=1, most=64)] = 1
    seed: Annotated[int, Field("Random seed", least=0)] = 0


@command(ExchangeStudy, Result, example="simulate switchgnn digits --network leaf-spine:4x2x2 --buffer 64KB")
def switchgnn(settings: ExchangeStudy, outputs: Result) -> None:
    """Simulate an exchange of a graph's features packet by packet: in switches, and between hosts."""
    from offramp.graph import Boundary
    from offramp.graph.load import load
    from offramp.graph.partition import partition

    topology = settings.topology()
    if "strawman" in settings.scheme and topology.leaves > 1:
        raise SettingsError("scheme", "its aggregators are in a single switch, expected {network} star", "strawman")
    with stages(show.console(errors=True)) as stage:
        stage("loading the graph")
        graph = load(settings.graph, settings.seed)
        width = settings.width or graph.width
        stage("partitioning the graph")
        owner = partition(graph, topology.hosts, settings.partition, settings.seed)
        boundary = Boundary(graph, owner, topology.hosts)
        results = {}
        for scheme in dict.fromkeys(settings.scheme):
            stage(f"simulating {scheme}")
            results[scheme] = _numbers(_run(settings, scheme, topology, boundary, width))
    _show(settings, topology, boundary, results)
    kind, sizes = settings.network
    facts = {"vertices": graph.vertices, "B": boundary.B, "C": boundary.C, "R": boundary.R, "width": width}
    given = asdict(settings) | {"network": [kind, *sizes]}
    outputs.write("offramp.simulate.switchgnn/1", {"settings": given, "graph": facts, "schemes": results})


def _run(settings: ExchangeStudy, scheme: str, topology: Topology, boundary: Boundary, width: int) -> PacketRun:
    from offramp.switchgnn import make_plan
    from offramp.switchgnn.chunks import aggregator_bytes, chunks_for
    from offramp.switchgnn.wire import LANES
    from offramp_sim.packets import ExchangeProtocol
    from offramp_sim.packets.exchange import ACKS
    from offramp_sim.packets.flows import all_to_all
    from offramp_sim.packets.simulate import simulate

    if scheme == "bns-gcn":
        return simulate(topology, flows=all_to_all(boundary, width), seed=settings.seed, cores=settings.cores)
    on_demand = scheme == "strawman"
    plan = make_plan(boundary, chunks_for(width), _UNLIMITED if on_demand else settings.memory, seed=settings.seed)
    protocol = ExchangeProtocol(
        acks=ACKS[ACKS.index(settings.acks)],
        control=settings.control_rate,
        passes_pps=settings.passes,
        aggregators=settings.memory // aggregator_bytes(LANES) if on_demand else None,
    )
    return simulate(topology, plan, protocol=protocol, seed=settings.seed, cores=settings.cores)


def _numbers(run: PacketRun) -> dict[str, Any]:
    """Results of a run, for JSON."""
    return {"seconds": run.seconds, **{name: getattr(run, name) for name in _NUMBERS}}


def _show(settings: ExchangeStudy, topology: Topology, boundary: Boundary, results: dict[str, dict[str, Any]]) -> None:
    from offramp.report.units import duration, number, si

    title = f"{settings.graph} on {topology.hosts} hosts: {number(boundary.B)} vertices travel"
    table = show.table("scheme", "time", "up", "down", "between", "queue", "marked", "dropped", title=title)
    for scheme, one in results.items():
        volumes = (si(one[name], "B") for name in ("up_bytes", "down_bytes", "core_bytes", "peak_port_bytes"))
        table.add_row(scheme, duration(one["seconds"]), *volumes, number(one["marked"]), number(one["dropped"]))
    console = show.console()
    show.print_table(console, table)
    console.print("between: bytes on links between switches; queue: the longest at a switch's port")
