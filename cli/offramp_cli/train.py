# SPDX-License-Identifier: Apache-2.0
"""``offramp train``."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from offramp_base.ending.files import write_text
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from offramp.graph.data import Graph
    from offramp.train.fabric import SwitchFabric
    from offramp.train.run import OpenFabric
    from offramp.train.settings import TrainSettings

_WAY = {
    "local": "in one process",
    "p2p": "with features sent from worker to worker",
    "switch": "through a P4 switch",
    "strawman": "through a best-effort P4 switch",
}
_GRAPH = "digits, karate, FILE.npz, an edge list, pyg:CLASS/NAME, or a generator (sbm:n=1000,k=4)."


def train(
    graph: Annotated[str, typer.Option(help=_GRAPH)] = "digits",
    features: Annotated[Path | None, typer.Option(help="Edge list: features, a row a vertex.")] = None,
    labels: Annotated[Path | None, typer.Option(help="Edge list: labels, a row a vertex.")] = None,
    workers: Annotated[int, typer.Option(help="Worker processes; torchrun brings its own.")] = 4,
    propagator: Annotated[
        str, typer.Option(help="How boundary features travel: local | p2p | switch | strawman.")
    ] = "switch",
    target: Annotated[
        str,
        typer.Option(
            help="The switch's program: v1model | v1model-replicated (copies in place of passes) | tna (Tofino)."
        ),
    ] = "v1model",
    model: Annotated[str, typer.Option(help="gcn | sage | gat | gcnii | jknet | dagnn.")] = "gcn",
    layers: Annotated[int, typer.Option(help="Graph convolution layers, 2 to 64.")] = 2,
    hidden: Annotated[int, typer.Option(help="Width of the hidden layers.")] = 64,
    heads: Annotated[int, typer.Option(help="Of attention (gat).")] = 1,
    aggregator: Annotated[str, typer.Option(help="Sums of --model gcn: gcn | mean | sum.")] = "gcn",
    epochs: Annotated[int, typer.Option(help="Full-batch steps.")] = 60,
    lr: Annotated[float, typer.Option(help="Learning rate of Adam.")] = 0.01,
    dropout: Annotated[float, typer.Option(help="Dropout between layers.")] = 0.0,
    partition: Annotated[
        str,
        typer.Option(
            help="auto | kahypar | metis | metis-volume | g3 | g3-best | g3-literal | hash | chunk | random, or "
            "a file: the worker of each vertex, a line each (METIS's format)."
        ),
    ] = "auto",
    memory: Annotated[str, typer.Option(help="Aggregator memory of the switch: 4MB, 512KiB, …")] = "4MB",
    order: Annotated[str, typer.Option(help="Upload order: gamr | degree | bfs | random | id.")] = "gamr",
    schedule: Annotated[
        str,
        typer.Option(
            help="plain (sums travel, layer by layer), or states travel in bins: sequential | inter | intra | g3 | "
            "stale (an epoch old) | adaptive (as Sylvie decides) | isolated (not at all)."
        ),
    ] = "plain",
    bins: Annotated[
        int | None, typer.Option(help="Of each worker's vertices; default: 8, or 1 where nothing overlaps.")
    ] = None,
    bin_memory: Annotated[
        str | None, typer.Option(help="Memory that two bins of a worker may take, in place of --bins: 8MB, …")
    ] = None,
    link: Annotated[
        str | None, typer.Option(help="Emulate network cards of this rate: 100M, 10G; not with plain.")
    ] = None,
    priorities: Annotated[
        str | None,
        typer.Option(
            help="Messages and sums of gradients as coflows of Hermod's end-host scheduler: hermod (by priority) | "
            "none (first come, first served); default: over gloo."
        ),
    ] = None,
    sample: Annotated[float, typer.Option(help="Share of neighbours' messages that travels (BNS-GCN).")] = 1.0,
    dtype: Annotated[str, typer.Option(help="float32 | float64.")] = "float32",
    codec: Annotated[
        str,
        typer.Option(
            help="Features between workers under p2p: fp32 | fixed (as the switch gets them), or in bins sylvie "
            "(as few bits as it decides) | adaqp | q1 | q2 | q4 | q8."
        ),
    ] = "fp32",
    split: Annotated[
        str | None,
        typer.Option(help="planetoid, or fractions: 0.6/0.2/0.2; default: the graph's own."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of split, partition, order and weights.")] = 0,
    switch: Annotated[
        str | None, typer.Option(help="P4Runtime address of a live switch; default: the embedded one.")
    ] = None,
    ports: Annotated[
        str | None,
        typer.Option(help="Live switch: each worker's link, LINK or PORT@LINK; an interface or TRANSPORT:WHERE."),
    ] = None,
    transport: Annotated[
        str,
        typer.Option(
            help="Links to the embedded switch: auto (unix) | unix | udp | af_packet | af_xdp | nic (a smartNIC's "
            "agent on veth pairs); to a live one, what opens interfaces: auto (af_packet) | af_packet | af_xdp."
        ),
    ] = "auto",
    p4info: Annotated[
        Path | None, typer.Option(help="Live switch that does not compile P4 (bmv2): P4Info by p4c.")
    ] = None,
    device_config: Annotated[Path | None, typer.Option(help="The same: bmv2 JSON by p4c.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds without news until an exchange fails.")] = 60.0,
    window: Annotated[int, typer.Option(help="Packets that a worker sends at a time.")] = 256,
    gap: Annotated[
        float, typer.Option(help="Seconds in between, for a switch that drops what it cannot hold (bmv2).")
    ] = 0.0,
    plan: Annotated[
        Path | None, typer.Option(help="Plan by offramp plan --save, for layers of one width; default: made here.")
    ] = None,
    scheme: Annotated[
        str,
        typer.Option(
            help="paper, auto (least predicted time), or pairwise, chunk-major, hybrid, balanced, binned, q16, q8 by +."
        ),
    ] = "paper",
    rates: Annotated[Path | None, typer.Option(help="Rates for --scheme auto, JSON as of offramp plan.")] = None,
    scale: Annotated[
        str, typer.Option(help="Fixed-point scale of each exchange: agreed | carried (from the epoch before).")
    ] = "agreed",
    retry: Annotated[float, typer.Option(help="Seconds without news until a worker asks for what it lacks.")] = 1.0,
    loss: Annotated[float, typer.Option(help="Probability that a link loses a packet, for trying it out.")] = 0.0,
    duplicate: Annotated[float, typer.Option(help="Probability that a link doubles a packet.")] = 0.0,
    racks: Annotated[int, typer.Option(help="Racks of workers, with a leaf switch each; 1: one switch.")] = 1,
    spines: Annotated[int, typer.Option(help="Spine switches that join the leaves.")] = 1,
    checkpoint: Annotated[Path | None, typer.Option(help="Write weights to this .npz file, and at the end.")] = None,
    checkpoint_every: Annotated[int, typer.Option(help="After so many epochs.")] = 10,
    resume: Annotated[Path | None, typer.Option(help="Go on from the checkpoint in this file.")] = None,
    json_path: Annotated[Path | None, typer.Option("--json", help="Write the result as JSON.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML report, and its data as JSON.")] = None,
) -> None:
    """Train a graph neural network whose boundary features travel between workers, or through a switch."""
    from offramp.train.settings import TrainSettings
    from offramp_cli.size import parse_size
    from offramp_cli.switch.traffic import parse_rate

    settings = TrainSettings(
        graph=graph,
        features=str(features) if features else None,
        labels=str(labels) if labels else None,
        workers=workers,
        propagator=propagator,
        target=target,
        aggregator=aggregator,
        model=model,
        heads=heads,
        layers=layers,
        hidden=hidden,
        epochs=epochs,
        lr=lr,
        dropout=dropout,
        schedule=schedule,
        bins=bins,
        bin_memory=parse_size(bin_memory, "--bin-memory") if bin_memory else None,
        link_bps=parse_rate(link, "--link") if link else None,
        priorities=priorities,
        sample=sample,
        dtype=dtype,
        codec=codec,
        partition=partition,
        memory=parse_size(memory, "--memory"),
        order=order,
        split=split,
        seed=seed,
        timeout_s=timeout,
        window=window,
        gap_s=gap,
        plan=str(plan) if plan else None,
        scheme=scheme,
        rates=str(rates) if rates else None,
        scale=scale,
        retry_s=retry,
        loss=loss,
        duplication=duplicate,
        racks=racks,
        spines=spines,
        checkpoint=str(checkpoint) if checkpoint else None,
        checkpoint_every=checkpoint_every,
        resume=str(resume) if resume else None,
    )
    open_fabric = switch_opener(settings, switch, ports, p4info, device_config, transport)
    result = run(load_graph(settings), settings, open_fabric, lines=True)
    if result is None:
        return
    from rich.console import Console

    from offramp.report import Report, Run, write_report
    from offramp.report.console import runs_table

    finished = Run(settings.propagator, result)
    console = Console(highlight=False)
    console.print(runs_table([finished]))
    if strangers := result["strangers"]:
        by_port = ", ".join(f"{port}: {frames}" for port, frames in strangers.items())
        console.print(f"strangers: {sum(strangers.values())} frames dropped ({by_port})", soft_wrap=True)
    if json_path is not None:
        write_json(json_path, result)
    if report is not None:
        title = f"Training {_WAY[settings.propagator]}"
        page, data = write_report(Report(title, describe(result), [finished], command()), report)
        console.print(f"\nreport: {page}\ndata:   {data}", soft_wrap=True)


def run(graph: Graph, settings: TrainSettings, open_fabric: OpenFabric | None, *, lines: bool) -> dict[str, Any] | None:
    """Train with a progress bar; the result as JSON, or None where another rank of torchrun reports.

    Args:
        graph: what the settings name.
        settings: of the run.
        open_fabric: opens the switch, where one is needed.
        lines: whether each epoch also gets a line of its own.
    """
    from rich.console import Console

    from offramp.report.console import epoch_progress
    from offramp.train.run import train as train_graph

    console = Console(quiet=os.environ.get("RANK", "0") != "0")
    with epoch_progress(console, settings.propagator, settings.epochs, lines=lines) as on_epoch:
        result = train_graph(graph, settings, open_fabric=open_fabric, on_epoch=on_epoch)
    return result.as_dict() if result else None


def describe(result: Mapping[str, Any]) -> str:
    """A run's setting in one sentence."""
    settings = result["settings"]
    return (
        f"{settings['graph_name']}: {settings['vertices']} vertices, {settings['edges']} edges. "
        f"{settings['layers']}-layer {settings['model'].upper()}, {settings['hidden']} hidden, "
        f"{settings['processes']} worker processes, partition by {settings['partition']}: "
        f"{settings['boundary_vertices']} boundary vertices, {settings['cut_edges']} cut edges."
    )


def load_graph(settings: TrainSettings) -> Graph:
    """The graph that the settings name."""
    from offramp.graph.load import load

    features, labels = (Path(name) if name else None for name in (settings.features, settings.labels))
    return load(settings.graph, settings.seed, settings.split, features, labels)


def switch_opener(
    settings: TrainSettings,
    address: str | None = None,
    ports: str | None = None,
    p4info: Path | None = None,
    device_config: Path | None = None,
    transport: str = "auto",
) -> OpenFabric | None:
    """How to open the switch that the options name: the embedded one by default, None where none is needed.

    Raises:
        OfframpError: options that do not go together.
    """
    given = {"--switch": address, "--ports": ports, "--p4info": p4info, "--device-config": device_config}
    from offramp_base.transport import check_transport, parse_link
    from offramp_base.transport.links import NIC

    if transport != NIC:
        check_transport(transport)
    needless = None if address is not None else "--switch ADDRESS"
    needless = needless if settings.through_switch else "--propagator switch or strawman"
    for flag, value in given.items():
        if needless is not None and value is not None:
            raise OfframpError(f"{flag}: goes with {needless} only")
    if not settings.through_switch:
        return None
    if settings.network is not None:
        if address is not None:
            raise OfframpError("--racks: goes with the embedded switches only, not with --switch")
        if transport != "auto":
            raise OfframpError("--transport: goes with one switch only, not with --racks")
        from offramp_cli.switchgnn.racks import embedded_racks

        return partial(embedded_racks, settings.network)
    if address is None:
        return partial(behind_agent if transport == NIC else embedded, settings, transport)
    if (p4info is None) != (device_config is None):
        raise OfframpError("--p4info, --device-config: expected both or none")
    from offramp.train.fabric import SwitchEndpoint, SwitchFabric, parse_ports

    compiled = (p4info, device_config) if p4info is not None and device_config is not None else None
    links = [(port, str(parse_link(link, transport))) for port, link in parse_ports(ports or "", settings.workers)]
    endpoint = SwitchEndpoint(address, links, compiled)
    return partial(SwitchFabric, endpoint, settings.propagator, settings.target)


@contextmanager
def embedded(settings: TrainSettings, transport: str = "auto") -> Iterator[SwitchFabric]:
    """A P4 software switch of our own with a port for each worker, for as long as the block runs."""
    from offramp.train.fabric import SwitchEndpoint, SwitchFabric
    from offramp_p4.embedded import EmbeddedSwitch

    with EmbeddedSwitch(None, range(1, settings.workers + 1), transport=transport) as switch:
        links = list(zip(switch.port_numbers, switch.port_specs, strict=True))
        endpoint = SwitchEndpoint(switch.address, links)
        with SwitchFabric(endpoint, settings.propagator, settings.target) as fabric:
            yield fabric


@contextmanager
def behind_agent(settings: TrainSettings, _: str) -> Iterator[SwitchFabric]:
    """The same on veth pairs, with a smartNIC's agent at the workers' ends."""
    from offramp.nic.process import AgentProcess
    from offramp.train.fabric import SwitchEndpoint, SwitchFabric
    from offramp_base.ending.reliance import relied_on
    from offramp_p4.embedded import EmbeddedSwitch

    with EmbeddedSwitch(None, range(1, settings.workers + 1), transport="af_packet") as switch:
        interfaces = [spec.partition(":")[2] for spec in switch.port_specs]
        with AgentProcess(interfaces) as agent, relied_on("the agent", agent.process):
            links = [(number, f"nic:{agent.path}#{place}") for place, number in enumerate(switch.port_numbers)]
            with SwitchFabric(SwitchEndpoint(switch.address, links), settings.propagator, settings.target) as fabric:
                yield fabric


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write ``content`` to ``path``.

    Raises:
        OfframpError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(content, indent=1) + "\n")
    except OSError as error:
        raise OfframpError(f"--json {path}: cannot be written: {error.strerror}") from None


def command() -> str:
    """The command line that runs now, to be repeated."""
    return shlex.join(["offramp", *sys.argv[1:]])
