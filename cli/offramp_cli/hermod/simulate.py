# SPDX-License-Identifier: Apache-2.0
"""``offramp simulate hermod``: gain of a job by coflow priorities, with timelines before and after."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from offramp_base import Field, SettingsError
from offramp_base.settings import expect_choice
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import OUTPUT, Result

if TYPE_CHECKING:
    from rich.console import Console

    from offramp.fabric import Fabric
    from offramp_cli.hermod.simulate_packets import PacketLevel
    from offramp_sim.hermod.flow import FlowResult, Loaded, SimulationSetup

_POLICIES = "fair,fifo,lina,dp-first,pp-first,ep-first,ep-pp-dp,hermod"


@dataclass(frozen=True)
class HermodSettings:
    """A job, its network, and the policies to simulate."""

    job: Annotated[
        str,
        Field(
            "A YAML or TOML file, a model of table 5.5, traces of Chakra or of PyTorch's profiler (FOLDER, or "
            "FOLDER/PREFIX), or a text workload of ASTRA-sim 1 or SimAI",
            group="Job",
        ),
    ]
    cluster: Annotated[
        Path | None, Field("A cluster file, whose hosts, links and routing take the place of those below")
    ] = None
    network: Annotated[
        str | None,
        Field(
            "For traces and text workloads: a file of ASTRA-sim or SimAI, dimensions, or a network of simulate themis"
        ),
    ] = None
    gpus: Annotated[int | None, Field("GPUs, in place of the job's number; more GPUs mean more replicas", least=1)] = (
        None
    )
    nic_gbps: Annotated[float | None, Field("Rate of a NIC in Gb/s, in place of the job's")] = None
    sample: Annotated[
        int | None,
        Field(
            "Simulate the replicas of this many GPUs for those of all: exact with spray, without jitter and imbalance",
            least=1,
        ),
    ] = None
    iterations: Annotated[int, Field("Iterations, of which the last one counts", least=2)] = 3
    seed: Annotated[int, Field("Random seed", least=0)] = 0
    policies: Annotated[
        str,
        Field("Policies, separated by commas; gains are relative to the first", aliases=("policy",), group="Policies"),
    ] = _POLICIES
    queues: Annotated[
        int | None, Field("Data queues of the switches; exact priorities by default", least=1, most=8)
    ] = None
    scheme: Annotated[str, Field("Mapping of code points to queues: split | msb")] = "split"
    hosts: Annotated[str, Field("With --queues: what senders order by: exact | queues")] = "exact"
    routing: Annotated[str, Field("Routing: ecmp | spray", group="Network")] = "ecmp"
    all_to_all: Annotated[str, Field("How expert parallelism sends: fluid | matched | shifted")] = "fluid"
    overhead_us: Annotated[float, Field("Overhead of each sub-phase or round of an all-to-all, in us")] = 0.0
    leaf: Annotated[int | None, Field("NICs under a leaf switch", shown_default="16, or the cluster's")] = None
    bidirectional: Annotated[
        bool | None,
        Field(
            "Rings send half of the bytes each way round, rather than all one way",
            shown_default="one, or the network's",
        ),
    ] = None
    level: Annotated[
        str,
        Field(
            "Level of the simulation",
            choices={"flow": "", "packet": "every packet through p4/hermod, up to 16 NICs"},
            group="Packets",
        ),
    ] = "flow"
    packets: Annotated[int, Field("Approximate number of packets that stand for all bytes")] = 100_000
    loss: Annotated[float, Field("Probability that a link loses a frame")] = 0.0
    pause: Annotated[tuple[str, ...], Field("NIC@START+SECONDS during which the switch may not send to the NIC")] = ()
    engine: Annotated[str, Field("Engine of the P4 switch: auto | native | python")] = "auto"

    def __post_init__(self) -> None:
        if self.level == "flow" and (self.loss or self.pause):
            raise SettingsError("loss" if self.loss else "pause", "goes with {level} packet only")
        if self.level != "flow" and self.bidirectional:
            raise SettingsError("bidirectional", "goes with {level} flow only")
        if self.cluster is not None:
            for name in ("nic_gbps", "leaf"):
                if getattr(self, name) is not None:
                    raise SettingsError(name, "does not go with {cluster}, which has its own", getattr(self, name))
        if self.network is None:
            return
        for name, unsupported in (("level", self.level != "flow"), ("all_to_all", self.all_to_all != "fluid")):
            if unsupported:
                raise SettingsError(name, "does not go with {network}", getattr(self, name))
        for name in ("cluster", "gpus", "nic_gbps", "leaf"):
            if getattr(self, name) is not None:
                raise SettingsError(name, "does not go with {network}, which has its own", getattr(self, name))


@dataclass(frozen=True)
class HermodOutput(Result):
    """Results of a simulation."""

    plot: Annotated[
        Path | None,
        Field(
            "Draw the timelines of the first and last policy into this file",
            group=OUTPUT,
            written=True,
            aliases=("timeline",),
        ),
    ] = None


@command(
    HermodSettings,
    HermodOutput,
    example="simulate hermod --job mixtral-8x22b --gpus 64 --policies fair,hermod --json -",
    systems=("hermod",),
)
def hermod(settings: HermodSettings, outputs: HermodOutput) -> None:
    """Simulate a training job's coflows under several policies: iteration time and gain, and a timeline."""
    from rich.progress import Progress

    from offramp_sim.hermod.flow import SimulationSetup
    from offramp_sim.hermod.flow.policies import NAMES
    from offramp_sim.hermod.flow.study import one

    names = [name.strip() for name in settings.policies.split(",") if name.strip()]
    for name in names or [""]:
        expect_choice("policies", name, NAMES)
    fabric, settings = _on_cluster(settings)
    kept = ("iterations", "routing", "leaf", "all_to_all", "queues", "scheme", "hosts", "seed", "sample")
    choices = {name: getattr(settings, name) for name in kept if getattr(settings, name) is not None}
    setup = SimulationSetup(
        overhead_s=settings.overhead_us * 1e-6, bidirectional=bool(settings.bidirectional), **choices
    )
    packet_level = _packet_level(settings, setup)
    if packet_level is not None:
        setup = packet_level.setup
    console = show.console()
    outcomes: dict[str, FlowResult] = {}
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("the job's DAG", total=len(names))
        source = _source(settings, setup, fabric, one_by_one=outputs.plot is not None)
        for k, name in enumerate(names):
            bar.update(task, description=name)

            def report(share: float, k: int = k) -> None:
                bar.update(task, completed=k + share)

            if packet_level is None:
                outcomes[name] = one(source.loaded, name, setup, lambda _, share: report(share))
            else:
                outcomes[name] = packet_level.run(source.loaded, name, report)
    rows = _numbers(outcomes, source.tokens)
    numbers = {"job": source.facts, "setup": asdict(setup), "level": settings.level, "policies": rows}
    console.print(source.title)
    _show(console, rows)
    if packet_level is not None:
        numbers["packets"] = packet_level.numbers()
        packet_level.show(console)
    if outputs.plot is not None:
        from offramp_sim.hermod.flow.timeline import draw

        shown = {name: outcomes[name] for name in dict.fromkeys((names[0], names[-1]))}
        draw(shown, outputs.plot, source.title)
        console.print(f"timeline: {outputs.plot}")
    outputs.write("offramp.simulate.hermod/1", numbers)


def _on_cluster(settings: HermodSettings) -> tuple[Fabric | None, HermodSettings]:
    """The cluster's fabric as it is at the start."""
    if settings.network is not None:
        return None, settings
    if settings.cluster is None:
        return None, replace(settings, leaf=16 if settings.leaf is None else settings.leaf)
    from offramp.fabric import read_fabric

    return read_fabric(settings.cluster), settings


def _packet_level(settings: HermodSettings, setup: SimulationSetup) -> PacketLevel | None:
    if settings.level == "flow":
        return None
    from offramp_cli.hermod.simulate_packets import PacketLevel

    return PacketLevel.of(setup, settings.packets, settings.engine, settings.loss, list(settings.pause))


@dataclass(frozen=True, slots=True)
class _Source:
    """The DAG to simulate; ``tokens`` of an iteration, 0 if traces do not say."""

    loaded: Loaded
    title: str
    facts: dict[str, Any]
    tokens: int


def _source(settings: HermodSettings, setup: SimulationSetup, fabric: Fabric | None, *, one_by_one: bool) -> _Source:
    from offramp.hermod.chakra import is_trace

    folder = Path(settings.job)
    if setup.sample is not None and (settings.network is not None or is_trace(folder)):
        raise SettingsError("sample", "goes with jobs, whose replicas are alike")
    if settings.network is not None:
        return _on_network(settings.job, settings.network, settings.bidirectional, setup)
    if is_trace(folder):
        return _traces(folder, settings.nic_gbps, setup, fabric)
    if _is_workload(folder):
        raise SettingsError("network", "expected the network of a text workload")
    return _job(settings, setup, fabric, one_by_one=one_by_one)


def _job(settings: HermodSettings, setup: SimulationSetup, fabric: Fabric | None, *, one_by_one: bool) -> _Source:
    from offramp.hermod import load_job
    from offramp_sim.hermod.flow import prepare

    changes: dict[str, Any] = {"gpus": settings.gpus, "nic_gbps": settings.nic_gbps}
    if fabric is not None:
        per_host = min(host.processes for host in fabric.cluster.hosts)
        changes |= {"gpus": settings.gpus or fabric.ranks, "gpus_per_server": per_host, "nics_per_server": per_host}
    job = replace(load_job(settings.job), **{k: v for k, v in changes.items() if v is not None})
    degrees = f"pp {job.pp} x tp {job.tp} x dp {job.dp}, ep {job.ep}"
    network = f"{job.nic_gbps:g} Gb/s" if fabric is None else fabric.cluster.name
    title = f"{job.model.name}: {job.gpus} GPUs = {degrees}, {network}"
    if setup.sample is not None:
        title += f", by a sample of {setup.sample}"
    return _Source(
        prepare(job, setup, one_by_one=one_by_one, on=fabric),
        title,
        job.as_json(),
        job.dp * job.micro_batches * job.tokens,
    )


def _is_workload(path: Path) -> bool:
    from offramp_base.documents import read_text
    from offramp_sim.themis.astra_workload import is_workload

    return path.is_file() and path.suffix not in (".yaml", ".yml", ".toml") and is_workload(read_text(path, 16 << 20))


def _on_network(name: str, network_name: str, bidirectional: bool | None, setup: SimulationSetup) -> _Source:
    from offramp.hermod.chakra import is_trace
    from offramp.themis import load_network
    from offramp_sim.hermod.flow import prepare_workload
    from offramp_sim.hermod.flow.study import prepare_traces_on

    network = load_network(network_name)
    if bidirectional is not None:
        network = network.with_rings(bidirectional=bidirectional)
    facts = {"network": network_name, "npus": network.npus}
    if is_trace(Path(name)):
        loaded = prepare_traces_on(Path(name), network, setup)
    elif _is_workload(Path(name)):
        loaded = prepare_workload(name, network, setup)
    else:
        raise SettingsError("network", "goes with traces and text workloads; a job has its NICs' rate, or {cluster}")
    title = f"{name}: {network.npus} NPUs of {network.name}"
    return _Source(loaded, title, {"traces" if is_trace(Path(name)) else "workload": name} | facts, 0)


def _traces(folder: Path, nic_gbps: float | None, setup: SimulationSetup, fabric: Fabric | None) -> _Source:
    from offramp.hermod.chakra import load_dag
    from offramp_sim.hermod.flow import prepare_traces

    if fabric is None and (nic_gbps is None or nic_gbps <= 0):
        raise SettingsError("nic_gbps", "expected a rate above 0, such as 100, as traces name none; or {cluster}")
    dag = load_dag(folder, bidirectional=setup.bidirectional)
    facts = {"traces": str(folder), "ranks": dag.workers, "nic_gbps": nic_gbps}
    network = f"{nic_gbps:g} Gb/s" if fabric is None else fabric.cluster.name
    title = f"{folder}: {dag.workers} ranks, {network}"
    return _Source(prepare_traces(dag, nic_gbps or 0.0, setup, fabric), title, facts, 0)


def _numbers(outcomes: dict[str, FlowResult], tokens: int) -> dict[str, Any]:
    base = next(iter(outcomes.values())).iteration_s
    return {
        name: {
            "iteration_s": o.iteration_s,
            "tokens_per_s": tokens / o.iteration_s if tokens else None,
            "speedup": base / o.iteration_s if o.iteration_s else 1.0,
            "events": o.events,
        }
        for name, o in outcomes.items()
    }


def _show(console: Console, rows: dict[str, Any]) -> None:
    first = next(iter(rows))
    table = show.table("policy", "iteration", "tokens/s", f"speed to {first}")
    for name, row in rows.items():
        tokens = "\N{EN DASH}" if row["tokens_per_s"] is None else f"{row['tokens_per_s']:,.0f}"
        table.add_row(name, f"{row['iteration_s']:.4g} s", tokens, f"{row['speedup']:.3f}")
    console.print(table)
