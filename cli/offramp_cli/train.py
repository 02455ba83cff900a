# SPDX-License-Identifier: Apache-2.0
"""``offramp train``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from offramp_base import Field, SettingsError
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import OUTPUT, Result

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from offramp.graph import Graph
    from offramp.switchgnn.leaf_spine import LeafSpine
    from offramp.train import SwitchFabric, TrainSettings
    from offramp.train.run import OpenFabric

_WAY = {
    "local": "in one process",
    "p2p": "with features sent from worker to worker",
    "switch": "through a P4 switch",
    "strawman": "through a best-effort P4 switch",
}
_COMPARED = ("p2p", "local")
_GROUP = "Links to the switch"


@dataclass(frozen=True)
class SwitchOptions:
    """The switch of a run, and its links to the workers."""

    switch: Annotated[
        str | None,
        Field(
            "P4Runtime address of a live switch; the embedded one by default. With --racks: the leaves' addresses, "
            "then the spines', separated by commas. With --target fpga: fpga:udp=HOST",
            group=_GROUP,
        ),
    ] = None
    ports: Annotated[
        str | None, Field("Live switch: each worker's link, LINK or PORT@LINK; an interface or TRANSPORT:WHERE")
    ] = None
    transport: Annotated[
        str,
        Field(
            "Links to the embedded switch: auto (shm, else unix) | unix | shm | udp | af_packet | bundle | af_xdp | "
            "nic (a smartNIC's agent on veth pairs); to a live one, what opens interfaces: auto (af_packet) | "
            "af_packet | bundle (where it is Offramp's) | af_xdp"
        ),
    ] = "auto"
    p4info: Annotated[Path | None, Field("Live switch that does not compile P4 (bmv2): P4Info made by p4c")] = None
    device_config: Annotated[Path | None, Field("Live switch that does not compile P4 (bmv2): JSON made by p4c")] = None
    loaded: Annotated[
        str | None, Field("Live switch: fingerprint of the plans that offramp job has already loaded into it")
    ] = None


@dataclass(frozen=True)
class TrainingOutput(Result):
    """Results of a run."""

    report: Annotated[Path | None, Field("Write an HTML report to this file, and its data as JSON", group=OUTPUT)] = (
        None
    )
    compare: Annotated[bool, Field("Also train by p2p and in one process, and say in the report which one wins")] = (
        False
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.compare and self.report is None:
            raise SettingsError("compare", "goes with {report}")
        if self.json is not None:
            with suppress(OSError):  # the check of the file says what is wrong
                self.json.parent.mkdir(parents=True, exist_ok=True)


@command(
    "offramp.train.settings:TrainSettings",
    SwitchOptions,
    TrainingOutput,
    example="train --graph karate --workers 2 --propagator p2p --epochs 5 --json -",
    systems=("switchgnn", "g3", "bns-gcn", "neutronstar", "pipegcn", "sar", "sylvie"),
)
def train(settings: TrainSettings, switch: SwitchOptions, outputs: TrainingOutput) -> None:
    """Train a graph neural network whose boundary features travel between workers, or through a switch."""
    from offramp.workers import expect_workers

    expect_workers(settings.processes)
    open_fabric = switch_opener(settings, switch)
    load = cache(settings.load) if outputs.compare else settings.load  # a graph that is kept is in memory all the time
    result = run(load, settings, open_fabric, lines=True)
    if result is not None:
        outputs.write("offramp.train/1", result)  # before what is only compared with may fail
    others = [settings.by(way) for way in _COMPARED if outputs.compare and way != settings.propagator]
    compared = [(other.propagator, run(load, other, open_fabric, lines=False)) for other in others]
    if result is None:
        return

    from offramp.report import Report, TrainingRun, write_report
    from offramp.report.console import runs_table
    from offramp.report.origin import origin

    runs = [
        TrainingRun(settings.propagator, result),
        *(TrainingRun(way, other) for way, other in compared if other is not None),
    ]
    console = show.console()
    console.print(runs_table(runs))
    if strangers := result["strangers"]:
        by_port = ", ".join(f"{port}: {frames}" for port, frames in strangers.items())
        console.print(f"strangers: {sum(strangers.values())} frames dropped ({by_port})", soft_wrap=True)
    if outputs.report is not None:
        title = f"Training {_WAY[settings.propagator]}"
        page, data = write_report(
            Report(title, describe(result), runs, command_line(), origin=origin()), outputs.report
        )
        console.print(f"\nreport: {page}\ndata:   {data}", soft_wrap=True)


def run(
    load: Callable[[], Graph], settings: TrainSettings, open_fabric: OpenFabric | None, *, lines: bool
) -> dict[str, Any] | None:
    """Train with a progress bar; returns the result as JSON, or None if another rank of torchrun reports.

    Args:
        load: returns the graph that the settings name.
        settings: settings of the run.
        open_fabric: opens the switch, if one is needed.
        lines: whether to print a line for each epoch too.
    """
    from offramp.report.console import epoch_progress
    from offramp.train.run import train as train_graph

    console = show.console(one_rank=True)
    with epoch_progress(console, settings.propagator, settings.epochs, lines=lines) as on_epoch:
        result = train_graph(load, settings, open_fabric=open_fabric, on_epoch=on_epoch)
    return result.as_dict() if result else None


def describe(result: Mapping[str, Any]) -> str:
    """A run's settings in one sentence."""
    settings = result["settings"]
    return (
        f"{settings['graph_name']}: {settings['vertices']} vertices, {settings['edges']} edges. "
        f"{settings['layers']}-layer {settings['model'].upper()}, {settings['hidden']} hidden, "
        f"{settings['processes']} worker processes, partition by {settings['partition']}: "
        f"{settings['boundary_vertices']} boundary vertices, {settings['cut_edges']} cut edges."
    )


def switch_opener(settings: TrainSettings, options: SwitchOptions | None = None) -> OpenFabric | None:
    """Function that opens the switch of the options: the embedded one by default; None if no switch is needed.

    Raises:
        OfframpError: options that do not go together.
    """
    options = options or SwitchOptions()
    from offramp_base.transport import check_transport, parse_link
    from offramp_base.transport.links import NIC

    address, transport = options.switch, options.transport
    if transport != NIC:
        check_transport(transport)
    needless = None if address is not None else "{switch} ADDRESS"
    needless = needless if settings.through_switch else "{propagator} switch or strawman"
    for field in ("switch", "ports", "p4info", "device_config", "loaded"):
        if needless is not None and getattr(options, field) is not None:
            raise SettingsError(field, f"goes with {needless} only")
    if not settings.through_switch:
        return None
    if settings.network is not None:
        if address is not None:
            return _live_racks(settings.network, options)
        if transport != "auto":
            raise SettingsError("transport", "goes with one switch only, not with {racks}")
        from offramp_cli.switchgnn.racks import embedded_racks

        return partial(embedded_racks, settings.network)
    if settings.target == "fpga":
        return _card(settings, options)
    if address is None:
        return partial(behind_agent if transport == NIC else embedded, settings, transport)
    from offramp.fpga.card import SCHEME

    if address.startswith(SCHEME):
        raise SettingsError("switch", "goes with {target} fpga only", address)
    compiled = (options.p4info, options.device_config) if options.p4info and options.device_config else None
    if compiled is None and (options.p4info or options.device_config):
        raise SettingsError("p4info", "goes with {device_config} only, and vice versa")
    from offramp.train import SwitchEndpoint, SwitchFabric, parse_ports

    links_by_port = parse_ports(options.ports or "", settings.workers)
    links = [(port, str(parse_link(link, transport))) for port, link in links_by_port]
    endpoint = SwitchEndpoint(address, links, compiled, options.loaded or "")
    return partial(SwitchFabric, endpoint, settings.propagator, settings.target)


def _card(settings: TrainSettings, options: SwitchOptions) -> OpenFabric:
    """An FPGA card on the workers' Ethernet."""
    from offramp.fpga.card import SCHEME
    from offramp.switchgnn.card_fabric import CardFabric
    from offramp.train import parse_ports
    from offramp_base.transport import TRANSPORTS, parse_link

    address = options.switch or ""
    if not address.startswith(SCHEME):
        raise SettingsError("switch", f"expected {SCHEME}HOST with {{target}} fpga", options.switch)
    for field in ("p4info", "device_config", "loaded"):
        if getattr(options, field) is not None:
            raise SettingsError(field, "goes without {target} fpga only")
    links = [parse_link(link, options.transport) for _, link in parse_ports(options.ports or "", settings.workers)]
    others = [str(link) for link in links if not TRANSPORTS[link.transport].on_interface]
    if others:
        raise SettingsError("ports", "expected interfaces on the card's Ethernet with {target} fpga", others[0])
    return partial(CardFabric, address, [str(link) for link in links], settings.timeout_s)


def _live_racks(network: LeafSpine, options: SwitchOptions) -> OpenFabric:
    """Leaves and spines that run already."""
    from offramp.train import LeafSpineFabric, parse_ports
    from offramp_base.transport import parse_link

    addresses = (options.switch or "").split(",")
    if len(addresses) != network.leaves + network.spines:
        problem = f"expected {network.leaves} addresses of leaves and {network.spines} of spines, separated by commas"
        raise SettingsError("switch", problem, options.switch)
    links = [str(parse_link(link, options.transport)) for _, link in parse_ports(options.ports or "", network.workers)]
    leaves, spines = addresses[: network.leaves], addresses[network.leaves :]
    return partial(LeafSpineFabric, network, leaves, spines, links, options.loaded or "")


@contextmanager
def embedded(settings: TrainSettings, transport: str = "auto") -> Iterator[SwitchFabric]:
    """Run an embedded P4 switch with a port for each worker, for as long as the block runs."""
    from offramp.train import SwitchEndpoint, SwitchFabric
    from offramp_base.transport import AUTO, shm
    from offramp_p4 import EmbeddedSwitch

    chosen = shm.or_auto() if transport == AUTO else transport
    with EmbeddedSwitch(None, range(1, settings.workers + 1), transport=chosen) as switch:
        links = list(zip(switch.port_numbers, switch.port_specs, strict=True))
        endpoint = SwitchEndpoint(switch.address, links)
        with SwitchFabric(endpoint, settings.propagator, settings.target) as fabric:
            yield fabric


@contextmanager
def behind_agent(settings: TrainSettings, _: str) -> Iterator[SwitchFabric]:
    """A P4 software switch on veth pairs, with a smartNIC's agent at the workers' ends."""
    from offramp.nic import AgentProcess
    from offramp.train import SwitchEndpoint, SwitchFabric
    from offramp_base.ending.reliance import relied_on
    from offramp_p4 import EmbeddedSwitch

    with EmbeddedSwitch(None, range(1, settings.workers + 1), transport="af_packet") as switch:
        interfaces = [spec.partition(":")[2] for spec in switch.port_specs]
        with AgentProcess(interfaces) as agent, relied_on("the agent", agent.process):
            links = [(number, f"nic:{agent.path}#{place}") for place, number in enumerate(switch.port_numbers)]
            with SwitchFabric(SwitchEndpoint(switch.address, links), settings.propagator, settings.target) as fabric:
                yield fabric


def command_line() -> str:
    """The command line of this process, for repeating the run."""
    return shlex.join(["offramp", *sys.argv[1:]])
