# SPDX-License-Identifier: Apache-2.0
"""``offramp simulate themis``: collectives and training on networks of several dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from offramp.themis.packets import PacketFormat, parse_packets
from offramp_base import Field, SettingsError
from offramp_base.settings import BYTES
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import Plotted
from offramp_cli.themis.nccl_model import NcclModel

if TYPE_CHECKING:
    from offramp.themis import Network

_USUAL = ("baseline", "themis+fifo", "themis+scf", "balanced")


def _schedulers() -> list[str]:
    from offramp.themis.plan import schedulers

    return [*schedulers(), "all"]


def _collectives() -> list[str]:
    from offramp.themis.network import Collective

    return [c.value for c in Collective]


@dataclass(frozen=True)
class ThemisSettings:
    """A collective or a training to simulate, and the schedulers."""

    network: Annotated[
        str, Field("A network of the paper's table 2, a cluster file, or a file of ASTRA-sim or SimAI")
    ] = "3D-SW_SW_SW_homo"
    size: Annotated[int, Field("Size of the collective: 100MB", least=0, unit=BYTES)] = 10**9
    collective: Annotated[str, Field("Collective", choices=_collectives)] = "all-reduce"
    scheduler: Annotated[
        tuple[str, ...],
        Field("Schedulers; repeatable", choices=_schedulers, aliases=("policy",), shown_default=", ".join(_USUAL)),
    ] = ()
    chunks: Annotated[
        int | None, Field("Chunks of a collective", shown_default="64, or the system file's", least=1)
    ] = None
    delays: Annotated[
        str | None,
        Field(
            "Delays of a chunk: they overlap with other chunks; or a dimension waits until its last message arrives; "
            "or each stage is a call of NCCL, by the algorithm and the protocol that its tuner chooses",
            choices=("overlap", "serial", "nccl"),
            shown_default="overlap; serial with a system file",
        ),
    ] = None
    system: Annotated[
        str | None, Field("ASTRA-sim's system file: chunks, algorithms, delays of endpoints and memory")
    ] = None
    bidirectional: Annotated[
        bool | None,
        Field(
            "Rings send half of a chunk each way round, rather than all of it one way",
            shown_default="the network's; both, with serial delays one",
        ),
    ] = None
    packets: Annotated[
        tuple[PacketFormat, ...],
        Field(
            "Bytes of payload and header of packets: 4096+26, or one for each dimension: 256+16,4096+26",
            parse=parse_packets,
            shown_default="no headers",
        ),
    ] = ()
    threshold: Annotated[float, Field("Themis: difference between loads that is tolerated, as a share of a chunk")] = (
        1 / 16
    )
    fallback: Annotated[
        bool, Field("Themis: all chunks have one order where that is faster; without it, the paper's algorithm alone")
    ] = True
    msccl: Annotated[
        Path | None, Field("An MSCCL XML file to simulate in place of --collective, beside the schedulers")
    ] = None
    change: Annotated[
        tuple[str, ...], Field("AT_US=F1,F2,…: from this time on, each dimension runs at this factor of its bandwidth")
    ] = ()
    workload: Annotated[
        str | None,
        Field(
            "Train instead: resnet-152 | gnmt | dlrm | transformer-1t, a file, or Chakra traces (FOLDER, or "
            "FOLDER/PREFIX), of which one iteration runs",
            group="Training",
        ),
    ] = None
    iterations: Annotated[int, Field("Training iterations")] = 3
    compute: Annotated[float, Field("Factor for the workload's computation times")] = 1.0
    execute: Annotated[
        bool,
        Field(
            "Also run it in processes on this machine, with each dimension limited to its bandwidth",
            group="In real time",
        ),
    ] = False
    namespaces: Annotated[
        bool, Field("Run it over veth interfaces behind HTB in namespaces, in place of token buckets (needs root)")
    ] = False
    seed: Annotated[int, Field("Random seed for the values that are summed", least=0)] = 0

    def __post_init__(self) -> None:
        if self.namespaces and not self.execute:
            raise SettingsError("namespaces", "expected {execute} too")
        if self.system is not None and self.delays not in (None, "serial"):
            raise SettingsError("delays", "with {system} they are serial")
        if self.kind_of_delays != "overlap" and (self.change or self.execute):
            raise SettingsError(
                "delays",
                "serial delays and NCCL's are only simulated, at constant speeds: not with {change}, {execute}",
            )
        if self.packets and (self.kind_of_delays != "overlap" or self.execute or self.msccl is not None):
            raise SettingsError("packets", "go with {delays} overlap, and not with {execute} or {msccl}")
        if self.msccl is not None and (
            self.change or self.execute or self.workload is not None or self.kind_of_delays != "overlap"
        ):
            raise SettingsError(
                "msccl", "is a single collective at constant speed: not with {change}, {execute}, {workload}, {delays}"
            )

    @property
    def kind_of_delays(self) -> str:
        """Kind of the chunks' delays: ``overlap``, ``serial`` or ``nccl``."""
        return self.delays or ("overlap" if self.system is None else "serial")


@command(
    ThemisSettings,
    NcclModel,
    Plotted,
    example="simulate themis --size 100MB --scheduler all --json -",
    systems=("themis",),
)
def themis(given: ThemisSettings, model: NcclModel, outputs: Plotted) -> None:
    """Schedule a collective, or train a model, on a network of several dimensions: baseline, Themis and better."""
    from offramp.hermod.chakra import is_trace
    from offramp.themis import load_network
    from offramp.themis.network import Collective
    from offramp.themis.plan import CHUNKS, schedulers
    from offramp.themis.system_file import SystemFile, read_system
    from offramp.themis.themis import ThemisOptions
    from offramp_cli.themis import collective as collectives
    from offramp_cli.themis import execute as executed
    from offramp_cli.themis import msccl, traced, training

    console = show.console()
    network = load_network(given.network)
    if given.bidirectional is not None:
        network = network.with_rings(bidirectional=given.bidirectional)
    if given.packets:
        network = network.with_packets(given.packets)
    system = SystemFile(CHUNKS) if given.system is None else read_system(given.system)
    if given.kind_of_delays == "serial":
        network = system.on(network)
    if given.kind_of_delays == "nccl":
        network = model.on(network)
    else:
        model.expect_unused(f"--delays {given.kind_of_delays}")
    names = given.scheduler or _USUAL
    chosen = tuple(schedulers() if "all" in names else dict.fromkeys(names))
    chunks = system.chunks if given.chunks is None else given.chunks
    settings = {"network": describe(network), "schedulers": list(chosen), "chunks": chunks}
    settings["delays"] = given.kind_of_delays
    if given.packets:
        settings["packets"] = [str(each) for each in given.packets]
    numbers: dict[str, Any]
    if given.msccl is not None:
        if outputs.plot:
            raise SettingsError("msccl", "has no {plot}")
        settings |= {"bytes": given.size}
        numbers = msccl.report(console, network, given.msccl, given.size, chosen, chunks)
    elif given.workload is not None:
        if given.change or given.execute or outputs.plot:
            raise SettingsError("workload", "{change}, {execute} and {plot} are for single collectives")
        if is_trace(Path(given.workload)):
            if given.kind_of_delays != "serial":
                raise SettingsError("workload", "traces go with {delays} serial or {system}; simulate hermod has flows")
            numbers = traced.report(console, network, Path(given.workload), system, chosen, chunks)
        else:
            numbers = training.report(console, network, given.workload, chosen, given.iterations, chunks, given.compute)
    else:
        what = Collective.named(given.collective)
        settings |= {"collective": what.value, "bytes": given.size, "threshold": given.threshold}
        options = ThemisOptions(given.threshold, fallback=given.fallback)
        case = collectives.CollectiveCase(network, what, given.size, chunks, options)
        numbers = collectives.report(console, case, chosen, given.change, outputs.plot)
        if given.execute:
            numbers["executed"] = executed.report(console, case, chosen, given.seed, namespaces=given.namespaces)
    outputs.write("offramp.simulate.themis/1", {"settings": settings, **numbers})


def describe(network: Network) -> dict[str, Any]:
    """A network, ready for JSON."""
    return {
        "name": network.name,
        "npus": network.npus,
        "dimensions": [
            {"type": d.kind.value, "size": d.size, "bandwidth_bps": d.bandwidth_bps, "latency_ns": d.latency_ns}
            for d in network.dimensions
        ],
    }
